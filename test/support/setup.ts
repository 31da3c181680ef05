// Before and after each test file. Every run of the suite looks at the same random cases, so that a red run is about the
// change and not about luck. PROPERTY_SEED=random, or a number, looks elsewhere: what that finds becomes an example of
// its own, or a mend.

import fc from 'fast-check';
import { afterAll } from 'vitest';
import { SEED } from './depth.ts';
import { removeTempDirs } from './temp.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });

afterAll(removeTempDirs);
