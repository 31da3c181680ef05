// What a person said or decided where Claude Code writes a tool's result: an answer that was none of the options, a note
// beside one, the reason for which a call was rejected; and what they chose in a dialog, or that they approved a plan.
// What is typed stands behind the question or call that it answers. What is chosen is marked: a model worded it.

import type { Part } from '../types.ts';
import { isObject, type JsonObject } from './format.ts';
import { choiceOf } from './typed-answers.ts';
import { textOf } from './values.ts';

type Call = Extract<Part, { kind: 'call' }>;
type Result = Extract<Part, { kind: 'result' }>;

/** The tools of Claude Code and opencode that ask a person something. */
const DIALOGS: ReadonlySet<string> = new Set(['AskUserQuestion', 'question']);

/** Whether a person answers a call of the tool, not a program. */
export function asksPerson(tool: string): boolean {
  return DIALOGS.has(tool) || tool === 'ExitPlanMode';
}

interface Said {
  /** The plans that were approved. */
  plans: string[];
  /** What the person said, as the parts of one message; none where they said nothing. */
  parts: Part[];
}

/** What a person said to the calls whose results came; `callOf` answers each call once. */
export function saidToCalls(
  results: readonly Part[],
  { callOf, outcome }: { callOf(id: string): Call | undefined; outcome?: unknown },
): Said {
  const said: Said = { plans: [], parts: [] };
  for (const result of results) {
    const call = result.kind === 'result' ? callOf(result.callId) : undefined;
    if (result.kind !== 'result' || !call) continue;
    const plan = approvedPlan(result, { call, outcome });
    if (plan !== undefined) said.plans.push(plan);
    said.parts.push(...(plan === undefined ? answersIn(result, { call, outcome }) : approval()));
  }
  return said;
}

function answersIn(result: Result, { call, outcome }: { call: Call; outcome: unknown }): Part[] {
  if (DIALOGS.has(call.tool)) {
    const questions = questionsOf(call.input, outcome);
    if (!result.isError) return questions.flatMap((question) => answerTo(question, { call, result, outcome }));
    const given = result.text.startsWith(REJECTED) && result.text.includes(PUT_IN_PLACE);
    if (given) return questions.flatMap((question) => choicesIn(question, answerBefore(question, result.text)));
  }
  if (!result.isError) return [];
  const reason = reasonIn(result.text);
  return reason === null ? [] : [call, { kind: 'text', text: reason }];
}

/** The plan that a person approved; undefined where the result approves none. */
function approvedPlan(result: Result, { call, outcome }: { call: Call; outcome: unknown }): string | undefined {
  if (call.tool !== 'ExitPlanMode' || result.isError || !result.text.startsWith('User has approved')) return undefined;
  const written = /^## Approved Plan(?: \(edited by user\))?:\n([\s\S]+)/m.exec(result.text)?.[1];
  const input = isObject(call.input) ? call.input : {};
  return (isObject(outcome) ? textOf(outcome.plan) : undefined) ?? written ?? textOf(input.plan);
}

/** What a person who approved a plan said: that they did, and what they typed about it. */
export function approval(feedback?: string): Part[] {
  const typed: Part[] = feedback === undefined ? [] : [{ kind: 'text', text: feedback }];
  return [{ kind: 'text', text: 'approved the plan', untyped: 'chosen' }, ...typed];
}

/** What a person typed about the plan with which they began anew; the program writes it behind the plan. */
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
  const reason = text
    .slice(at + SAID.length)
    .replace(ADDED, '')
    .trim();
  return reason === '' || reason.startsWith(PUT_IN_PLACE) ? null : reason;
}

interface Question {
  text: string;
  labels: string[];
  /** What the question says of an option, by its label. */
  meanings: ReadonlyMap<string, string>;
  isMultiple: boolean;
  /** What stands before the next question's answer in a result's text. */
  next?: string;
}

