// Why memory is as it is. why is the one door: a line or a topic and what it rests on, words and where they are said, an
// entry, a session and what became of it, a job, a day's dreams.
// Sessions are named by how their ids begin, turns by their numbers, times as a person says them; JSON has it all whole.

import type { DreamOutput, ToldOperation } from '../../jobs/dream/dream-landing.ts';
import { AppError, isAppError } from '../base/errors.ts';
import { statNow } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { type Day, dayOf, isDay, timeOf } from '../base/time.ts';
import { entriesAmong, isInLog } from '../memory/entries.ts';
import type { Actor } from '../memory/file-rows.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { sayOp, sayOperations } from '../memory/memory-types.ts';
import { type ExplainedEntry, type ExplainedLine, explainEntries, explainLines, restingOn } from '../memory/rests.ts';
import { findId, shortId, wholeId } from '../memory/short-ids.ts';
import { logDay } from '../memory/text/daily-log.ts';
import { isTopicFile } from '../memory/text/topic.ts';
import { print, style } from '../terminal/output.ts';
import { dayAmong, plainly, sayBy, sayTime, sayWhen } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { type SessionFate, sayProposals, sessionFates } from '../worker/session-fate.ts';
import { placeOf, saySession, sayWriter } from '../worker/whose-memory.ts';
import { type CommonOptions, MEMORY, memoryHere } from './cli-options.ts';
import { findTopic, LINE } from './history-command.ts';
import { sayNight } from './printer.ts';
import type { CommandSpec } from './spec.ts';

/** Of what words are found in. */
const MOST_FOUND = 5;
/** Of what dreams did with an entry. */
const MOST_TOLD = 3;

const why: CommandSpec<CommonOptions, [string[]]> = {
  name: 'why',
  about: 'where a line, words or a session come from, and why',
  args: [['[what...]', 'a topic, TOPIC:LINE, words, an entry, a session (its id or its file), a job, or a day']],
  options: MEMORY,
  json: 'of a topic, a line or words [{ path, number, id, text, isPersons, program, authors, entries }]; of an entry { id, type, text, evidence, …, lines, told, proposals }; of a session, one line each, { session, transcript, unreadable, memory, turns, entries, refused, holds, waiting, failure, proposals, next }; of a day, and without anything of the last dream, { day, dreams }',
  more: 'Without an argument it tells what the last dream did. It asks no model.',
  examples: ['why working-agreements.md:7', 'why pnpm lockfile', 'why 0d8c1a52', 'why yesterday'],
  async inApp(app, call) {
    const memory = await memoryHere(app);
    const what = call.args[0].join(' ');
    const { json } = call.options;
    if (what === '' || isDay(what) || /^(?:today|yesterday|-\d{1,5})$/.test(what))
      return tellNights(app, memory, { given: what || undefined, json });
    if (memory && (await explainMemory(app, memory, { what, json }))) return;
    if (isLikeSession(what) && (await tellSessions(app, { what, json }))) return;
    if (memory && (await explainWords(app, memory, { what, json }))) return;
    throw new AppError(
      'bad-input',
      `Nothing in ${app.memoryDirOf()} contains ${JSON.stringify(what)}, and no session has that name.`,
      {
        remedy:
          'nocturne list and nocturne search show what is remembered, nocturne list --sessions what was learned from.',
      },
    );
  },
};

interface Asked {
  what: string;
  json?: boolean;
}

/** An entry, a job, a topic or a line of it; false where it is none. */
async function explainMemory(app: App, memory: MemoryRow, { what, json }: Asked): Promise<boolean> {
  if (/^e_[0-9a-f]{4,12}$/.test(what)) {
    await explainOne(app, memory, { what, json });
    return true;
  }
  if (/^job_[0-9a-f]{4,24}$/.test(what)) return tellJob(app, memory, { what, json });
  const [, given = what, line] = LINE.exec(what) ?? [];
  const path = await findTopic(app, memory, given);
  if (path === undefined) return false;
  const lines = await explainLines(app.db, { memory: memory.id, path, line });
  print(json ? lines : (await Promise.all(lines.map((each) => describeLine(app, memory, each)))).join('\n\n'));
  return true;
}

