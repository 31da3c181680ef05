// Two projects and a user scope over two hundred random sessions, with dreams, undos and a death at any step of the
// disk in between: no fact crosses a project's border, and each fact about the user arrives once.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { listFiles } from '../../src/base/files/directories.ts';
import { recallFor } from '../../src/next/hook/start-recall.ts';
import { findFaults } from '../../src/memory/history/check.ts';
import { projectMemoryDir } from '../../src/memory/home/paths.ts';
import { coverageWhere } from '../../src/memory/ledger/coverage.ts';
import { outboxRows } from '../../src/memory/ledger/entries.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { sized } from '../support/depth.ts';
import { onEachStep } from '../support/disk-steps.ts';
import { type JobsInProcess, jobsInProcess } from '../support/jobs-in-process.ts';
import { seeded } from '../support/random.ts';
import { type SessionFile, sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const SESSIONS = sized({ quick: 60, deep: 200 });
const PROJECTS = ['alpha', 'bravo'] as const;
/** By turn: what sounds alike in one session is taken for one statement. */
const ABOUT_USER = ['I prefer blend MARK over coffee.', 'I work on the MARK compiler.', 'I never drive the MARK car.'];
const ABOUT_PROJECT = [
  'Never restart the MARK cluster by hand.',
  'Always ship the MARK crates by train.',
  'We decided to store the MARK tapes in Bergen.',
];
type Project = (typeof PROJECTS)[number];

/** What a turn says, and what of it a memory would hold. */
interface Fact {
  /** Null: it is about the user. */
  project: Project | null;
  mark: string;
  prompt: string;
}

interface Session {
  project: Project;
  file: SessionFile;
  /** By turn, in order; null for one that says nothing. */
  facts: (Fact | null)[];
}

/** Runs `work` as a process that dies at its nth step: that one fails, and all after it. Answers whether it died. */
async function dyingAt(step: number, work: () => Promise<unknown>): Promise<boolean> {
  let left = step;
  const restore = onEachStep(() => {
    left -= 1;
    if (left <= 0) throw new Error('died');
  });
  try {
    await work();
  } catch (error) {
    if (left > 0) throw error;
  } finally {
    restore();
  }
  return left <= 0;
}

test('no fact crosses a project’s border, and what is about the user arrives once, whatever dies in between', async () => {
  // One run, of which the seed is told where it fails.
  await fc.assert(fc.asyncProperty(fc.nat(), liveThrough), { numRuns: 1, endOnFailure: true });
});

async function liveThrough(seed: number): Promise<void> {
  const random = seeded(seed);
  const home = tempDir();
  const at = (...names: string[]) => join(home, ...names);
  for (const dir of ['transcripts', '.nocturne']) mkdirSync(at(dir));
  writeFileSync(at('.nocturne/config.json'), '{ "userScope": true }');
  const config = await loadConfig({}, { HOME: home, NOCTURNE_NOW: '2026-11-21T02:00:00Z' });
  const memoryOf = (project: string) => projectMemoryDir(at('.claude'), at(project));
  // Leases of what died run out.
  let now = Date.parse('2026-11-21T02:00:00Z');
  const clock = { now: () => new Date(now) };
  const counts = { deaths: 0, undone: 0, delivered: 0 };

  interface Process {
    jobs: Record<Project, JobsInProcess>;
    asUser: JobsInProcess;
  }
  /** Opens everything as a process does, and closes it. */
  const asProcess = async (work: (opened: Process) => Promise<unknown>) => {
    const opened: JobsInProcess[] = [];
    const open = async (dir: string, user?: Store) => {
      const jobs = await jobsInProcess(dir, clock, { user });
      opened.push(jobs);
      return jobs;
    };
    try {
      const asUser = await open(at('.claude/memory'));
      const { store } = asUser;
      await work({
        jobs: { alpha: await open(memoryOf('alpha'), store), bravo: await open(memoryOf('bravo'), store) },
        asUser,
      });
    } finally {
      for (const each of opened) each.close();
      now += 120_000;
    }
  };

  let facts = 0;
  const factOf = (project: Project, turn: number): Fact | null => {
    facts += 1;
    const mark = `mark-${facts}-`;
    const kind = random.below(5);
    if (kind === 0) return null;
    if (kind <= 2) return { project: null, mark, prompt: ABOUT_USER[turn]?.replace('MARK', mark) ?? '' };
    const prompt = ABOUT_PROJECT[turn]?.replace('MARK', `${project} ${mark}`) ?? '';
    return { project, mark, prompt };
  };
  const sessions = Array.from({ length: SESSIONS }, (_, n): Session => {
    const project = random.pick(PROJECTS);
    const id = `${String(n).padStart(4, '0')}0000-2222-4333-8444-555555555555`;
    const day = String(1 + random.below(20)).padStart(2, '0');
    const file = sessionFile(at('transcripts'), { id, cwd: at(project), startsAt: `2026-11-${day}T09:00:00Z` });
    const said = Array.from({ length: 1 + random.below(3) }, (_, turn) => factOf(project, turn));
    for (const fact of said) file.add(fact?.prompt ?? 'Run the tests, please.');
    return { project, file, facts: said };
  });

  // Of these the undo does not hang on chance: each is worked until it is behind it.
  const taught = sessions.filter((session) => session.facts.some((fact) => fact !== null));
  const undone = new Set(taught.filter((_, at) => at % 20 === 10));

  // Each process works what waits, until it has had enough or dies; then the next one begins with what is left.
  const waiting = [...sessions];
  while (waiting.length > 0) {
    const work = () =>
      asProcess(async ({ jobs, asUser }) => {
        for (let most = 12; most > 0 && waiting[0]; most -= 1) {
          const { extract, undo, dream, deliver } = jobs[waiting[0].project];
          await extract(waiting[0].file.path);
          const chance = random.below(25);
          if (chance === 0 || undone.has(waiting[0])) await undo();
          await deliver();
          waiting.shift();
          if (chance === 1) await dream();
          if (chance === 2) await asUser.dream();
        }
      });
    if (random.below(4) === 0) await work();
    else if (await dyingAt(1 + random.below(200), work)) counts.deaths += 1;
    if (counts.deaths % 10 === 0) await expectBorders();
  }

  // What is due after the last death: nothing is extracted twice, what waits is delivered, and everybody dreams.
  await asProcess(async ({ jobs, asUser }) => {
    for (const { project, file } of sessions) await jobs[project].extract(file.path);
    for (const project of PROJECTS) await jobs[project].deliver();
    for (const each of [...Object.values(jobs), asUser]) await each.dream();
  });

  async function expectBorders(): Promise<void> {
    const recalled = async (name: string) =>
      (await recallFor(config, { cwd: at(name), characters: 10_000_000, tokens: 10_000_000 })).text;
    const shows = async (name: string) => {
      const text = await recalled(name);
      return PROJECTS.filter((project) => text.includes(` ${project} mark-`));
    };
    for (const project of PROJECTS) expect((await shows(project)).filter((each) => each !== project)).toEqual([]);
    expect(await shows('charlie')).toEqual([]);
  }

  await expectBorders();
  const said = new Map<string, Map<string, string>>();
  for (const [name, dir] of [
    ...PROJECTS.map((each) => [each, memoryOf(each)] as const),
    ['user', at('.claude/memory')] as const,
  ]) {
    const files = (await listFiles(dir)).filter((path) => path.endsWith('.md'));
    said.set(name, new Map(files.map((path) => [path, readFileSync(join(dir, path), 'utf8')])));
  }
  /** In how many log entries of a directory a mark stands. */
  const timesLogged = (name: string, mark: string) =>
    [...(said.get(name) ?? [])]
      .filter(([path]) => path.startsWith('logs/'))
      .reduce(
        (sum, [, text]) => sum + text.split('\n').filter((line) => line.startsWith('- ') && line.includes(mark)).length,
        0,
      );
  const anywhere = (name: string, mark: string) =>
    [...(said.get(name)?.values() ?? [])].some((text) => text.includes(mark));

  await asProcess(async ({ jobs, asUser }) => {
    expect(await findFaults(asUser.store)).toEqual([]);
    for (const project of PROJECTS) {
      const { store } = jobs[project];
      expect([outboxRows(store.ledger), await findFaults(store)]).toEqual([[], []]);
      const dispositions = new Map(coverageWhere(store.ledger).map((row) => [row.turn, row.disposition]));
      for (const session of sessions.filter((each) => each.project === project)) {
        for (const [index, fact] of session.facts.entries()) {
          const isUndone = dispositions.get(session.file.turn(index + 1)) === 'undone';
          expect(dispositions.has(session.file.turn(index + 1))).toBe(true);
          if (isUndone) counts.undone += 1;
          if (!fact) continue;
          const home = fact.project ?? 'user';
          if (fact.project === null && !isUndone) counts.delivered += 1;
          expect([fact.mark, timesLogged(home, fact.mark)]).toEqual([fact.mark, isUndone ? 0 : 1]);
          for (const other of said.keys()) {
            if (other !== home)
              expect([fact.mark, other, anywhere(other, fact.mark)]).toEqual([fact.mark, other, false]);
          }
        }
      }
    }
  });
  expect(counts.deaths).toBeGreaterThan(SESSIONS / 12);
  expect(counts.undone).toBeGreaterThan(0);
  expect(counts.delivered).toBeGreaterThan(SESSIONS / 2);
}
