// A long memory: night after night sessions are learned and dreamt with a model that makes things up. After each night the laws hold, and
// nothing grows faster than what it is about. `npm run long` lives a hundred nights and prints sizes and times; here it is a few.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import { expect, test } from 'vitest';
import { dream } from '../../jobs/dream.ts';
import { dropOld } from '../../src/memory/versions.ts';
import { broken } from '../laws/laws.ts';
import type { Lived } from '../laws/lived-plan.ts';
import { sized } from '../support/depth.ts';
import { extractInto } from '../support/job-world.ts';
import { ENGINE_TAKEN, ENGINES, inWorld, skipped } from '../support/memory-world.ts';
import { startMessagesServer } from '../support/messages-server.ts';
import { dreamDeps } from '../support/night-world.ts';
import { seeded } from '../support/random.ts';
import { aSession } from '../support/session-file.ts';
import { generatingModel } from './generating-model.ts';

const NIGHTS = Number(process.env.LONG ?? sized({ quick: 3, deep: 10 }));
const SESSIONS_A_NIGHT = 3;
const PARTS = 'billing search mail login export import report queue cache audit gateway index'.split(' ');
const ACTS = ['Always run', 'Never skip', 'Keep', 'Prefer', 'Check', 'Rebuild'];

interface Night {
  night: number;
  extractMs: number;
  dreamMs: number;
  entries: number;
  lines: number;
  versions: number;
  megabytes: number;
  heapMb: number;
}

test.each((process.env.LONG ? ENGINES : ENGINE_TAKEN).filter((engine) => skipped(engine) === ''))(
  'a long memory keeps its laws, and grows with what it holds, on %s',
  async (engine) => {
    let now = new Date('2026-01-05T20:00:00Z');
    const random = seeded(engine === 'sqlite' ? 7 : 11);
    const { pick } = random;
    const server = await startMessagesServer(generatingModel(random));
    const nights: Night[] = [];
    try {
      await inWorld(
        engine,
        async (world) => {
          const { row, dir } = await world.withDirectory();
          let sentence = 0;
          const say = () => {
            sentence += 1;
            const part = pick(PARTS);
            return `${pick(ACTS)} the ${pick(PARTS)} step ${sentence} of part ${part} before release ${sentence % 90}.`;
          };
          for (let night = 1; night <= NIGHTS; night += 1) {
            const start = performance.now();
            for (let n = 0; n < SESSIONS_A_NIGHT; n += 1) {
              // Its first digits are those of its turns.
              const id = `${String(night * SESSIONS_A_NIGHT + n).padStart(4, '0')}1111-2222-4333-8444-555555555555`;
              const prompts = Array.from({ length: 7 }, () => `${say()} ${say()}`);
              const session = aSession(prompts, { id, startsAt: now.toISOString() });
              await extractInto(row, world, { transcript: session.path }, { server });
            }
            const extracted = performance.now();
            now = addDays(now, 1);
            const report = await dream({ startedBy: 'person' }, dreamDeps(world, row, { server }));
            expect(['dreamed', 'nothing-new']).toContain(report.outcome);
            const dreamt = performance.now();
            await dropOld(world.db, { now, versionDays: 30, versionsKept: 10 });
            const lived = { world, memories: world.memories, row, dir } as unknown as Lived;
            const model = { said: [], byHand: new Set<string>(), redacted: [], wrong: [] };
            expect(await broken({ ...lived, ...model })).toEqual([]);
            const count = async (table: string) =>
              (await world.db.get<{ n: number }>(`select count(*) as n from ${table} where memory = ?`, row.id))?.n ??
              0;
            const bytes = engine === 'sqlite' ? statSync(join(world.home, 'nocturne.db')).size : 0;
            nights.push({
              ...{ night, extractMs: extracted - start, dreamMs: dreamt - extracted },
              ...{ entries: await count('entry'), lines: await count('line'), versions: await count('version') },
              ...{ megabytes: bytes / 2 ** 20, heapMb: process.memoryUsage().heapUsed / 2 ** 20 },
            });
          }
        },
        { clock: { now: () => now } },
      );
    } finally {
      await server.close();
    }
    for (const { night, ...of } of nights.filter(({ night }) => [1, Math.ceil(NIGHTS / 2), NIGHTS].includes(night)))
      console.log(
        `${engine}, night ${night}: ${Object.entries(of)
          .map(([name, value]) => `${name} ${value.toFixed(0)}`)
          .join(', ')}`,
      );
    expect(nights.at(-1)?.entries).toBeGreaterThan(10 * NIGHTS);
  },
  process.env.LONG ? 3_600_000 : undefined,
);
