// Reads again the turns that sorting found to be shown, and makes their excerpts one at a time, so that of a session of
// any size no more is held than the excerpt that is being made.
// What was written into the file meanwhile is left for the next extraction; a file that was rewritten is a `conflict`.

import { AppError } from '../../src/base/errors.ts';
import { redact } from '../../src/base/text/redact.ts';
import { buildExcerpts, type Excerpt, type ExcerptTurn } from '../../src/transcript/excerpt/excerpt.ts';
import type { Session } from '../../src/transcript/session.ts';
import { readTurns } from '../../src/transcript/turns.ts';
import { sayWrites } from '../../src/transcript/writes/memory-writes.ts';
import type { SortedTurns } from './pending-turns.ts';

export interface Shown {
  session: Pick<Session, 'path' | 'messages'>;
  sorted: Pick<SortedTurns, 'shown' | 'from'>;
}

/** The excerpts that the pending turns are shown in. */
export function excerptsOf(
  shown: Shown,
  { excerptTokens, zone, isNumbered }: { excerptTokens: number; zone: string; isNumbered?: boolean },
): AsyncGenerator<Excerpt> {
  const options = { ids: saidIds(shown), budgetTokens: excerptTokens, redact, zone, isNumbered };
  return buildExcerpts(() => readShown(shown), options);
}

function* saidIds({ sorted }: Shown): Generator<string> {
  for (const { turn } of sorted.shown) yield* turn.saidIds;
}

/** The turns themselves: those that are pending and their context. */
export async function* readShown({ session, sorted }: Shown): AsyncGenerator<ExcerptTurn> {
  const { shown, from } = sorted;
  let next = 0;
  if (shown.length === 0) return;
  for await (const turn of readTurns(session.messages(from))) {
    const wanted = shown[next];
    if (wanted?.turn.id !== turn.id) continue;
    const messages = turn.messages.slice(0, wanted.turn.messageIds.length);
    if (messages.some((message, at) => message.id !== wanted.turn.messageIds[at])) break;
    const said = messages.map((message) => sayWrites(message, wanted.writes));
    yield { turn: { ...turn, messages: said }, offeredFrom: wanted.offeredFrom };
    next += 1;
    if (next === shown.length) return;
  }
  throw new AppError('conflict', `${session.path} was rewritten while it was read.`, { remedy: 'Run it again.' });
}
