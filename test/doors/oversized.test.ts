// Files of the memory that are far too large: they are read up to a bound, named, and keep nothing else from going on.

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles } from '../../src/base/files/directories.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { isDeep, sized, waysTaken } from '../support/depth.ts';
import { run } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';

const deep = test.runIf(isDeep);

const MEGABYTES = sized({ quick: 96, deep: 200 });
const SIZE = MEGABYTES * 2 ** 20;
const LOG = 'logs/2026/11/2026-11-20.md';
/** In the small size a long one: a file is bounded by its bytes, and each line costs. */
const LINE = `- A line that somebody’s script has written again${' and again'.repeat(sized({ quick: 400, deep: 1 }))}.\n`;

/** Real lines at the beginning, and as much as there may be behind them. */
function makeHuge(path: string, begin: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, begin + LINE.repeat(18_000_000 / LINE.length));
  truncateSync(path, SIZE);
}

const FILES = ['MEMORY.md', LOG];
/** Preloaded: writes at its end how many seconds of the processor a process took. */
const TELLS_CPU = `data:text/javascript,${encodeURIComponent(`
  import { writeFileSync } from 'node:fs';
  process.once('exit', () => {
    const { user, system } = process.cpuUsage();
    writeFileSync(process.env.NOCTURNE_TEST_CPU, String((user + system) / 1e6));
  });`)}`;

const COMMANDS = [['list'], ['search', 'pnpm'], ['next'], ['check'], ['list', '--day']];
const STATUS = ['--json'];
/** In the small size one has a process of its own, and the others are run in this one. */
const OF_THEIR_OWN = waysTaken([...COMMANDS, STATUS]);

async function timed(command: string[], { environment, home }: TestApp) {
  if (!OF_THEIR_OWN.includes(command)) {
    const before = process.cpuUsage();
    const ended = await runHere(command, environment);
    const { user, system } = process.cpuUsage(before);
    return { ...ended, signal: null, seconds: (user + system) / 1e6 };
  }
  const cpu = join(home, 'cpu');
  const nodeArgs = ['--import', TELLS_CPU];
  const ended = await run(command, { ...environment, NOCTURNE_TEST_CPU: cpu }, { nodeArgs });
  const seconds = Number(readFileSync(cpu, 'utf8'));
  rmSync(cpu);
  return { ...ended, seconds };
}

test.for(FILES)(`a %s of ${MEGABYTES} MB is read in part, named, and left as it is`, async (path, { skip }) => {
  skip(!waysTaken(FILES, 1).includes(path));
  const testing = await testApp();
  const say = async (prompt: string, startsAt: string) => {
    const session = aSession([prompt], { id: crypto.randomUUID(), startsAt });
    return testing.app.extract({ transcript: session.path, ended: true });
  };
  await say('Always use pnpm instead of npm.', '2026-11-20T09:00:00Z');
  await testing.app.dream(testing.store, {});
  const file = join(testing.dir, path);
  makeHuge(file, readFileSync(file, 'utf8'));
  const inTime = async (command: string[]) => {
    const { seconds, signal, ...ended } = await timed(command, testing);
    expect({ command, ...ended, signal }).toMatchObject({ code: expect.any(Number), signal: null });
    expect(ended.stderr).not.toMatch(/heap|\n {4}at /);
    // Of the processor: other tests run beside.
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan(10);
    return ended;
  };
  for (const command of COMMANDS) await inTime(command);
  const status = await inTime(STATUS);
  expect(status.code).toBe(3);
  expect(JSON.stringify(JSON.parse(status.stdout).needs)).toContain(`${path}: it has ${MEGABYTES} MB`);
  // Another day goes on, and what was distilled stays.
  expect((await say('Never commit to main directly.', '2026-11-19T09:00:00Z')).outcome).toBe('recorded');
  const report = await testing.app.dream(testing.store, {});
  if (path === LOG) expect(report.outcome).toBe('dreamed');
  else expect(report.error?.message).toContain(`MEMORY.md has ${MEGABYTES} MB`);
  const topic = readFileSync(join(testing.dir, 'working-agreements.md'), 'utf8');
  expect(topic).toContain('Always use pnpm');
  expect(topic.includes('Never commit')).toBe(path === LOG);
  const states: string[] = (await testing.rows('entries')).map(({ state }) => state);
  expect(states.filter((state) => state === 'withdrawn' || state === 'gone')).toEqual([]);
  expect(statSync(file).size).toBe(SIZE);
});

