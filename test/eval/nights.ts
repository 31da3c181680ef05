// Lives a sample through: every evening the sessions of the day are extracted, every night is dreamt, by a fixed clock,
// in a memory directory of its own. What comes out is read from the files and the rows as they stand at the end.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import type { DreamOutput } from '../../jobs/dream/dream-landing.ts';
import type { Usage } from '../../src/base/config/prices.ts';
import { AppError, type ErrorCode, type Failure } from '../../src/base/errors.ts';
import { dayOf } from '../../src/base/time.ts';
import { type EntryRow, entriesWhere } from '../../src/memory/entries.ts';
import { headsOf } from '../../src/memory/file-rows.ts';
import { usageOf } from '../../src/memory/job-rows.ts';
import type { Memories, MemoryRow } from '../../src/memory/memories.ts';
import { restsOf } from '../../src/memory/rests.ts';
import { logDay } from '../../src/memory/text/daily-log.ts';
import { isTopicPath, parseTopic } from '../../src/memory/text/topic.ts';
import { countO200k } from '../../src/transcript/excerpt/tokens.ts';
import type { Message } from '../../src/transcript/messages.ts';
import { openSession } from '../../src/transcript/session.ts';
import type { Step } from '../support/session-file.ts';
import { type Fact, type Rendered, renderSample, type Sample, saidInStep } from './set.ts';
import { forgottenSteps, type Steps } from './steps.ts';

/** What a job says of its end. */
interface Ended {
  job: string | null;
  outcome: string;
  error?: Failure;
}

/** The jobs over one memory directory, as of one instant. */
export interface Night {
  memories: Memories;
  memory: MemoryRow;
  extract(transcript: string): Promise<Ended>;
  dream(): Promise<Ended>;
  close(): void | Promise<void>;
}

/** Opens `dir`, which is the same for all nights of a sample. */
export type OpenNight = (dir: string, now: string) => Promise<Night>;

/** A line of a topic, and the ids of the entries it rests on. */
export interface KeptLine {
  path: string;
  text: string;
  entries: string[];
  /** All entries that its topic ever rested on: a line may keep a word of one that gave way. */
  topicEntries: string[];
}

export interface Size {
  bytes: number;
  /** o200k tokens. */
  tokens: number;
}

export interface Observed {
  entries: (EntryRow & { isSeenOnce?: boolean })[];
  lines: KeptLine[];
  /** Human prompts, each with the message before it, which it may answer. */
  messages: string[];
  /** The ids of the prompts that say a fact, by id of the fact. */
  prompts: Map<string, Set<string>>;
  /** What was said, to and by tools too, without the records around it; but `bytes` are those of the files. */
  transcripts: Size;
  logs: Size;
  /** Topics and index. */
  memory: Size;
  spent: { extract: Usage; dream: Usage };
  /** What did not end as planned, a sentence each. */
  failures: string[];
}

/** Failures that the next session would meet as well. */
const HOPELESS: ErrorCode[] = ['no-model', 'auth', 'ceiling'];

/**
 * `steps`: what was done before in this directory, which is not done again.
 * Contract: throws only what makes going on pointless; else failures are told of in what it answers.
 */
export async function liveThrough(
  sample: Sample,
  {
    dir,
    open,
    say = () => {},
    steps = forgottenSteps(),
  }: { dir: string; open: OpenNight; say?(text: string): void; steps?: Steps },
): Promise<Observed> {
  const memory = join(dir, 'memory');
  const rendered = renderSample(sample, join(dir, 'sessions'), memory);
  const spent = { extract: noTokens(), dream: noTokens() };
  const failures: string[] = [];
  const take = async (kind: 'extract' | 'dream', what: string, night: Night, run: () => Promise<Ended>) => {
    const before = steps.get(what);
    if (before) return add(spent[kind], before);
    const report = await run();
    const { microUsd: _, ...spend } = await usageOf(night.memories.db, report.job ?? '');
    add(spent[kind], spend);
    if (!report.error) return steps.set(what, spend);
    const { code, message } = report.error;
    if (HOPELESS.includes(code)) throw new AppError(code, `${what}: ${message}`);
    failures.push(`${what}: ${report.outcome}: ${message}`);
  };
  const days = Map.groupBy(rendered, ({ session }) => dayOf(session.startsAt, 'UTC'));
  let last: string | undefined;
  for (const [day, sessions] of days) {
    last = `${dayOf(addDays(new Date(`${day}T12:00:00Z`), 1), 'UTC')}T03:30:00Z`;
    const night = await open(memory, last);
    try {
      for (const { session, path, act } of sessions) {
        say(`${day}: extracting`);
        act();
        await take('extract', `session ${session.id}`, night, () => night.extract(path));
      }
      say(`${day}: dreaming`);
      await take('dream', `dream of ${day}`, night, () => night.dream());
    } finally {
      await night.close();
    }
  }
  const end = await open(memory, last ?? '2026-11-21T03:30:00Z');
  try {
    return { ...(await readMemory(end)), ...(await readSessions(sample, rendered)), spent, failures };
  } finally {
    await end.close();
  }
}

