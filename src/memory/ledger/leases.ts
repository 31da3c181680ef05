// Who works on a key: one owner at a time, with a fence that grows at every taking. A commit carries the fence, so a
// writer that lost its lease changes nothing. The lease of a dead process is broken at once.

import { AppError } from '../../base/errors.ts';
import { isDead, type ProcessName } from '../../base/process.ts';
import type { Ledger } from './ledger.ts';

export interface Lease {
  key: string;
  owner: ProcessName;
  fence: number;
}

/** `owner`: null where nobody holds it. */
type LeaseRow = { owner: string | null; fence: number; until: string };

export interface LeaseTaking {
  key: string;
  /** A process, and what in it works: `host:pid:start/job`. */
  owner: string;
  now: Date;
  ttlMs: number;
}

/** Takes the lease, or answers null where another live owner holds it. */
export function takeLease(ledger: Ledger, taking: LeaseTaking): Lease | null {
  return ledger.transaction(() => {
    const { key, owner, now } = taking;
    const row = ledger.get<LeaseRow>('select owner, fence, until from lease where key = ?', key);
    if (row?.owner && row.until > now.toISOString() && !isDead(processOf(row.owner))) return null;
    const fence = (row?.fence ?? 0) + 1;
    ledger.replace('lease', { key, owner, fence, until: untilOf(taking) });
    return { key, owner, fence };
  });
}

/** Whether somebody works on a key that begins with `prefix`. */
export function isLeased(ledger: Ledger, { prefix, now }: { prefix: string; now: Date }): boolean {
  return ledger
    .all(
      'select owner from lease where owner is not null and until > ? and substr(key, 1, ?) = ?',
      now.toISOString(),
      prefix.length,
      prefix,
    )
    .some((row) => !isDead(processOf(row.owner as string)));
}

/** Makes the lease last longer; false where it is lost. */
export function renewLease(ledger: Ledger, lease: Lease, span: { now: Date; ttlMs: number }): boolean {
  const changed = ledger.run(
    'update lease set until = ? where key = ? and owner = ? and fence = ?',
    untilOf(span),
    lease.key,
    lease.owner,
    lease.fence,
  );
  return changed === 1;
}

/** Lets the lease go; the fence stays, so that it never repeats. */
export function releaseLease(ledger: Ledger, lease: Lease): void {
  ledger.run(
    'update lease set owner = null where key = ? and owner = ? and fence = ?',
    lease.key,
    lease.owner,
    lease.fence,
  );
}

/** Throws `fenced` where the lease was taken by someone else meanwhile. Call it inside the commit's transaction. */
export function checkFence(ledger: Ledger, lease: Lease): void {
  const row = ledger.get('select owner, fence from lease where key = ?', lease.key);
  if (row?.fence === lease.fence && row.owner === lease.owner) return;
  throw new AppError('fenced', `The work on ${lease.key} was taken over meanwhile; nothing of this run was kept.`);
}

function untilOf(span: { now: Date; ttlMs: number }): string {
  return new Date(span.now.getTime() + span.ttlMs).toISOString();
}

function processOf(owner: string): ProcessName {
  return owner.split('/')[0] as string;
}
