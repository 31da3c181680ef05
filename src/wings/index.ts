// The wings that are built in, in the order of their commands and notes; one that stands on others (`standsOn`) goes with
// them. Only programs load this list.

import type { Wing } from '../doors/wing.ts';
import { fleet } from './fleet/wing.ts';
import { page } from './page/wing.ts';
import { review } from './review/wing.ts';
import { server } from './server/wing.ts';
import { snapshots } from './snapshots/wing.ts';
import { team } from './team/wing.ts';

export const WINGS: readonly Wing[] = [team, review, snapshots, server, page, fleet];