async function readMemory({
  memories: { db },
  memory: { id },
}: Night): Promise<Pick<Observed, 'entries' | 'lines' | 'memory' | 'logs'>> {
  const once = new Map((await seenOnce(db, id)).map(({ source, line, file }) => [`${file} ${line}`, source]));
  const sources = new Set(once.values());
  const entries = (await entriesWhere(db, id, "and state <> 'gone'")).map((entry) => ({
    ...entry,
    isSeenOnce: sources.has(entry.id),
  }));
  const rested = await entriesOfTopics(db, id);
  const [memory, logs] = [nothing(), nothing()];
  const lines: KeptLine[] = [];
  for (const { id: file, path, content } of await headsOf(db, id)) {
    const text = content?.toString() ?? '';
    if (path === null) continue;
    grow(logDay(path) ? logs : memory, text);
    if (!isTopicPath(path)) continue;
    const rests = Map.groupBy(await restsOf(db, id, file), ({ line }) => line);
    for (const line of parseTopic(path, text).lines) {
      const own = (rests.get(line.id) ?? []).map(({ source }) => source);
      lines.push({ path, text: line.text, entries: own, topicEntries: rested.get(path) ?? [] });
    }
  }
  return { entries, lines, memory, logs };
}

/** Which entries went into which topic, as the dreams themselves told. */
async function entriesOfTopics(db: Memories['db'], memory: string): Promise<Map<string, string[]>> {
  const told = "select output from job where memory = ? and kind = 'dream' and output is not null";
  const rows = await db.all<{ output: string }>(told, memory);
  const operations = rows.flatMap(({ output }) => (JSON.parse(output) as DreamOutput).operations);
  const byTopic = Map.groupBy(operations, ({ topic }) => topic ?? '');
  return new Map([...byTopic].map(([path, of]) => [path, of.flatMap(({ entries }) => entries)]));
}

async function readSessions(
  sample: Sample,
  rendered: Rendered[],
): Promise<Pick<Observed, 'messages' | 'prompts' | 'transcripts'>> {
  const said = new Map<string, { file: Rendered; heard: Message[] }>();
  for (const file of rendered) said.set(file.session.id, { file, heard: await heardIn(file.path) });
  const messageOf = ({ session, turn, step }: Fact['said'][number]) => {
    const { file, heard = [] } = said.get(session) ?? {};
    const words = step === undefined ? null : wordsOf(file?.session.turns[turn - 1]?.steps[step]);
    if (words === null) return file?.prompt(turn) ?? '';
    return heard.find(({ parts }) => parts.some((part) => part.kind === 'text' && part.text.includes(words)))?.id ?? '';
  };
  const prompts = new Map(sample.facts.map(({ id, said }) => [id, new Set(said.map(messageOf))]));
  const messages: string[] = [];
  const transcripts = nothing();
  for (const { session, path } of rendered) {
    let before = '';
    for (const { says, steps } of session.turns) {
      messages.push(`${before}\n${says}`);
      for (const step of steps) {
        const words = wordsOf(step);
        if (words !== null) messages.push('asks' in step ? `${step.asks}\n${words}` : words);
      }
      transcripts.tokens += countO200k([says, ...steps.map(textOf)].join('\n'));
      before = steps.map(textOf).at(-1) ?? says;
    }
    transcripts.bytes += readFileSync(path).byteLength;
  }
  return { messages, prompts, transcripts };
}

async function heardIn(path: string): Promise<Message[]> {
  const session = await openSession(path);
  const heard: Message[] = [];
  for await (const message of session.messages()) if (message.speaker === 'human') heard.push(message);
  return heard;
}

function wordsOf(step: Step | undefined): string | null {
  return step ? saidInStep(step) : null;
}

function textOf(step: Step): string {
  if ('calls' in step) return `${JSON.stringify(step.input)}\n${step.result ?? ''}${step.refused ?? ''}`;
  if ('asks' in step) return [step.asks, ...step.options, step.chose].join('\n');
  return Object.values(step).join('\n');
}

function nothing(): Size {
  return { bytes: 0, tokens: 0 };
}

function grow(size: Size, text: string): void {
  size.bytes += Buffer.byteLength(text);
  size.tokens += countO200k(text);
}

function noTokens(): Usage {
  return { calls: 0, inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
}

function add(sum: Usage, more: Usage): void {
  for (const key of Object.keys(sum) as (keyof Usage)[]) sum[key] = (sum[key] ?? 0) + (more[key] ?? 0);
}

/** Lines that one session showed, and nobody stated; `source`: one of their entries. */
function seenOnce(db: Memories['db'], memory: string) {
  return db.all<{ file: string; line: string; source: string }>(
    `select r.file, r.line, min(r.source) as source from rests r join file f on f.memory = r.memory and f.id = r.file
       left join entry e on e.memory = r.memory and e.id = r.source
     where r.memory = ? and f.path is not null and r.source <> 'index' group by r.file, r.line
     having count(e.id) = count(*) and count(distinct e.session) = 1 and max(e.strength) = 'implied'`,
    memory,
  );
}
