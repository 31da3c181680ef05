// What people, programs and jobs do to one memory, step by step, as a plan says. A step that has nothing to work
// on does nothing. What it knows beside the rows is what was said, by whom a line was written, and what was taken out for good.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { restore } from '../../jobs/edit.ts';
import { forget } from '../../jobs/forget.ts';
import { redact } from '../../jobs/redact.ts';
import { undo } from '../../jobs/undo.ts';
import { lookInto } from '../../src/memory/commit.ts';
import { entriesWhere } from '../../src/memory/entries.ts';
import type { Memories, MemoryRow } from '../../src/memory/memories.ts';
import { scrubOf } from '../../src/memory/redaction.ts';
import { isTopicPath, parseTopic } from '../../src/memory/text/topic.ts';
import { dream, learn, stateOf as wholeState } from '../support/acts.ts';
import type { World } from '../support/memory-world.ts';

type OfJobs = 'learn' | 'dream' | 'undo' | 'undo-the-undo' | 'forget' | 'redact' | 'restore';
type ByHand = 'write-by-hand' | 'reword-by-hand' | 'move-by-hand' | 'delete-by-hand' | 'branch' | 'switch';
export type StepKind = OfJobs | ByHand | 'other-process' | 'clock-back' | 'next-day';

export interface Step {
  kind: StepKind;
  /** Which of what there is. */
  pick: number;
}

type State = Awaited<ReturnType<typeof wholeState>>;

/** All but the index, which follows from topics. */
async function stateOf(at: Parameters<typeof wholeState>[0], memory: string): Promise<State> {
  const { files, rests, ...rows } = await wholeState(at, memory);
  const isIndex = ({ path }: { path: string }) => /^(?:MEMORY\.md$|index\/)/.test(path);
  return {
    ...rows,
    files: files.filter((file) => !isIndex(file)),
    rests: rests.filter(({ source }) => source !== 'index'),
  };
}

export interface Lived {
  world: World;
  dir: string;
  row: MemoryRow;
  /** By which process the next step is done. */
  memories: Memories;
  others: Memories[];
  said: string[];
  /** Lines that no job wrote. */
  byHand: Set<string>;
  /** Texts that no row and no byte may hold. */
  redacted: string[];
  forgotten: string[];
  /** Of each job that can be undone: what stood before it and after it. */
  done: { job: string; before: State; after: State; isUndo?: boolean }[];
  /** What is wrong, found by a step itself. */
  wrong: string[];
  clock: { at: number };
  branch: string | null;
  steps: number;
}

const HOUR_MS = 3_600_000;

