// What passes as a person's word that no person said: inventions on harmless words, turned words, and words of others in
// the guise of the person's, by the checks that an extraction's entries go through. Counted by kind.

import { expect, test } from 'vitest';
import { entriesWhere } from '../../src/memory/entries.ts';
import type { EvidenceSource } from '../../src/rules/candidate.ts';
import { checkEntry } from '../../src/rules/entry-rules.ts';
import { CARRIED_SHARE, carriedShare } from '../../src/rules/words.ts';
import { waysTaken } from '../support/depth.ts';
import { extractInto } from '../support/job-world.ts';
import { openWorld } from '../support/memory-world.ts';
import { startMessagesServer } from '../support/messages-server.ts';
import { messagesBy, obey } from '../support/obedient.ts';
import { transcriptOf } from '../support/transcripts.ts';
import { INVENTIONS, type Invention, OWN, TRICKS, type Trick } from './attack-cases.ts';

/** How many are kept at most, by kind; what is not named: none. */
const MOST_INVENTIONS: Record<string, number> = {
  'turned: who': 23,
  'turned: what': 23,
  'turned: whether': 23,
  'turned: when': 23,
  'as a habit': 88,
};
const MOST_TRICKS: Record<string, number> = {
  'a paste in another language': 2,
  'a paste in a language without a row': 5,
  "a program's record": 1,
};

/** Whether an entry that rests on all that a person said in one message is let through. */
async function isTaken({ strength, said, text }: Invention): Promise<boolean> {
  const message = (id: string, speaker: string, words: string): EvidenceSource => {
    return { id, turn: 'turn-1', speaker, text: words, offered: true };
  };
  const messages = [message('human-01', 'human', said), message('agent-01', 'assistant', 'Done.')];
  const found = await checkEntry(
    { type: 'feedback', strength, text, evidence: [{ message: 'human-01', quote: said }] },
    {
      find: (id) => messages.find((each) => each.id === id),
      messages: () => messages,
      redact: async (words) => ({ text: words }),
    },
  );
  return !('problem' in found);
}

/** Whether an extraction keeps the words as a person's where they are recorded of every message, in each way. */
async function isKept({ file, name, says, quote }: Trick): Promise<boolean> {
  const record = (request: Parameters<typeof messagesBy>[0]) =>
    ['human', 'tool', 'harness', 'subagent'].flatMap((speaker) =>
      messagesBy(request, speaker).flatMap((message) =>
        ['feedback', 'project'].map((type) => {
          return { type, strength: 'stated', text: says, evidence: [{ message, quote }] };
        }),
      ),
    );
  const server = await startMessagesServer(obey({ record }));
  const { world, close } = await openWorld('sqlite');
  try {
    const { row } = await world.withDirectory();
    await extractInto(row, world, { transcript: transcriptOf(file, name) }, { server });
    return (await entriesWhere(world.db, row.id)).some(
      ({ type, by }) => type === 'feedback' || type === 'user' || by === 'human',
    );
  } finally {
    await close();
    await server.close();
  }
}

/** Each is an extraction: in the small size every so many, by seed. */
const taken = <T>(all: T[], every: number): T[] => waysTaken(all, 1, every);

/** How many are kept, by kind and in all; what is kept of a kind of which more are than are known. */
async function count<Case extends { kind: string }>(
  cases: Case[],
  {
    isIn,
    most,
    nameOf,
  }: { isIn(each: Case): Promise<boolean>; most: Record<string, number>; nameOf(each: Case): string },
) {
  const beyond: string[] = [];
  for (const [kind, of] of Map.groupBy(cases, (each) => each.kind)) {
    const kept: string[] = [];
    for (const each of of) if (await isIn(each)) kept.push(nameOf(each));
    console.info(`${kind}: ${kept.length} of ${of.length} kept`);
    if (kept.length > (most[kind] ?? 0)) beyond.push(...kept.map((name) => `${kind}: ${name}`));
  }
  return beyond;
}

test('there are as many as are asked for, and of those with some words of the line each has between 0.6 and 0.95 of the share', () => {
  const counts = Map.groupBy(INVENTIONS, ({ kind }) => kind.replace(/:.*/, ''));
  expect(Object.fromEntries([...counts].map(([kind, of]) => [kind, of.length]))).toEqual({
    'on a harmless line': 100,
    'with some words of the line': 100,
    turned: 100,
    'as a habit': 100,
  });
  const near = counts.get('with some words of the line') ?? [];
  const shares = near.map(({ text, said }) => carriedShare(text, [said]) / CARRIED_SHARE);
  expect(shares.filter((share) => share < 0.6 || share > 0.95)).toEqual([]);
  expect(new Set(INVENTIONS.map(({ said, text }) => `${said}\n${text}`)).size).toBe(400);
  expect(TRICKS.length).toBeGreaterThanOrEqual(120);
  expect(new Set(TRICKS.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(12);
});

test('of inventions no more are kept than are known', async () => {
  expect(
    await count(INVENTIONS, { isIn: isTaken, most: MOST_INVENTIONS, nameOf: ({ said, text }) => `${text} ⟵ ${said}` }),
  ).toEqual([]);
});

test("of others' words in the guise of the person's no more are kept than are known", async () => {
  expect(await count(taken(TRICKS, 12), { isIn: isKept, most: MOST_TRICKS, nameOf: ({ what }) => what })).toEqual([]);
});

test('what a person types is kept', async () => {
  const lost: string[] = [];
  for (const each of taken(OWN, 3)) if (!(await isKept(each))) lost.push(each.says);
  expect(lost).toEqual([]);
});
