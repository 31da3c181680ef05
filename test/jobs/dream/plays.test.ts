// What readers answered in the place of a model, played again, and days of one repository with a model that keeps all that is said
// and judges nothing: entries and topics are those that an earlier nocturne made of them (plays-before.json: their
// number and their hash, taken at its last commit; of all eight days since lines of another person bear their name, and one that
// later calls did is marked as what may be over).

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cassetteNames, readCassette, wholeCassette } from '../../eval/reference/cassette.ts';
import { replay } from '../../eval/reference/replay.ts';
import { sized, waysTaken } from '../../support/depth.ts';
import { ENGINE_TAKEN, skipped } from '../../support/memory-world.ts';
import { startMessagesServer } from '../../support/messages-server.ts';
import { playedHouse } from '../../support/played-house.ts';
import { answer, type Taken } from '../../support/scripted-model.ts';
import { hasReal, real } from '../../support/transcripts.ts';

interface Told {
  entries?: number;
  lines: number;
  sha: string;
}

const BEFORE: { plays: Record<string, Told>; days: Record<string, Told> } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'plays-before.json'), 'utf8'),
);

const REAL = 'claude-code/entireio+git-sync';
/** As in test/eval/days/play.sh. */
const DAYS: [day: string, file: string][] = [
  ['2026-04-30', join(real, REAL, '88db7fea-797f-49be-9036-c762ae804ce0.jsonl')],
  ['2026-06-18', join(real, REAL, '76731dd6-65de-4d92-be87-716b3e380099.jsonl')],
  ['2026-06-19', join(real, REAL, '4f8f5e9b-9f90-4c22-88b9-988c55f45833.jsonl')],
  ...[22, 23, 24, 25, 26].map((day, at): [string, string] => [
    `2026-06-${day}`,
    join(import.meta.dirname, `../../eval/days/${at + 4}.jsonl`),
  ]),
];

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const why = skipped(engine);

  const played = cassetteNames().flatMap((name) =>
    [...Map.groupBy(readCassette(name), ({ session }) => session)].map(([session, lines]) => ({
      name,
      session,
      lines,
    })),
  );
  test.skipIf(why !== '' || !hasReal).each(waysTaken(played, 0, 12))(
    'the play $name says the same of session $session',
    async ({ name, session, lines }) => {
      const { entries, lines: said } = await replay(session, wholeCassette(lines), { house: playedHouse(engine) });
      const told = { entries: entries.length, lines: said.length, sha: hashOf([entries, said.toSorted()]) };
      expect(told).toEqual(BEFORE.plays[`${name}/${session}`]);
    },
  );

  test.skipIf(why !== '')('eight days of one repository end in the same topics', async () => {
    const server = await startMessagesServer(({ messages, tools }) => answer({ messages, tools }, takeAll));
    const { access } = server;
    let now = new Date();
    const house = await playedHouse(engine)({ access, excerptTokens: 12_000, now: () => now });
    const lines: string[] = [];
    const [key, days] = sized({
      quick: ['two', DAYS.slice(-2)],
      deep: hasReal ? ['all', DAYS] : ['own', DAYS.slice(3)],
    }) as [string, typeof DAYS];
    for (const [day, file] of days) {
      now = new Date(`${day}T22:30:00Z`);
      await house.extract(file);
      now = new Date(now.getTime() + 5 * 3_600_000);
      await house.dream();
      lines.push(...(await house.lines()).map((line) => `${day}: ${line}`));
    }
    await house.close();
    await server.close();
    expect({ lines: lines.length, sha: hashOf(lines) }).toEqual(BEFORE.days[key]);
    expect(lines.length).toBeGreaterThan(20);
  });
});

/** What a model takes that keeps every statement of a few words, as it was said. */
function takeAll(said: string): Taken[] {
  const sentences = said.split(/(?<=[.!?])\s+|\n+/).filter((each) => /^\p{L}\S*(?: \S+){4,30}$/u.test(each));
  return sentences.map((text) => ({
    quote: text,
    text,
    type: /^(?:never|always|use|do)/i.test(text) ? 'feedback' : 'project',
  }));
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}
