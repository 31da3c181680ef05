// Counts what a reader meets who follows two walks through the code: a transcript's way from the hook to the line in a
// log, and an entry's from the log to the index. Each walk is a list of the calls on it, in order, under their names of
// today and of earlier versions; a call that is in no file of a checkout is not walked there.
// From one call to the next one goes along the imports; where the call cannot be reached so, back to a file one came
// from. `hops`: from file to file, onward. `returns`: back to a file one came from. `rooms`: into another room. `climbs`:
// to a higher floor.
// By hand: node test/walks.ts [CHECKOUT]

import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Count {
  /** Calls of the walk that are in the checkout. */
  calls: number;
  hops: number;
  returns: number;
  rooms: number;
  climbs: number;
}

/**
 * `dir: name` where a name alone is not enough; a file by its path; other names of the same call behind a bar. `~`: what
 * is called was handed in, or is another process: no import leads there.
 */
const WALKS = {
  'a transcript, from the hook to the line in a log': `
    src/doors/hook/hook.ts, itemOf, writeSpoolItem, workAfterHook, ingestSpool, openSession,
    isInteractive, announceSession, putInInbox, openWakeQueue|openBell, ~runWorker, workKey, admit, openSession, ~compose,
    jobs: extract, openSession, readHead, src/transcript/formats: claudeCode, ~openStore, ~withLease, takeLease, beginJob, sortTurns, readTurns,
    openSession, ClaudeCodeReader|src/transcript/formats/claude-code.ts, humanParts, withhold, markPasted, coverageOfTurn,
    findMemoryWrites, findShellWrites, divideTurn, areHeld,
    sessionRows, coverTurns, coverRange, offerPending|extractPending, continuationOf, excerptsOf, readTurnsToShow|jobs: readShown,
    buildExcerpts, segmentsOf|layOutTurn, redact, cutLongPastes|showWithoutLongPastes, choosePriorities|assignPriorities|assignTiers,
    cutIntoChunks, renderSegments|renderRows, isWithinTokens, jobs/extract: propose|runExtractor, Guidance, describePlace,
    renderPrompt, recordEntriesTool, runWithTools, ~forkAgent, ~answerRun, runAgent, openModel, readEnding, ~routeTools,
    src/agent: readEntries, checkEntry, findQuote, adoptedWords, findRelativeDate, commitExcerpt, isUntouched, ~DirectoryStore|Store,
    StoreLock, stage, ~appendEntries, ledger: writeEntry, addVersion, applyCommits, DisplacedFiles|Asides, coverageRanges,
    endJob, settleItem`,
  'an entry, from the log to the index': `
    roundIfDue, shutGate, ~workKey, ~compose, UserScope, jobs: dream, ~withLease, takeLease, loadEntries|readIntake, readLogItems,
    parseLog, lostLogs, beginJob, commitLoaded|commitIntake, lateMarks, retireWithdrawn, writeHabits|writeHeld, Guidance,
    Slices|batches, jobs/dream: select|selectTopics, refreshTopics, TopicSearch, readTopics, parseTopic, contextOf|worldOf,
    jobs/dream: propose|proposeParts, requestFor, renderPrompt, runWithTools, ~runAgent, ~operationSchema, Check|Draft,
    judgeOperations, checkLines, checkDropped|src/memory/dream/operation-checks.ts,
    resolveMeaning|settleMeaning, commitOperations|commitDream, commitTopics, editsOf, editLines,
    relinked, appendJsonReport, appendMarkdownReport, indexChange, buildIndex, ~DirectoryStore|Store, stage, addVersion, applyCommits,
    findArchivable|findForgotten, commitArchiving|commitForgotten, rebuildIndex, endJob, settleItem`,
};

const FLOORS = [['src/transcript', 'src/agent', 'src/memory', 'src/queue'], ['jobs'], ['src/doors'], ['src/wings']];

/** The room that a file is in; files that lie loose in `src/` are the ground, as `src/base/` is. */
function roomOf(file: string): string {
  const [top = '', room = ''] = file.split('/');
  return top === 'jobs' ? top : room.endsWith('.ts') ? 'src/base' : `${top}/${room}`;
}

function floorOf(file: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(roomOf(file))) + 1;
}

interface Code {
  /** Which files an import leads to, types apart. */
  imports: Map<string, string[]>;
  /** The files that export a name. */
  exporting: Map<string, string[]>;
}

