// Nights that are sent as a Message Batch: a memory directory with things to dream over, the doors that work it at any
// instant, and a model that keeps every entry as it is.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allEntries } from '../../../src/memory/ledger/entries.ts';
import { putInInbox } from '../../../src/memory/ledger/inbox.ts';
import type { MemoryType } from '../../../src/memory/types.ts';
import { type TestApp, testApp, testModel } from '../../support/app.ts';
import { laterApp, workDue } from '../../support/due-work.ts';
import type { MessagesServer, ModelReply } from '../../support/messages-server.ts';
import { entriesShown, obey } from '../../support/obedient.ts';

export const NIGHT = '2026-11-21T02:00:00.000Z';
const SETTINGS = {
  dreamBatch: true,
  prices: { 'test-model': { input: 4, cacheRead: 1, cacheWrite: 8, output: 20 } },
};

export interface BatchedNight {
  model: MessagesServer;
  testing: TestApp;
  /** The same directory, as a process sees it that begins so many minutes later. */
  after(minutes: number): Promise<TestApp>;
}

/** Keeps each entry as a line of the topic of its type. */
export const keepAll = obey({
  propose: (request) =>
    entriesShown(request).map(({ id, text }) => ({
      kind: 'add',
      entries: [id],
      topic: 'rules',
      type: 'feedback',
      description: 'What holds',
      lines: [{ text, entries: [id] }],
      reason: 'New.',
    })),
});

/** A directory in which these words wait for the night, and the night in its inbox. */
export async function batchedNight(
  words: string[],
  {
    settings = {},
    reply = keepAll,
  }: { settings?: object; reply?: (request: Parameters<typeof keepAll>[0]) => ModelReply } = {},
): Promise<BatchedNight> {
  const model = await testModel((request) => reply(request));
  const testing = await testApp({ server: model, settings: { ...SETTINGS, ...settings }, now: NIGHT });
  await rememberAll(testing, words);
  beginNight(testing);
  return {
    model,
    testing,
    after: (minutes) => laterApp(testing, Date.parse(NIGHT) + minutes * 60_000, { server: model }),
  };
}

export async function rememberAll(
  { app, store }: TestApp,
  words: string[],
  type: MemoryType = 'feedback',
): Promise<void> {
  for (const text of words) await app.remember(store, { text, type });
}

/** Puts the nightly dream into the inbox. */
export function beginNight({ app, store }: TestApp): void {
  const notBefore = app.config.clock.now().toISOString();
  putInInbox(store.ledger, { kind: 'dream', key: 'dream', payload: { isNightly: true }, notBefore });
}

/** Works what is due; answers `key outcome` of each. */
export async function work(testing: TestApp): Promise<string[]> {
  return (await workDue(testing)).map(({ key, outcome }) => `${key} ${outcome}`);
}

/** The lines of the topic, in the order of the alphabet. */
export function linesOf({ dir }: Pick<TestApp, 'dir'>, topic = 'rules'): string[] {
  return readFileSync(join(dir, `${topic}.md`), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .sort();
}

export function statesOf({ store }: TestApp): string[] {
  return allEntries(store.ledger).map(({ state }) => state);
}

/** In how many operations of reports each entry is. */
export function timesTold({ dir }: Pick<TestApp, 'dir'>, days: string[]): number[] {
  const rows = days.flatMap((day) => readReport(dir, day));
  return [...Map.groupBy(rows, ({ entry }) => entry).values()].map((list) => list.length);
}

function readReport(dir: string, day: string): { entry: string }[] {
  return JSON.parse(readFileSync(join(dir, '.nocturne', 'dreams', `${day}.json`), 'utf8'));
}
