// docs/evidence.md: each of its parts stands between two marks and is written by the command that measures it.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join(import.meta.dirname, '../../docs/evidence.md');

/** Puts a part in the place of the last one of its name. Throws where the page has no place for it. */
export function publishPart(name: string, text: string, page = PAGE): void {
  const [begin, end] = [`<!-- ${name} begins -->`, `<!-- ${name} ends -->`];
  const [before, rest] = readFileSync(page, 'utf8').split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no part "${name}".`);
  writeFileSync(page, `${before}${begin}\n\n${text.trim()}\n\n${end}${after}`);
}