function readCode(root: string): Code {
  const files = globSync('{src,jobs}/**/*.ts', { cwd: root }).toSorted();
  const known = new Set(files);
  const imports = new Map<string, string[]>();
  const exporting = new Map<string, string[]>();
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    const named = text.matchAll(/^(?:import|export) (?!type\b)([^;]*?)from '(\.[^']+)';$|\bimport\('(\.[^']+)'\)/gm);
    const paths = [...named]
      .filter(([, names = '']) => !/^\{(?:\s*type \w+( as \w+)?,?)+\s*\}/.test(names))
      .map(([, , still, later]) => join(dirname(file), still ?? later ?? ''));
    imports.set(
      file,
      [...new Set(paths)].filter((path) => known.has(path)),
    );
    for (const [, name = ''] of text.matchAll(/^export (?:async )?(?:function\*?|class|const) (\w+)/gm)) {
      exporting.set(name, [...(exporting.get(name) ?? []), file]);
    }
  }
  return { imports, exporting };
}

/** The file that a call leads to; undefined: there is no such call in this checkout. */
function fileOf(call: string, { imports, exporting }: Code): string | undefined {
  for (const each of call.replace('~', '').split('|')) {
    const [name = '', dir = ''] = each.trim().split(/: /).toReversed();
    const files = name.endsWith('.ts')
      ? [name].filter((file) => imports.has(file))
      : (exporting.get(name) ?? []).filter((file) => `${dirname(file)}/`.includes(dir));
    if (files.length > 1) throw new Error(`${call} is in several files: ${files.join(', ')}.`);
    if (files.length === 1) return files[0];
  }
  return undefined;
}

/** The files on the shortest way along the imports, without the first; null: there is none. */
function wayTo(to: string, from: string, { imports }: Code): string[] | null {
  const before = new Map<string, string>([[from, '']]);
  for (const file of before.keys()) {
    if (file === to) {
      const way: string[] = [];
      for (let at = to; at !== from; at = before.get(at) as string) way.unshift(at);
      return way;
    }
    for (const next of imports.get(file) ?? []) if (!before.has(next)) before.set(next, file);
  }
  return null;
}

/** From each file to the next: from the last file that imports it, of those one came from; else the shortest way. */
function countWalk(walk: Walked[], code: Code): Omit<Count, 'calls'> {
  const count = { hops: 0, returns: 0, rooms: 0, climbs: 0 };
  const stack = walk.slice(0, 1).map(({ file }) => file);
  const step = (from: string, to: string, kind: 'hops' | 'returns') => {
    count[kind] += 1;
    if (roomOf(from) !== roomOf(to)) count.rooms += 1;
    if (floorOf(to) > floorOf(from)) count.climbs += 1;
  };
  for (const { call, file } of walk.slice(1)) {
    const ways = stack.map((from, at) => ({ at, way: call.startsWith('~') ? null : wayTo(file, from, code) }));
    const direct = ways.findLast(({ at, way }) => stack[at] === file || way?.length === 1);
    const cost = ({ at, way }: { at: number; way: string[] | null }) => stack.length - at + (way?.length ?? Infinity);
    const best = direct ?? ways.toReversed().reduce((a, b) => (cost(b) < cost(a) ? b : a));
    const at = best.way ? best.at : stack.length - 1;
    while (stack.length - 1 > at) step(stack.pop() as string, stack.at(-1) as string, 'returns');
    for (const next of best.way ?? [file]) {
      step(stack.at(-1) as string, next, 'hops');
      stack.push(next);
    }
  }
  return count;
}

interface Walked {
  call: string;
  file: string;
}

/** The calls of a walk that are in the checkout, each with its file, and those that are not. */
function walkIn(calls: string, code: Code): { walk: Walked[]; gone: string[] } {
  const all = calls.split(',').map((call) => ({ call: call.trim(), file: fileOf(call.trim(), code) }));
  return {
    walk: all.flatMap(({ call, file }) => (file === undefined ? [] : { call, file })),
    gone: all.flatMap(({ call, file }) => (file === undefined ? call : [])),
  };
}

/** Both walks through a checkout. `gone`: calls that are no call between files there. */
export function countWalks(root: string): Record<keyof typeof WALKS, Count & { gone: string[] }> {
  const code = readCode(root);
  const counted = (calls: string) => {
    const { walk, gone } = walkIn(calls, code);
    return { calls: walk.length, ...countWalk(walk, code), gone };
  };
  const [transcript, entry] = Object.keys(WALKS) as [keyof typeof WALKS, keyof typeof WALKS];
  return { [transcript]: counted(WALKS[transcript]), [entry]: counted(WALKS[entry]) } as ReturnType<typeof countWalks>;
}

if (import.meta.main) console.log(countWalks(process.argv[2] ?? join(import.meta.dirname, '..')));
