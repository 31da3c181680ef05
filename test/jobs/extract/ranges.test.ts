// What the main agent itself wrote into a memory is not extracted, and nothing else is left out: the range goes from the
// write before, or the beginning of the turn, to the write.

import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunAgent } from '../../../src/agent/types.ts';
import { redact } from '../../../src/base/text/redact.ts';
import { coverageWhere, intervalOf } from '../../../src/memory/ledger/coverage.ts';
import { allEntries } from '../../../src/memory/ledger/entries.ts';
import { lastJobs } from '../../../src/memory/ledger/job-rows.ts';
import { openSession, snapshotLines } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { type TestApp, testApp, testModel } from '../../support/app.ts';
import { sized } from '../../support/depth.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import { error, type MessagesServer, says } from '../../support/messages-server.ts';
import { type SessionFile, type Step, sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { collect } from '../../support/transcripts.ts';

const RULE = 'Never deploy on a Friday.';
const REMEMBER = 'Remember that Dana reviews every schema change.';
const DANA = '- Dana reviews every schema change.';
/** Where Claude Code keeps the session's own memory on another machine. */
const ELSEWHERE = '/Users/dana/.claude/projects/-home-kim-orchard/memory/x.md';

const write = (path: string, content = DANA): Step => ({
  calls: 'Write',
  input: { file_path: path, content },
  result: 'written',
});

function session(steps: Step[], prompt = REMEMBER): SessionFile {
  const file = sessionFile(tempDir());
  file.add(prompt, steps);
  return file;
}

const silent = () => testModel(() => says('Nothing.'));

/** The messages that a model was offered, each by its words; those shown as context are left out. */
function offered({ requests }: MessagesServer, nth = 0): string[] {
  return linesShown({ requests }, nth).flatMap(({ isOffered, line }) => (isOffered ? [line] : []));
}

function linesShown({ requests }: Pick<MessagesServer, 'requests'>, nth = 0) {
  const input = String(JSON.stringify(requests[nth]?.messages)).split('<excerpt>').at(-1) ?? '';
  let header = '';
  return input.split('\\n').flatMap((line) => {
    if (/^\[\S+ (human|assistant|tool|subagent)/.test(line)) header = line;
    return line.startsWith('| ') ? [{ header, isOffered: !header.includes(' context]'), line: line.slice(2) }] : [];
  });
}

const ranges = ({ store }: TestApp) =>
  coverageWhere(store.ledger).map(({ from, throughMessage, disposition }) => [from, throughMessage, disposition]);

const extract = ({ app }: TestApp, file: SessionFile, more: object = {}) =>
  app.extract({ transcript: file.path, ended: true, ...more });

test('what a person says after the write is offered, what was written down is not, and neither is offered again', async () => {
  const server = await silent();
  const testing = await testApp({ server });
  const file = session([write(`${testing.dir}/x.md`), { types: RULE }, { says: 'Noted.' }]);
  const report = await extract(testing, file);
  expect(report.coverage).toEqual([
    { from: file.turn(1), to: file.turn(1), became: 'main-agent' },
    { from: file.turn(1), to: file.turn(1), became: 'nothing' },
  ]);
  expect(report.coveredTurns).toBe(1);
  expect(ranges(testing)).toEqual([
    ['', file.message(3), 'main-agent'],
    [file.message(4), file.message(5), 'nothing'],
  ]);
  expect(offered(server)).toEqual([RULE, 'Noted.']);
  expect((await extract(testing, file)).outcome).toBe('nothing-new');
  expect(server.requests).toHaveLength(1);
});

test('what a person says before the write, also while the agent works, was there to be written down', async () => {
  const server = await silent();
  const testing = await testApp({ server });
  const file = session([{ types: RULE }, write(`${testing.dir}/x.md`), { says: 'Saved.' }]);
  await extract(testing, file);
  expect(ranges(testing)).toEqual([['', file.message(5), 'main-agent']]);
  expect(server.requests).toEqual([]);
});

test('work that goes on after the write is offered, from there on', async () => {
  const server = await silent();
  const testing = await testApp({ server });
  const step = { calls: 'Bash', input: { command: 'make' }, result: 'ok' };
  const file = session([write(`${testing.dir}/x.md`), step, { says: 'We build with make, since ninja is not there.' }]);
  await extract(testing, file);
  expect(ranges(testing)).toEqual([
    ['', file.message(3), 'main-agent'],
    [file.message(4), file.message(6), 'nothing'],
  ]);
  expect(offered(server).join('\n')).toContain('since ninja is not there');
  expect(offered(server).join('\n')).not.toContain(REMEMBER);
});

test('each write has its own range', async () => {
  const testing = await testApp();
  const { dir } = testing;
  const file = session([write(`${dir}/x.md`), { types: RULE }, write(`${dir}/MEMORY.md`), { types: 'Ship it.' }]);
  await extract(testing, file);
  expect(ranges(testing)).toEqual([
    ['', file.message(3), 'main-agent'],
    [file.message(4), file.message(6), 'main-agent'],
    [file.message(7), file.message(7), 'nothing'],
  ]);
});

test('what the agent wrote in a range is known to whoever reads the rest, also when the session has grown', async () => {
  const server = await silent();
  const testing = await testApp({ server });
  const file = session([write(`${testing.dir}/x.md`), { types: RULE }]);
  await extract(testing, file);
  file.add('And what about Mondays?');
  await extract(testing, file);
  const known = server.requests.map(({ messages }) => /<known>.*<\/known>/.exec(JSON.stringify(messages))?.[0]);
  expect(known).toEqual([expect.stringContaining(DANA), expect.stringContaining(DANA)]);
  expect(offered(server, 1)).toEqual(['And what about Mondays?', 'Done.']);
});

test('a secret that the agent wrote down is not told', async () => {
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  const server = await silent();
  const testing = await testApp({ server });
  await extract(testing, session([write(`${testing.dir}/x.md`, `- The token is ${secret}.`), { types: RULE }]));
  expect(JSON.stringify(server.requests)).not.toContain(secret);
  expect(JSON.stringify(server.requests)).toContain('- The token is [redacted:');
});

test.each([
  ['Claude Code’s memory', write(ELSEWHERE)],
  ['memory by ~', write('~/.claude/projects/-home-kim-orchard/memory/x.md')],
  [
    'the memory tool',
    {
      calls: 'memory',
      input: { command: 'create', path: '/memories/x.md', file_text: DANA },
      result: 'created',
    },
  ],
])(
  'a write to another machine’s memory skips nothing, and shows what was written as the agent’s words: %s',
  async (_, step) => {
    const server = await silent();
    const testing = await testApp({ server });
    const file = session([step, { says: 'Saved.' }]);
    await extract(testing, file);
    expect(ranges(testing)).toEqual([['', file.message(4), 'nothing']]);
    expect(offered(server)).toContain(REMEMBER);
    const shown = linesShown(server).find(({ line }) => line === DANA);
    expect(shown?.header).toMatch(/^\[\S+ assistant(?! call)/);
  },
);

const memoryTool = (input: object): Step => ({ calls: 'memory', input, result: 'done' });

test.each([
  ['stands in the memory', (dir: string) => writeFileSync(join(dir, 'rules.md'), `# Rules\n\n${DANA}\n`)],
  [
    'stands in a memory beside it',
    (_: string, home: string) => {
      mkdirSync(join(home, '.claude/memory'), { recursive: true });
      writeFileSync(join(home, '.claude/memory/rules.md'), `${DANA}\n`);
    },
  ],
])('the memory tool’s write counts where at least half of what it added %s', async (_, put) => {
  const testing = await testApp({ settings: { userScope: true } });
  put(testing.dir, testing.home);
  const half = { command: 'create', path: '/memories/x.md', file_text: `# Review\n\n${DANA}\nSam is on leave.` };
  const file = session([memoryTool(half), { types: RULE }]);
  await extract(testing, file);
  expect(ranges(testing)).toEqual([
    ['', file.message(3), 'main-agent'],
    [file.message(4), file.message(4), 'recorded'],
  ]);
  const less = { command: 'create', path: '/memories/x.md', file_text: `${DANA}\nSam is on leave.\nKim is here.` };
  const other = await testApp();
  put(other.dir, other.home);
  await extract(other, session([memoryTool(less)]));
  expect(ranges(other).map(([, , disposition]) => disposition)).not.toContain('main-agent');
});

test('what stood in the memory once counts as well', async () => {
  const testing = await testApp();
  const look = () => testing.store.commit({ actor: 'person' }, () => ({ files: [] }));
  writeFileSync(join(testing.dir, 'rules.md'), `${DANA}\n`);
  await look();
  rmSync(join(testing.dir, 'rules.md'));
  await look();
  await extract(testing, session([memoryTool({ command: 'create', path: '/memories/x.md', file_text: DANA })]));
  expect(ranges(testing).map(([, , disposition]) => disposition)).toEqual(['main-agent']);
});

test('what was removed, by a memory tool or a command, tells nothing of what a person said: the turn is extracted', async () => {
  const testing = await testApp();
  writeFileSync(join(testing.dir, 'rules.md'), `${DANA}\n`);
  await extract(testing, session([memoryTool({ command: 'delete', path: '/memories/rules.md' })]));
  expect(ranges(testing).map(([, , disposition]) => disposition)).toEqual(['recorded']);
  const here = await testApp();
  await extract(here, session([{ calls: 'Bash', input: { command: `rm ${here.dir}/rules.md` }, result: '' }]));
  expect(ranges(here).map(([, , disposition]) => disposition)).toEqual(['recorded']);
});

test('what was deleted elsewhere is shown as the call that it was', async () => {
  const server = await silent();
  const testing = await testApp({ server });
  await extract(testing, session([memoryTool({ command: 'delete', path: '/memories/rules.md' })]));
  expect(offered(server).join('\n')).toMatch(/call memory .*delete/);
  expect(offered(server).join('\n')).not.toContain('[wrote');
});

test('a write counts through a link, into a memory beside this one that is in use', async () => {
  const testing = await testApp({ settings: { userScope: true } });
  const beside = join(testing.home, '.claude/memory');
  mkdirSync(beside, { recursive: true });
  const link = join(tempDir(), 'link');
  symlinkSync(beside, link);
  await extract(testing, session([write(`${link}/x.md`), { says: 'Saved.' }]));
  expect(ranges(testing).map(([, , disposition]) => disposition)).toEqual(['main-agent']);
  const off = await testApp({ settings: { userScope: false } });
  mkdirSync(join(off.home, '.claude/memory'), { recursive: true });
  await extract(off, session([write(`${off.home}/.claude/memory/x.md`)]));
  expect(ranges(off).map(([, , disposition]) => disposition)).toEqual(['recorded']);
});

test('a write counts where the agent’s own settings keep its memory, also where nocturne keeps it elsewhere', async () => {
  const home = tempDir();
  const auto = tempDir();
  mkdirSync(join(home, '.claude'));
  writeFileSync(join(home, '.claude/settings.json'), JSON.stringify({ autoMemoryDirectory: auto }));
  const testing = await testApp({ home });
  await extract(testing, session([write(`${auto}/x.md`)]));
  expect(ranges(testing).map(([, , disposition]) => disposition)).toEqual(['main-agent']);
});

test('a turn that goes on after it was covered is covered range by range', async () => {
  const server = await silent();
  const testing = await testApp({ server });
  const file = session([write(`${testing.dir}/x.md`), { says: 'Saved.' }]);
  await extract(testing, file);
  file.goOn([{ types: RULE }, { says: 'Noted.' }]);
  await extract(testing, file);
  file.goOn([write(`${testing.dir}/y.md`), { says: 'Saved that too.' }]);
  await extract(testing, file);
  expect(ranges(testing)).toEqual([
    ['', file.message(4), 'main-agent'],
    [file.message(5), file.message(6), 'nothing'],
    [file.message(7), file.message(9), 'main-agent'],
  ]);
  expect(offered(server)).toEqual([RULE, 'Noted.']);
  expect(server.requests).toHaveLength(1);
});

/** A turn with a range that was written down and one that gave an entry. */
async function halfWritten() {
  const testing = await testApp();
  const file = session([write(`${testing.dir}/x.md`), { types: RULE }, { says: 'Noted.' }]);
  const report = await extract(testing, file);
  return { testing, file, report };
}

test('undoing the extraction takes back both ranges, nothing sweeps them, and extract takes them up once', async () => {
  const { testing, file } = await halfWritten();
  const before = ranges(testing);
  expect(await testing.app.undo(testing.store, { last: true })).toMatchObject({ outcome: 'undone', turns: 1 });
  expect(ranges(testing).map(([, , disposition]) => disposition)).toEqual(['undone', 'undone']);
  expect(await extract(testing, file)).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });
  for (const outcome of ['recorded', 'nothing-new']) {
    expect(await extract(testing, file, { reopenUndone: true })).toMatchObject({ outcome });
  }
  expect(ranges(testing)).toEqual(before);
  expect(allEntries(testing.store.ledger).map(({ text, state }) => [text, state])).toEqual([[RULE, 'new']]);
});

test('where only the later range is undone, only it is taken up again', async () => {
  const server = await silent();
  const testing = await testApp({ server });
  const file = session([{ says: 'Done.' }], 'We ship with Helm.');
  await extract(testing, file);
  file.goOn([{ types: RULE }, { says: 'Noted.' }]);
  await extract(testing, file);
  await testing.app.undo(testing.store, { last: true });
  expect(ranges(testing).map(([, , disposition]) => disposition)).toEqual(['nothing', 'undone']);
  await extract(testing, file, { reopenUndone: true });
  expect(offered(server, 2)).toEqual([RULE, 'Noted.']);
  expect(ranges(testing).map(([, , disposition]) => disposition)).toEqual(['nothing', 'nothing']);
});

test('where only the earlier range is undone, what follows is not offered with it', async () => {
  const server = await silent();
  const testing = await testApp({ server });
  const file = session([{ says: 'Done.' }], 'We ship with Helm.');
  const first = await extract(testing, file);
  file.goOn([{ types: RULE }, { says: 'Noted.' }]);
  await extract(testing, file);
  expect(await testing.app.undo(testing.store, { job: first.job ?? '' })).toMatchObject({ outcome: 'undone' });
  expect(ranges(testing).map(([, , disposition]) => disposition)).toEqual(['undone', 'nothing']);
  await extract(testing, file, { reopenUndone: true });
  expect(offered(server, 2)).toEqual(['We ship with Helm.', 'Done.']);
  expect(ranges(testing)).toEqual([
    ['', file.message(2), 'nothing'],
    [file.message(3), file.message(4), 'nothing'],
  ]);
});

test('reprocess reads the rest again and keeps the range, and can be undone', async () => {
  const { testing, file } = await halfWritten();
  const before = { ranges: ranges(testing), entries: allEntries(testing.store.ledger) };
  const [report] = await testing.app.reprocess(testing.store, { session: file.id, ended: true });
  expect(report).toMatchObject({ outcome: 'recorded', coveredTurns: 1 });
  expect(ranges(testing)).toEqual(before.ranges);
  expect(allEntries(testing.store.ledger).map(({ text, state }) => [text, state])).toEqual([[RULE, 'new']]);
  expect(await testing.app.undo(testing.store, { last: true })).toMatchObject({ outcome: 'undone' });
  expect(ranges(testing)).toEqual(before.ranges);
  expect(allEntries(testing.store.ledger)).toEqual(before.entries);
});

test('a turn that was left to the main agent as a whole stays so; reprocess offers the rest, and undoing that brings it back', async () => {
  const { testing, file } = await halfWritten();
  const { ledger } = testing.store;
  await testing.app.undo(testing.store, { last: true });
  // As it was written before there were ranges.
  ledger.run('delete from coverage');
  ledger.run('delete from entry');
  ledger.run(
    'insert into coverage (session, turn, through_message, became, day, job) values (?, ?, ?, ?, ?, ?)',
    ...[file.id, file.turn(1), file.message(5), 'main-agent', '2026-11-20', 'job_old'],
  );
  const whole = [['', file.message(5), 'main-agent']];
  for (const more of [{}, { reopenUndone: true }, { reopenGivenUp: true }]) {
    expect(await extract(testing, file, more)).toMatchObject({ outcome: 'nothing-new' });
  }
  expect(ranges(testing)).toEqual(whole);
  await testing.app.reprocess(testing.store, { session: file.id, ended: true });
  expect(ranges(testing)).toEqual([
    ['', file.message(3), 'main-agent'],
    [file.message(4), file.message(5), 'recorded'],
  ]);
  expect(await testing.app.undo(testing.store, { last: true })).toMatchObject({ outcome: 'undone' });
  expect(ranges(testing)).toEqual(whole);
  expect(await extract(testing, file)).toMatchObject({ outcome: 'nothing-new' });
});

test('an old turn whose reprocessing fails keeps what covered it', async () => {
  const failing = await testModel(() => error(400, 'no'));
  const testing = await testApp({ server: failing });
  const file = session([write(`${testing.dir}/x.md`), { types: RULE }]);
  testing.store.ledger.run(
    'insert into coverage (session, turn, through_message, became, day, job) values (?, ?, ?, ?, ?, ?)',
    ...[file.id, file.turn(1), file.message(4), 'main-agent', '2026-11-20', 'job_old'],
  );
  expect(await extract(testing, file, { reopen: new Set([file.turn(1)]) })).toMatchObject({ outcome: 'failed' });
  expect(ranges(testing)).toEqual([
    ['', file.message(3), 'main-agent'],
    [file.message(4), file.message(4), 'main-agent'],
  ]);
  expect(await extract(testing, file)).toMatchObject({ outcome: 'nothing-new' });
});

test('a rest that is given up can be tried again, without the range before it', async () => {
  let isUp = false;
  const server = await testModel(() => (isUp ? says('Nothing.') : { text: 'No.', stop: 'refusal' }));
  const testing = await testApp({ server });
  const file = session([write(`${testing.dir}/x.md`), { types: RULE }]);
  const given = await extract(testing, file, { attempts: 99 });
  expect(given.coverage.map(({ became }) => became)).toEqual(['main-agent', 'gave-up']);
  isUp = true;
  expect(await extract(testing, file)).toMatchObject({ outcome: 'nothing-new' });
  await extract(testing, file, { reopenGivenUp: true });
  expect(offered(server, server.requests.length - 1)).toEqual([RULE]);
  expect(ranges(testing).map(([, , disposition]) => disposition)).toEqual(['main-agent', 'nothing']);
});

test('a resumed copy under another id has nothing pending, also one that begins in the middle of the turn', async () => {
  const { testing, file } = await halfWritten();
  const [, , ...rest] = readFileSync(file.path, 'utf8').split('\n');
  for (const [name, text] of [
    ['whole', readFileSync(file.path, 'utf8')],
    ['cut', rest.join('\n')],
  ] as const) {
    const path = join(tempDir(), `${name}.jsonl`);
    writeFileSync(path, text.replaceAll(`"sessionId":"${file.id}"`, `"sessionId":"${name}"`));
    const report = await testing.app.extract({ transcript: path, ended: true });
    expect(report).toMatchObject({ session: name, outcome: 'nothing-new' });
  }
});

test('what a reader sees today between two covered ranges is covered with them', async () => {
  const { testing, file } = await halfWritten();
  const records = readFileSync(file.path, 'utf8').split('\n');
  const seen = { ...JSON.parse(records[3] as string), uuid: 'seen-since', timestamp: '2026-11-20T09:00:35Z' };
  seen.attachment.prompt = 'Nobody saw this before.';
  writeFileSync(file.path, [...records.slice(0, 3), JSON.stringify(seen), ...records.slice(3)].join('\n'));
  expect(await extract(testing, file)).toMatchObject({ outcome: 'nothing-new' });
  const server = await silent();
  const again = await testApp({ server, dir: testing.dir, home: testing.home });
  await again.app.reprocess(again.store, { session: file.id, ended: true });
  expect(offered(server)).toEqual(['Nobody saw this before.', RULE, 'Noted.']);
});

test('a ledger that was lost takes the turn of an entry for covered', async () => {
  const { testing, file } = await halfWritten();
  const { dir, home } = testing;
  await testing.app.close();
  for (const end of ['', '-wal', '-shm']) rmSync(join(dir, `.nocturne/ledger.db${end}`), { force: true });
  const again = await testApp({ dir, home });
  expect(await extract(again, file)).toMatchObject({ outcome: 'nothing-new' });
  expect(ranges(again)).toEqual([['', file.message(5), 'assumed']]);
  file.goOn([{ types: 'Ship it.' }]);
  expect((await extract(again, file)).coverage.map(({ became }) => became)).toEqual(['assumed', 'nothing']);
});

test('what another run covered meanwhile is left as it is, range by range', async () => {
  const testing = await testApp();
  const file = session([write(`${testing.dir}/x.md`), { types: RULE }]);
  await extract(testing, file);
  expect(lastJobs(testing.store.ledger, 9)).toHaveLength(1);
  const [first, second] = await Promise.all([extract(testing, file), extract(testing, file)]);
  expect([first?.outcome, second?.outcome]).not.toContain('recorded');
  expect(ranges(testing)).toHaveLength(2);
});

test('a snapshot of a transcript has the same ranges, and shows the same', async () => {
  const server = await silent();
  const testing = await testApp({ server });
  const file = session([write(`${testing.dir}/x.md`), { types: RULE }, write(ELSEWHERE, '- Sam is on leave.')]);
  const snapshot = join(tempDir(), 'snapshot.jsonl');
  const lines = await Array.fromAsync(snapshotLines(await openSession(file.path), redact));
  writeFileSync(snapshot, lines.join(''));
  rmSync(file.path);
  await extract(testing, file, { snapshot });
  expect(ranges(testing)).toEqual([
    ['', file.message(3), 'main-agent'],
    [file.message(4), file.message(6), 'nothing'],
  ]);
  expect(offered(server)).toEqual([RULE, `[wrote ${ELSEWHERE}]`, '- Sam is on leave.', 'written']);
});

/** Whatever a turn may hold after its prompt: work, writes here and elsewhere, what a person types meanwhile. */
const KINDS = ['says', 'works', 'here', 'elsewhere', 'types', 'types'] as const;
const aGrowth = fc.array(
  fc.record({ begins: fc.boolean(), kinds: fc.array(fc.constantFrom(...KINDS), { maxLength: 6 }) }),
  { minLength: 1, maxLength: 5 },
);

const STEPS: Record<(typeof KINDS)[number], (at: { dir: string; n: number }) => Step> = {
  says: () => ({ says: 'Done.' }),
  works: () => ({ calls: 'Bash', input: { command: 'make' }, result: 'ok' }),
  here: ({ dir }) => write(`${dir}/x.md`),
  elsewhere: () => write(ELSEWHERE),
  types: ({ n }) => ({ types: `Keep rule ${n}.` }),
};

test('however a session grows, each message is covered once, and each word after the last write is offered once', async () => {
  const grow = async (growth: { begins: boolean; kinds: (typeof KINDS)[number][] }[]) => {
    const dir = tempDir();
    let inputs: string[] = [];
    const runAgent: RunAgent = async ({ input }) => {
      inputs.push(input);
      return 'done';
    };
    const jobs = await jobsInProcess(dir, undefined, { runAgent });
    const file = sessionFile(tempDir());
    const rows = () => coverageWhere(jobs.store.ledger, { session: file.id });
    const expectTiles = async () => {
      for (const { id, messages } of await collect(readTurns((await openSession(file.path)).messages()))) {
        const ids = messages.map((message) => message.id);
        const covered = rows()
          .filter((row) => row.turn === id)
          .flatMap((row) => {
            const { start, end } = intervalOf(row, ids) ?? { start: 0, end: -1 };
            return ids.slice(start, end + 1);
          });
        expect(covered.toSorted()).toEqual(ids.toSorted());
      }
    };
    file.add('Begin.', []);
    let n = 0;
    for (const { begins, kinds } of growth) {
      inputs = [];
      const steps = kinds.map((kind) => STEPS[kind]({ dir, n: ++n }));
      const waiting = steps.slice(kinds.lastIndexOf('here') + 1);
      if (begins) file.add('Go on.', steps);
      else file.goOn(steps);
      await jobs.extract(file.path);
      const wanted = waiting.flatMap((step) => ('types' in step ? [step.types] : []));
      const request = { messages: inputs.join('\n') };
      const offeredRules = linesShown({ requests: [request as never] }).filter(({ isOffered }) => isOffered);
      expect(offeredRules.flatMap(({ line }) => /^Keep rule \d+\.$/.exec(line) ?? [])).toEqual(wanted);
      inputs = [];
      await jobs.extract(file.path);
      expect(inputs).toEqual([]);
      await expectTiles();
    }
    const before = rows();
    await jobs.reprocess({ session: file.id });
    await expectTiles();
    await jobs.undo();
    expect(rows()).toEqual(before);
  };
  await fc.assert(fc.asyncProperty(aGrowth, grow), { numRuns: sized({ quick: 6, deep: 60 }) });
});
