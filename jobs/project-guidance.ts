// What the projects of a directory say of themselves, by the sessions that its ledger knows.

import { Guidance } from '../src/memory/home/projects.ts';
import type { Ledger } from '../src/memory/ledger/ledger.ts';

export function readGuidance(ledger: Ledger): Promise<Guidance> {
  return Guidance.of(ledger.lists('select id, cwd from session where cwd is not null') as [string, string][]);
}
