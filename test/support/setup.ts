// Before and after each test file. Every run of the suite looks at the same random cases, so that a red run is about the
// change and not about luck. PROPERTY_SEED=random, or a number, looks elsewhere: what that finds becomes an example of
// its own, or a mend.

import fc from 'fast-check';
import { afterAll } from 'vitest';
import { useKeeping } from '../../src/doors/keeping.ts';
import { keepInDatabase } from '../../src/wings/fleet/fleet-keeping.ts';
import { SEED } from './depth.ts';
import { removeTempDirs } from './temp.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });

afterAll(removeTempDirs);

// For tests that use the core without its command line.
useKeeping(keepInDatabase);
