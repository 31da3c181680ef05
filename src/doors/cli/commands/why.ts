// Why memory is as it is. why is the one door: a line or a topic and what it rests on, words and where they are said, an
// entry, a session and what became of it, a day's dreams.
// Sessions are named by how their ids begin, turns by their numbers, times as a person says them; JSON has it all whole.

import type { Config } from '../../../base/config/config.ts';
import { AppError, ERRORS, isAppError, isErrorCode } from '../../../base/errors.ts';
import { statNow } from '../../../base/files/files.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { sayProposals } from '../../../memory/dream/proposals.ts';
import {
  type ExplainedEntry,
  type ExplainedLine,
  explainEntry,
  explainLines,
  restingOn,
  toldOf,
} from '../../../memory/dream/provenance.ts';
import { jobRow } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { findId, severalMeant, shortId, wholeId } from '../../../memory/ledger/short-ids.ts';
import { catalogEntries } from '../../../memory/recall/catalog.ts';
import { searchMemory } from '../../../memory/recall/search.ts';
import type { MemoryReader } from '../../../memory/store/live-files.ts';
import { isTopicPath } from '../../../memory/text/topic.ts';
import type { App } from '../../compose.ts';
import type { Call, CommandSpec } from '../spec.ts';
import { type Explanation, explainSessions } from '../terminal/explain-session.ts';
import { findTopic, reportDreams, withReader } from '../terminal/looking.ts';
import { type CommonOptions, MEMORY, withApp } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';
import { isDayWord, plainly, sayTime, sayWhen } from '../terminal/phrases.ts';

/** Of what words are found in. */
const MOST_FOUND = 5;

const why: CommandSpec<CommonOptions, [string[]]> = {
  name: 'why',
  about: 'where a line, words or a session come from, and why',
  group: 'Every day',
  args: [['[what...]', 'a topic, TOPIC:LINE, words, an entry, a session (its id or its file), a job, or a day']],
  options: MEMORY,
  json: 'of a topic, a line or words [{ path, number, id, text, isPersons, program, authors, entries, changed }]; of an entry { id, type, text, evidence, …, resting, told, proposals }; of a session, one line each, { session, transcript, unreadable, memory, ranges, entries, holds, waiting, failures, proposals, next }; of a day, and without anything of the last dream, { day, dreams }',
  more: 'It asks no model and writes nothing. Without anything it tells what the last dream did.',
  examples: ['why working-agreements.md:7', 'why pnpm lockfile', 'why 0d8c1a52', 'why yesterday'],
  async run(call) {
    const what = call.args[0].join(' ');
    if (what === '' || isDayWord(what)) return reportDreams(call, { given: what || undefined });
    await withApp(call, async (app) => {
      if (await explainMemory(app, { what, call })) return;
      if (isLikeSession(what) && (await tellSessions(app, { what, call }))) return;
      if ((await app.hasMemory()) && (await explainWords(app, { what, call }))) return;
      throw new AppError(
        'bad-input',
        `Nothing in ${app.memoryDirOf()} holds ${JSON.stringify(what)}, and no session is called so.`,
        {
          remedy: 'nocturne list and nocturne search show what is remembered, nocturne sessions what was learned from.',
        },
      );
    });
  },
};

interface Asked {
  what: string;
  call: Pick<Call<CommonOptions>, 'options' | 'parts'>;
}

/** An entry, a job, a topic or a line of it; false where it is none. Looking makes no memory. */
async function explainMemory(app: App, { what, call }: Asked): Promise<boolean> {
  if (!(await app.hasMemory())) return false;
  const { json } = call.options;
  return withReader(app, async (store) => {
    if (/^e_[0-9a-f]{4,12}$/.test(what)) {
      await explainOne(app, store, { id: what, json });
      return true;
    }
    if (/^job_[0-9a-f]{4,12}$/.test(what)) return tellJob(app, store, { what, call });
    const [, given = what, line] = LINE.exec(what) ?? [];
    const path = findTopic(store.dir, given);
    if (path) await tellLines(app, store, { path, line, json });
    return path !== undefined;
  });
}