async function tellJob(app: App, memory: MemoryRow, { what, json }: Asked): Promise<boolean> {
  const id = await findId(app.db, 'job', what);
  const job = await app.db.get<
    Record<'id' | 'kind' | 'createdAt' | 'status', string> & Record<'outcome' | 'error' | 'session', string | null>
  >(
    `select job.id, kind, job.created_at as "createdAt", status, outcome, error, s.name as session
     from job left join session s on s.id = job.session where job.id = ?`,
    id ?? what,
  );
  if (!job) return false;
  const { kind, outcome, error, session } = job;
  if (kind === 'dream') await tellNights(app, memory, { job: job.id, json });
  else if (session) return tellSessions(app, { what: session, json });
  else {
    const said = `${kind}: ${outcome ?? job.status}${error ? `, ${error}` : ''}`;
    print(json ? { id: job.id, kind, createdAt: job.createdAt, outcome, error } : said);
  }
  return true;
}

/** An id of a session has digits, or is hexadecimal; its file is there. */
function isLikeSession(what: string): boolean {
  return statNow(what)?.isFile === true || /^(?=\S*\d|[0-9a-f]{8})[\w.-]{4,}$/.test(what) || /[/\\]/.test(what);
}

async function tellSessions(app: App, { what, json }: Asked): Promise<boolean> {
  const isFile = statNow(what)?.isFile === true;
  const found = await sessionFates(app, what).catch((error: unknown) => {
    if (isFile || !isAppError(error, 'bad-input')) throw error;
    return [];
  });
  for (const each of found) print(json ? each : await describeSession(app, each));
  return found.length > 0;
}

/** The lines that have the words, best first, with what they rest on; of what no dream has read, the entries. */
async function explainWords(app: App, memory: MemoryRow, { what, json }: Asked): Promise<boolean> {
  const { hits } = await app.files(memory).search({ query: what, limit: MOST_FOUND });
  const found: { json: object; said: string }[] = [];
  const known = new Set<string>();
  for (const { path, line } of hits) {
    if (isTopicFile(path)) {
      const lines = await explainLines(app.db, { memory: memory.id, path, line: String(line) }).catch(() => []);
      for (const each of lines) {
        found.push({ json: each, said: await describeLine(app, memory, each) });
        for (const { id } of each.entries) known.add(id);
      }
      continue;
    }
    const said = (await app.files(memory).read({ path }))?.text.split('\n')[line - 1] ?? '';
    const ofDay = await entriesAmong(app.db, memory.id, { column: 'day', of: [logDay(path) ?? ''] });
    const row = ofDay.find((each) => isInLog(each) && said.includes(each.text.split('\n')[0] as string));
    const [entry] = row && !known.has(row.id) ? await explainEntries(app.db, memory.id, [row.id]) : [];
    if (!entry) continue;
    known.add(entry.id);
    found.push({ json: entry, said: await describeEntry(app, entry) });
  }
  if (found.length === 0) return false;
  print(json ? found.map((each) => each.json) : found.map(({ said }) => said).join('\n\n'));
  return true;
}

async function explainOne(app: App, memory: MemoryRow, { what, json }: Asked): Promise<void> {
  const id = await wholeId(app.db, 'entry', what);
  const [entry] = await explainEntries(app.db, memory.id, [id]);
  if (!entry) throw new AppError('bad-input', `There is no entry ${what} in ${app.memoryDirOf()}.`);
  const resting = await restingOn(app.db, memory.id, [id]);
  const told = await toldOf(app, memory, id);
  const proposals = await sayProposals(app, memory.id, id);
  if (json) return print({ ...entry, lines: resting, told, proposals });
  const name = (of: string) => (line: { path: string; text: string }) => `  ${line.path}: ${line.text} (${of})`;
  const lines = [...resting.alone.map(name('on it alone')), ...resting.shared.map(name('on others too'))];
  const nights = told.map(({ day, op, topic, reason, over = [] }) => {
    const gone = over.length > 0 ? ` No longer true: ${over.join('; ')}` : '';
    return `  dream of ${day}: ${sayOp(op)}${topic ? ` → ${topic}` : ''}. ${reason}${gone}`;
  });
  const waits =
    entry.strength === 'implied'
      ? 'A habit that was seen: no session is told of it before a night has looked at it.'
      : 'The next night sorts it into a topic.';
  const rests = lines.length > 0 ? 'What rests on it:' : entry.state === 'new' ? waits : 'No line rests on it.';
  print([await describeEntry(app, entry), ...nights, ...proposals, rests, ...lines].join('\n'));
}

