// Checks MEMORY.md and its overflow files against the topics. What nocturne generated can be generated again; what
// somebody wrote there is only reported.

import { indexLines, writeIndexLines } from '../../ledger/entries.ts';
import type { Store } from '../../store/store.ts';
import { type BuiltIndex, buildIndex, INDEX_CAPS } from '../../text/index-file.ts';
import { isTopicPath } from '../../text/topic.ts';
import { CHECK, type Finding, listed, type Mend, type ReadFiles } from './findings.ts';

const INDEX = 'MEMORY.md';

export function findIndexFaults(store: Store, { texts, topics: all }: ReadFiles): Finding[] {
  const current = texts.get(INDEX) ?? null;
  const topics = [...all.values()].filter(({ path }) => isTopicPath(path));
  if (topics.length === 0 && current === null) return [];
  const generatedBefore = indexLines(store.ledger);
  const build = (text: string | null) => buildIndex({ current: text, generatedBefore, topics, isTeam: store.isTeam });
  const built = build(current);
  const mend: Mend = { says: 'Builds the index again; hand-written lines stay.', apply: () => rebuild(store, build) };
  const lines = (current ?? '').split(/\r?\n/);
  const linked = linkedPaths([...texts].flatMap(([path, text]) => (isIndex(path) ? text : [])).join('\n'));
  const faults = [
    ...caps(built, { current: current ?? '', mend }),
    ...unlisted(topics.map(({ path }) => path).filter((path) => !linked.has(path))).map((what) => ({
      kind: 'index-line',
      what,
      where: INDEX,
      mend,
    })),
    ...lines
      .filter((line) => generatedBefore.has(line) && !built.generated.includes(line))
      .map((line) => ({ kind: 'index-stale', what: `Says what is true no more: ${line}`, where: INDEX, mend })),
    ...[...linkedPaths(built.text)]
      .filter((path) => !texts.has(path) && !built.overflow.some((file) => file.path === path))
      .map((link) => ({
        kind: 'link',
        what: `Links ${link}, which is not there; the line is hand-written.`,
        where: INDEX,
        mend: null,
      })),
    ...overflow(built, { texts, mend }),
  ];
  const isExplained = faults.some((fault) => fault.mend === mend);
  if (current === built.text || isExplained) return faults;
  return [...faults, { kind: 'index', what: 'Is not what its topics make it.', where: INDEX, mend }];
}

function caps(built: BuiltIndex, { current, mend }: { current: string; mend: Mend }): Finding[] {
  const lines = current.split('\n').length - 1;
  const bytes = Buffer.byteLength(current);
  if (lines <= INDEX_CAPS.lines && bytes <= INDEX_CAPS.bytes) return [];
  const what = `Has ${lines} lines and ${bytes} bytes; agents read ${INDEX_CAPS.lines} lines and ${INDEX_CAPS.bytes} bytes.`;
  const isTheirs = built.handWrittenOverCaps;
  return [
    {
      kind: 'index-caps',
      what: isTheirs ? `${what} Its hand-written lines alone are too many.` : what,
      where: INDEX,
      mend: isTheirs ? null : mend,
    },
  ];
}

function unlisted(topics: string[]): string[] {
  return topics.length === 0 ? [] : [`Has no line for ${listed(topics)}.`];
}

function overflow(built: BuiltIndex, { texts, mend }: Pick<ReadFiles, 'texts'> & { mend: Mend }): Finding[] {
  const wanted = built.overflow
    .filter(({ path, text }) => texts.get(path) !== text)
    .map(({ path }) => ({
      kind: 'overflow',
      what: 'Does not list what the index has no room for.',
      where: path,
      mend,
    }));
  const unwanted = [...texts.keys()]
    .filter((path) => path.startsWith('index/') && !built.overflow.some((file) => file.path === path))
    .map((where) => ({
      kind: 'overflow',
      what: 'Is no longer needed: the index has room for all; the next dream removes what nocturne made.',
      where,
      mend: null,
    }));
  return [...wanted, ...unwanted];
}

const LINK = /\[([^[\]()\n]+\.md)\]|\]\((?:\.\/)?([^()\s#]+\.md)(?:#[^()\s]*)?\)/gi;

/** The index, and the files of what it has no room for. */
function isIndex(path: string): boolean {
  return path === INDEX || path.startsWith('index/');
}

/** The Markdown files of this directory that a text links. */
function linkedPaths(text: string): Set<string> {
  const paths = [...text.matchAll(LINK)].map((link) => link[1] ?? link[2] ?? '');
  return new Set(paths.filter((path) => !/^\/|:\/\/|^\.\./.test(path)));
}

async function rebuild(store: Store, build: (current: string | null) => BuiltIndex): Promise<void> {
  const overflow = build(await store.read(INDEX)).overflow;
  let generated: string[] = [];
  await store.commit({ actor: CHECK }, () => ({
    files: [
      {
        path: INDEX,
        change(current) {
          const built = build(current);
          generated = built.generated;
          return built.text;
        },
      },
      ...overflow.map(({ path, text }) => ({ path, change: () => text })),
    ],
    rows: (transaction) => writeIndexLines(transaction, generated),
  }));
}
