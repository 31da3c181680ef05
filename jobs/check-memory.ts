// Check: what is wrong with a memory directory, and, where it is asked for, the mending of it.
//
// 1. Look at the ledger's file before it is opened. A damaged one is kept aside and the ledger rebuilt, or, without
//    repair, is the one finding there is: nothing else can be judged by it.
// 2. Open the store; that finishes what a crash left half done and imports what the ledger lost.
// 3. Find what is wrong.
// 4. Mend what can be mended without a guess, while no dream runs, and look again: what is gone was mended.

import { AppError } from '../src/base/errors.ts';
import { isDirectory } from '../src/base/files/directories.ts';
import type { Clock } from '../src/base/time.ts';
import { findFaults } from '../src/memory/history/check.ts';
import type { Finding } from '../src/memory/history/check-files.ts';
import { ledgerDamage, setLedgerAside } from '../src/memory/ledger/ledger.ts';
import type { Store, WithLease } from '../src/memory/store/store.ts';

interface CheckDeps {
  clock: Clock;
  openStore(dir: string): Promise<Store>;
  withLease: WithLease;
}

export interface ReportedFinding {
  kind: string;
  what: string;
  /** A path in the memory directory. */
  where: string;
  /** What `--repair` does, or did; null: only a person can mend it. */
  mend: string | null;
  isMended: boolean;
}

export interface CheckReport {
  memory: string;
  findings: ReportedFinding[];
}

/** Throws `bad-input` where there is no memory directory, `conflict` where a dream keeps a repair from its work. */
export async function checkMemory(request: { dir: string; repair: boolean }, deps: CheckDeps): Promise<CheckReport> {
  const { dir, repair } = request;
  if (!isDirectory(dir)) throw new AppError('bad-input', `There is no memory directory at ${dir}.`);
  // 1.
  const damage = checkLedgerFile(request, deps.clock);
  if (damage && !damage.isMended) return { memory: dir, findings: [damage] };
  // 2.
  const store = await deps.openStore(dir);
  // 3.
  const found = await findFaults(store);
  const findings =
    repair && found.some((finding) => finding.mend) ? await mendAll(store, found, deps) : found.map(open);
  return { memory: store.id, findings: damage ? [damage, ...findings] : findings };
}

/** The same of a memory that is kept elsewhere: nothing is mended, or changed. */
export async function checkCopy(store: Store): Promise<CheckReport> {
  return store.asOne(async (at) => {
    const damage = at.ledger.lists('pragma integrity_check(3)').map(([text]) => String(text));
    const isSound = damage[0] === 'ok';
    const what = `The ledger is damaged: ${damage.join('; ')}.`;
    const ledger = { kind: 'ledger', what, where: '.nocturne/ledger.db', mend: null, isMended: false };
    const findings = isSound ? (await findFaults(at)).map((found) => ({ ...open(found), mend: null })) : [ledger];
    return { memory: store.id, findings };
  });
}

function checkLedgerFile({ dir, repair }: { dir: string; repair: boolean }, clock: Clock): ReportedFinding | null {
  const problems = ledgerDamage(dir);
  if (problems.length === 0) return null;
  const kept = repair ? setLedgerAside(dir, clock.now()) : 'ledger.db.broken-<instant>';
  return {
    kind: 'ledger',
    what: `The ledger is damaged: ${problems.slice(0, 3).join('; ')}.`,
    where: '.nocturne/ledger.db',
    mend: `Keeps it as ${kept} and rebuilds it from the logs and dream reports; older versions of files are in the kept one alone.`,
    isMended: repair,
  };
}

async function mendAll(store: Store, found: Finding[], deps: CheckDeps): Promise<ReportedFinding[]> {
  // 4.
  const left = await deps.withLease(store, 'dream', async () => {
    for (const mend of new Set(found.map((finding) => finding.mend))) await mend?.apply();
    return findFaults(store);
  });
  if (left === null) {
    throw new AppError('conflict', `A dream works on ${store.id}; nothing was mended.`, {
      remedy: 'Run nocturne check --repair again when it is done.',
    });
  }
  const keyOf = ({ kind, where, what }: Finding) => [kind, where, what].join('\n');
  const still = new Set(left.map(keyOf));
  const mended = found.filter((finding) => !still.has(keyOf(finding)));
  return [...mended.map((finding) => ({ ...open(finding), isMended: true })), ...left.map(open)];
}

function open({ kind, what, where, mend }: Finding): ReportedFinding {
  return { kind, what, where, mend: mend?.says ?? null, isMended: false };
}
