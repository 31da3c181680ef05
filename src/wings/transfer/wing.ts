// Transfer: a memory as an archive, and back.

import type { Wing } from '../../doors/wing.ts';

export const transfer: Wing = {
  name: 'transfer',
  commands: { names: ['export', 'import'], load: () => import('./transfer.ts') },
  jobKinds: ['import'],
};
