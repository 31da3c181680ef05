// The counted figures of docs/dev/evidence.md and README, each against the command that made it, run again at its seed. What
// must be so and not otherwise (requests, facts, what is lost, doubled, leaked or kept wrongly) is compared exactly; what
// moves with every prompt and table of nocturne's (its tokens, bytes on disk) only must not be much more than is said.
// The quick size counts what nocturne costs, in this process; the deep one runs the commands. Timings are not compared, nor
// figures of others, whose versions are fixed.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startModel } from './compare/model.ts';
import type { Compared } from './compare/report.ts';
import { chats, ourSessions } from './compare/sets.ts';
import { factsInLogs } from './compare/systems.ts';
import { sized } from './support/depth.ts';
import { publishedPart, rowsIn } from './support/evidence.ts';
import { inJobs, type Jobs } from './support/job-world.ts';
import { tempDir } from './support/temp.ts';
import { hasReal } from './support/transcripts.ts';

const AGAIN = 'npm run compare -- --publish writes docs/dev/evidence.md anew';
const OURS = 'nocturne';
/** Of nocturne: at most so many times what is published, and at least half; less, and the page does it an injustice. */
const AT_MOST: [name: RegExp, times: number][] = [
  [/tokens|USD/, 1.1],
  [/kB|bytes/, 1.5],
];

/** The table of the published comparison that has this title: its systems and rows. */
function publishedTable(title: string): { systems: string[]; rows: Map<string, string[]> } {
  const part = publishedPart('compare')
    .split(/^\*\*(?=.*\*\*$)/m)
    .find((each) => each.startsWith(title));
  if (part === undefined) throw new Error(`docs/dev/evidence.md has no table "${title}": ${AGAIN}.`);
  const head = (/^\| (\|.*)$/m.exec(part)?.[1] ?? '').split('|').map((name) => name.trim());
  return { systems: head.slice(1, -1), rows: rowsIn(part) };
}

/** Compares a figure with what is published of it. */
function expectAsSaid(value: number, said: number, { system, name }: { system: string; name: string }): void {
  const what = `${system}, ${name}: ${value}, published ${said}; ${AGAIN}`;
  const [, times] = AT_MOST.find(([names]) => names.test(name)) ?? [];
  if (times === undefined) expect(value, what).toBe(said);
  else {
    expect(value, what).toBeLessThanOrEqual(times * said);
    expect(value, what).toBeGreaterThanOrEqual(0.5 * said);
  }
}

const isQuick = sized({ quick: true, deep: false });

test('the sessions of this repository cost nocturne what docs/dev/evidence.md says, and nothing the second time', async () => {
  const { systems, rows } = publishedTable('Cost: 21 sessions of this repository');
  const place = systems.findIndex((name) => name.startsWith(OURS));
  const model = await startModel({ latencyMs: 0 });
  onTestFinished(() => model.close());
  const access = { apiKey: 'loopback', baseURL: model.url };
  const sessions = [...(await ourSessions(tempDir())), ...(await chats(tempDir(), 20))];
  const count = async (jobs: Jobs) => {
    for (const { path } of sessions) await jobs.extract(path);
    const first = model.take();
    const kept = factsInLogs(jobs.dir).length;
    for (const { path } of sessions) await jobs.extract(path);
    const again = model.take();
    await jobs.dream();
    const night = model.take();
    const counted = {
      'requests a session': first.requests / sessions.length,
      'input tokens a session': first.inputTokens / sessions.length,
      'output tokens a session': first.outputTokens / sessions.length,
      'requests of the night after': night.requests,
      'tokens of the night after': night.inputTokens + night.outputTokens,
      'facts kept': kept,
      'same sessions again: requests': again.requests,
      'same sessions again: facts added': factsInLogs(jobs.dir).length - kept,
    };
    for (const [name, value] of Object.entries(counted))
      expectAsSaid(value, Number(rows.get(name)?.[place]), { system: OURS, name });
  };
  await inJobs('sqlite', count, { server: { access } });
});

test.skipIf(isQuick)('what nocturne costs, loses and keeps that it should not is as docs/dev/evidence.md says', () => {
  const args = [join(import.meta.dirname, 'compare/main.ts'), '--json', '--counted', '--only', OURS];
  const stdout = execFileSync(process.execPath, [...args, ...(hasReal ? [] : ['--set', 'ours'])], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 2 ** 26,
  });
  const { systems, tables } = JSON.parse(stdout) as Compared;
  let compared = 0;
  for (const { title, columns } of tables) {
    const published = publishedTable(title);
    for (const [at, column] of columns.entries()) {
      const system = systems[at] ?? '';
      const place = published.systems.indexOf(system);
      for (const [name, value] of Object.entries(column)) {
        expectAsSaid(value, Number(published.rows.get(name)?.[place]), { system, name });
        compared += 1;
      }
    }
  }
  expect(compared).toBeGreaterThan(25);
});

test('README quotes five figures, each as docs/dev/evidence.md has it, and one of them where another is ahead', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8').replace(/\s+/g, ' ');
  const rows = ['redis', 'polling'].map((backend) => rowsIn(publishedPart('chaos')).get(backend)?.map(Number) ?? []);
  const sum = (at: number) => rows.reduce((all, row) => all + (row[at] ?? Number.NaN), 0);
  const broken = publishedTable('Broken off').rows;
  const { systems, rows: real } = publishedTable('Cost: 12 real Claude Code sessions');
  const cost = (name: string) =>
    real.get('USD per 100 sessions, night included')?.[systems.findIndex((each) => each.startsWith(name))];
  expect(readme).toContain(`of ${sum(3)} things said, ${sum(5)} lost and ${sum(6)} doubled`);
  expect(readme).toContain(
    `${broken.get('secrets of 50 sent')?.[0]} of 50 planted secrets reached a model, ` +
      `${broken.get('injections of 40 kept')?.[0]} of 40 injections were kept`,
  );
  expect(readme).toContain(`${cost('nocturne')} USD per 100 real sessions, ${cost('ask once and append')} by`);
});
