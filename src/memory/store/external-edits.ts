// External edits, which did not come through the store: by a person, the main agent, a checkout.
// A file is looked at (size and times, as remembered in the ledger) and read only where that changed. What differs from
// its head becomes a version with the actor `external`; the same content under a new name is a rename and keeps its
// memory id. What a line rests on follows it where it is recognisably the same, or moved to another topic.
// Many files gone or emptied at once look like an accident: they are marked as missing, never recorded as deletions,
// until they are back or a person confirms. A daily log is so by itself (version-rows.ts).
// In a copy of a store that is kept elsewhere nothing is an external edit: what differs from its head breaks the copy.

import { isAppError } from '../../base/errors.ts';
import { realPath } from '../../base/files/directories.ts';
import { MOST_MEMORY_BYTES, type Stat, statNow } from '../../base/files/files.ts';
import { containsLiteral, literals } from '../../rules/literals.ts';
import { isNegated, similarity } from '../../rules/words.ts';
import { addSupport, dropSupport, moveSupports, supportsOf } from '../ledger/entries.ts';
import { Transaction } from '../ledger/ledger.ts';
import { followProgramLines } from '../ledger/program-lines.ts';
import {
  acceptLost,
  addVersion,
  beginCommit,
  type Content,
  dropFoundAgain,
  headAt,
  headOf,
  healed,
  isLog,
  markWritten,
  memoryAt,
  missingIn,
  newMemory,
  noteLost,
  shaOf,
  type Version,
  whyLost,
} from '../ledger/version-rows.ts';
import { logDay } from '../text/daily-log.ts';
import { isTopicPath, parseTopic, type TopicLine } from '../text/topic.ts';
import { brokenCopy, readLive, type SwapContext } from './apply.ts';
import { filesByName, isMemoryPath } from './confine.ts';
import { DISK_TICK_MS, readWritten } from './displaced-files.ts';
import { type Known, KnownFiles, matchesKnown, type Totals, VISIBLE } from './live-files.ts';

interface ExternalEditsDeps extends Omit<SwapContext, 'takeIn'> {
  /** Git keeps what was there: files that are gone were removed, by whoever changed the branch or pulled. */
  isCheckedIn: boolean;
  /** Of a copy: how each file looked when it was last found to be its head, by path. */
  looks?: Map<string, Stat>;
}

/** Fewer files than this may always go at once, unless they are all there are. */
const FEW_FILES = 3;
/** All files are looked at after one commit for so many of them: no commit pays for more, and no edit goes unseen for long. */
const FILES_A_COMMIT = 50;

export class ExternalEdits {
  readonly #deps: ExternalEditsDeps;
  readonly #known: KnownFiles;
  /** What the last scan found in the directory, as the disk spells it. */
  #there = new Map<string, string>();
  #isTakingIn = false;
  /** Commits since the last scan. */
  #withoutLook = 0;
  /** The one commit of all that a scan finds. */
  #commit: number | null = null;

  constructor(deps: ExternalEditsDeps) {
    this.#deps = deps;
    this.#known = new KnownFiles(deps.ledger);
  }

  /** What the last scan found. */
  get totals(): Totals {
    return this.#known.totals;
  }

  /** Catches up with what others committed; no file is looked at. */
  refresh(): void {
    this.#known.refresh();
  }

  /** Whether one more commit may do without a look at all files. */
  maySkipLook(): boolean {
    this.#withoutLook += 1;
    return this.#withoutLook * FILES_A_COMMIT < this.#known.byPath.size;
  }

