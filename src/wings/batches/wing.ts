// Batches: the nightly dream as a Message Batch, at half the price.

import type { Wing } from '../../doors/wing.ts';

export const batches: Wing = {
  name: 'batches',
  tables: ['batch', 'batch_request', 'batch_entry'],
  requests: async ({ mode, asking, signal }) => {
    const { batchedRequests } = await import('./requests.ts');
    const open = async (model: string) => {
      const { openBatches } = await import('./api.ts');
      return openBatches({ ...(await asking()), model }, signal);
    };
    return batchedRequests({ mode, open });
  },
  status: async ({ ledger }) => {
    const waits = ledger && (await import('./rows.ts')).waitsOf(ledger);
    const { sayWaits } = await import('../../doors/cli/terminal/output.ts');
    return { values: { batch: waits }, lines: waits ? [`batch      ${sayWaits(waits)}`] : [] };
  },
};