/** A topic, or one line of it by its number or its id. */
const LINE = /^(.+?)(?::(\d+|[0-9a-f]{8}))?$/;

async function tellLines(
  app: App,
  store: MemoryReader,
  { json, ...which }: { path: string; line?: string; json?: boolean },
): Promise<void> {
  const lines = await explainLines(store, which);
  print(json ? lines : lines.map((each) => describeLine(each, seenIn(app, store))).join('\n\n'));
}

async function tellJob(app: App, store: MemoryReader, { what, call }: Asked): Promise<boolean> {
  const job = jobRow(store.ledger, findId(store.ledger, 'job', what) ?? what);
  if (!job) return false;
  if (job.kind === 'dream') await reportDreams(call, { job: job.id, given: undefined });
  else if (job.session) return tellSessions(app, { what: job.session, call });
  else {
    const { id, kind, createdAt, outcome, error } = job;
    const said = `${kind}: ${outcome ?? job.status}${error ? `, ${error}` : ''}`;
    print(call.options.json ? { id, kind, createdAt, outcome, error } : said);
  }
  return true;
}

/** An id of a session has digits, or is hexadecimal; its file is there. */
function isLikeSession(what: string): boolean {
  return statNow(what)?.isFile === true || /^(?=\S*\d|[0-9a-f]{8})[\w.-]{4,}$/.test(what) || /[/\\]/.test(what);
}

async function tellSessions(app: App, { what, call: { options } }: Asked): Promise<boolean> {
  const isFile = statNow(what)?.isFile === true;
  const found = await explainSessions(app, { what, memory: options.memory }).catch((error: unknown) => {
    if (isFile || !isAppError(error, 'bad-input')) throw error;
    return [];
  });
  const sessions = [...new Set(found.map(({ session }) => session))];
  if (sessions.length > 1 && !isFile && sessions.every((session) => session.startsWith(what))) {
    throw severalMeant(what, 'session', sessions);
  }
  const seen: Seen = { ...app.config, short: (id) => shortId(null, 'session', id), entry: (id) => id };
  for (const each of found) {
    const { shortId: _, ...all } = each;
    print(options.json ? all : describeSession(each, seen));
  }
  return found.length > 0;
}

/** The lines that have the words, best first, with what they rest on; of what no dream has read, the entries. */
async function explainWords(app: App, { what, call }: Asked): Promise<boolean> {
  return withReader(app, async (store) => {
    const { dir, ledger } = store;
    const { hits } = searchMemory({ dir, ledger }, { query: what, limit: MOST_FOUND });
    const found: { json: object; said: string }[] = [];
    const known = new Set<string>();
    const seen = seenIn(app, store);
    for (const { path, line } of hits) {
      if (isTopicPath(path)) {
        const lines = await explainLines(store, { path, line: String(line) }).catch(() => []);
        for (const each of lines) {
          found.push({ json: each, said: describeLine(each, seen) });
          for (const { id } of each.entries) known.add(id);
        }
        continue;
      }
      const text = (await store.read(path))?.split('\n')[line - 1] ?? '';
      const item = catalogEntries(dir, [path], ledger).find((each) =>
        text.includes(each.text.split('\n')[0] as string),
      );
      const entry = item && !known.has(item.id) ? explainEntry(store, item.id) : undefined;
      if (!entry) continue;
      known.add(entry.id);
      found.push({ json: entry, said: describeEntry(entry, seen) });
    }
    if (found.length === 0) return false;
    print(call.options.json ? found.map(({ json }) => json) : found.map(({ said }) => said).join('\n\n'));
    return true;
  });
}

