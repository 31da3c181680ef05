// Lines for a terminal: what is broken, and what stays whole.

import { expect, test } from 'vitest';
import { wrap } from '../../../src/doors/cli/terminal/wrap.ts';

test('a diff stays as it is, in colours too; what stands before and behind it is broken', () => {
  const long = 'Always use pnpm in this repository, because the lockfile is pnpm’s.';
  const diff = [
    '--- rules.md',
    '+++ rules.md',
    '@@ -1 +1,2 @@',
    ` ${long}`,
    `\u001b[32m+- ${long} ${long}\u001b[39m`,
  ].join('\n');
  const said = wrap(`${long}\n\n${diff}\n\n${long}`, 40);
  expect(said).toContain(`\n\n${diff}\n\n`);
  const around = said.replace(diff, '').trim().split('\n');
  for (const line of around) expect(line.length).toBeLessThanOrEqual(40);
  expect(around.filter(Boolean).join(' ')).toBe(`${long} ${long}`);
});