function questionsOf(input: unknown, outcome: unknown): Question[] {
  const asked = [outcome, input].map((from) => (isObject(from) && Array.isArray(from.questions) ? from.questions : []));
  const questions = (asked.find((list) => list.length > 0) ?? []).filter(isObject).map((question) => {
    const options = (Array.isArray(question.options) ? question.options : [])
      .filter(isObject)
      .flatMap(({ label, description }): [string, string][] =>
        typeof label === 'string' ? [[label, textOf(description)?.trim() ?? '']] : [],
      );
    return {
      text: textOf(question.question) ?? '',
      labels: options.map(([label]) => label),
      meanings: new Map(options),
      isMultiple: question.multiSelect === true || question.multiple === true,
    };
  });
  return questions.map((question, at) => ({ ...question, next: questions[at + 1]?.text }));
}

interface Answered {
  call: Call;
  result: Result;
  outcome: unknown;
}

function answerTo(question: Question, { call, result, outcome }: Answered): Part[] {
  const { answers, annotations } = isObject(outcome) ? outcome : ({} as JsonObject);
  const given = isObject(answers) ? answers[question.text] : answerIn(question, result.text);
  const annotation = isObject(annotations) ? annotations[question.text] : undefined;
  const notes = isObject(annotation)
    ? annotation.notes
    : isObject(answers)
      ? undefined
      : notesIn(question, result.text);
  const answer = Array.isArray(given) ? given.filter((item) => typeof item === 'string').join(', ') : given;
  return choicesIn(question, typeof answer === 'string' ? answer : undefined, {
    call,
    notes: typeof notes === 'string' ? notes : undefined,
  });
}

function choicesIn(
  question: Question,
  answer: string | undefined,
  { call, notes }: { call?: Call; notes?: string } = {},
): Part[] {
  const { chosen, typed } = splitAnswer(answer?.trim() ?? '', question);
  const means = chosen.map((label) => question.meanings.get(label) ?? '').filter((text) => text !== '');
  const own = [...new Set([typed, notes?.trim() ?? ''])].filter((text) => text !== '');
  const texts = own.map((text): Part => ({ kind: 'text', text }));
  if (chosen.length > 0) return [choiceOf(question.text, chosen.join(', '), means.join('; ')), ...texts];
  return texts.length === 0 || !call ? texts : [{ ...call, input: { question: question.text } }, ...texts];
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

// Where no record of the answers stands beside it, the result's text tells them: `"question"="answer"`, what was
// previewed, what was noted, and then the next question or the end.
const ANSWERED = /^(?:User has answered your questions|Your questions have been answered): /;
const END = /\. You can now continue with (?:the user's|these) answers in mind\.\s*$/;

function saidTo({ text: question, next }: Question, text: string): string | undefined {
  const begin = ANSWERED.test(text) ? text.indexOf(`"${question}"="`) : -1;
  if (begin === -1) return undefined;
  const said = text.slice(begin + question.length + 4).replace(END, '');
  const end = next === undefined ? -1 : said.indexOf(`, "${next}"="`);
  return end === -1 ? said : said.slice(0, end);
}

function answerIn(question: Question, text: string): string | undefined {
  const said = saidTo(question, text);
  if (said === undefined) return undefined;
  const end = ['" selected preview:', '" user notes: '].map((mark) => said.indexOf(mark)).filter((at) => at !== -1);
  return end.length > 0 ? said.slice(0, Math.min(...end)) : said.replace(/"$/, '');
}

function notesIn(question: Question, text: string): string | undefined {
  const said = saidTo(question, text);
  return said === undefined ? undefined : /(?:"|\n| )user notes: ([\s\S]+)$/.exec(said)?.[1];
}

/** What a person had answered before they wanted to clarify the questions. */
function answerBefore({ text: question }: Question, text: string): string | undefined {
  const asked = `- "${question}"\n  Answer: `;
  const at = text.indexOf(asked);
  return at === -1 ? undefined : /^[^\n]+/.exec(text.slice(at + asked.length))?.[0];
}
