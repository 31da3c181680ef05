// Lives a sample through: every evening the sessions of the day are extracted, every night is dreamt, by a fixed clock,
// in a memory directory of its own. What comes out is read from the files and the ledger as they stand at the end.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import type { DreamReport } from '../../jobs/dream.ts';
import type { ExtractReport } from '../../jobs/extract.ts';
import { AppError, type ErrorCode } from '../../src/base/errors.ts';
import { dayOf } from '../../src/base/time.ts';
import type { SpentTokens } from '../../src/memory/home/spend.ts';
import { allEntries, type EntryRow, supportsOf } from '../../src/memory/ledger/entries.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { logDay } from '../../src/memory/text/daily-log.ts';
import { parseJsonReport } from '../../src/memory/text/dream-report.ts';
import { isTopicPath, parseTopic } from '../../src/memory/text/topic.ts';
import { countO200k } from '../../src/transcript/excerpt/tokens.ts';
import { openSession } from '../../src/transcript/session.ts';
import type { Message } from '../../src/transcript/types.ts';
import type { Step } from '../support/session-file.ts';
import { type Fact, type Rendered, renderSample, type Sample, saidInStep } from './set.ts';
import { forgottenSteps, type Steps } from './steps.ts';

/** The jobs over one memory directory, as of one instant. */
export interface Night {
  store: Store;
  extract(transcript: string): Promise<ExtractReport>;
  dream(): Promise<DreamReport>;
  close(): void;
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
  entries: EntryRow[];
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
  spent: { extract: SpentTokens; dream: SpentTokens };
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
  const take = async (kind: 'extract' | 'dream', what: string, run: () => Promise<ExtractReport | DreamReport>) => {
    const before = steps.get(what);
    if (before) return add(spent[kind], before);
    const report = await run();
    add(spent[kind], report.spend);
    if (!report.error) return steps.set(what, report.spend);
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
        await take('extract', `session ${session.id}`, () => night.extract(path));
      }
      say(`${day}: dreaming`);
      await take('dream', `dream of ${day}`, () => night.dream());
    } finally {
      night.close();
    }
  }
  const end = await open(memory, last ?? '2026-11-21T03:30:00Z');
  try {
    return { ...(await readMemory(end.store)), ...(await readSessions(sample, rendered)), spent, failures };
  } finally {
    end.close();
  }
}

async function readMemory(store: Store): Promise<Pick<Observed, 'entries' | 'lines' | 'memory' | 'logs'>> {
  const entries = allEntries(store.ledger).filter(({ state }) => state !== 'withdrawn' && state !== 'forgotten');
  const rested = entriesOfTopics(store.dir);
  const [memory, logs] = [nothing(), nothing()];
  const lines: KeptLine[] = [];
  for (const path of await store.list()) {
    const text = (await store.read(path)) ?? '';
    grow(logDay(path) ? logs : memory, text);
    if (!isTopicPath(path)) continue;
    const supports = Map.groupBy(supportsOf(store.ledger, path), ({ line }) => line);
    for (const line of parseTopic(path, text).lines) {
      const own = (supports.get(line.id) ?? []).map(({ entry }) => entry);
      lines.push({ path, text: line.text, entries: own, topicEntries: rested.get(path) ?? [] });
    }
  }
  return { entries, lines, memory, logs };
}

/** Which entries went into which topic, as the dreams' own reports say. */
function entriesOfTopics(dir: string): Map<string, string[]> {
  const reports = join(dir, '.nocturne', 'dreams');
  const names = existsSync(reports) ? readdirSync(reports).filter((name) => name.endsWith('.json')) : [];
  const rows = names.flatMap((name) => parseJsonReport(readFileSync(join(reports, name), 'utf8')) ?? []);
  const rested = Map.groupBy(rows, ({ topic }) => topic ?? '');
  return new Map([...rested].map(([path, of]) => [path, of.map(({ entry }) => entry)]));
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

function noTokens(): SpentTokens {
  return { calls: 0, inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
}

function add(sum: SpentTokens, more: SpentTokens): void {
  for (const key of Object.keys(sum) as (keyof SpentTokens)[]) sum[key] = (sum[key] ?? 0) + (more[key] ?? 0);
}
