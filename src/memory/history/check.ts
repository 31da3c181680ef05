// Everything that is wrong with a memory directory as far as one can see from its files (check-files.ts) and its ledger:
// that both agree (commits, heads, entries, supports, coverage), and that every version still holds what its checksum
// says. A damaged version is healed from the living file, or from another of the same content; where neither has it, it
// is marked as lost.

import { join } from 'node:path';
import { attempt } from '../../base/errors.ts';
import { readBytesNow } from '../../base/files/files.ts';
import { dropProposal, waitingProposals } from '../dream/proposals.ts';
import { assumeCovered } from '../ledger/coverage.ts';
import { dropSupport, type EntryRow, entryRow, isInLog, type Support, sendersOf } from '../ledger/entries.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { isLog, lostIds, lostIn, memoryAt, type StoredVersion, shaOf, storedVersions } from '../ledger/version-rows.ts';
import { locateFile } from '../store/confine.ts';
import type { Store } from '../store/store.ts';
import { joinLogs, logDay, logPath, parseLog } from '../text/daily-log.ts';
import { isTopicFile, isTopicPath, parseTopic } from '../text/topic.ts';
import {
  CHECK,
  commitEach,
  type Finding,
  findFileFaults,
  findIndexFaults,
  finding,
  listed,
  type Mend,
  type ReadFiles,
} from './check-files.ts';
import { isRemains, logItemsOf, readLog } from './log-items.ts';

/** The ledger's file itself is to be sound. Changes nothing. */
export async function findFaults(store: Store): Promise<Finding[]> {
  const texts = new Map<string, string>();
  for (const path of await store.list())
    texts.set(path, logDay(path) ? await readLog(store, path) : ((await store.read(path)) ?? ''));
  const parsed = [...texts].flatMap(([path, text]) => (isTopicFile(path) ? [parseTopic(path, text)] : []));
  const files: ReadFiles = { texts, topics: new Map(parsed.map((topic) => [topic.path, topic])) };
  const findings = [
    ...findDamagedVersions(store),
    ...(await findLedgerFaults(store, files)),
    ...(await findFileFaults(store, files)),
    ...findIndexFaults(store, files),
  ];
  const wiped = findWipe(store, texts);
  // What would follow from the files that are there must not, before the others are back.
  return wiped ? [wiped, ...findings.map((finding) => ({ ...finding, mend: null }))] : findings;
}

/** So many topics gone at once look like an accident rather than an edit. */
function findWipe(store: Store, texts: Map<string, string>): Finding | null {
  const heads = store.ledger.all("select m.path from memory m join version v on v.id = m.head where v.op <> 'deleted'");
  const topics = heads.map((row) => row.path as string).filter(isTopicPath);
  const gone = topics.filter((path) => !texts.has(path));
  if (gone.length < 3 || gone.length * 4 <= topics.length) return null;
  const what = `${gone.length} of ${topics.length} topics are gone: ${listed(gone)}. Put them back; nothing is mended before.`;
  return finding('wiped', '.', what);
}

const LEDGER = '.nocturne/ledger.db';

async function findLedgerFaults(store: Store, files: ReadFiles): Promise<Finding[]> {
  const entries = store.ledger.all<Known>('select id, session, turn, day, state from entry order by at, id');
  return [
    ...unfinishedCommits(store),
    ...(await missingFiles(store)),
    ...missingEntries(store, { entries, ...files }),
    ...looseSupports(store, { entries, ...files }),
    ...looseProposals(store, entries),
    ...uncoveredEntries(store, entries),
    ...lostSessions(store),
  ];
}

/** What this file asks of an entry: its words and quotes would be most of the ledger. */
type Known = Pick<EntryRow, 'id' | 'session' | 'turn' | 'day' | 'state'>;

function unfinishedCommits(store: Store): Finding[] {
  const count = store.ledger.get('select count(*) as n from "commit" where applied = 0')?.n as number;
  const mend = { says: 'Brings the files to what they say.', apply: async () => void store.bringFilesUpToDate() };
  const what = `${count} commits have not reached the files.`;
  return count > 0 ? [finding('commit', LEDGER, what, mend)] : [];
}