  /** Takes in whatever changed in the directory since the last stat. */
  takeInAll(): void {
    this.refresh();
    this.#withoutLook = 0;
    const { found, gone } = this.#findChanges();
    if (found.size + gone.length === 0) return;
    this.#isTakingIn = true;
    try {
      this.#deps.ledger.transaction(() => {
        this.#takeIn(found, gone);
        dropFoundAgain(this.#deps.ledger);
      });
    } catch (error) {
      this.#known.invalidate();
      throw error;
    } finally {
      this.#isTakingIn = false;
      this.#commit = null;
    }
  }

  /** Records what stands at a path as an external edit where it is not the head; answers the head. */
  takeIn(path: string): Version | null {
    const { ledger, locate } = this.#deps;
    const known = memoryAt(ledger, path);
    const head = known === null ? null : headOf(ledger, known);
    const live = read(locate(path), head?.content ?? null);
    if (shaOf(live) === (head?.sha ?? null)) return head && healed(ledger, head, live);
    const memory = known ?? newMemory(ledger, path);
    this.#record(memory, { path, content: live, previous: head?.id ?? null });
    return headOf(ledger, memory);
  }

  /** Believes that the missing files, or those among `only`, were removed or emptied on purpose; answers their paths. */
  acceptMissing(only?: Set<string>): string[] {
    const { ledger, dir } = this.#deps;
    const paths = missingIn(ledger).filter((path) => only?.has(path) ?? true);
    const there = filesByName(dir);
    ledger.transaction(() => {
      for (const path of paths) {
        if (!there.has(path)) this.#takeInLoss(path);
        else if (!this.#isUnreadable(path)) this.takeIn(path);
        ledger.run('update memory set missing_since = null where path = ?', path);
        acceptLost(ledger, path);
      }
    });
    return paths;
  }

  /** What does not match what is known of it, or is not known; and what is known and not there. */
  #findChanges(): { found: Map<string, Stat>; gone: Known[] } {
    const { dir } = this.#deps;
    this.#there = filesByName(dir);
    const there = this.#there;
    const found = new Map<string, Stat>();
    const gone: Known[] = [];
    for (const path of there.keys()) {
      if (this.#known.byPath.get(path) || !path.endsWith('.md') || !isMemoryPath(path)) continue;
      const stat = statNow(this.#absolute(path));
      if (stat?.isFile) found.set(path, stat);
    }
    for (const file of this.#known.byPath.values()) {
      const { path, bytes, missingSince } = file;
      const isThere = there.has(path);
      if (!isThere && bytes === null) continue;
      // It may have come back since the walk. What a link or another letter case leads to has a name of its own.
      const absolute = this.#absolute(path);
      const stat = isThere || realPath(absolute) === absolute ? statNow(absolute) : null;
      if (stat?.isFile && missingSince === null && matchesKnown(this.#deps.looks?.get(path) ?? file, stat)) continue;
      if (stat?.isFile) found.set(path, stat);
      else if (bytes !== null) gone.push(file);
    }
    return { found, gone };
  }

  #takeIn(found: Map<string, Stat>, gone: Known[]): void {
    const lost = new Map(gone.map((file) => [file.path, file]));
    const emptied: Known[] = [];
    const { ledger, displaced } = this.#deps;
    const diskNowMs = displaced.diskNowMs();
    for (const [path, stat] of found) {
      const file = this.#known.byPath.get(path);
      if (file?.bytes && (stat.bytes === 0 || (logDay(path) && this.#isUnreadable(path)))) emptied.push(file);
      // What is too large is not taken in: its last version stays, and whoever would change it is told.
      else if (stat.bytes <= MOST_MEMORY_BYTES) {
        if (file) {
          if (file.bytes === null) this.#takeInRename(path, lost);
          this.#takeInAgain(file);
          if (file.missingSince !== null)
            ledger.run('update memory set missing_since = null where id = ?', file.memory);
        } else if (!this.#takeInRename(path, lost)) this.#takeInNew(path);
        // Nobody else writes in a copy.
        if (this.#deps.looks || diskNowMs - stat.modifiedMs > DISK_TICK_MS) this.#remember(path, stat);
      }
    }
    this.#takeInLosses([...lost.values()], emptied);
  }

  /** What was written lately is read at every scan: most often it is still what it was. */
  #takeInAgain(file: Known): void {
    const isHead = file.sha != null && shaOf(readLive(this.#absolute(file.path))) === file.sha;
    if (!isHead) file.sha = this.takeIn(file.path)?.sha;
  }

  /** Where the content of a new file is that of one that is gone, it is the same memory; answers whether it is. */
  #takeInRename(path: string, lost: Map<string, Known>): boolean {
    const { ledger } = this.#deps;
    if (lost.size === 0) return false;
    const content = read(this.#absolute(path), null);
    if (content === null || content.length === 0) return false;
    const sha = shaOf(content);
    const same = [...lost.values()].filter((file) => headOf(ledger, file.memory)?.sha === sha);
    const from = same.find((file) => nameOf(file.path) === nameOf(path)) ?? same[0];
    if (!from) return false;
    lost.delete(from.path);
    const commit = this.#record(from.memory, { path, content, previous: headOf(ledger, from.memory)?.id ?? null });
    moveSupports(new Transaction(ledger, commit), { from: from.path, to: path });
    return true;
  }

  #takeInNew(path: string): void {
    const content = read(this.#absolute(path), null);
    if (content !== null) this.#record(newMemory(this.#deps.ledger, path), { path, content, previous: null });
  }

  /** Records deletions, unless so many at once look like an accident. */
  #takeInLosses(gone: Known[], emptied: Known[]): void {
    const { ledger, clock } = this.#deps;
    const losses = [...gone, ...emptied];
    const fresh = losses.filter((file) => file.missingSince === null);
    if (fresh.length === 0) return;
    if (this.#deps.looks) throw brokenCopy(fresh.map(({ path }) => path).join(', '));
    const all = ledger.get(`select count(*) as n from memory where seen_bytes is not null and ${VISIBLE}`)?.n as number;
    // A log that was lost before says nothing of what is gone now.
    const counted = losses.filter((file) => file.missingSince === null || !isLog(file.path)).length;
    const isAccident = !this.#deps.isCheckedIn && isMassDeletion(counted, all);
    const now = clock.now().toISOString();
    for (const file of fresh) {
      const isLostLog = !this.#deps.isCheckedIn && isLog(file.path);
      if (isLostLog) noteLost(ledger, { path: file.path, content: null, at: now });
      if (isAccident || isLostLog) {
        ledger.run('update memory set missing_since = ? where id = ?', now, file.memory);
      } else if (emptied.includes(file)) this.takeIn(file.path);
      else this.#takeInLoss(file.path);
    }
  }

  /** Records a deletion; what another name or a link there leads to is not looked at. */
  #takeInLoss(path: string): void {
    const head = headAt(this.#deps.ledger, path);
    if (head?.sha) this.#record(head.memory, { path, content: null, previous: head.id });
  }

  #record(memory: string, version: { path: string; content: Content; previous: string | null }): number {
    const { ledger, clock, isCheckedIn, looks } = this.#deps;
    const at = clock.now().toISOString();
    const { path, content } = version;
    if (looks) throw brokenCopy(path);
    if (!isCheckedIn && logDay(path) && whyLost(content, headOf(ledger, memory)?.content ?? null)) {
      noteLost(ledger, { path, content, at });
    }
    const commit = this.#commit ?? beginCommit(ledger, { actor: 'external', at, isApplied: true });
    if (this.#isTakingIn) this.#commit = commit;
    const before = version.content === null ? null : headOf(ledger, memory)?.content;
    addVersion(ledger, { ...version, memory, commit, actor: 'external', at });
    markWritten(ledger, memory, version.content);
    const after = version.content?.toString() ?? '';
    followProgramLines(ledger, { memory, path, before: before?.toString() ?? null, after });
    followLines(new Transaction(ledger, commit), { path: version.path, before: before?.toString() ?? '', after });
    return commit;
  }

  #isUnreadable(path: string): boolean {
    try {
      readLive(this.#absolute(path));
      return false;
    } catch (error) {
      if (!isAppError(error)) throw error;
      return true;
    }
  }

  /** Remembers how a file looked before it was read. */
  #remember(path: string, stat: Stat): void {
    const { bytes, modifiedMs, changedMs } = stat;
    if (this.#deps.looks) this.#deps.looks.set(path, stat);
    else
      this.#deps.ledger.run(
        'update memory set seen_bytes = ?, seen_modified = ?, seen_changed = ? where path = ?',
        bytes,
        modifiedMs,
        changedMs,
        path,
      );
  }

  /** Of a path that was found in the directory, without a link on the way. */
  #absolute(path: string): string {
    return `${this.#deps.dir}/${this.#there.get(path) ?? path}`;
  }
}

function isMassDeletion(gone: number, all: number): boolean {
  return gone >= FEW_FILES ? gone * 4 > all : gone === all && gone > 1;
}

/** The bytes of a live file; one that was not empty before gets a moment to be written. */
function read(absolute: string, expected: Content): Content {
  const live = readLive(absolute);
  const isBeingWritten = live?.length === 0 && expected !== null && expected.length > 0;
  return isBeingWritten ? readWritten(absolute, { isEmptyExpected: false }) : live;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Follows the lines of a topic from what it was to what someone made of it, as part of a commit. */
export function followLines(
  transaction: Transaction,
  { path, before, after }: { path: string; before: string; after: string },
): void {
  if (!isTopicPath(path)) return;
  const was = parseTopic(path, before).lines;
  const is = parseTopic(path, after).lines;
  const known = new Set(was.map(({ id }) => id));
  const standing = new Set(is.map(({ id }) => id));
  const added = is.filter(({ id }) => !known.has(id));
  if (added.length === 0) return;
  const supports = Map.groupBy(supportsOf(transaction.ledger, path), ({ line }) => line);
  for (const line of was) {
    const rests = supports.get(line.id);
    if (!rests || standing.has(line.id)) continue;
    const now = added.find((other) => !supports.has(other.id) && isSameLine(line, other));
    if (!now) continue;
    for (const support of rests) {
      dropSupport(transaction, support);
      addSupport(transaction, { ...support, line: now.id });
    }
    supports.set(now.id, rests);
  }
  for (const { id } of added) {
    if (supports.has(id)) continue;
    const elsewhere = transaction.ledger.all('select distinct entry from support where line = ?', id);
    for (const { entry } of elsewhere) addSupport(transaction, { path, line: id, entry: entry as string });
  }
}

function isSameLine({ text: a }: TopicLine, { text: b }: TopicLine): boolean {
  return (
    similarity(a, b) === 1 &&
    isNegated(a) === isNegated(b) &&
    literals(a).every((value) => containsLiteral(value, b)) &&
    literals(b).every((value) => containsLiteral(value, a))
  );
}
