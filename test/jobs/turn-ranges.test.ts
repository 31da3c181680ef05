// What the agent itself wrote into a memory is not extracted, and nothing else is left out: the range goes from the write before, or
// the beginning of the turn, to the write. Ranges are covered, taken back and extracted again one by one.

import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunAgent } from '../../src/agent/agent-types.ts';
import { lookInto } from '../../src/memory/commit.ts';
import { coverageWhere, intervalOf } from '../../src/memory/entries.ts';
import { keepPieces, sessionNamed } from '../../src/memory/session-rows.ts';
import { openSession } from '../../src/transcript/session.ts';
import { readTurns } from '../../src/transcript/turns.ts';
import { testModel } from '../support/app.ts';
import { sized } from '../support/depth.ts';
import { inJobs, type Jobs } from '../support/job-world.ts';
import { ENGINE_TAKEN, skipped } from '../support/memory-world.ts';
import { error, type MessagesServer, says } from '../support/messages-server.ts';
import { type SessionFile, type Step, sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
import { collect } from '../support/transcripts.ts';

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
const memoryTool = (input: object): Step => ({ calls: 'memory', input, result: 'done' });

function session(steps: Step[], prompt = REMEMBER): SessionFile {
  const file = sessionFile(tempDir());
  file.add(prompt, steps);
  return file;
}

const silent = () => testModel(() => says('Nothing.'));

/** The messages that a model was offered, each by its words; those shown as context are left out. */
function offered({ requests }: Pick<MessagesServer, 'requests'>, nth = 0): string[] {
  return linesShown(requests[nth]?.messages).flatMap(({ isOffered, line }) => (isOffered ? [line] : []));
}

function linesShown(messages: unknown) {
  const input = String(JSON.stringify(messages)).split('<excerpt>').at(-1) ?? '';
  let header = '';
  return input.split('\\n').flatMap((line) => {
    if (/^\[\S+ (human|assistant|tool|subagent)/.test(line)) header = line;
    return line.startsWith('| ') ? [{ header, isOffered: !header.includes(' context]'), line: line.slice(2) }] : [];
  });
}

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (title: string, work: (jobs: Jobs) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(title, () => inJobs(engine, work));

  it('what a person says after the write is offered, what was written down is not, and neither is offered again', async (here) => {
    const server = await silent();
    const file = session([write(`${here.dir}/x.md`), { types: RULE }, { says: 'Noted.' }]);
    await here.extract(file, {}, { server });
    expect(await here.ranges()).toEqual([
      ['', file.message(3), 'own-write'],
      [file.message(4), file.message(5), 'done'],
    ]);
    expect(offered(server)).toEqual([RULE, 'Noted.']);
    expect((await here.extract(file, {}, { server })).outcome).toBe('nothing-new');
    expect(server.requests).toHaveLength(1);
  });

  it('what a person says before the write, also while the agent works, was there to be written down', async (here) => {
    const server = await silent();
    const file = session([{ types: RULE }, write(`${here.dir}/x.md`), { says: 'Saved.' }]);
    await here.extract(file, {}, { server });
    expect(await here.ranges()).toEqual([['', file.message(5), 'own-write']]);
    expect(server.requests).toEqual([]);
  });

  it('work that goes on after the write is offered, from there on', async (here) => {
    const server = await silent();
    const step = { calls: 'Bash', input: { command: 'make' }, result: 'ok' };
    const file = session([write(`${here.dir}/x.md`), step, { says: 'We build with make, since ninja is not there.' }]);
    await here.extract(file, {}, { server });
    expect(await here.ranges()).toEqual([
      ['', file.message(3), 'own-write'],
      [file.message(4), file.message(6), 'done'],
    ]);
    expect(offered(server).join('\n')).toContain('since ninja is not there');
    expect(offered(server).join('\n')).not.toContain(REMEMBER);
  });

  it('each write has its own range', async (here) => {
    const { dir } = here;
    const file = session([write(`${dir}/x.md`), { types: RULE }, write(`${dir}/MEMORY.md`), { types: 'Ship it.' }]);
    await here.extract(file);
    expect(await here.ranges()).toEqual([
      ['', file.message(3), 'own-write'],
      [file.message(4), file.message(6), 'own-write'],
      [file.message(7), file.message(7), 'done'],
    ]);
  });

  it('what the agent wrote in a range is known to whoever reads the rest, without secrets, also when the session has grown', async (here) => {
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    const server = await silent();
    const file = session([write(`${here.dir}/x.md`, `${DANA}\n- The token is ${secret}.`), { types: RULE }]);
    await here.extract(file, {}, { server });
    file.add('And what about Mondays?');
    await here.extract(file, {}, { server });
    const known = server.requests.map(({ messages }) => /<known>.*<\/known>/.exec(JSON.stringify(messages))?.[0]);
    expect(known).toEqual([expect.stringContaining(DANA), expect.stringContaining(DANA)]);
    expect(known[0]).toContain('- The token is [redacted:');
    expect(JSON.stringify(server.requests)).not.toContain(secret);
    expect(offered(server, 1)).toEqual(['And what about Mondays?', 'Done.']);
  });

  it('a write to another machine’s memory skips nothing, and shows what was written as the agent’s words', async (here) => {
    const server = await silent();
    const steps = [
      write(ELSEWHERE),
      write('~/.claude/projects/-home-kim-orchard/memory/x.md'),
      memoryTool({ command: 'create', path: '/memories/x.md', file_text: DANA }),
    ];
    for (const [n, step] of steps.entries()) {
      const file = sessionFile(tempDir(), { id: `${n}1111111-2222-4333-8444-555555555555` });
      file.add(REMEMBER, [step, { says: 'Saved.' }]);
      await here.extract(file, {}, { server });
      expect(offered(server, n)).toContain(REMEMBER);
      const shown = linesShown(server.requests[n]?.messages).find(({ line }) => line === DANA);
      expect(shown?.header).toMatch(/^\[\S+ assistant(?! call)/);
    }
    expect(await here.fates()).toEqual(['done', 'done', 'done']);
  });

  it('the memory tool’s write counts where at least half of what it added stands, or stood, in a memory that it may write to', async (here) => {
    const user = await here.withDirectory('user');
    const userMemoryFor = async () => user.row;
    writeFileSync(join(user.dir, 'rules.md'), `# Rules\n\n${DANA}\n`);
    await lookInto(here.memories, { memory: user.row.id, paths: 'all' });
    rmSync(join(user.dir, 'rules.md'));
    const half = { command: 'create', path: '/memories/x.md', file_text: `# Review\n\n${DANA}\nSam is on leave.` };
    await here.extract(session([memoryTool(half), { types: RULE }]), {}, { userMemoryFor });
    expect(await here.fates()).toEqual(['own-write', 'done']);
    const less = { ...half, file_text: `${DANA}\nSam is on leave.\nKim is here.` };
    const other = sessionFile(tempDir(), { id: '21111111-2222-4333-8444-555555555555' });
    other.add(REMEMBER, [memoryTool(less)]);
    await here.extract(other, {}, { userMemoryFor });
    expect((await here.fates()).filter((fate) => fate === 'own-write')).toHaveLength(1);
  });

  it('what was removed, by a memory tool or a command, tells nothing of what a person said: the turn is extracted', async (here) => {
    writeFileSync(join(here.dir, 'rules.md'), `${DANA}\n`);
    await lookInto(here.memories, { memory: here.row.id, paths: 'all' });
    rmSync(join(here.dir, 'rules.md'));
    await here.extract(session([memoryTool({ command: 'delete', path: '/memories/rules.md' })]));
    const other = sessionFile(tempDir(), { id: '21111111-2222-4333-8444-555555555555' });
    other.add(REMEMBER, [{ calls: 'Bash', input: { command: `rm ${here.dir}/rules.md` }, result: '' }]);
    await here.extract(other);
    expect(await here.fates()).toEqual(['done', 'done']);
  });

  it('a write counts through a link', async (here) => {
    const link = join(tempDir(), 'link');
    symlinkSync(here.dir, link);
    await here.extract(session([write(`${link}/x.md`), { says: 'Saved.' }]));
    expect(await here.fates()).toEqual(['own-write']);
  });

  it('a turn that goes on after it was covered is covered range by range', async (here) => {
    const server = await silent();
    const file = session([write(`${here.dir}/x.md`), { says: 'Saved.' }]);
    await here.extract(file, {}, { server });
    file.goOn([{ types: RULE }, { says: 'Noted.' }]);
    await here.extract(file, {}, { server });
    file.goOn([write(`${here.dir}/y.md`), { says: 'Saved that too.' }]);
    await here.extract(file, {}, { server });
    expect(await here.ranges()).toEqual([
      ['', file.message(4), 'own-write'],
      [file.message(5), file.message(6), 'done'],
      [file.message(7), file.message(9), 'own-write'],
    ]);
    expect(offered(server)).toEqual([RULE, 'Noted.']);
    expect(server.requests).toHaveLength(1);
  });

  /** A turn with a range that was written down and one that gave an entry. */
  async function halfWritten(here: Jobs) {
    const file = session([write(`${here.dir}/x.md`), { types: RULE }, { says: 'Noted.' }]);
    return { file, report: await here.extract(file) };
  }

  it('undoing the extraction takes back both ranges, nothing sweeps them, and a person takes them up once', async (here) => {
    const { file } = await halfWritten(here);
    const before = await here.ranges();
    expect(await here.undo()).toMatchObject({ outcome: 'undone', turns: 1 });
    expect(await here.fates()).toEqual(['undone', 'undone']);
    expect(await here.extract(file)).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });
    for (const outcome of ['recorded', 'nothing-new'])
      expect(await here.extract(file, { takeUp: ['undone'] })).toMatchObject({ outcome });
    expect(await here.ranges()).toEqual(before);
    expect(await here.states()).toEqual({ [RULE]: 'new' });
  });

  it('where one of two ranges is undone, only it is taken up again', async (here) => {
    const server = await silent();
    const file = session([{ says: 'Done.' }], 'We ship with Helm.');
    const first = await here.extract(file, {}, { server });
    file.goOn([{ types: RULE }, { says: 'Noted.' }]);
    await here.extract(file, {}, { server });
    await here.undo();
    expect(await here.fates()).toEqual(['done', 'undone']);
    await here.extract(file, { takeUp: ['undone'] }, { server });
    expect(offered(server, 2)).toEqual([RULE, 'Noted.']);
    expect(await here.undo(first.job)).toMatchObject({ outcome: 'undone' });
    expect(await here.fates()).toEqual(['undone', 'done']);
    await here.extract(file, { takeUp: ['undone'] }, { server });
    expect(offered(server, 3)).toEqual(['We ship with Helm.', 'Done.']);
    expect(await here.ranges()).toEqual([
      ['', file.message(2), 'done'],
      [file.message(3), file.message(4), 'done'],
    ]);
  });

  it('learning again divides the turn as before, and undoing that gives back ranges and entries', async (here) => {
    const { file } = await halfWritten(here);
    const before = { ranges: await here.ranges(), entries: await here.entries() };
    const [report] = await here.learnAgain({ session: file.id });
    expect(report).toMatchObject({ outcome: 'recorded', readTurns: 1 });
    expect(await here.ranges()).toEqual(before.ranges);
    expect(await here.states()).toEqual({ [RULE]: 'new' });
    expect(await here.undo()).toMatchObject({ outcome: 'undone' });
    expect({ ranges: await here.ranges(), entries: await here.entries() }).toEqual(before);
  });

  it('a turn that was left to the agent as a whole is divided when it is learned again, and undoing that brings it back', async (here) => {
    const { file } = await halfWritten(here);
    await here.undo();
    await here.db.run(
      "update turn set state = 'skipped', reason = 'own-write', through = ? where begins = ''",
      file.message(5),
    );
    await here.db.run("delete from turn where begins <> ''");
    const whole = [['', file.message(5), 'own-write']];
    for (const takeUp of [[], ['undone'], ['gave_up']] as const)
      expect(await here.extract(file, { takeUp })).toMatchObject({ outcome: 'nothing-new' });
    expect(await here.ranges()).toEqual(whole);
    await here.learnAgain({ session: file.id });
    expect(await here.ranges()).toEqual([
      ['', file.message(3), 'own-write'],
      [file.message(4), file.message(5), 'done'],
    ]);
    expect(await here.undo()).toMatchObject({ outcome: 'undone' });
    expect(await here.ranges()).toEqual(whole);
    expect(await here.extract(file)).toMatchObject({ outcome: 'nothing-new' });
  });

  it('a turn whose learning again fails keeps what covered it', async (here) => {
    const { file } = await halfWritten(here);
    const before = await here.ranges();
    const server = await testModel(() => error(400, 'no'));
    const reopen = new Set([file.turn(1)]);
    expect(await here.extract(file, { reopen }, { server })).toMatchObject({ outcome: 'failed' });
    expect(await here.ranges()).toEqual(before);
    expect(await here.extract(file)).toMatchObject({ outcome: 'nothing-new' });
  });

  it('a rest that is given up can be tried again, without the range before it', async (here) => {
    let isUp = false;
    const server = await testModel(() => (isUp ? says('Nothing.') : { text: 'No.', stop: 'refusal' }));
    const file = session([write(`${here.dir}/x.md`), { types: RULE }]);
    await here.extract(file, { attempts: 99 }, { server });
    expect(await here.fates()).toEqual(['own-write', 'gave_up']);
    isUp = true;
    expect(await here.extract(file, {}, { server })).toMatchObject({ outcome: 'nothing-new' });
    await here.extract(file, { takeUp: ['gave_up'] }, { server });
    expect(offered(server, server.requests.length - 1)).toEqual([RULE]);
    expect(await here.fates()).toEqual(['own-write', 'done']);
  });

  it('what a reader sees today between two covered ranges is covered with them, until it is learned again', async (here) => {
    const { file } = await halfWritten(here);
    const records = readFileSync(file.path, 'utf8').split('\n');
    const seen = { ...JSON.parse(records[3] as string), uuid: 'seen-since', timestamp: '2026-11-20T09:00:35Z' };
    seen.attachment.prompt = 'Nobody saw this before.';
    writeFileSync(file.path, [...records.slice(0, 3), JSON.stringify(seen), ...records.slice(3)].join('\n'));
    expect(await here.extract(file)).toMatchObject({ outcome: 'nothing-new' });
    const server = await silent();
    await here.learnAgain({ session: file.id }, { server });
    expect(offered(server)).toEqual(['Nobody saw this before.', RULE, 'Noted.']);
  });

  it('a session that is kept in pieces has the same ranges, and shows the same', async (here) => {
    const server = await silent();
    const file = session([write(`${here.dir}/x.md`), { types: RULE }, write(ELSEWHERE, '- Sam is on leave.')]);
    await here.extract(file, {}, { server });
    const ranges = await here.ranges();
    const id = (await sessionNamed(here.db, here.row.id, file.id))?.id ?? '';
    await keepPieces(here.db, id, await openSession(file.path));
    rmSync(file.path);
    await here.learnAgain({ all: true }, { server });
    expect(await here.ranges()).toEqual(ranges);
    expect(offered(server, 1)).toEqual([RULE, `[wrote ${ELSEWHERE}]`, '- Sam is on leave.', 'written']);
    expect(offered(server, 1)).toEqual(offered(server, 0));
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

  test.skipIf(skipped(engine) !== '')(
    'however a session grows, each message is covered once, and each word after the last write is offered once',
    async () => {
      const grow = (growth: { begins: boolean; kinds: (typeof KINDS)[number][] }[]) =>
        inJobs(engine, async (here) => {
          let inputs: string[] = [];
          const runAgent: RunAgent = async ({ input }) => {
            inputs.push(input);
            return 'done';
          };
          const file = sessionFile(tempDir());
          const learn = () => here.extract(file, {}, { runAgent });
          const expectTiles = async () => {
            const id = (await sessionNamed(here.db, here.row.id, file.id))?.id;
            const rows = await coverageWhere(here.db, { session: id });
            for (const turn of await collect(readTurns((await openSession(file.path)).messages()))) {
              const ids = turn.messages.map((message) => message.id);
              const covered = rows
                .filter((row) => row.id === turn.id)
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
            const steps = kinds.map((kind) => STEPS[kind]({ dir: here.dir, n: ++n }));
            const waiting = steps.slice(kinds.lastIndexOf('here') + 1);
            if (begins) file.add('Go on.', steps);
            else file.goOn(steps);
            await learn();
            const wanted = waiting.flatMap((step) => ('types' in step ? [step.types] : []));
            const shown = linesShown(inputs.join('\n')).filter(({ isOffered }) => isOffered);
            expect(shown.flatMap(({ line }) => /^Keep rule \d+\.$/.exec(line) ?? [])).toEqual(wanted);
            inputs = [];
            await learn();
            expect(inputs).toEqual([]);
            await expectTiles();
          }
          const before = await here.ranges();
          await here.learnAgain({ session: file.id }, { runAgent });
          await expectTiles();
          await here.undo();
          expect(await here.ranges()).toEqual(before);
        });
      await fc.assert(fc.asyncProperty(aGrowth, grow), { numRuns: sized({ quick: 3, deep: 40 }) });
    },
  );
});
