// The counted figures of docs/evidence.md and README, each against the command that made it, run again at its seed: tokens
// may differ by a tenth, as in write-cost.test.ts; what is lost, doubled, leaked or kept wrongly may not differ at all.
// The quick size measures what needs no installation, the deep one all of it. Timings are not compared.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runChaos } from './chaos/chaos.ts';
import { publishedPart, rowsIn } from './compare/evidence.ts';
import type { Compared } from './compare/report.ts';
import { evaluateOffline } from './eval/in-process.ts';
import { describeInMarkdown } from './eval/report.ts';
import { HELD_OUT } from './eval/sets.ts';
import { noOwnRedis } from './queue/own-redis.ts';
import { sized } from './support/depth.ts';
import { hasReal } from './support/transcripts.ts';

const AGAIN = 'npm run compare -- --publish writes docs/evidence.md anew';
/** What a machine's speed decides, or where in a run a kill came. */
const IS_TIMED = /^s a session|^facts lost|^facts doubled|^runs killed/;
const ROUGHLY = /tokens|USD|kB|requests per 100/;

test('what the systems cost, and what they keep that they should not, is as docs/evidence.md says', () => {
  const size = sized({
    quick: ['--only', 'nocturne', '--set', 'ours', '--kills', '0'],
    deep: ['--kills', '1', ...(hasReal ? [] : ['--set', 'ours'])],
  });
  const stdout = execFileSync(process.execPath, [join(import.meta.dirname, 'compare/main.ts'), '--json', ...size], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 2 ** 26,
  });
  const { systems, tables } = JSON.parse(stdout) as Compared;
  const published = publishedPart('compare').split(/^\*\*(?=.*\*\*$)/m);
  let compared = 0;
  for (const { title, columns } of tables) {
    const part = published.find((each) => each.startsWith(`${title}**`));
    if (part === undefined) throw new Error(`docs/evidence.md has no table "${title}": ${AGAIN}.`);
    const head = (/^\| (\|.*)$/m.exec(part)?.[1] ?? '').split('|').map((name) => name.trim());
    const rows = rowsIn(part);
    for (const [at, column] of columns.entries()) {
      const place = head.indexOf(systems[at] ?? '') - 1;
      for (const [name, value] of Object.entries(column)) {
        const said = Number(rows.get(name)?.[place]);
        const what = `${systems[at]}, ${name}: ${AGAIN}`;
        const isOurs = systems[at]?.startsWith('nocturne');
        if (IS_TIMED.test(name) && !(isOurs && name.startsWith('facts'))) continue;
        compared += 1;
        if (!ROUGHLY.test(name)) expect(value, what).toBe(said);
        else expect(Math.abs(value - said), what).toBeLessThanOrEqual(0.1 * said);
      }
    }
  }
  expect(compared).toBeGreaterThan(sized({ quick: 12, deep: 90 }));
});

test('what is found and kept of the held-out set is as docs/evidence.md says', async () => {
  const { figures } = await evaluateOffline(HELD_OUT, { perfect: false });
  const again = 'npm run eval -- --model offline --set held-out --publish';
  const counted = (text: string) => [...rowsIn(text)].filter(([name]) => !/^(?:bytes|tokens|model calls)/.test(name));
  expect(counted(describeInMarkdown(figures)), again).toEqual(counted(publishedPart('quality')));
});

const noRedis = noOwnRedis();
test.skipIf(noRedis || sized({ quick: true, deep: false }))(
  `the published run of chaos on Redis, once more, says, loses and doubles what docs/evidence.md says ${noRedis ?? ''}`,
  async () => {
    const [seed = 0, sessions = 0, directories = 0, turns, entries, lost, doubled] =
      rowsIn(publishedPart('chaos')).get('redis')?.map(Number) ?? [];
    const counted = await runChaos({
      ...{ seed, sessions, directories, backend: 'redis', workers: 2, concurrency: 4 },
      ...{ everyMs: 1_200, disturbForMs: 20_000, limitMs: 300_000 },
    });
    expect(counted).toMatchObject({ turns, entries, lost, doubled, violations: [] });
  },
);

test('README quotes five figures, each as docs/evidence.md has it', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8').replace(/\s+/g, ' ');
  const compare = rowsIn(publishedPart('compare'));
  const [, , , turns, , lost, doubled] = rowsIn(publishedPart('chaos')).get('redis') ?? [];
  const ours = (name: string) => compare.get(name)?.[0];
  expect(readme).toContain(
    `of ${turns} things said, ${lost} lost and ${doubled} doubled; ${ours('secrets of 50 sent')} of 50 planted secrets reached a ` +
      `model, ${ours('injections of 40 kept')} of 40 injections were kept, and sessions that it knows cost ` +
      `${ours('same sessions again: requests')} requests`,
  );
});