export async function step(lived: Lived, { kind, pick }: Step): Promise<void> {
  lived.steps += 1;
  lived.clock.at += 5_000;
  const { row, dir, memories, world } = lived;
  const at = { db: world.db, memories };
  const paths = () => readdirSync(dir).filter((name) => isTopicPath(name) && existsSync(join(dir, name)));
  const topic = () => paths().sort()[pick % Math.max(1, paths().length)];
  const read = (path: string) => readFileSync(join(dir, path), 'utf8');
  switch (kind) {
    case 'learn': {
      const n = lived.said.length;
      const texts = [`Always use tool${n}x for part ${n}.`, `Never call port ${4_000 + n} before noon${n}x.`];
      lived.said.push(...texts);
      const turns = { [`t${n}`]: texts[0] as string, [`t${n + 1}`]: texts[1] as string, [`t${n + 2}`]: null };
      return noting(lived, () => learn(at, row.id, turns, { session: `s${pick % 3}` }));
    }
    case 'dream': {
      const fresh = (await entriesWhere(world.db, row.id, "and state = 'new'")).map(({ text }) => text);
      if (fresh.length === 0) return;
      const byTopic = Map.groupBy(fresh, (text) => `topic-${(text.length + pick) % 3}`);
      const free = [...byTopic].filter(([name]) => !isElsewhere(lived, `${name}.md`));
      if (free.length === 0) return;
      return noting(lived, () => dream(at, row.id, Object.fromEntries(free)));
    }
    case 'write-by-hand': {
      const path = topic();
      if (path === undefined) return;
      const line = `By hand ${lived.steps}: keep shelf ${pick}.`;
      lived.byHand.add(line);
      return writeFileSync(join(dir, path), `${read(path).trimEnd()}\n- ${line}\n`);
    }
    case 'reword-by-hand': {
      const path = topic();
      const lines = path === undefined ? [] : parseTopic(path, read(path)).lines;
      const line = lines[pick % Math.max(1, lines.length)];
      if (path === undefined || !line) return;
      const text = `${line.text.replace(/\.$/, '')}, said ${lived.steps}.`;
      lived.byHand.add(text);
      return writeFileSync(join(dir, path), read(path).replace(line.text, text));
    }
    case 'move-by-hand': {
      const path = topic();
      if (path === undefined) return;
      return renameSync(join(dir, path), join(dir, `moved-${lived.steps}.md`));
    }
    case 'delete-by-hand': {
      const path = topic();
      return path === undefined ? undefined : rmSync(join(dir, path));
    }
    case 'branch': {
      await lookInto(memories, { memory: row.id, paths: 'all' });
      lived.branch = join(dirname(dir), `branch-${lived.steps}`);
      mkdirSync(lived.branch);
      for (const path of paths()) cpSync(join(dir, path), join(lived.branch, path));
      return;
    }
    case 'switch': {
      const { branch } = lived;
      if (branch === null) return;
      lived.branch = null;
      for (const path of paths()) if (!existsSync(join(branch, path))) rmSync(join(dir, path));
      for (const path of readdirSync(branch)) {
        const text = readFileSync(join(branch, path), 'utf8');
        for (const line of parseTopic(path, text).lines) lived.byHand.add(line.text);
        writeFileSync(join(dir, path), text);
      }
      return;
    }
    case 'undo':
      await takeBack(lived, lived.done.pop());
      return;
    case 'undo-the-undo': {
      const last = lived.done.pop();
      const undone = await takeBack(lived, last, { isCounted: false });
      if (!undone || !last) return;
      await takeBack(lived, undone);
      return;
    }
    case 'forget': {
      const text = lived.said[pick % Math.max(1, lived.said.length)];
      if (text === undefined || lived.redacted.some((word) => text.includes(word))) return;
      await settled(lived);
      const before = await stateOf(at, row.id);
      const report = await forget({ target: text, all: true, confirm: async () => true }, { memories, memory: row });
      if (report.outcome !== 'forgotten') return;
      lived.forgotten.push(...report.entries.map((entry) => entry.text));
      lived.done.push({ job: report.job, before, after: await stateOf(at, row.id) });
      return;
    }
    case 'redact': {
      const word = /\b(?:tool|noon)\d+x\b/.exec(lived.said[pick % Math.max(1, lived.said.length)] ?? '')?.[0];
      if (word === undefined) return;
      await redact({ scrub: scrubOf(word) }, { memories });
      lived.redacted.push(word);
      // What it emptied cannot be put back as it was.
      lived.done.length = 0;
      lived.branch = null;
      for (const line of [...lived.byHand])
        if (line.includes(word)) lived.byHand.add(line.replaceAll(word, '[redacted]'));
      return;
    }
    case 'restore': {
      await settled(lived);
      const versions = await world.db.all<{ id: string; content: Buffer; path: string }>(
        "select id, content, path from version where memory = ? and content is not null and path not like 'logs/%' order by seq",
        row.id,
      );
      const version = versions[pick % Math.max(1, versions.length)];
      if (!version || !isTopicPath(version.path)) return;
      for (const line of parseTopic(version.path, String(version.content)).lines) lived.byHand.add(line.text);
      const before = await stateOf(at, row.id);
      const report = await restore({ memory: row.id, version: version.id }, { memories }).catch((error) => {
        if (error?.code !== 'conflict') throw error;
        return null;
      });
      if (report?.job) lived.done.push({ job: report.job, before, after: await stateOf(at, row.id) });
      return;
    }
    case 'other-process':
      lived.memories = lived.others[pick % Math.max(1, lived.others.length)] ?? lived.memories;
      await lived.memories.of(row.id);
      return;
    case 'clock-back':
      lived.clock.at -= HOUR_MS;
      return;
    case 'next-day':
      lived.clock.at += 25 * HOUR_MS;
  }
}

/** A topic of this name stands elsewhere by now, or was deleted: a night would not know it under that name. */
function isElsewhere({ dir }: Lived, path: string): boolean {
  return existsSync(join(dir, path)) && !isTopicPath(path);
}

/** What a person did past nocturne is known. */
function settled({ memories, row }: Lived): Promise<void> {
  return lookInto(memories, { memory: row.id, paths: 'all' });
}

async function noting(lived: Lived, work: () => Promise<string>): Promise<void> {
  const at = { db: lived.world.db, memories: lived.memories };
  await settled(lived);
  const before = await stateOf(at, lived.row.id);
  const job = await work();
  lived.done.push({ job, before, after: await stateOf(at, lived.row.id) });
}

/** Undoes a job. Where nothing happened since, all is as it was before it, but that its turns are not learned again. */
async function takeBack(
  lived: Lived,
  last: Lived['done'][number] | undefined,
  { isCounted = true } = {},
): Promise<Lived['done'][number] | undefined> {
  if (!last) return undefined;
  const { memories, row, world } = lived;
  const at = { db: world.db, memories };
  await settled(lived);
  const before = await stateOf(at, row.id);
  const report = await undo({ job: last.job, partial: !last.isUndo }, { memories }).catch((error) => {
    if (!['bad-input', 'refused'].includes(error?.code)) throw error;
    return null;
  });
  const after = await stateOf(at, row.id);
  if (!report || report.undo === null) {
    if (text(before) !== text(after)) lived.wrong.push(`a refused undo of ${last.job} changed something`);
    return undefined;
  }
  const isWhole = text(before) === text(last.after) && report.outcome === 'undone';
  if (isWhole && isCounted && text(withoutTurns(after)) !== text(withoutTurns(last.before)))
    lived.wrong.push(`undo of ${last.job}: ${difference(last.before, after)}`);
  return { job: report.undo, before, after, isUndo: true };
}

const withoutTurns = ({ turns: _, ...state }: State) => state;
const text = (value: unknown) => JSON.stringify(value);

function difference(wanted: State, found: State): string {
  const parts = (['files', 'entries', 'rests'] as const).filter((part) => text(wanted[part]) !== text(found[part]));
  return parts.map((part) => `${part} were ${text(wanted[part])}, are ${text(found[part])}`).join('; ');
}
