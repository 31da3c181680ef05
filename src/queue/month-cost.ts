// What a month cost, by day, memory, kind of job and model, and what it will come to: sums over the requests of all machines.
// A request without an answer, of a job under way or killed, counts with its upper bound, and is told apart as unfinished.
// What the offline model was asked is no cost.

import { DAY_MS, type Day, dayOf } from '../base/time.ts';
import type { Sql } from '../db/sql.ts';
import { restoredIn } from './spend.ts';

/** Of models without a price in tokens only. */
export type Sum = { usd: number; tokens: number; requests: number };

export type MonthCost = Awaited<ReturnType<typeof monthCost>>;

interface Part extends Sum {
  day: Day;
  job: string;
  kind: string;
  memory: string | null;
  model: string;
  isOnPlan: number;
  isSettled: number;
}

type CostDeps = { sql: Sql; now: Date; zone: string; planRequests?: number };

const NOTHING: Sum = { usd: 0, tokens: 0, requests: 0 };

const SELECT = `select made.day, made.job, case when made.job like 'check_%' then 'check' else coalesce(job.kind, 'other') end as kind, job.memory, made.model,
  case when ' ' || made.scope || ' ' like '% plan %' then 1 else 0 end as "isOnPlan",
  case when made.settled_at is null then 0 else 1 end as "isSettled", count(*) as requests,
  cast(sum(case when settled_at is null then reserved_tokens else input + cached + made.output end) as bigint) as tokens,
  cast(sum(case when settled_at is null then reserved_usd else micro_usd end) as bigint) as usd
  from call as made left join job on job.id = made.job
  where made.day >= ? and made.day <= ? and made.model <> 'offline' group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2`;

/** `asked`: an earlier month; default: this one. Rows come dearest first, days in their order, without what is unfinished. */
export async function monthCost({ sql, now, zone, planRequests }: CostDeps, asked?: string) {
  const today = dayOf(now, zone);
  /** `YYYY-MM` */
  const month = asked ?? today.slice(0, 7);
  const isNow = month === today.slice(0, 7);
  const rows = await sql.all<Part>(SELECT, `${month}-01`, `${month}-31`);
  const parts = rows.map((row) => ({ ...row, usd: row.usd / 1e6 }));
  const ofToday = parts.filter(({ day }) => day === today);
  const settled = parts.filter(({ isSettled }) => isSettled);
  const unfinished = (of: readonly Part[]) => sumOf(of.filter(({ isSettled }) => !isSettled));
  const onPlan = (of: readonly Part[]) => sumOf(of.filter((part) => part.isOnPlan));
  const { requests, tokens } = onPlan(parts);
  return {
    month,
    /** When the database was restored in it: not all that was spent before is known; null: it was not. */
    restoredAt: await restoredIn(sql, month, zone),
    /** Null of another month; so is `forecast`. */
    today: isNow ? sumOf(ofToday) : null,
    total: sumOf(parts),
    /** What agents' programs used on the person's plan, which costs no money; null: nothing. */
    plan: requests === 0 ? null : { requests, tokens, today: onPlan(ofToday).requests, ceiling: planRequests },
    forecast: isNow ? forecast(parts, today) : null,
    days: grouped(parts, 'day', ({ day }, of) => ({ day, unfinished: unfinished(of) })),
    projects: grouped(settled, 'memory', ({ memory }) => ({ memory })).sort(dearest),
    kinds: grouped(settled, 'kind', ({ kind }, of) => {
      return { kind, jobs: new Set(of.map(({ job }) => job)).size };
    }).sort(dearest),
    models: grouped(settled, 'model', ({ model }, of) => {
      return { model, isOnPlan: of.every((part) => part.isOnPlan) };
    }).sort(dearest),
    unfinished: unfinished(parts),
  };
}

/** A row for each value: what `tell` says of it from the first of its parts and all of them, and their sum. */
function grouped<Told>(
  parts: readonly Part[],
  by: keyof Part,
  tell: (first: Part, of: Part[]) => Told,
): (Told & Sum)[] {
  return [...Map.groupBy(parts, (part) => part[by]).values()].map((of) => ({
    ...tell(of[0] as Part, of),
    ...sumOf(of),
  }));
}

function sumOf(parts: readonly Sum[]): Sum {
  return parts.reduce<Sum>(
    (a, b) => ({ usd: a.usd + b.usd, tokens: a.tokens + b.tokens, requests: a.requests + b.requests }),
    NOTHING,
  );
}

function dearest(a: Sum, b: Sum): number {
  return b.usd - a.usd || b.tokens - a.tokens;
}

/** What the month comes to if its other days cost what those from its first on did at the mean, or today where that is the first. */
function forecast(parts: readonly Part[], today: Day): Sum {
  const [before, now] = [
    sumOf(parts.filter(({ day }) => day < today)),
    sumOf(parts.filter(({ day }) => day === today)),
  ];
  const whole = (Date.parse(today) - Date.parse(parts[0]?.day ?? today)) / DAY_MS;
  const end = new Date(Date.UTC(Number(today.slice(0, 4)), Number(today.slice(5, 7)), 0)).getUTCDate();
  const left = end - Number(today.slice(8));
  const of = (name: keyof Sum, grain: number) => {
    const mean = whole > 0 ? before[name] / whole : now[name];
    return Math.round((before[name] + Math.max(now[name], mean) + mean * left) * grain) / grain;
  };
  return { usd: of('usd', 1e6), tokens: of('tokens', 1), requests: of('requests', 1) };
}
