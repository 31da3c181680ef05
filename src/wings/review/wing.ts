// Review: what a dream would change waits for a person's word.

import type { Nocturne } from '../../doors/compose.ts';
import type { Wing } from '../../doors/wing.ts';
import type { Store } from '../../memory/store/store.ts';
import type { ShownProposal } from './checks.ts';
import type { ReviewReport, ReviewRequest } from './review.ts';

declare module '../../doors/compose.ts' {
  interface Nocturne {
    /** What a dream proposed and waits for a person, as a person is shown it. */
    listProposals(store: Store, ids?: string[]): Promise<ShownProposal[]>;
    /** Does, or leaves for good, what was proposed, as a person says. */
    review(store: Store, request: ReviewRequest): Promise<ReviewReport>;
  }
}

export const review: Wing = {
  name: 'review',
  commands: { names: ['review'], load: () => import('./review-command.ts') },
  jobKinds: ['review'],
  approval: async (isOn) => (await import('./approval.ts')).reviewApproval({ isOn }),
  library: (app) =>
    ({
      listProposals: async (at, ids) => (await import('./checks.ts')).listProposals(at, ids),
      review: async (at, request) => (await import('./review.ts')).reviewIn(app, { at, request }),
    }) satisfies Pick<Nocturne, 'listProposals' | 'review'>,
};
