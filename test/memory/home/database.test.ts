// A home whose database is damaged: it is set aside and made anew, with what can still be read.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { checkMemoryDirectory } from '../../../src/doors/doctor/examine.ts';
import { formatDamage, type HomeDamage, openHome } from '../../../src/memory/home/home.ts';
import { JobSpend } from '../../../src/memory/home/spend.ts';
import { testApp } from '../../support/app.ts';
import { copyBefore } from '../../support/before.ts';
import { run } from '../../support/run.ts';
import { runHere, runJsonHere } from '../../support/run-here.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

const clock = fixedClock('2026-11-20T10:00:00Z');
const limits = { jobTokens: 10_000, dayTokens: 1_000, zone: 'UTC', clock };

/** A home with a directory, spend, a pause that is over and one that lasts. */
async function used(): Promise<string> {
  const dir = tempDir();
  const home = openHome(dir, clock);
  for (let n = 0; n < 200; n += 1) await home.addStore(`/memory/of/some/project/${String(n).padStart(3, '0')}`);
  await home.pauses.begin({ project: '/quiet', until: null });
  await home.days.settle('2026-11-20', await home.days.spendOf('2026-11-20'));
  await home.close();
  return dir;
}

const GARBAGE: [string, (path: string) => void][] = [
  ['no database', (path) => writeFileSync(path, 'no database at all '.repeat(500))],
  ['cut off', (path) => truncateSync(path, 5_000)],
  ['zeros', (path) => writeFileSync(path, Buffer.alloc(statSync(path).size))],
  [
    'of an impossible version',
    (path) => {
      const bytes = readFileSync(path);
      bytes.writeUInt32BE(0x7f0000aa, 60);
      writeFileSync(path, bytes);
    },
  ],
];

test.each(GARBAGE)('a home.db that is %s is kept aside and made anew, once, with a word', async (_, damage) => {
  const dir = await used();
  damage(join(dir, 'home.db'));
  const home = openHome(dir, clock);
  const kept = readdirSync(dir).filter((name) => name.includes('.broken-') && !/-(?:shm|wal)$/.test(name));
  expect(kept).toHaveLength(1);
  expect(formatDamage((await home.damage()) as HomeDamage)).toContain(kept[0]);
  expect(existsSync(join(dir, 'home.db.mending'))).toBe(false);
  await home.close();
  await openHome(dir, clock).close();
  expect(readdirSync(dir).filter((name) => name.includes('.broken-') && !/-(?:shm|wal)$/.test(name))).toEqual(kept);
});

test('a damaged home.db of an earlier schema is made anew with what can still be read', async () => {
  const { home: dir } = copyBefore('waiting');
  const path = join(dir, 'home.db');
  const bytes = readFileSync(path);
  const page = bytes.length - bytes.readUInt16BE(16);
  writeFileSync(path, Buffer.concat([bytes.subarray(0, page), Buffer.alloc(bytes.length - page, 0xab)]));
  const home = openHome(dir, clock);
  expect(await home.damage()).toMatchObject({ kept: expect.stringContaining('home.db.broken-') });
  expect((await home.pauses.all()).map(({ project }) => project)).toContain('/home/kim/paused');
  expect(await home.declinedBefore()).toBe('2026-11-01T00:00:00.000Z');
  await home.close();
});

test('where nothing can be read, the day counts as spent and everything unasked is paused, until a person says otherwise', async () => {
  const dir = await used();
  writeFileSync(join(dir, 'home.db'), 'x'.repeat(9_000));
  const home = openHome(dir, clock);
  expect(await home.pauses.all()).toEqual([{ project: null, until: null, isAssumed: true }]);
  await expect(new JobSpend(home, limits).reserve(1)).rejects.toMatchObject({
    code: 'ceiling',
    message: expect.stringContaining('cannot be read'),
    retryAfterMs: 14 * 3_600_000,
  });
  expect(await home.days.fullFrom('2026-11-20')).toBe(clock.now().toISOString());
  await new JobSpend(home, { ...limits, clock: fixedClock('2026-11-21T00:00:01Z') }).reserve(1);
  await home.days.reopen('2026-11-20');
  await new JobSpend(home, limits).reserve(1);
  await home.pauses.end(null);
  await home.dismissDamage();
  expect(await home.damage()).toBeNull();
  await home.close();
});

