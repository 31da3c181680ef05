// What a person typed where Claude Code writes a tool's result: an answer that was none of the options, a note beside
// one, the reason for which a call was rejected. An option was worded by the model, so choosing it is not typing.

import type { Part } from '../types.ts';
import { isObject, type JsonObject } from './format.ts';
import { textOf } from './values.ts';

type Call = Extract<Part, { kind: 'call' }>;
type Result = Extract<Part, { kind: 'result' }>;

/** The typed texts, each behind the question or the call that it answers; none where nobody typed. */
export function typedIn(result: Result, { call, outcome }: { call: Call; outcome: unknown }): Part[] {
  if (result.isError) {
    const reason = reasonIn(result.text);
    return reason === null ? [] : [call, { kind: 'text', text: reason }];
  }
  if (call.tool !== 'AskUserQuestion' || !isObject(outcome) || !isObject(outcome.answers)) return [];
  const questions = (Array.isArray(outcome.questions) ? outcome.questions : []).filter(isObject);
  return questions.flatMap((question): Part[] => {
    const asked = typeof question.question === 'string' ? question.question : '';
    const typed = typedFor(question, outcome);
    return typed.length === 0
      ? []
      : [
          { ...call, input: { question: asked } },
          { kind: 'text', text: typed.join('\n') },
        ];
  });
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

function typedFor(question: JsonObject, { answers, annotations }: JsonObject): string[] {
  const key = textOf(question.question) ?? '';
  const answer = isObject(answers) ? answers[key] : undefined;
  const labels = (Array.isArray(question.options) ? question.options : []).flatMap((option: unknown) =>
    isObject(option) && typeof option.label === 'string' ? [option.label] : [],
  );
  const annotation = isObject(annotations) ? annotations[key] : undefined;
  const notes = isObject(annotation) ? annotation.notes : undefined;
  const typed = [typeof answer === 'string' ? withoutLabels(answer, labels, question.multiSelect === true) : '', notes];
  return [...new Set(typed.filter((text) => typeof text === 'string').map((text) => text.trim()))].filter(Boolean);
}

/** Of several choices, which are joined by commas, what is no label; one choice is a label or typed whole. */
function withoutLabels(answer: string, labels: readonly string[], isMultiple: boolean): string {
  if (labels.includes(answer.trim())) return '';
  if (!isMultiple) return answer;
  let rest = `, ${answer}, `;
  for (const label of labels.toSorted((a, b) => b.length - a.length)) rest = rest.replace(`, ${label}, `, ', ');
  return rest.replace(/^(, )+|(, )+$/g, '');
}
