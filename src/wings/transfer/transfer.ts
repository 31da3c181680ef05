// export: all Markdown of a memory directory as a plain archive, as it stands at one moment.
//
// 1. Take in what was edited outside, so that the ledger holds every file as it stands.
// 2. Note the version that each file is at: topics, index, logs, archive, dream reports, in the order of their names.
// 3. Pack these versions, one after another, while the archive is read. Whatever is committed meanwhile is not in it.
//
// import: the Markdown of an archive comes into a memory, which then knows what was done there as if it had done it.
//
// 1. Read the whole archive and look at every file; one that does not fit, and nothing is changed.
// 2. Hold the dream's lease: a dream under way would build on what it has read before.
// 3. In one commit add what is missing and leave what is the same. A log of a day that both have gets the entries that it
//    lacks: without them the next dream would take what rests on them for withdrawn. What else differs stays, or is taken
//    where that was asked for; its version keeps the other. An index that is there is built anew.
// 4. Tell the ledger what the logs and reports say: nothing is extracted or distilled a second time.

import { isUtf8 } from 'node:buffer';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../base/errors.ts';
import { scanCopies, writePieces } from '../../base/files/file-pieces.ts';
import { statNow } from '../../base/files/files.ts';
import { sayCount } from '../../base/text/wording.ts';
import type { CommandSpec } from '../../doors/cli/spec.ts';
import { type CommonOptions, inApp, MEMORY, printDone } from '../../doors/cli/terminal/options.ts';
import { note, print } from '../../doors/cli/terminal/output.ts';
import type { OpensLate } from '../../doors/wing.ts';
import { indexChange, isOverflow } from '../../memory/dream/index-file.ts';
import { historyPaths } from '../../memory/history/log-items.ts';
import { takeInHistory } from '../../memory/history/rebuild.ts';
import { allEntries, entriesIn, entryRow, supportsByEntry, writeEntry } from '../../memory/ledger/entries.ts';
import { enterPersonsJob } from '../../memory/ledger/job-rows.ts';
import type { Transaction } from '../../memory/ledger/ledger.ts';
import { isMemoryPath } from '../../memory/store/confine.ts';
import type { FileChange, Store } from '../../memory/store/store.ts';
import { joinLogs, logDay, parseLog } from '../../memory/text/daily-log.ts';
import { isReportPath, parseJsonReport } from '../../memory/text/dream-report.ts';
import { isTopicFile } from '../../memory/text/topic.ts';
import type { PackedFile } from './tarball.ts';

/** The archive, in pieces; what is in it, by path; and what is not, because it is no Markdown or no UTF-8. */
export async function exportMemory(store: Store) {
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
  const { packTarball } = await import('./tarball.ts');
  return { pieces: packTarball(packed()), files: kept.map(({ path }) => path), leftOut };
}

/** Whether a file of a memory directory goes into archives, and comes out of them. */
function isExported(path: string): boolean {
  return isReportPath(path) || (path.endsWith('.md') && !path.startsWith('.'));
}

export interface ImportReport {
  /** All but `imported` changed no file. */
  outcome: 'imported' | 'unchanged' | 'busy';
  added: string[];
  /** Differed, and are as in the archive now. */
  replaced: string[];
  /** Logs that have the archive's entries beside their own now. */
  joined: string[];
  /** Differ, and stayed as they were. */
  differing: string[];
  /** How many were there already, to the byte. */
  same: number;
  /** How many entries the ledger knows more. */
  entries: number;
  /** With which it can be undone; null where nothing was changed. */
  job: string | null;
}

/** What is held while an archive is read; a memory directory of a whole life stays far below. */
const BOUNDS = { files: 50_000, fileBytes: 16 * 1024 * 1024, totalBytes: 256 * 1024 * 1024 };

/**
 * `pieces`: the archive; `takesTheirs`: what differs is taken from it. Contract: throws `bad-input` for an archive that does
 * not fit, and nothing is changed.
 */
export async function importMemory(
  { pieces, takesTheirs }: { pieces: AsyncIterable<Uint8Array>; takesTheirs: boolean },
  deps: OpensLate,
): Promise<ImportReport> {
  // 1.
  const { readTarball } = await import('./tarball.ts');
  const archive = textsOf(await readTarball(pieces, BOUNDS));
  const store = await deps.openStore();
  const nothing = { added: [], replaced: [], joined: [], differing: [], same: 0, entries: 0, job: null };
  const report: ImportReport = { outcome: 'busy', ...nothing };
  // 2.
  await deps.withLease(store, 'dream', async () => {
    const standing = await readStanding(store);
    await store.commit({ actor: 'person' }, () => {
      const run = importing(store, { archive, standing, takesTheirs, report });
      return { files: run.files(), rows: (transaction) => run.finish(transaction, deps.clock.now()) };
    });
    return true;
  });
  return report;
}

