// Links follow a topic that is renamed, in the lines that dreams wrote. A person's line, or a program's, is not changed, so a topic
// that one links keeps its name.

import type { Sql } from '../../src/db/sql.ts';
import type { FileChange } from '../../src/memory/commit.ts';
import { isPinned } from '../../src/memory/file-guards.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import { generatedLines, INDEX } from '../../src/memory/memory-index.ts';
import { restsOf } from '../../src/memory/rests.ts';
import { readLines } from '../../src/memory/text/blocks.ts';
import { linksIn } from '../../src/memory/text/index-file.ts';
import { editLines, lineId, parseTopic } from '../../src/memory/text/topic.ts';
import { followLinks, refuseLinks, type TopicEdit } from '../../src/memory/text/topic-edits.ts';
import type { Change } from '../../src/memory/undo-rows.ts';

export interface Relinked {
  files: FileChange[];
  rows(change: Change): Promise<void>;
}

/** What follows these edits in other files. Errors: `refused` where a line that no dream wrote links a topic that is renamed. */
export async function relinked(sql: Sql, memory: string, edits: readonly TopicEdit[]): Promise<Relinked> {
  const renames = new Map(
    edits.flatMap(({ renamedFrom, path }) => (renamedFrom === undefined ? [] : [[renamedFrom, path] as const])),
  );
  if (renames.size === 0) return { files: [], rows: async () => {} };
  const generated = await generatedLines(sql, memory);
  const index = readLines((await headAt(sql, memory, INDEX))?.content?.toString() ?? '');
  const own = index.flatMap(({ text }) => (generated.has(lineId(text)) ? [] : text));
  refuseLinks(own, INDEX, renames);
  const touched = new Set(edits.flatMap(({ path, renamedFrom }) => [path, renamedFrom]));
  const moved: { file: string; path: string; lines: { id: string; text: string; sources: string[] }[] }[] = [];
  for (const path of await linking(sql, memory, [...renames.keys()])) {
    const head = touched.has(path) ? null : await headAt(sql, memory, path);
    const text = head?.content?.toString();
    if (!head || text === undefined) continue;
    const rests = Map.groupBy(
      (await restsOf(sql, memory, head.id)).filter(({ source }) => source.startsWith('e_')),
      ({ line }) => line,
    );
    const lines = parseTopic(path, text).lines.filter((line) => linksIn(line.text).some((to) => renames.has(to)));
    const others = isPinned(path, text) ? lines : lines.filter(({ id }) => !rests.has(id));
    refuseLinks(
      others.map((line) => line.text),
      path,
      renames,
    );
    const sourcesOf = (id: string) => (rests.get(id) ?? []).map(({ source }) => source);
    const now = lines.map(({ id, text: said }) => ({ id, text: followLinks(said, renames), sources: sourcesOf(id) }));
    if (now.length > 0) moved.push({ file: head.id, path, lines: now });
  }
  return {
    files: moved.map(({ path, lines }) => ({
      path,
      make: (current) =>
        lines.reduce(
          (text: string | null, line) => text && editLines(text, { remove: new Set([line.id]), add: [line.text] }),
          current,
        ),
    })),
    async rows(change) {
      for (const { file, lines } of moved) {
        for (const { id, text, sources } of lines) {
          for (const source of sources) {
            await change.drop('rests', { memory, file, line: id, source });
            await change.put('rests', { memory, file, line: lineId(text), source });
          }
        }
      }
    },
  };
}

/** The topics, those put away too, of which a line may link one of these files. */
async function linking(sql: Sql, memory: string, paths: string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const to of paths) {
    const rows = await sql.all<{ path: string }>(
      `select distinct file.path from line join file on file.memory = line.memory and file.id = line.file
       where line.memory = ? and line.text like ? and file.meta is not null and file.path is not null`,
      ...[memory, `%${to}%`],
    );
    for (const { path } of rows) found.add(path);
  }
  return [...found].sort();
}
