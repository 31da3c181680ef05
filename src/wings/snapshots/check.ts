// What `nocturne doctor` says of the repository's memory snapshot: whether there is one, and whether it was applied.

import { describeError } from '../../base/errors.ts';
import type { WingPlace } from '../../doors/wing.ts';
import { type Checked, ok, warn } from '../../doors/wing.ts';
import { offeredSnapshot, sayOffer } from './applied.ts';
import { readMemorySnapshot } from './memory-snapshot.ts';

export function checkSnapshot({ checkout, ledger }: WingPlace): Checked[] {
  if (checkout === null) return [];
  try {
    const snapshot = readMemorySnapshot(checkout);
    if (!snapshot) return [];
    const offer = offeredSnapshot(checkout, ledger);
    if (!offer) return [ok('snapshot', `${snapshot.id} was applied`)];
    return [warn('snapshot', sayOffer(offer), 'Run nocturne snapshot check, then nocturne snapshot apply.')];
  } catch (error) {
    return [warn('snapshot', describeError(error), 'Nothing of it is used until it is mended.')];
  }
}
