// Snapshots: a memory that the repository hands on, made and taken in.

import type { Wing, WingPlace } from '../../doors/wing.ts';

export const snapshots: Wing = {
  name: 'snapshots',
  commands: { names: ['snapshot'], load: () => import('./snapshot-command.ts') },
  jobKinds: ['apply-snapshot'],
  recallNotes: async (at) => {
    const offer = await offerAt(at);
    return offer ? [`Memory snapshots: ${offer.words}. Tell the user, who may run \`nocturne snapshot check\`.`] : [];
  },
  checks: async (at) => (await import('./memory-snapshot.ts')).checkSnapshot(at),
  status: async (at) => {
    const offer = await offerAt(at);
    return {
      values: { snapshot: offer?.offer ?? null },
      lines: offer ? [`snapshot   ${offer.words}; nocturne snapshot check tells what is in it`] : [],
      needs: offer ? [{ text: `Memory snapshots: ${offer.words}`, command: 'nocturne snapshot check' }] : [],
    };
  },
};

async function offerAt({ checkout, ledger }: WingPlace) {
  if (checkout === null) return null;
  const { offeredSnapshot, sayOffer } = await import('./memory-snapshot.ts');
  const offer = offeredSnapshot(checkout, ledger);
  return offer && { offer, words: sayOffer(offer) };
}
