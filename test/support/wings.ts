// The wings that are there, for tests that use the core without its command line.

import { useWings } from '../../src/doors/wing.ts';
import { WINGS } from '../../src/wings/index.ts';

useWings(WINGS);