/** Files that went so many at once that the store does not take them for deleted, and logs that were lost. */
async function missingFiles(store: Store): Promise<Finding[]> {
  return (await store.missing()).map((where) => {
    const what = isLog(where)
      ? 'Was lost: it is gone, empty or damaged. What it held stays remembered; nocturne dream --accept-missing lets go of it.'
      : 'Was gone or emptied with many others at once. Put it back, or let nocturne dream --accept-missing believe it.';
    return finding('missing-file', where, what, mendLost(store, where));
  });
}

/** Puts back what a lost log held, from its newest version that holds all of it, with what was written there since. */
function mendLost(store: Store, path: string): Mend | null {
  const { ledger, dir } = store;
  const day = logDay(path);
  const lost = lostIn(ledger, path);
  if (day === null || lost.length === 0 || !canBeWritten(dir, path)) return null;
  const rows = ledger.all<{ id: string; sha: string; content: Buffer }>(
    `select id, sha, content from version where memory = ? and content is not null order by rowid desc`,
    memoryAt(ledger, path),
  );
  const holdsAll = (content: Buffer) => {
    const ids = new Set(parseLog(content.toString(), day).map(({ id }) => id));
    return lost.every((id) => ids.has(id));
  };
  const whole = rows.find(({ sha, content }) => shaOf(content) === sha && holdsAll(content))?.content.toString();
  if (whole === undefined) return null;
  const entries = lost.flatMap((id) => entryRow(ledger, id) ?? []);
  const change = (current: string | null) => {
    const left = parseLog(current ?? '', day).filter((item) => isRemains(item, entries));
    return joinLogs(whole, current ?? '', { day, leftOut: new Set(left.map(({ id }) => id)) });
  };
  return {
    says: 'Puts back what it held, from its newest whole version, with what was written since.',
    apply: async () => void (await store.commit({ actor: CHECK }, () => ({ files: [{ path, change }] }))),
  };
}

function canBeWritten(dir: string, path: string): boolean {
  return attempt(
    () => locateFile(dir, path).kind !== 'directory',
    () => false,
  );
}

function missingEntries(store: Store, { entries, texts }: ReadFiles & { entries: Known[] }): Finding[] {
  const items = logItemsOf(texts);
  const lost = lostIds(store.ledger);
  const missing = entries.filter((entry) => !items.has(entry.id) && isInLog(entry) && !lost.has(entry.id));
  return [...Map.groupBy(missing, (entry) => logPath(entry.day))].map(([where, rows]) => {
    const ids = rows.map((row) => row.id).join(', ');
    const then = 'the next dream takes them for withdrawn, or asks where they are many';
    return finding('missing-entry', where, `Lacks ${rows.length} known entries (${ids}); ${then}.`);
  });
}

function looseSupports(store: Store, { entries, topics }: ReadFiles & { entries: Known[] }): Finding[] {
  const known = new Set(entries.map((entry) => entry.id));
  // What a line rested on that someone changed is its history, and waits for the line to come back.
  const supports = store.ledger.all<Support>('select path, line, entry from support order by path');
  return [...Map.groupBy(supports, (support) => support.path)].flatMap(([where, rows]): Finding[] => {
    const topic = topics.get(where);
    // Of a topic that is gone they wait for it to come back.
    if (topic === undefined) return [];
    const loose = rows.filter(({ entry }) => !known.has(entry));
    if (loose.length === 0) return [];
    const apply = () => commitEach(store, loose, dropSupport);
    const supports = loose.length === 1 ? 'A support names' : `${loose.length} supports name`;
    const what = `${supports} an entry that is not known.`;
    return [finding('support', where, what, { says: 'Forgets these supports; the lines and entries stay.', apply })];
  });
}

