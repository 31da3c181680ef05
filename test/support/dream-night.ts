// A night as a dream's tests write it: entries and topics in short, as the model is shown them and as the checks know them.

import { renderPrompt } from '../../src/base/prompt.ts';
import type { DreamContext, KnownEntry, KnownTopic } from '../../src/memory/dream/operations.ts';
import type { MemoryType } from '../../src/memory/types.ts';

export interface Given {
  id: string;
  type?: MemoryType;
  strength?: 'stated' | 'implied';
  at?: string;
  /** Default: one of its own. */
  session?: string;
  text: string;
}

export interface Night {
  entries?: Given[];
  withdrawn?: Given[];
  /** Rows as the model is shown them. */
  topics?: string[];
  others?: string[];
}

const full = (entry: Given) => ({
  type: 'feedback',
  strength: 'stated',
  at: '2026-10-07T10:00:00.000Z',
  quotes: [],
  by: 'human',
  session: entry.id,
  ...entry,
});
export const jsonLines = (entries: Given[] = []) =>
  entries.map((entry) => JSON.stringify(full(entry))).join('\n') || 'none';

export async function inputOf(night: Night): Promise<string> {
  const values = {
    today: '2026-10-08',
    instructions: 'none',
    sessions: 'none',
    entries: jsonLines(night.entries),
    withdrawn: jsonLines(night.withdrawn),
    topics: night.topics?.join('\n') ?? 'none',
    others: night.others?.join('\n') ?? 'none',
  };
  return (await renderPrompt('dream-input', values)).text;
}

/** What the checks know of such a night: the same topics and lines, none of them pinned. */
export function contextOf({ entries = [], withdrawn = [], topics = [], others = [] }: Night): DreamContext {
  const known = (
    { id, text, strength = 'stated', session = id, at = '2026-10-07T10:00:00.000Z' }: Given,
    isWithdrawn: boolean,
  ): [string, KnownEntry] => [
    id,
    { id, type: 'feedback', at, by: 'human', session, strength, text, quotes: [], isWithdrawn },
  ];
  const context: DreamContext = {
    entries: new Map([...entries.map((entry) => known(entry, false)), ...withdrawn.map((entry) => known(entry, true))]),
    topics: new Map(),
  };
  let lines: KnownTopic['lines'] = new Map();
  for (const row of [...others.map((other) => `### ${other.replace(' (', '.md (')}`), ...topics]) {
    const [, name, type] = /^### (.+)\.md \((\w+)\)/.exec(row) ?? [];
    const [, id, person, text] = /^\[(\w{8})( person)?.*?\] (.*)$/.exec(row) ?? [];
    if (name) {
      lines = new Map();
      context.topics.set(name, {
        name,
        path: `${name}.md`,
        type: type as MemoryType,
        isPinned: false,
        bytes: 0,
        lines,
      });
    }
    if (id) lines.set(id, { text: text ?? '', isPersons: person !== undefined });
  }
  return context;
}
