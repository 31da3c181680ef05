// Sessions in few words, and what the checks of an extraction say of a lesson that a model proposes of one.

import { expect } from 'vitest';
import type { FoundEntry, ProposedEntry } from '../../src/rules/candidate.ts';
import { checkEntry } from '../../src/rules/entry-rules.ts';
import { findSource } from '../../src/transcript/excerpt/excerpt.ts';
import type { Message } from '../../src/transcript/messages.ts';
import { asIs, buildOne, call, message, result, turn } from './turns.ts';

/** What a person or the agent says; a command with what it printed, `failed` by its tool's mark; another tool's call. */
export type Step =
  | { human: string }
  | { says: string }
  | { sub: string; prints: string; failed?: boolean }
  | { run: string; prints: string; failed?: boolean; unmarked?: true }
  | { tool: string; input: object; prints: string; failed?: boolean };

/** What a step's messages are called: `m3` says it or makes the call, `r3` is the result. */
const idOf = (letter: string, at: number) => `${letter}${at}-aaaaaa`;

function messagesOf(step: Step, at: number): Message[] {
  const [own, other] = [idOf('m', at), idOf('r', at)];
  if ('human' in step) return [message(own, 'human', [step.human], { beginsTurn: at === 0 })];
  if ('says' in step) return [message(own, 'assistant', [step.says])];
  const isSidechain = 'sub' in step;
  const [tool, input] =
    'tool' in step ? [step.tool, step.input] : ['Bash', { command: 'sub' in step ? step.sub : step.run }];
  const told = result(step.prints, step.failed ?? false, `c${at}`);
  const isUnmarked = 'unmarked' in step;
  return [
    message(own, isSidechain ? 'subagent' : 'assistant', [call(tool, input, `c${at}`)], { isSidechain }),
    message(other, 'tool', [isUnmarked ? ({ ...told, isUnmarked } as typeof told) : told], { isSidechain }),
  ];
}

export interface Proposed extends Partial<Omit<ProposedEntry, 'evidence'>> {
  text: string;
  found: ProposedEntry['found'];
  /** By the name of a step's message. */
  evidence: [message: string, quote: string][];
}

const excerptOf = (steps: Step[]) => buildOne([turn(steps.flatMap(messagesOf))], 12_000);

export const triedIn = async (steps: Step[]) => (await excerptOf(steps)).tried;

/** The entry as it is kept, or the sentence that refuses it. */
export async function proposed(
  steps: Step[],
  { evidence, ...entry }: Proposed,
  { told = [] }: { told?: string[] } = {},
): Promise<FoundEntry | string> {
  const excerpt = await excerptOf(steps);
  const named = evidence.map(([name, quote]) => ({ message: idOf(name[0] ?? '', Number(name.slice(1))), quote }));
  const checked = await checkEntry(
    { type: 'project', strength: 'implied', ...entry, evidence: named },
    {
      find: (id) => findSource(excerpt, id),
      messages: () => excerpt.sources.values(),
      tried: () => excerpt.tried,
      told,
      isRemembered: (text) => told.includes(text),
      redact: asIs,
    },
  );
  return 'problem' in checked ? checked.problem : checked;
}

export interface LessonCase {
  steps: Step[];
  entry: Proposed;
  told: string[];
  isKept: boolean;
  /** What the refusal says. */
  says: string[];
}

/**
 * Cases as text, in blocks: a name; a session: `>` a person says, `.` the agent says, `$` a command that went well, `!` one that
 * failed, ` → ` and what it printed; `@` before the sign: another tool's call, `~`: a subagent's, `?` behind it: without a mark;
 * then an entry of its kind that is kept, `+`, or refused, `-`, with the message of each quote behind `‖`, or `the same` as before;
 * `=` what the refusal says, or the text that is kept. Before an entry may stand what it has besides (`type`, `again`, `changes`, `strength`), or a line that the session was
 * `told`. Where no person begins, one asks for something. Further entries may be of the same session, or of another.
 */
export function lessonCases(text: string): [name: string, LessonCase][] {
  return text
    .trim()
    .split(/\n\n+/)
    .flatMap((block) => {
      const [name = '', ...rows] = block.split('\n').filter((row) => !row.startsWith('#'));
      const cases: [string, LessonCase][] = [];
      let steps: Step[] = [];
      let more: { told: string[]; entry: Partial<Proposed> } = { told: [], entry: {} };
      for (const row of rows.map((each) => each.replaceAll('\\n', '\n'))) {
        const [, kind = '', said = ''] = /^(\S+) (.*)$/s.exec(row) ?? [];
        if (kind === '=') cases.at(-1)?.[1].says.push(said);
        else if (kind === 'told') more.told.push(said);
        else if (/^\w/.test(kind)) more.entry = { ...more.entry, [kind]: said };
        else if (kind === '+' || kind === '-') {
          const before = said === 'the same' ? cases.at(-1)?.[1].entry : undefined;
          const { found, text, evidence } = before ?? entryIn(said);
          const entry = { found, text, evidence, ...more.entry };
          cases.push([
            cases.length > 0 ? `${name}: ${text}` : name,
            { steps, entry, told: more.told, isKept: kind === '+', says: [] },
          ]);
          more = { told: [], entry: {} };
        } else {
          if (cases.at(-1)?.[1].steps === steps) steps = [];
          if (steps.length === 0 && kind !== '>') steps.push({ human: 'Make the api tests run, please' });
          steps.push(stepIn(kind, said));
        }
      }
      return cases;
    });
}

function stepIn(kind: string, said: string): Step {
  if (kind === '>') return { human: said };
  if (kind === '.') return { says: said };
  const [does = '', prints = 'ok, all is well'] = said.split(/ → (.*)/s);
  const ended = { prints, failed: kind.includes('!'), ...(kind.endsWith('?') && { unmarked: true as const }) };
  if (kind.startsWith('~')) return { sub: does, ...ended };
  if (!kind.startsWith('@')) return { run: does, ...ended };
  const [tool = '', input = '{}'] = does.split(/ (.*)/s);
  return { tool, input: JSON.parse(input.replaceAll('\n', '\\n')), ...ended };
}

function entryIn(said: string): Proposed {
  const [head = '', ...quotes] = said.split(' ‖ ');
  const [found, text = ''] = head.split(/ (.*)/s);
  const evidence = quotes.map((each) => each.split(/ (.*)/s).slice(0, 2) as [string, string]);
  return { found: found as Proposed['found'], text, evidence };
}

export async function expectJudged({ steps, entry, told, isKept, says }: LessonCase): Promise<void> {
  const found = await proposed(steps, entry, { told });
  expect(found).toEqual(
    isKept ? expect.objectContaining({ found: entry.found, strength: 'implied' }) : expect.any(String),
  );
  for (const words of says) expect(typeof found === 'string' ? found : found.text).toContain(words);
}