/** What became of a session, and what it taught. */
async function describeSession(app: App, found: SessionFate): Promise<string> {
  const { db, config } = app;
  const short = await shortId(db, 'session', found.session);
  const { holds, waiting, failure } = found;
  const why = waiting?.why;
  const gaveUp = failure && failure.state !== 'ended' ? `, ${failure.state}` : '';
  return [
    `session     ${(await saySession(app, found.session)).replace(/^session /, '')}`,
    `transcript  ${found.transcript}${found.unreadable ? ` — ${found.unreadable}` : ''}`,
    `memory      ${found.memory}`,
    ...(holds ? [`holds       ${sayCount(holds.turns, 'turn')}`] : []),
    ...found.turns.map(({ state, turns, why }, index) => {
      const said = state === 'declined' ? 'not read' : state;
      return `${(index === 0 ? 'turns' : '').padEnd(12)}${turns}  ${said}: ${why}`;
    }),
    ...found.entries.map(({ type, text, state }, index) => {
      const mark = state === 'new' || state === 'placed' ? '' : ` (${state})`;
      return `${(index === 0 ? 'taught' : '').padEnd(12)}${type.padEnd(9)}  ${text}${mark}`;
    }),
    ...[...Map.groupBy(found.refused, sayRefusal)].map(([why, { length }]) => `refused     ${length} × ${why}`),
    ...(waiting
      ? [`waits       until ${sayTime(waiting.notBefore, config)}${why ? `: ${plainly(why, config)}` : ''}`]
      : []),
    ...(failure ? [`failed      ${sayWhen(failure.at, config)}: ${failure.code}${gaveUp}: ${failure.message}`] : []),
    ...found.proposals.map(({ entry, text, says }) => `proposed    ${text} (${entry}): ${says}`),
    `next        ${plainly(found.next.replaceAll(` ${found.session}`, ` ${short}`), config)}`,
  ].join('\n');
}

const FOR_THE_MODEL = /^(?:Leave|Say|Quote|Put|Use|Copy|Name|Add|Write|What someone else)\b/;

/** Why code refused what the model proposed: it was worded for the model, with what that should do about it. */
function sayRefusal(why: string): string {
  const sentences = why.split(/(?<=\.) (?=[A-Z])/).filter((sentence) => !FOR_THE_MODEL.test(sentence));
  return sentences
    .join(' ')
    .replace(/^(?:evidence\[\d+\]\.)?(?:text|message|type): (?=(says|leaves|holds) )?/, (_, verb) =>
      verb ? 'it ' : '',
    )
    .replace(/^(?:evidence\[\d+\]\.)?quote: /, 'its quote: ')
    .replace(/\bhuman message\b/g, "person's message")
    .replace(/\bhuman\b(?!-\d)/g, 'person');
}

async function describeLine(app: App, memory: MemoryRow, line: ExplainedLine): Promise<string> {
  const { path, number, text, isPersons, program, authors, entries } = line;
  const head = `${path}:${number}\n  ${text}`;
  if (authors.length > 0) return `${head}\n  shared by ${authors.join(', ')}`;
  if (program) {
    const [kind, id] = program.split(':') as [Actor['kind'], string];
    return `${head}\n  written by ${sayActor({ kind, id })}; not by you`;
  }
  if (isPersons) return `${head}\n  ${await sayWriter(app, memory.id, line)}`;
  return [head, ...(await Promise.all(entries.map((entry) => describeEntry(app, entry, '  ', text))))].join('\n');
}

function sayActor({ kind, id }: Actor): string {
  if (kind === 'user' || kind === 'external') return 'you';
  return kind === 'job' ? `a job (${id})` : `a program (${id})`;
}

