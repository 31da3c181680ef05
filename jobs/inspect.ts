// Inspect: what an extraction of a transcript would do now, without a model and without changing anything.
//
// 1. Sort the session's turns by the ledger, where there is one, counting who speaks on the way.
// 2. Build the excerpts that the pending turns would be shown in.
// 3. Say of everything else why it is skipped.

import type { Coverage } from '../src/memory/ledger/coverage.ts';
import type { Ledger } from '../src/memory/ledger/ledger.ts';
import type { Session } from '../src/transcript/session.ts';
import type { Message, Speaker } from '../src/transcript/types.ts';
import { excerptsOf } from './extract/show.ts';
import { type PartOfTurn, sortTurns, type TurnState } from './extract/sort-turns.ts';

interface InspectRequest {
  session: Session;
  /** Take the session as ended, so that its last turn is settled too. */
  ended: boolean;
}

interface InspectDeps {
  memoryDir: string;
  /** The memory directories on this disk that its agent may write to. Default: `memoryDir` alone. */
  memories?: readonly string[];
  /** Null where nocturne never worked in the memory directory. */
  ledger: Ledger | null;
  now: Date;
  zone: string;
  quietMs: number;
  /** What was said before this instant was declined; ISO-8601. */
  declinedBefore?: string;
  /** Rows of the ledger that no longer count. Default: all count. */
  isRetaken?(row: Coverage): boolean;
  excerptTokens: number;
}

export interface Inspection {
  transcript: string;
  format: string;
  session: string;
  cwd: string | null;
  sizeBytes: number;
  modifiedAt: string;
  /** Where its memory is kept, or would be. */
  memory: string;
  /** Messages by who said them. */
  speakers: Partial<Record<Speaker, number>>;
  /** `parts`: of a turn whose messages are not all of one fate, or that a write of the main agent covers. */
  turns: { id: string; at: string | null; state: TurnState; parts?: PartOfTurn[] }[];
  offered: {
    turns: number;
    messages: number;
    /** Of all excerpts, estimated on the high side. */
    tokens: number;
    excerpts: { tokens: number; messages: { id: string; speaker: Speaker; isContext: boolean }[] }[];
  };
  /** `parts`: of turns that became something else. */
  skipped: { what: 'lines' | 'turns' | 'parts' | 'messages'; count: number; why: string }[];
}

export async function inspect({ session, ended }: InspectRequest, deps: InspectDeps): Promise<Inspection> {
  // 1.
  const speakers: Inspection['speakers'] = {};
  let abandoned = 0;
  const turnsAt = new Map<string, string | null>();
  async function* counted(): AsyncGenerator<Message> {
    for await (const message of session.messages()) {
      if (message.isAbandoned) abandoned += 1;
      speakers[message.speaker] = (speakers[message.speaker] ?? 0) + 1;
      // A turn is known by its prompt, the first one perhaps by what precedes it.
      if (message.beginsTurn || turnsAt.size === 0) turnsAt.set(message.id, message.at ?? null);
      yield message;
    }
  }
  const sorted = await sortTurns(
    { id: session.id, cwd: session.cwd, modifiedAt: session.modifiedAt, messages: counted },
    { ...deps, memories: deps.memories ?? [deps.memoryDir], ended, reopened: new Set() },
  );
  const turns = [...sorted.states].map(([id, state]) => {
    const parts = sorted.parts.get(id);
    return { id, at: turnsAt.get(id) ?? null, state, ...(parts ? { parts } : {}) };
  });
  const { unreadableLines } = session;
  // 2.
  const excerpts: Inspection['offered']['excerpts'] = [];
  for await (const { tokens, sources } of excerptsOf(sorted, deps)) {
    const messages = [...sources.values()].map(({ id, speaker, offered }) => ({ id, speaker, isContext: !offered }));
    excerpts.push({ tokens, messages });
  }
  const shownMessages = excerpts.reduce(
    (sum, { messages }) => sum + messages.filter(({ isContext }) => !isContext).length,
    0,
  );
  // 3.
  const pendingMessages = [...sorted.pending.values()].reduce((sum, { newMessages }) => sum + newMessages, 0);
  const skipped: Inspection['skipped'] = [
    { what: 'lines', count: unreadableLines, why: 'they cannot be read' },
    ...[...Map.groupBy(turns, ({ state }) => state)].map(([state, { length }]) => ({
      what: 'turns' as const,
      count: state === 'pending' ? 0 : length,
      why: WHY_SKIPPED[state],
    })),
    ...[...Map.groupBy(turns.flatMap(partsApart), ({ state }) => state)].map(([state, { length }]) => ({
      what: 'parts' as const,
      count: length,
      why: WHY_SKIPPED[state],
    })),
    { what: 'turns', count: sorted.later, why: 'more than 64 MB wait, and they come after that' },
    { what: 'messages', count: abandoned, why: 'abandoned: the session went back to before they were said' },
    {
      what: 'messages',
      count: (speakers.harness ?? 0) - abandoned,
      why: 'the program wrote them, not a person or an agent',
    },
    { what: 'messages', count: pendingMessages - shownMessages, why: 'they say nothing, or the budget is spent' },
  ];
  const { path: transcript, format, id, cwd, sizeBytes, modifiedAt } = session;
  return {
    transcript,
    format,
    session: id,
    cwd: cwd ?? null,
    sizeBytes,
    modifiedAt,
    memory: deps.memoryDir,
    speakers,
    turns,
    offered: {
      turns: sorted.pending.size,
      messages: shownMessages,
      tokens: excerpts.reduce((sum, { tokens }) => sum + tokens, 0),
      excerpts,
    },
    skipped: skipped.filter(({ count }) => count > 0),
  };
}

/** The parts of a turn that are skipped and became something else than the turn. */
function partsApart({ state, parts = [] }: Inspection['turns'][number]): PartOfTurn[] {
  return parts.filter((part) => part.state !== state && part.state !== 'pending');
}

/** Why a turn in that state would not be shown to the model now; empty for a pending one. */
export const WHY_SKIPPED: Record<TurnState, string> = {
  pending: '',
  open: 'they may still go on',
  'taken-back': 'abandoned: an edited prompt was sent in their place',
  own: "they are nocturne's own agent at work",
  recorded: 'they were extracted before',
  nothing: 'they were extracted before, and nothing in them was worth keeping',
  'main-agent': 'the main agent itself wrote them down in a memory',
  private: 'something in them is marked as private',
  'gave-up': 'extracting them failed, and was given up',
  assumed: 'they were extracted before the ledger was lost',
  undone: 'their extraction was undone',
  declined: 'they are from before nocturne was set up, and were declined',
};