test('rows of pages that are whole are taken over; a table that is whole keeps its word', async () => {
  const dir = await used();
  const path = join(dir, 'home.db');
  const bytes = readFileSync(path);
  // Of a page that holds directories; the others are whole.
  const at = bytes.lastIndexOf('/memory/of/some/project/150');
  const page = Math.floor(at / 4096) * 4096;
  bytes.fill(0xff, page, page + 12);
  writeFileSync(path, bytes);
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
  const home = openHome(dir, clock);
  expect((await home.damage())?.lost).toEqual(['store']);
  expect(await home.pauses.all()).toEqual([{ project: '/quiet', until: null }]);
  expect(await home.days.fullFrom('2026-11-20')).toBeNull();
  expect((await home.stores()).length).toBeGreaterThan(20);
  expect((await home.stores()).length).toBeLessThan(200);
  await home.close();
});

test('commands go on beside a damaged home: directories are found again, and status, doctor and recall say it', async () => {
  const testing = await testApp();
  const session = aSession();
  await testing.app.extract({ transcript: session.path, ended: true });
  const projects = join(testing.home, '.claude/projects');
  mkdirSync(join(projects, 'one/memory/.nocturne'), { recursive: true });
  mkdirSync(join(projects, 'two/memory'), { recursive: true });
  testing.store.close();
  await testing.app.home.close();
  const home = join(testing.home, 'home.db');
  for (const end of ['', '-wal', '-shm']) rmSync(home + end, { force: true });
  writeFileSync(home, 'broken '.repeat(2_000));
  const recall = await run(['recall'], testing.environment);
  expect(recall).toMatchObject({ code: 0, stdout: expect.stringContaining('home.db was damaged') });
  expect(recall.stdout).toContain('pnpm');
  const status = await runJsonHere<{ attention: string[]; standing: { reason: string } }>(
    ['status'],
    testing.environment,
  );
  expect(status.code).toBe(3);
  const isFull = expect.stringMatching(
    /^what was spent on 2026-11-21 could not be read: .* until nocturne retry --failed/,
  );
  expect(status.values[0]?.attention).toEqual([expect.stringContaining('home.db was damaged'), isFull]);
  expect(status.values[0]?.standing.reason).toContain('until nocturne pause --off');
  const doctor = await runHere(['doctor'], testing.environment);
  expect(doctor.stdout).toContain('home.db was damaged');
  expect(doctor.stdout).toContain('nocturne retry --failed');
  const found = openHome(testing.home, clock);
  expect(await found.stores()).toEqual([testing.dir, join(projects, 'one/memory')].sort());
  await found.close();
  expect((await runHere(['remember', 'Deploys are on Fridays.'], testing.environment)).code).toBe(0);
  const resumed = await runHere(['pause', '--off'], testing.environment);
  expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining('until nocturne retry --failed') });
  const still = await runJsonHere<{ attention: string[] }>(['status'], testing.environment);
  expect(still).toMatchObject({ code: 3, values: [{ attention: [isFull] }] });
  // What a person runs by name stops at once, says which command lets it go on, and then it does.
  session.add('Never commit to main directly.');
  const extract = () => runHere(['extract', session.path], testing.environment);
  const stopped = await extract();
  expect(stopped.code).toBe(75);
  expect(stopped.stdout + stopped.stderr).toContain('Run nocturne retry --failed');
  const retried = await runHere(['retry', '--failed'], testing.environment);
  expect(retried).toMatchObject({ code: 0, stderr: expect.stringContaining('models may be asked') });
  expect(await extract()).toMatchObject({ code: 0, stdout: expect.stringContaining('Never commit to main') });
  const after = await runJsonHere<{ attention: string[]; standing: { enabled: boolean } }>(
    ['status'],
    testing.environment,
  );
  expect(after.values[0]).toMatchObject({ attention: [], standing: { enabled: true } });
  expect(await checkMemoryDirectory(testing.dir)).toMatchObject([{ state: 'ok' }]);
});
