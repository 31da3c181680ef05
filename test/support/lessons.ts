// Sessions in few words, and what the checks of an extraction say of a lesson that a model proposes of one.

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
      redact: asIs,
    },
  );
  return 'problem' in checked ? checked.problem : checked;
}