function seenIn({ config }: Pick<App, 'config'>, { ledger }: { ledger: Ledger | null }): Seen {
  const idOf = (kind: 'session' | 'entry') => (id: string) => shortId(ledger, kind, id);
  return { ...config, short: idOf('session'), entry: idOf('entry') };
}

async function explainOne(app: App, store: MemoryReader, asked: { id: string; json?: boolean }): Promise<void> {
  const id = wholeId(store.ledger, 'entry', asked.id);
  const entry = explainEntry(store, id);
  if (!entry) throw new AppError('bad-input', `There is no entry ${asked.id} in ${store.id}.`);
  const resting = await restingOn(store, [id]);
  const told = toldOf(store.dir, id);
  const proposals = sayProposals(store.ledger, id);
  if (asked.json) return print({ ...entry, resting, told, proposals });
  const name = (of: string) => (line: { path: string; text: string }) => `  ${line.path}: ${line.text} (${of})`;
  const found = [...resting.alone.map(name('on it alone')), ...resting.shared.map(name('on others too'))];
  const rests = found.length > 0 ? 'What rests on it:' : 'No line rests on it.';
  print(
    [describeEntry(entry, seenIn(app, store)), ...told.map(describeTold), ...proposals, rests, ...found].join('\n'),
  );
}

export const commands: CommandSpec[] = [why];

/** Who looks, and how a session and an entry are called there. */
interface Seen extends Config {
  short(session: string): string;
  entry(id: string): string;
}

/** What became of a session, and what it taught. */
function describeSession(found: Explanation, at: Seen): string {
  const divided = new Set(found.ranges.flatMap(({ messages, from }) => (messages ? [from] : [])));
  const total = found.ranges.reduce((sum, { messages, turns }) => sum + (messages ? 0 : turns), divided.size);
  const { holds } = found;
  return [
    `session     ${found.shortId}`,
    `transcript  ${found.transcript}${found.unreadable ? ` — ${found.unreadable}` : ''}`,
    `memory      ${found.memory}`,
    ...(holds ? [`holds       ${sayCount(total, 'turn')}; ${sayOffered(holds)}`] : []),
    ...sayRanges(found.ranges, at).map((said, index) => `${(index === 0 ? 'turns' : '').padEnd(12)}${said}`),
    ...found.entries.map(({ type, text, state }, index) => {
      const mark = state === 'new' || state === 'distilled' ? '' : ` (${state})`;
      return `${(index === 0 ? 'taught' : '').padEnd(12)}${type.padEnd(9)}  ${text}${mark}`;
    }),
    ...found.waiting.map(
      ({ notBefore, why }) => `waits       until ${sayTime(notBefore, at)}${why ? `: ${plainly(why, at)}` : ''}`,
    ),
    ...found.failures.filter(({ isOver }) => !isOver).map((failure) => `failed      ${sayFailure(failure, at)}`),
    ...found.proposals.map(({ entry, text, says }) => `proposed    ${text} (${entry}): ${says}`),
    `next        ${plainly(found.next.replaceAll(` ${found.session}`, ` ${found.shortId}`), at)}`,
  ].join('\n');
}

function sayOffered({ offered }: NonNullable<Explanation['holds']>): string {
  const { messages, tokens } = offered;
  return messages === 0 ? 'nothing new to read' : `new: ${sayCount(messages, 'message')}, about ${tokens} tokens`;
}

/** Turns by their number in the session. */
function sayRanges(ranges: Explanation['ranges'], at: Seen): string[] {
  let before = 0;
  let divided: string | null = null;
  return ranges.map((range) => {
    if (range.messages && range.from !== divided) before += 1;
    const first = before + 1;
    if (!range.messages) before += range.turns;
    divided = range.messages ? range.from : null;
    const which = range.messages ? `part of ${before}` : range.turns === 1 ? `${first}` : `${first}–${before}`;
    const by = range.job && range.at ? `, ${sayWhen(range.at, at)}` : '';
    return `${which}  ${range.state}: ${range.why}${range.wrote ? `, ${range.wrote}` : ''}${by}`;
  });
}