/** The files as text. Throws `bad-input` for what is no text, and for names that are none of a memory directory. */
function textsOf(files: Map<string, Buffer>): Map<string, string> {
  const spellings = new Set<string>();
  for (const [path, content] of files) {
    const spelling = path.normalize('NFC').toLowerCase();
    if (!isExported(path) || !(isMemoryPath(path) || isReportPath(path))) {
      throw unfit(path, 'is no Markdown file of a memory directory');
    }
    if (spellings.has(spelling)) throw unfit(path, 'is in it under two spellings');
    if (!isUtf8(content) || content.includes(0)) throw unfit(path, 'is no UTF-8 text');
    spellings.add(spelling);
  }
  for (const path of files.keys()) {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      if (spellings.has(path.slice(0, at).normalize('NFC').toLowerCase())) throw unfit(path, 'lies below another file');
    }
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, content]) => [path, content.toString()]));
}

/** The texts of what the ledger is told of: logs, reports, topics. */
async function readStanding(store: Store): Promise<Map<string, string>> {
  const topics = (await store.list()).filter(isTopicFile);
  const texts = new Map<string, string>();
  for (const path of [...(await historyPaths(store)), ...topics]) texts.set(path, (await store.read(path)) ?? '');
  return texts;
}

interface Given {
  archive: Map<string, string>;
  standing: Map<string, string>;
  takesTheirs: boolean;
  report: ImportReport;
}

/** What an import changes, of which it keeps the report. */
function importing(store: Store, { archive, standing, takesTheirs, report }: Given) {
  const { ledger } = store;
  const isEmpty = !ledger.get('select 1 from memory join version on version.id = head where content is not null');
  const knownBefore = new Set(allEntries(ledger).map(({ id }) => id));
  const forgotten = new Set(entriesIn(ledger, 'forgotten').map(({ id }) => id));
  const index = indexChange(store);
  /** What each file holds once it is imported. */
  const texts = new Map(standing);
  const isChanged = () => report.added.length + report.replaced.length + report.joined.length > 0;

  /** What becomes of a file that both have. In a log the other's entries stand beside; what was forgotten stays so. */
  function bothIn(path: string, { current, text }: { current: string; text: string }): string {
    const day = logDay(path);
    if (current === text || holdsAll(path, current, text)) return current;
    if (day === null) return takesTheirs ? text : current;
    const [first, other] = takesTheirs ? [text, current] : [current, text];
    return joinLogs(first, other, { day, leftOut: forgotten });
  }

  function take(path: string, { current, text }: { current: string | null; text: string }): string {
    const now = current === null ? text : bothIn(path, { current, text });
    if (current === null) report.added.push(path);
    else if (holdsAll(path, current, text)) report.same += 1;
    else if (now === current) report.differing.push(path);
    else (now === text ? report.replaced : report.joined).push(path);
    texts.set(path, now);
    return now;
  }

  function rebuiltIndex(current: string | null): string | null {
    const isToBuild = isChanged();
    const theirs = archive.get('MEMORY.md');
    const from = theirs === undefined ? current : take('MEMORY.md', { current, text: theirs });
    const text = isToBuild || from !== current ? index.memory.change(from) : current;
    texts.set('MEMORY.md', text ?? '');
    return text;
  }

  /** What was distilled there into a topic that stays as it is here stands in no topic: the next dream reads it. */
  function leaveToNextDream(transaction: Transaction): void {
    const reports = [...archive].filter(([path]) => isReportPath(path) && path.endsWith('.json'));
    const last = new Map(reports.flatMap(([, text]) => parseJsonReport(text) ?? []).map((row) => [row.entry, row]));
    for (const { entry: id, topic, lines } of last.values()) {
      const entry = entryRow(transaction.ledger, id);
      const isHere = lines.length === 0 || !report.differing.includes(topic ?? '');
      if (entry?.state !== 'distilled' || knownBefore.has(id) || isHere) continue;
      if (supportsByEntry(transaction.ledger, id).length === 0) writeEntry(transaction, { ...entry, state: 'new' });
    }
  }

  return {
    // 3.
    files(): FileChange[] {
      const taken = [...archive].filter(([path, text]) => isEmpty || !isIndex(path, text));
      const files = taken.map(([path, text]) => ({
        path,
        change: (current: string | null) => take(path, { current, text }),
      }));
      return isEmpty ? files : [...files, { path: 'MEMORY.md', change: rebuiltIndex }, ...index.overflow()];
    },
    // 4.
    finish(transaction: Transaction, now: Date): void {
      report.outcome = isChanged() ? 'imported' : 'unchanged';
      if (!isChanged()) return;
      if (!isEmpty) index.finish(transaction);
      const of = (isOne: (path: string) => boolean) => new Map([...texts].filter(([path]) => isOne(path)));
      const topics = of(isTopicFile);
      const history = of((path) => path.startsWith('logs/') || isReportPath(path));
      takeInHistory(transaction, { texts: history, topics, index: texts.get('MEMORY.md') ?? '', isAnew: isEmpty });
      leaveToNextDream(transaction);
      report.entries = allEntries(transaction.ledger).length - knownBefore.size;
      report.job = enterPersonsJob(transaction, { kind: 'import', outcome: report.outcome, now });
    },
  };
}