/** `line`: what stands above it, and is not said again. */
async function describeEntry(app: App, entry: ExplainedEntry, indent = '', line = ''): Promise<string> {
  const { db, config } = app;
  const { id, type, strength, state, reason, at, text, by, session, evidence, log, transcript } = entry;
  const when = sayWhen(at, config);
  const fate = state === 'gone' ? (reason ?? state) : state;
  // What goes without saying: a person said it, and it is in a topic.
  const marks = [
    ...(strength === 'stated' ? [] : [strength]),
    ...(state === 'placed' ? [] : [state === 'new' ? 'not sorted into topics yet' : fate]),
  ];
  const lines = [
    `← ${[await shortId(db, 'entry', id), type, ...marks, `in ${log}`].join(', ')}`,
    ...(text === line ? [] : [`  ${text}`]),
    ...evidence.map(({ quote }) => `  “${quote}”`),
    evidence.length === 0
      ? `  written by a ${by === 'assistant' ? 'program' : 'person'}, ${when}`
      : `  said ${sayBy(entry)}, ${when}${session ? `, in ${await saySession(app, session)}` : ''}`,
    ...(session ? [`  transcript ${transcript ?? 'unknown'}`] : []),
  ];
  return lines.map((each) => `${indent}${each}`).join('\n');
}

interface Night {
  job: string;
  at: string;
  output: string;
}

/** Dreams of a day, by default the last one; with `job` that one alone. All of it is in the rows of the jobs. */
async function tellNights(
  app: App,
  memory: MemoryRow | null,
  { given, job, json }: { given?: string; job?: string; json?: boolean },
): Promise<void> {
  const { db, config } = app;
  const called = memory ? placeOf(memory) : app.memoryDirOf();
  const nights = await db.all<Night>(
    `select id as job, created_at as at, output from job where kind in ('dream', 'review') and memory = ? and output is not null
       and ended_at is not null and exists (select 1 from change where change.job = job.id and change.undone_by is null)
     order by (select max(n) from change where change.job = job.id)`,
    memory?.id ?? '',
  );
  const dayOfNight = ({ at }: Night) => dayOf(new Date(at), config.zone);
  const days = [...new Set(nights.map(dayOfNight))];
  const ofJob = nights.find((night) => night.job === job);
  const none = new AppError('bad-input', `No dream has done anything in ${called} yet.`, {
    remedy: 'nocturne dream sorts the logs into topics now.',
  });
  if (job !== undefined && !ofJob)
    return print(json ? { day: null, dreams: [] } : `${await shortId(db, 'job', job)} changed nothing, or was undone.`);
  const what = `report of a dream in ${called}`;
  const day: Day = ofJob ? dayOfNight(ofJob) : dayAmong(days, { given, config, none, what });
  const all = nights.filter((night) => dayOfNight(night) === day);
  const asked = ofJob ? [ofJob] : given === undefined ? all.slice(-1) : all;
  const told = asked.map(readNight);
  if (json) return print({ day, dreams: told });
  const texts = told.map(async (night) => {
    const head = `Dream of ${day} ${timeOf(night.at, config.zone)}, ${await shortId(db, 'job', night.job)}: ${night.did}`;
    return [style('bold', head), ...(await sayNight(app, memory?.id ?? '', night.operations))].join('\n');
  });
  print((await Promise.all(texts)).join('\n\n'));
}

function readNight({ job, at, output }: Night) {
  const { operations, left, refused }: DreamOutput = JSON.parse(output);
  const did = sayOperations(operations) || 'nothing changed';
  return { job, at, left: left.map(({ entry }) => entry), refused, operations, did };
}

/** What dreams did with an entry, the latest first. */
async function toldOf({ db, config }: App, memory: MemoryRow, entry: string) {
  const jobs = await db.all<Night>(
    `select id as job, created_at as at, output from job where kind = 'dream' and memory = ? and output like ?
     order by created_at desc, id desc limit 20`,
    ...[memory.id, `%"${entry}"%`],
  );
  const told = jobs.flatMap(({ at, output }) => {
    const { operations }: DreamOutput = JSON.parse(output);
    const about = operations.filter(({ entries }) => entries.includes(entry)).reverse();
    return about.map(({ kind: op, topic, reason, over }: ToldOperation) => {
      return { day: dayOf(new Date(at), config.zone), op, topic, reason, ...(over && { over }) };
    });
  });
  return told.slice(0, MOST_TOLD);
}

export const commands: CommandSpec[] = [why] as CommandSpec[];
