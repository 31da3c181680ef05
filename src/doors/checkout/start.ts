// The program of `npm start`; what it does can be tested without a process of its own.

import { startWith } from './demonstration.ts';

await startWith(process.argv.slice(2));
