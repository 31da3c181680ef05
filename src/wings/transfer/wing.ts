// Transfer: a memory as an archive, and back.

import type { Wing } from '../../doors/wing.ts';

export const transfer: Wing = {
  name: 'transfer',
  commands: {
    'Setup and care:': {
      export: async () => (await import('./export-command.ts')).addExport,
      import: async () => (await import('./import-command.ts')).addImport,
    },
  },
  jobKinds: ['import'],
};
