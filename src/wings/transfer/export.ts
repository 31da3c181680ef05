// Export: all Markdown of a memory directory as a plain archive, as it stands at one moment.
//
// 1. Take in what was edited outside, so that the ledger holds every file as it stands.
// 2. Note the version that each file is at: topics, index, logs, archive, dream reports, in the order of their names.
// 3. Pack these versions, one after another, while the archive is read. Whatever is committed meanwhile is not in it.

import { isUtf8 } from 'node:buffer';
import type { Store } from '../../memory/store/store.ts';
import { isReportPath } from '../../memory/text/dream-report.ts';
import { type PackedFile, packTarball } from './tarball.ts';

export interface Export {
  /** The archive. */
  pieces: AsyncIterable<Buffer>;
  /** What is in it, by path. */
  files: string[];
  /** What is not: no Markdown, or no UTF-8. */
  leftOut: string[];
}

export async function exportMemory(store: Store): Promise<Export> {
  // 1.
  await store.missing();
  // 2.
  const heads = store.ledger.all(
    `select memory.path, version.id from memory join version on version.id = memory.head
     where memory.path is not null and version.content is not null order by memory.path`,
  );
  const contentOf = (id: string) => store.ledger.get('select content from version where id = ?', id)?.content as Buffer;
  const kept: { path: string; id: string }[] = [];
  const leftOut: string[] = [];
  for (const head of heads) {
    const [path, id] = [head.path as string, head.id as string];
    if (isExported(path) && isUtf8(contentOf(id))) kept.push({ path, id });
    else leftOut.push(path);
  }
  // 3.
  function* packed(): Generator<PackedFile> {
    for (const { path, id } of kept) yield { path, content: contentOf(id) };
  }
  return { pieces: packTarball(packed()), files: kept.map(({ path }) => path), leftOut };
}

/** Whether a file of a memory directory goes into archives, and comes out of them. */
export function isExported(path: string): boolean {
  return isReportPath(path) || (path.endsWith('.md') && !path.startsWith('.'));
}