const SECRET = 'correct horse battery';
/** Of so much that may be text nothing near is ever held. */
const LITTLE_MEMORY = { nodeArgs: [`--max-old-space-size=${sized({ quick: 77, deep: 160 })}`] };
/** The second command of a test: in the small size in this process, which is not short of memory. */
const runAgain = sized<typeof run>({
  quick: async (...[args, environment]) => ({ ...(await runHere(args, environment)), signal: null }),
  deep: run,
});

test.for(FILES)(
  `a secret far down in a %s of ${MEGABYTES} MB is not taken out of it, and the file is named`,
  async (path, { skip }) => {
    skip(!waysTaken(FILES).includes(path));
    const testing = await testApp();
    await testing.app.remember(testing.store, { text: `The box says ${SECRET}.`, type: 'project' });
    await testing.app.dream(testing.store, {});
    const file = join(testing.dir, path);
    makeHuge(file, existsSync(file) ? readFileSync(file, 'utf8') : '');
    // Across the edge of two pieces.
    truncateSync(file, sized({ quick: 80, deep: 176 }) * 2 ** 20 - 7);
    appendFileSync(file, SECRET);
    truncateSync(file, SIZE);
    const holders = () => holdersOf(testing.dir, [path]);
    const before = await holders();
    expect(before.length).toBeGreaterThan(1);
    for (const also of sized({ quick: [['--yes']], deep: [['--dry-run'], ['--yes']] })) {
      const ended = await run(['redact', '--match', SECRET, ...also], testing.environment, LITTLE_MEMORY);
      const { code, stdout, stderr } = ended;
      expect({ code, said: stdout + stderr }).toMatchObject({
        code: also[0] === '--dry-run' ? 0 : 1,
        said: expect.stringContaining(file),
      });
      expect(stderr).not.toMatch(/heap|\n {4}at /);
    }
    // All goes that nocturne may change.
    expect(await holders()).toEqual([]);
    expect(statSync(file).size).toBe(SIZE);
    truncateSync(file, 1_000_000);
    const { code, stdout } = await runAgain(['redact', '--match', SECRET, '--yes'], testing.environment, LITTLE_MEMORY);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('redacted') });
    expect(await holdersOf(testing.dir, [])).toEqual([]);
  },
);

deep('what is too large and does not hold the secret keeps no redaction from being done', async () => {
  const testing = await testApp();
  await testing.app.remember(testing.store, { text: `The box says ${SECRET}.`, type: 'project' });
  makeHuge(join(testing.dir, 'MEMORY.md'), '# Memory\n');
  const done = await run(['redact', '--match', SECRET, '--yes'], testing.environment, LITTLE_MEMORY);
  expect(done).toMatchObject({ code: 0, stderr: expect.not.stringContaining('too large') });
  expect(await holdersOf(testing.dir, [])).toEqual([]);
  expect(statSync(join(testing.dir, 'MEMORY.md')).size).toBe(SIZE);
});

/** The files below a directory, but for those left out, that hold the secret in their bytes. */
async function holdersOf(dir: string, except: string[]): Promise<string[]> {
  const paths = listFiles(dir).filter((path) => !except.includes(path));
  const found = paths.filter((path) => readFileSync(join(dir, path)).includes(SECRET));
  // The last process that closes a database moves its log into it.
  return [...new Set(found.map((path) => path.replace(/-wal$/, '')))];
}
