// Versions: what every file of the memory directory was, since when and by whom. They never change; what leaves them is
// what retention drops and what a person redacts (redaction.ts). The store writes them.
// A version that is the head of its file, or that work of the retention time can be undone with, is never dropped.

import { AppError } from '../../base/errors.ts';
import { DAY_MS } from '../../base/time.ts';
import { addSupport, entryRow, isInLog, type Support } from '../ledger/entries.ts';
import { enterPersonsJob } from '../ledger/job-rows.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { shaOf } from '../ledger/version-rows.ts';
import type { Actor, Store } from '../store/store.ts';
import { isTopicPath, parseTopic } from '../text/topic.ts';

export const OPERATIONS = ['created', 'modified', 'deleted'] as const;
export type VersionOperation = (typeof OPERATIONS)[number];

export interface Version {
  /** `memver_…` */
  id: string;
  /** `mem_…`: the same over all versions of a file. */
  memory: string;
  /** Null where it was redacted; so are `sha` and `sizeBytes`, which a deletion lacks too. */
  path: string | null;
  operation: VersionOperation;
  actor: Actor;
  at: string;
  sha: string | null;
  sizeBytes: number | null;
  /** The version before it; null where there is none any more. */
  previous: string | null;
  redactedAt: string | null;
  redactedBy: string | null;
}

export interface VersionFilter {
  path?: string;
  memory?: string;
  operation?: VersionOperation;
  /** A whole actor (`job:job_12`), or all of a kind (`job`). */
  actor?: string;
  /** Instants, both inclusive. */
  since?: string;
  until?: string;
  /** 1 to 1,000; default 20. */
  limit?: number;
  /** `nextPage` of the page before. */
  page?: string;
}

export interface VersionPage {
  versions: Version[];
  /** Null where there are no more. */
  nextPage: string | null;
}

interface Retention {
  now: Date;
  /** Versions younger than this stay, and all that undo needs for them. */
  days: number;
  /** So many of the newest versions of each file, logs and reports apart, stay, however old. */
  kept: number;
}

const COLUMNS = `id, memory, path, op as operation, actor, at, sha, iif(op = 'deleted', null, size) as sizeBytes, previous,
  redacted_at as redactedAt, redacted_by as redactedBy`;
/** Of so many of the newest versions of a file, a line is looked for. */
const LOOKED_THROUGH = 20;

/** The texts of lines (by id) of a topic, in their order, as the newest version that has them says them. */
export function writtenLines(ledger: Ledger, { path, lines }: { path: string; lines: string[] }): string[] {
  const found = new Map<string, string>();
  const isFound = () => lines.every((line) => found.has(line));
  // Those of the file that has the path now are told by an index; what had it before is looked for among all.
  for (const whose of ['memory in (select id from memory where path = ?)', 'path = ?']) {
    if (isFound()) break;
    const sql = `select content from version where content is not null and ${whose} order by rowid desc limit ?`;
    for (const [content] of ledger.lists(sql, path, LOOKED_THROUGH)) {
      for (const { id, text } of parseTopic(path, String(content)).lines) if (!found.has(id)) found.set(id, text);
      if (isFound()) break;
    }
  }
  return lines.flatMap((line) => found.get(line) ?? []);
}

/** The versions, newest first. A path means the file that has it now, and whatever had it before. */
export function listVersions(ledger: Ledger, filter: VersionFilter = {}): VersionPage {
  const limit = filter.limit ?? 20;
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) {
    throw new AppError('bad-input', `The limit is ${limit}; it must be a whole number from 1 to 1000.`);
  }
  const { path, memory, operation, actor, since, until, page } = filter;
  if (page !== undefined) readVersion(ledger, page);
  const asked: [sql: string, ...values: (string | undefined)[]][] = [
    ['(path = ? or memory in (select id from memory where path = ?))', path, path],
    ['memory = ?', memory],
    ['op = ?', operation],
    ["(actor = ? or substr(actor, 1, instr(actor, ':') - 1) = ?)", actor, actor],
    ['at >= ?', since],
    ['at <= ?', until],
    ['rowid < (select rowid from version where id = ?)', page],
  ];
  const conditions = asked.filter(([, value]) => value !== undefined);
  const where = ['true', ...conditions.map(([sql]) => sql)].join(' and ');
  const values = conditions.flatMap(([, ...of]) => of as string[]);
  const sql = `select ${COLUMNS} from version where ${where} order by rowid desc limit ?`;
  const found = ledger.all<Version>(sql, ...values, limit + 1);
  const versions = found.slice(0, limit);
  return { versions, nextPage: found.length > limit ? (versions.at(-1)?.id ?? null) : null };
}

