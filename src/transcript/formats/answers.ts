// What a person answered where an agent asked them: what they chose in a dialog, what they typed instead or in addition,
// a plan that they approved, the reason for which they rejected a call.
// Only what they typed is in their words. What is chosen is marked: a model worded it. What is typed follows the
// question or call that it answers.

import { isObject, type JsonObject, objectsOf, parsedOr, textOf } from '../../base/text/json.ts';
import type { Call, Part, Result } from '../types.ts';
import type { Said } from './format.ts';

/** What a person chose of what was offered, behind the question; `means`: what the question says of the choice. */
export function choiceOf(question: string, chosen: string, means = ''): Part {
  const text = [question.trim(), `chose: ${chosen}`, means && `(${means})`].filter((line) => line !== '').join('\n');
  return { kind: 'text', text, untyped: 'chosen' };
}

// Tools that bring back `{"answers":{…}}` as JSON: those of Codex and Gemini CLI.

export interface Asked {
  /** Every string under a `label`, `options` or `choices` in what was offered. */
  offered: ReadonlySet<string>;
  /** The questions' words, by their id or, without one, by what they ask. */
  questions: ReadonlyMap<string, string>;
}

/** What the call of such a tool asked. */
export function askedIn(input: unknown): Asked {
  const offered = new Set<string>();
  const questions = new Map<string, string>();
  const visit = (value: unknown, isOption: boolean, depth: number): void => {
    if (depth > 8) return;
    if (typeof value === 'string' && isOption) offered.add(value);
    if (Array.isArray(value)) for (const item of value) visit(item, isOption, depth + 1);
    if (!isObject(value)) return;
    const question = textOf(value.question);
    if (question !== undefined) questions.set(textOf(value.id) ?? question, question);
    for (const [key, item] of Object.entries(value))
      visit(item, /^(options|choices|label|value)$/.test(key), depth + 1);
  };
  visit(input, false, 0);
  return { offered, questions };
}

/** What was answered in `output`: what was chosen behind its question, what was typed alone. */
export function answersOf(output: string, { offered, questions }: Asked): Part[] {
  const read = parsedOr(output);
  if (!isObject(read) || !isObject(read.answers)) return [];
  return Object.entries(read.answers).flatMap(([key, answer], at): Part[] => {
    const given = stringsIn(isObject(answer) ? answer.answers : answer);
    const chosen = given.filter((text) => offered.has(text));
    const typed = given.filter((text) => !offered.has(text)).map((text) => text.replace(/^user_note: /, ''));
    const question = questions.get(key) ?? [...questions.values()][at] ?? '';
    return [...(chosen.length === 0 ? [] : [choiceOf(question, chosen.join(', '))]), ...typedParts(typed)];
  });
}

function stringsIn(value: unknown): string[] {
  return [value].flat().filter((item) => typeof item === 'string');
}

function typedParts(texts: readonly string[]): Part[] {
  const said = texts.map((text) => text.trim()).filter((text) => text !== '');
  return said.map((text) => ({ kind: 'text', text }));
}

// The dialogs of Claude Code and opencode, and what Claude Code writes into a tool's result.

const DIALOGS: ReadonlySet<string> = new Set(['AskUserQuestion', 'question']);

/** Whether a person answers a call of the tool, not a program. */
export function asksPerson(tool: string): boolean {
  return DIALOGS.has(tool) || tool === 'ExitPlanMode';
}

interface Answered {
  call: Call;
  result: Result;
  /** What the record itself says of the result, where it does. */
  outcome: unknown;
}

/**
 * The plans that a person approved and what they said, as messages behind the results, whose message is `id`. What is
 * answered is taken out of `calls`.
 */
export function saidToCalls(
  results: readonly Part[],
  { calls, outcome, id }: { calls: Map<string, Call>; outcome?: unknown; id: string },
): Said[] {
  const plans: Part[] = [];
  const parts: Part[] = [];
  for (const result of results) {
    const call = result.kind === 'result' ? calls.get(result.callId) : undefined;
    if (result.kind !== 'result' || !call) continue;
    calls.delete(result.callId);
    const answered: Answered = { call, result, outcome };
    const plan = approvedPlan(answered);
    if (plan !== undefined) plans.push({ kind: 'text', text: plan });
    parts.push(...(plan === undefined ? answersIn(answered) : approval()));
  }
  const said: Said[] = [
    { id: `${id}/plan`, speaker: 'assistant', parts: plans },
    { id: `${id}/answer`, speaker: 'human', parts },
  ];
  return said.filter((each) => each.parts.length > 0);
}

function answersIn(answered: Answered): Part[] {
  const { call, result } = answered;
  if (DIALOGS.has(call.tool)) {
    const questions = questionsOf(answered);
    if (!result.isError) return questions.flatMap((question) => answerTo(question, answered));
    const given = result.text.startsWith(REJECTED) && result.text.includes(PUT_IN_PLACE);
    if (given) return questions.flatMap((question) => choicesIn(question, answerBefore(question, result.text)));
  }
  const reason = result.isError ? reasonIn(result.text) : null;
  return reason === null ? [] : [call, { kind: 'text', text: reason }];
}

/** The plan that a person approved; undefined where the result approves none. */
function approvedPlan({ call, result, outcome }: Answered): string | undefined {
  if (call.tool !== 'ExitPlanMode' || result.isError || !result.text.startsWith('User has approved')) return undefined;
  const written = /^## Approved Plan(?: \(edited by user\))?:\n([\s\S]+)/m.exec(result.text)?.[1];
  return planIn(outcome) ?? written ?? planIn(call.input);
}

function planIn(value: unknown): string | undefined {
  return isObject(value) ? textOf(value.plan) : undefined;
}

