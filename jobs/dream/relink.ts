// Links to a topic that gets another name: in lines that nocturne wrote they follow it, with what the lines rest on. A
// person's line is not changed, so a topic that one links keeps its name.

import { AppError } from '../../src/base/errors.ts';
import { linesLinking } from '../../src/memory/dream/topic-table.ts';
import { addSupport, dropSupport, indexLines, supportsOf } from '../../src/memory/ledger/entries.ts';
import { isPinned } from '../../src/memory/store/staging.ts';
import type { FileChange, Store, Transaction } from '../../src/memory/store/store.ts';
import { linksIn } from '../../src/memory/text/index-file.ts';
import { editLines, lineId, parseTopic } from '../../src/memory/text/topic.ts';
import type { TopicEdit } from './draft.ts';

interface Relinked {
  files: FileChange[];
  rows(transaction: Transaction): void;
}

/** The changes of other files; throws `refused` where a person's line links a topic that is renamed. */
export async function relinked(edits: TopicEdit[], store: Store): Promise<Relinked> {
  const renames = new Map(
    edits.flatMap(({ renamedFrom, path }) => (renamedFrom === undefined ? [] : [[renamedFrom, path] as const])),
  );
  if (renames.size === 0) return { files: [], rows: () => {} };
  const generated = indexLines(store.ledger);
  const own = ((await store.read('MEMORY.md')) ?? '').split(/\r?\n/).filter((line) => !generated.has(line));
  refuseLinks(own, 'MEMORY.md', renames);
  const moved: { path: string; line: string; text: string }[] = [];
  for (const path of new Set([...renames.keys()].flatMap((from) => linesLinking(store.ledger, from)))) {
    const text = await store.read(path);
    if (text === null || edits.some((edit) => edit.path === path || edit.renamedFrom === path)) continue;
    const supported = new Set(supportsOf(store.ledger, path).map(({ line }) => line));
    const linking = parseTopic(path, text).lines.filter(({ text: said }) =>
      linksIn(said).some((to) => renames.has(to)),
    );
    const isTheirs = isPinned({ path, text });
    refuseLinks(
      linking.filter(({ id }) => isTheirs || !supported.has(id)).map((line) => line.text),
      path,
      renames,
    );
    moved.push(...linking.map(({ id, text: said }) => ({ path, line: id, text: follow(said, renames) })));
  }
  return {
    files: [...Map.groupBy(moved, ({ path }) => path)].map(([path, lines]) => ({
      path,
      change: (current) =>
        lines.reduce(
          (text: string | null, { line, text: said }) =>
            text && editLines(text, { remove: new Set([line]), add: [said] }),
          current,
        ),
    })),
    rows(transaction) {
      for (const { path, line, text } of moved) {
        for (const support of supportsOf(transaction.ledger, path).filter((each) => each.line === line)) {
          dropSupport(transaction, support);
          addSupport(transaction, { ...support, line: lineId(text) });
        }
      }
    },
  };
}

function refuseLinks(lines: string[], path: string, renames: Map<string, string>): void {
  const to = lines.flatMap(linksIn).find((each) => renames.has(each));
  if (to === undefined) return;
  throw new AppError('refused', `A person's line of ${path} links ${to}, so it keeps its name.`, {
    remedy: 'Leave the name.',
  });
}

function follow(text: string, renames: Map<string, string>): string {
  return text.replace(
    /([[(](?:\.\/)?)([^[\]()\n]+\.md)(?=(?:#[^[\]()\n]*)?[\])])/gi,
    (whole, open: string, to: string) => {
      const now = renames.get(to);
      return now === undefined ? whole : open + now;
    },
  );
}