/** A version with its text: null for a deletion and where it was redacted. Throws `bad-input` where there is none. */
export function readVersion(ledger: Ledger, id: string): Version & { text: string | null } {
  const row = ledger.get<Version & { content: Buffer | null; lost: number }>(
    `select ${COLUMNS}, content, lost from version where id = ?`,
    id,
  );
  if (!row) {
    throw new AppError('bad-input', `There is no version ${id}; it may be older than versions are kept.`, {
      remedy: 'nocturne show --history lists the versions that are kept.',
    });
  }
  const { content, lost, ...version } = row;
  if (lost === 1) {
    throw new AppError('bad-input', `Version ${id} of ${version.path} was damaged, and its text is lost.`, {
      remedy: 'Choose another one of nocturne show --history.',
    });
  }
  if (content !== null && version.sha !== null && shaOf(content) !== version.sha) {
    throw new AppError(
      'storage',
      `Version ${id} of ${version.path} is damaged in the ledger; the file itself is not meant.`,
      { remedy: 'nocturne check --repair heals it where the file, or another version, still holds the same.' },
    );
  }
  return { ...version, text: content?.toString('utf8') ?? null };
}

/** The version that a file is at, with its text; undefined for a file the store never saw. */
export function headVersion(ledger: Ledger, path: string): (Version & { text: string | null }) | undefined {
  const head = ledger.get<{ head: string | null }>('select head from memory where path = ?', path)?.head;
  return head ? readVersion(ledger, head) : undefined;
}

/**
 * Makes a file what it was: a new version by a person, which `undo` takes back. Lines that come back rest on what they rested on, as far as undo
 * has kept that. Throws `bad-input` for a version that holds no text.
 */
export async function restoreVersion(store: Store, id: string): Promise<Version> {
  const { text, memory, operation, redactedAt, ...version } = readVersion(store.ledger, id);
  if (text === null) {
    const why = redactedAt ? 'was redacted' : `is of a file that was ${operation} then`;
    throw new AppError('bad-input', `Version ${id} ${why}: there is no text to restore.`, {
      remedy: 'Choose another one of nocturne show --history.',
    });
  }
  // A deleted file gave its place up to one that was moved there: that one is what the path means now.
  const path = (store.ledger.get('select path from memory where id = ?', memory)?.path ?? version.path) as string;
  let isChange = false;
  const change = (current: string | null) => {
    isChange = current !== text;
    return text;
  };
  await store.commit({ actor: 'person' }, (ledger) => {
    const lines = new Set(isTopicPath(path) ? parseTopic(path, text).lines.map((line) => line.id) : []);
    const supports = supportsThen(ledger, { id, path: version.path as string }).filter(({ line }) => lines.has(line));
    return {
      files: [{ path, change }],
      rows(transaction) {
        for (const { line, entry } of supports) addSupport(transaction, { path, line, entry });
        if (isChange) enterPersonsJob(transaction, { kind: 'restore', outcome: 'restored' });
      },
    };
  });
  return headVersion(store.ledger, path) as Version;
}

/** What lines of a file rested on when a version of it was made and do not since, by entries that still stand in a log. */
function supportsThen(ledger: Ledger, version: { id: string; path: string }): Support[] {
  const rows = ledger.all(
    `select key, before, min(rowid) from undo where tbl = 'support' and json_extract(key, '$[0]') = ?
       and "commit" > (select "commit" from version where id = ?) group by key`,
    version.path,
    version.id,
  );
  const supports = rows.flatMap(({ before }) => (before === null ? [] : (JSON.parse(before as string) as Support)));
  return supports.filter(({ entry }) => {
    const row = entryRow(ledger, entry);
    return row !== undefined && isInLog(row);
  });
}

/**
 * Drops the versions and before-images that are older than the retention time; answers how many versions. Of a log or a
 * report, which grew line by line until its day was over, the newest has all that the others had.
 */
export function dropOldVersions(ledger: Ledger, { now, days, kept }: Retention): number {
  const since = new Date(now.getTime() - days * DAY_MS).toISOString();
  return ledger.transaction(() => {
    const dropped = ledger.all(
      `with ranked as (select id, at, "commit", row_number() over (partition by memory order by rowid desc) as nth,
           path like 'logs/%' or path like '.nocturne/%' as grew from version)
       select id from ranked where at < ? and (nth > ? or grew)
         and id not in (select head from memory where head is not null)
         and id not in (select previous from version where previous is not null and at >= ?)
         and "commit" not in (select id from "commit" where applied = 0)
         and id not in (select previous from version where previous is not null
           and "commit" in (select id from "commit" where applied = 0))`,
      since,
      kept,
      since,
    );
    for (const { id } of dropped) ledger.run('delete from version where id = ?', id as string);
    ledger.run('update version set previous = null where previous not in (select id from version)');
    ledger.run('delete from undo where "commit" in (select id from "commit" where at < ? and applied = 1)', since);
    ledger.run(
      `insert into dropped select 1, max(id) from "commit" where at < ? and applied = 1 having max(id) is not null
         on conflict (id) do update set through = max(through, excluded.through)`,
      since,
    );
    return dropped.length;
  });
}