/** Proposals about entries that are not known: the next dream lets go of them, too. */
function looseProposals(store: Store, entries: Known[]): Finding[] {
  const known = new Set(entries.map((entry) => entry.id));
  const loose = waitingProposals(store.ledger).filter((each) => each.entries.some(({ id }) => !known.has(id)));
  if (loose.length === 0) return [];
  const apply = () => commitEach(store, loose, (tx, { id }) => dropProposal(tx, id));
  const what = `${loose.length} proposals (${loose.map(({ id }) => id).join(', ')}) are about entries that are not known.`;
  const says = 'Lets go of these proposals; the next dream looks at what is left of their entries.';
  return [finding('proposal', LEDGER, what, { says, apply })];
}

/** Entries whose turn the ledger takes for pending: it would be extracted again. Those received were extracted elsewhere. */
function uncoveredEntries(store: Store, entries: Known[]): Finding[] {
  const covered = new Set(
    store.ledger.lists('select session, turn from coverage').map(([session, turn]) => `${session}\n${turn}`),
  );
  const open = entries.filter(
    ({ id, session, turn, state }) =>
      turn !== '' &&
      state !== 'withdrawn' &&
      state !== 'forgotten' &&
      !covered.has(`${session}\n${turn}`) &&
      sendersOf(store.ledger, id).length === 0,
  );
  return [...Map.groupBy(open, (entry) => entry.session)].map(([session, rows]) => {
    const what = `${rows.length} entries of session ${session} come from turns that count as never extracted.`;
    const apply = () => commitEach(store, rows, (tx, { turn, day }) => assumeCovered(tx, { session, turn, day }));
    return finding('coverage', LEDGER, what, {
      says: 'Takes these turns, and those before them, for extracted.',
      apply,
    });
  });
}

function lostSessions(store: Store): Finding[] {
  // A rebuilt ledger knows that turns were extracted, and not where from.
  const sql = `select distinct session from coverage where not (became = 'assumed' and through_message = '')
    and session not in (select id from session)`;
  return store.ledger.lists(sql).map(([session]) => {
    const what = `Has turns of session ${session}, but not where its transcript is`;
    return finding('session', LEDGER, `${what}; nocturne extract TRANSCRIPT tells it.`);
  });
}

function findDamagedVersions(store: Store): Finding[] {
  const damaged = [
    ...storedVersions(store.ledger).filter(({ sha, content }) => sha !== null && shaOf(content) !== sha),
  ];
  return damaged.map((version): Finding => {
    const { id, path, at, actor } = version;
    const { says, apply } = mendOf(store, version);
    const what = `The ledger's version ${id} (${at}, by ${actor}) no longer holds what its checksum says; the file itself is not meant.`;
    return finding('version', path ?? LEDGER, what, { says, apply: () => store.enterRows(apply) });
  });
}

function mendOf(
  { dir, ledger }: Store,
  { id, path, sha, content }: StoredVersion,
): { says: string; apply(ledger: Ledger): void } {
  const live = path === null ? null : readBytesNow(join(dir, path));
  const heal = (bytes: Buffer, from: string) => ({
    says: `Takes its content from ${from}.`,
    apply: (into: Ledger) =>
      void into.run('update version set content = ?, size = ? where id = ?', bytes, bytes.length, id),
  });
  if (live && shaOf(live) === sha) return heal(live, 'the file');
  const others = ledger.all<{ id: string; content: Buffer }>(
    'select id, content from version where sha = ? and id <> ? and content is not null',
    sha,
    id,
  );
  const same = others.find((other) => shaOf(other.content) === sha);
  if (same) return heal(same.content, `version ${same.id}, which has the same`);
  if (live?.equals(content)) {
    const apply = (into: Ledger) => void into.run('update version set sha = ? where id = ?', shaOf(content), id);
    return { says: 'Makes its checksum again: it holds what the file holds.', apply };
  }
  const apply = (into: Ledger) => void into.run('update version set content = null, lost = 1 where id = ?', id);
  return { says: 'Marks it as lost: it can no longer be shown or restored. No file is changed.', apply };
}
