// Everything that is wrong with a memory directory as far as one can see from its files and its ledger.

import type { Store } from '../../store/store.ts';
import { logDay } from '../../text/daily-log.ts';
import { isArchivePath, isTopicPath, parseTopic } from '../../text/topic.ts';
import { readLog } from '../log-items.ts';
import { findFileFaults, findIndexFaults } from './check-files.ts';
import { findDamagedVersions, findLedgerFaults } from './check-ledger.ts';
import { type Finding, finding, listed, type ReadFiles } from './findings.ts';

/** The ledger's file itself is to be sound. Changes nothing. */
export async function findFaults(store: Store): Promise<Finding[]> {
  const texts = new Map<string, string>();
  for (const path of await store.list())
    texts.set(path, logDay(path) ? await readLog(store, path) : ((await store.read(path)) ?? ''));
  const isTopic = (path: string) => isTopicPath(path) || isArchivePath(path);
  const parsed = [...texts].flatMap(([path, text]) => (isTopic(path) ? [parseTopic(path, text)] : []));
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
