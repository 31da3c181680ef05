// Review: what a dream would change waits for a person's word.

import type { Nocturne } from '../../doors/library.ts';
import type { Wing, WingApp } from '../../doors/wing.ts';
import type { Store } from '../../memory/store/store.ts';
import type { ShownProposal } from './list.ts';
import type { ReviewReport, ReviewRequest } from './review.ts';

declare module '../../doors/library.ts' {
  interface Nocturne {
    /** What a dream proposed and waits for a person, as a person is shown it. */
    listProposals(store: Store, ids?: string[]): Promise<ShownProposal[]>;
    /** Does, or leaves for good, what was proposed, as a person says. */
    review(store: Store, request: ReviewRequest): Promise<ReviewReport>;
  }
}

export const review: Wing = {
  name: 'review',
  commands: {
    'Jobs:': { review: async () => (await import('./review-command.ts')).addReview },
  },
  jobKinds: ['review'],
  tables: ['proposal'],
  approval: async (isOn) => (await import('./approval.ts')).reviewApproval({ isOn }),
  library: (app) =>
    ({
      listProposals: async (at, ids) => (await import('./list.ts')).listProposals(at, ids),
      review: (at, request) => reviewIn(app, { at, request }),
    }) satisfies Pick<Nocturne, 'listProposals' | 'review'>,
};

/** Reviews, and lets the other wings do what they do after a dream. */
export async function reviewIn(
  { config, withLease, afterDream }: Pick<WingApp, 'config' | 'withLease' | 'afterDream'>,
  { at, request }: { at: Store; request: ReviewRequest },
): Promise<ReviewReport> {
  const { clock, zone, excerptTokens: batchTokens } = config;
  const job = await import('./review.ts');
  const report = await job.review(request, { clock, zone, withLease, store: at, batchTokens });
  for (const { job } of report.decided) await afterDream({ job, own: at, options: {} });
  return report;
}