/** What a person who approved a plan said: that they did, and what they typed about it. */
export function approval(feedback?: string): Part[] {
  const typed: Part[] = feedback === undefined ? [] : [{ kind: 'text', text: feedback }];
  return [{ kind: 'text', text: 'approved the plan', untyped: 'chosen' }, ...typed];
}

/** What a person typed about the plan with which they started afresh; the program writes it behind the plan. */
export function feedbackBehindPlan(text: string): string | undefined {
  return textOf(/\n\nUser feedback on this plan: ([\s\S]+)$/.exec(text)?.[1]?.trim());
}

const REJECTED = "The user doesn't want to proceed with this tool use.";
const SAID = 'To tell you how to proceed, the user said:\n';
/** What the program adds behind the reason, or puts in its place. */
const ADDED = /\n\nNote: The user's next message may contain[\s\S]*$/;
const PUT_IN_PLACE = 'The user wants to clarify these questions.';

function reasonIn(text: string): string | null {
  const at = text.startsWith(REJECTED) ? text.indexOf(SAID) : -1;
  if (at === -1) return null;
  const given = text.slice(at + SAID.length);
  const reason = given.replace(ADDED, '').trim();
  return reason === '' || reason.startsWith(PUT_IN_PLACE) ? null : reason;
}

interface Question {
  text: string;
  labels: string[];
  /** What the question says of an option, by its label. */
  meanings: ReadonlyMap<string, string>;
  isMultiple: boolean;
  /** The next question, which ends this one's answer in a result's text. */
  next?: string;
}

function questionsOf({ call, outcome }: Answered): Question[] {
  const asked = [outcome, call.input].map((from) =>
    isObject(from) && Array.isArray(from.questions) ? from.questions : [],
  );
  const questions = objectsOf(asked.find((list) => list.length > 0));
  return questions.map((question, at) => {
    const options = objectsOf(question.options).flatMap(({ label, description }): [string, string][] =>
      typeof label === 'string' ? [[label, textOf(description)?.trim() ?? '']] : [],
    );
    const next = questions[at + 1];
    return {
      text: textOf(question.question) ?? '',
      labels: options.map(([label]) => label),
      meanings: new Map(options),
      isMultiple: question.multiSelect === true || question.multiple === true,
      next: next && (textOf(next.question) ?? ''),
    };
  });
}

function answerTo(question: Question, { call, result, outcome }: Answered): Part[] {
  const { answers, annotations } = isObject(outcome) ? outcome : ({} as JsonObject);
  const inText = isObject(answers) ? {} : answerInText(question, result.text);
  const given = isObject(answers) ? answers[question.text] : inText.answer;
  const annotation = isObject(annotations) ? annotations[question.text] : undefined;
  const notes = isObject(annotation) ? textOf(annotation.notes) : inText.notes;
  return choicesIn(question, stringsIn(given).join(', '), { call, notes });
}

function choicesIn(
  question: Question,
  answer = '',
  { call, notes = '' }: { call?: Call; notes?: string } = {},
): Part[] {
  const { chosen, typed } = splitAnswer(answer.trim(), question);
  const means = chosen.map((label) => question.meanings.get(label) ?? '').filter((text) => text !== '');
  const own = typedParts([...new Set([typed.trim(), notes.trim()])]);
  if (chosen.length > 0) return [choiceOf(question.text, chosen.join(', '), means.join('; ')), ...own];
  return own.length === 0 || !call ? own : [{ ...call, input: { question: question.text } }, ...own];
}

/** Which labels an answer names, and what else: of several choices, which are joined by commas, what is no label. */
function splitAnswer(answer: string, { labels, isMultiple }: Question): { chosen: string[]; typed: string } {
  if (labels.includes(answer)) return { chosen: [answer], typed: '' };
  if (!isMultiple) return { chosen: [], typed: answer };
  let rest = `, ${answer}, `;
  const chosen = labels
    .toSorted((a, b) => b.length - a.length)
    .filter((label) => {
      const before = rest;
      rest = rest.replace(`, ${label}, `, () => ', ');
      return rest !== before;
    });
  return {
    chosen: labels.filter((label) => chosen.includes(label)),
    typed: rest.replace(/^(, )+|(, )+$/g, ''),
  };
}

const ANSWERED = /^(?:User has answered your questions|Your questions have been answered): /;
const END = /\. You can now continue with (?:the user's|these) answers in mind\.\s*$/;

/**
 * Without a structured record of the answers, the result's text tells them: `"question"="answer"`, what was
 * previewed, what was noted, and then the next question or the end.
 */
function answerInText({ text: question, next }: Question, text: string): { answer?: string; notes?: string } {
  const begin = ANSWERED.test(text) ? text.indexOf(`"${question}"="`) : -1;
  if (begin === -1) return {};
  const rest = text.slice(begin + question.length + 4).replace(END, '');
  const end = next === undefined ? -1 : rest.indexOf(`, "${next}"="`);
  const said = end === -1 ? rest : rest.slice(0, end);
  const marks = ['" selected preview:', '" user notes: '].map((mark) => said.indexOf(mark)).filter((at) => at !== -1);
  return {
    answer: marks.length > 0 ? said.slice(0, Math.min(...marks)) : said.replace(/"$/, ''),
    notes: /(?:"|\n| )user notes: ([\s\S]+)$/.exec(said)?.[1],
  };
}

/** What a person had answered before they wanted to clarify the questions. */
function answerBefore({ text: question }: Question, text: string): string | undefined {
  const asked = `- "${question}"\n  Answer: `;
  const at = text.indexOf(asked);
  return at === -1 ? undefined : /^[^\n]+/.exec(text.slice(at + asked.length))?.[0];
}
