// What dreams did, as a person is told it: of a day, of the last dream, of one by its job. All of it is in the rows of the jobs.

import type { DreamOutput, ToldOperation } from '../../jobs/dream/dream-landing.ts';
import { AppError } from '../base/errors.ts';
import { type Day, dayOf, timeOf } from '../base/time.ts';
import { entriesAmong } from '../memory/entries.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { sayOp } from '../memory/memory-types.ts';
import { shortId } from '../memory/short-ids.ts';
import { print, style } from '../terminal/output.ts';
import { dayAmong } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { placeOf } from '../worker/whose-memory.ts';

interface Night {
  job: string;
  at: string;
  output: string;
}

interface Asked {
  /** Default: the day of the last dream, and that alone. */
  given?: string;
  /** That dream alone. */
  job?: string;
  json?: boolean;
}

export async function tellNights(app: App, memory: MemoryRow | null, { given, job, json }: Asked): Promise<void> {
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
    remedy: 'nocturne dream works the logs into topics now; nocturne names the jobs that ran.',
  });
  const what = `report of a dream in ${called}`;
  const day: Day = ofJob ? dayOfNight(ofJob) : dayAmong(days, { given, config, none, what });
  const all = nights.filter((night) => dayOfNight(night) === day);
  const asked = ofJob ? [ofJob] : given === undefined ? all.slice(-1) : all;
  const told = await Promise.all(asked.map((night) => read(app, memory as MemoryRow, night)));
  if (json) return print({ day, dreams: told });
  const texts = told.map(async (night) => {
    const head = `Dream of ${day} ${timeOf(night.at, config.zone)}, ${await shortId(db, 'job', night.job)}: ${night.did}`;
    return `${style('bold', head)}\n\n${await describe(app, night)}`;
  });
  print((await Promise.all(texts)).join('\n\n'));
}

type Told = Awaited<ReturnType<typeof read>>;

async function read({ db }: App, memory: MemoryRow, { job, at, output }: Night) {
  const { operations, left, refused }: DreamOutput = JSON.parse(output);
  const ids = [...new Set(operations.flatMap(({ entries }) => entries))];
  const texts = new Map(
    (await entriesAmong(db, memory.id, { column: 'id', of: ids })).map((row) => [row.id, row.text]),
  );
  const counts = Map.groupBy(operations, ({ kind }) => kind);
  return {
    ...{ job, at, left: left.map(({ entry }) => entry), refused, operations },
    did: [...counts].map(([kind, of]) => `${of.length} ${sayOp(kind)}`).join(', ') || 'nothing to tell',
    rows: operations.flatMap(({ kind: op, topic, reason, came = [], gone = [], over, entries }, operation) =>
      (entries.length > 0 ? entries : ['']).map((entry) => {
        const told = { entry, op, operation, topic, reason, ...(over && { over }), text: texts.get(entry) ?? null };
        return { ...told, written: came, removed: gone };
      }),
    ),
  };
}

async function describe({ db }: App, { operations, rows }: Told): Promise<string> {
  const lines: string[] = [];
  for (const [n, { kind, topic, reason, came = [], gone = [], over = [], entries }] of operations.entries()) {
    const ids = await Promise.all(entries.map((entry) => shortId(db, 'entry', entry)));
    const said = rows.flatMap(({ operation, text }) => (operation === n && text ? text : []));
    lines.push(
      `- **${sayOp(kind)}**${topic ? ` → ${topic}` : ''}: ${reason}${ids.map((id) => ` (${id})`).join('')}`,
      ...(came.length > 0 ? came : said).map(
        (text) => `  - ${came.length > 0 && gone.length > 0 ? 'now: ' : ''}${text}`,
      ),
      ...gone.map((text) => `  - was: ${text}`),
      ...over.map((text) => `  - no longer true: ${text}`),
    );
  }
  return lines.join('\n');
}

/** What dreams did with an entry, the latest first. */
export async function toldOf(
  { db, config }: App,
  memory: MemoryRow,
  { entry, most = 3 }: { entry: string; most?: number },
): Promise<{ day: Day; op: string; topic: string | null; reason: string; over?: string[] }[]> {
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
  return told.slice(0, most);
}