/** What is built from the topics, where there are topics already. */
function isIndex(path: string, text: string): boolean {
  return path === 'MEMORY.md' || (path.startsWith('index/') && isOverflow(text));
}

/** Whether nothing of the archive's text is missing: the same bytes, or a log with its entries as they are there. */
function holdsAll(path: string, current: string, theirs: string): boolean {
  const day = logDay(path);
  if (current === theirs || day === null) return current === theirs;
  const here = new Map(parseLog(current, day).map(({ id, text }) => [id, text]));
  return parseLog(theirs, day).every(({ id, text }) => here.get(id) === text);
}

function unfit(path: string, problem: string): AppError {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return new AppError('bad-input', `The archive cannot be used: ${JSON.stringify(shown)} ${problem}.`, {
    remedy: 'Nothing was changed. Import what nocturne export made, or an archive of Markdown files alone.',
  });
}

const exportCommand: CommandSpec<CommonOptions, [string]> = {
  name: 'export',
  about: 'topics, index, logs, archive and dream reports as a .tar.gz',
  group: 'Under the hood',
  args: [['<file>', 'a file that is not there yet; - is stdout']],
  options: MEMORY,
  json: '{ file, files, leftOut }',
  more: 'The same memory gives the same bytes.',
  examples: ['export memory.tar.gz', 'export - | tar tz'],
  run: inApp(async (app, { options, args: [file] }) => {
    if (!(await app.hasMemory())) {
      throw new AppError('bad-input', `There is no memory directory at ${app.memoryDirOf()}.`);
    }
    if (file === '-' && options.json) {
      throw new AppError('bad-input', 'Stdout cannot carry both the archive and JSON.', {
        remedy: 'Name a file, or leave --json out.',
      });
    }
    if (file !== '-' && statNow(resolve(file)) !== null) {
      throw new AppError('bad-input', `${file} is there already; nothing was written.`, {
        remedy: 'Remove it, or name another file.',
      });
    }
    const { pieces, files, leftOut } = await exportMemory(await app.storeFor());
    if (file === '-') await pipeline(pieces, process.stdout, { end: false });
    else await writePieces(resolve(file), pieces);
    if (options.json) print({ file, files, leftOut });
    else note(`${sayCount(files.length, 'file')} exported${file === '-' ? '' : ` to ${file}`}.`);
    if (leftOut.length > 0) note(`Left out, as they are no Markdown or no UTF-8: ${leftOut.join(', ')}.`);
  }),
};

const importCommand: CommandSpec<CommonOptions & { theirs?: boolean }, [string]> = {
  name: 'import',
  about: 'what nocturne export made, into this memory; what is there stays',
  group: 'Under the hood',
  args: [['<file>', 'a .tar.gz; - is stdin']],
  options: [['--theirs', 'where a file differs, take that of the archive; history keeps the other'], ...MEMORY],
  json: '{ outcome, added, replaced, joined, differing, same, entries, job }',
  more: 'Nothing that was extracted or distilled there is done again here.',
  examples: ['import memory.tar.gz'],
  run: inApp(async (app, call) => {
    const [file] = call.args;
    const openStore = () => app.storeFor();
    const report = await importMemory(
      { pieces: file === '-' ? process.stdin : scanCopies(resolve(file)), takesTheirs: call.options.theirs ?? false },
      { openStore, clock: app.config.clock, withLease: app.withLease },
    );
    await printDone(app, call, { report, lines: describe(report) });
  }),
};

function describe({ outcome, added, replaced, joined, differing, same, entries }: ImportReport): string[] {
  if (outcome === 'busy') return ['busy; a dream works on this memory. Try again when it is done.'];
  const stay = differing.map((path) => `  differs, yours stays: ${path}`);
  if (differing.length > 0) stay.push('--theirs takes the files of the archive; nocturne show --history has yours.');
  if (outcome === 'unchanged')
    return [`Nothing was to be imported; ${same === 1 ? '1 file is' : `${same} files are`} the same.`, ...stay];
  return [
    `${sayCount(added.length, 'file')} added, ${replaced.length} replaced, ${same} the same; ${sayCount(entries, 'entry')} known.`,
    ...joined.map((path) => `  has the entries of both now: ${path}`),
    ...stay,
  ];
}

export const commands: CommandSpec[] = [exportCommand, importCommand];