function sayFailure(
  { at, code, state, attempts, tries, message, ...failure }: Explanation['failures'][number],
  when: Seen,
): string {
  const limit = tries === null ? 'as often as it takes' : `${attempts} of ${tries} tries`;
  const what = code && isErrorCode(code) && ERRORS[code].class !== code ? `${failure.class}, ${code}` : failure.class;
  const fate = { retrying: `, ${limit}`, failed: ', given up', ended: '' }[state];
  return `${sayWhen(at, when)}: ${what}${fate}: ${message}`;
}

function describeTold({ day, op, topic, reason, over = [] }: ReturnType<typeof toldOf>[number]): string {
  const gone = over.length > 0 ? ` No longer true: ${over.join('; ')}` : '';
  return `  dream of ${day}: ${op}${topic ? ` → ${topic}` : ''}. ${reason}${gone}`;
}

function describeLine(line: ExplainedLine, at: Seen): string {
  const { path, number, text, isPersons, program, authors, entries, changed } = line;
  const head = `${path}:${number}\n  ${text}`;
  if (authors.length > 0) return `${head}\n  shared by ${authors.join(', ')}`;
  if (changed) {
    const by = changed.actor === 'external' || changed.actor === 'person' ? 'you' : sayProgram(changed.actor);
    const was = [`  changed by ${by}, ${sayWhen(changed.at, at)}; it said: ${changed.text}`, '  and rested on:'];
    return [head, ...was, ...changed.entries.map((entry) => describeEntry(entry, at, '  '))].join('\n');
  }
  if (program) {
    return `${head}\n  written by ${sayProgram(program.actor)}, ${sayWhen(program.at, at)}; it is no word of yours`;
  }
  if (isPersons) return `${head}\n  written by a person or by the main agent`;
  return [head, ...entries.map((entry) => describeEntry(entry, at, '  ', text))].join('\n');
}

/** `tool:` stands before the id of a tool, or of a key of the server. */
function sayProgram(actor: string): string {
  return actor.replace(/^tool:(.*)$/, 'a program ($1)');
}

/** `line`: what stands above it, and is not said again. */
function describeEntry(entry: ExplainedEntry, seen: Seen, indent = '', line = ''): string {
  const { id, type, strength, state, at, text, by, session, evidence, log, transcript, sentFrom } = entry;
  const when = sayWhen(at, seen);
  const gave = entry.gave?.join(' … ');
  const isTakenOut = !entry.isInLog && state !== 'sent' && state !== 'withdrawn' && state !== 'forgotten';
  const gone = isTakenOut ? ', taken out there: the next dream takes out what rests on it alone' : '';
  // What goes without saying: a person said it, and it is in a topic.
  const marks = [
    ...(strength === 'stated' ? [] : [strength]),
    ...(state === 'distilled' ? [] : [state === 'new' ? 'not sorted into topics yet' : state]),
  ];
  const where = `in ${log}${state === 'sent' ? ' of the user scope' : gone}`;
  const lines = [
    `← ${[seen.entry(id), type, ...marks, where].join(', ')}`,
    ...(text === line ? [] : [`  ${text}`]),
    ...(gave && gave !== text && gave !== line ? [`  gave the line: ${gave}`] : []),
    ...evidence.map(({ quote }) => `  “${quote}”`),
    evidence.length === 0
      ? `  written by a ${by === 'assistant' ? 'program' : 'person'}, ${when}`
      : `  said by ${by === 'human' ? 'you' : by}, ${when}${session && `, in session ${seen.short(session)}`}`,
    ...sentFrom.map((dir) => `  sent from ${dir}: nocturne why ${id} --memory ${dir}`),
    ...(session && (transcript || sentFrom.length === 0) ? [`  transcript ${transcript ?? 'unknown'}`] : []),
  ];
  return lines.map((line) => `${indent}${line}`).join('\n');
}
