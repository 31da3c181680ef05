// Imported before everything else: keeps V8 from growing the young generation, which loading the modules would blow up
// to some 90 MB for good. Reading gigabytes is no slower without.

import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--semi-space-growth-factor=1');
// Else garbage of several times what is in use is left until it is collected, because the machine has the memory.
setFlagsFromString('--heap-growing-percent=10');
