import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  reconcile,
  sidesOf,
  tidyFrontmatter,
  tidyTopic,
  withoutMarkers,
} from '../../../src/memory/conflicts/conflict.ts';
import { sized } from '../../support/depth.ts';
import { tempDir } from '../../support/temp.ts';

const dir = tempDir();

function resolved(text: string, before: string | null = null): string | null {
  const sides = sidesOf(text, { before });
  return sides && tidyFrontmatter(reconcile(sides));
}

const PLAIN = '- a\n<<<<<<< HEAD\n- ours\n=======\n- theirs\n>>>>>>> topic\n- z\n';

test.each([
  ['two sides', PLAIN, '- a\n- ours\n- theirs\n- z\n'],
  ['three sides, whose base is neither', PLAIN.replace('=======', '||||||| 1a2b3c4\n- base\n======='), undefined],
  ['CRLF', PLAIN.replaceAll('\n', '\r\n'), '- a\r\n- ours\r\n- theirs\r\n- z\r\n'],
  ['no newline at the end', '<<<<<<< a\n- ours\n=======\n- theirs\n>>>>>>> b', '- ours\n- theirs\n'],
  ['an empty side', '- a\n<<<<<<< HEAD\n=======\n- theirs\n>>>>>>> b\n', '- a\n- theirs\n'],
  ['lines that both sides have', '<<<<<<< a\n- x\n- one\n=======\n- x\n- two\n>>>>>>> b\n', '- x\n- one\n- two\n'],
  [
    'a conflict within a side of another',
    '<<<<<<< a\n- one\n<<<<<<< b\n- two\n=======\n- three\n>>>>>>> c\n=======\n- four\n>>>>>>> d\n',
    '- one\n- two\n- three\n- four\n',
  ],
  [
    'one key of the frontmatter',
    '---\nname: a\n<<<<<<< HEAD\ndescription: short\n=======\ndescription: longer one\n>>>>>>> b\ntype: project\n---\n\n- x\n',
    '---\nname: a\ndescription: longer one\ntype: project\n---\n\n- x\n',
  ],
  [
    'two whole files',
    '<<<<<<< HEAD\n---\nname: a\ntype: project\n---\n\n- ours\n=======\n---\nname: a\ndescription: d\ntype: project\npinned: true\n---\n\n- theirs\n>>>>>>> b\n',
    '---\nname: a\ntype: project\ndescription: d\npinned: true\n---\n\n- ours\n- theirs\n',
  ],
])('a conflict is two files that become one: %s', (_, text, wanted) => {
  expect(resolved(text)).toBe(wanted ?? '- a\n- ours\n- theirs\n- z\n');
});

test.each([
  ['a marker that opens alone', 'git writes\n<<<<<<< HEAD\nat the top\n'],
  ['a heading underlined', 'Title\n=======\n\n>>>>>>> quoted\n'],
  ['markers in the wrong order', '>>>>>>> b\n=======\n<<<<<<< a\n'],
  ['markers that are not at the beginning of a line', '  <<<<<<< a\n  =======\n  >>>>>>> b\n'],
  ['more or fewer signs', '<<<<<<<< a\n========\n>>>>>>>> b\n'],
  ['an example in a code fence', `Resolve it:\n\`\`\`\n${PLAIN}\`\`\`\n`],
])('text about git is no conflict: %s', (_, text) => {
  expect(sidesOf(text, { before: null })).toBeNull();
});

test('a conflict in a code fence that the file had before is one', () => {
  const before = '```sh\nrun --old\n```\n';
  const text = '```sh\n<<<<<<< HEAD\nrun --old\n=======\nrun --new\n>>>>>>> b\n```\n';
  expect(resolved(text, before)).not.toMatch(/[<>=]{7}/);
  expect(resolved(text, before)).toContain('run --old');
  expect(resolved(text, before)).toContain('run --new');
});

test('an open marker before a whole conflict is text, the conflict is none the less', () => {
  expect(resolved(`<<<<<<< is how it begins\n${PLAIN}`)).toBe('<<<<<<< is how it begins\n- a\n- ours\n- theirs\n- z\n');
});

const lines = fc.array(fc.constantFrom('- a', '- b', '- c', '- d', '', '# H', 'text', '  - deeper'), { maxLength: 12 });
const file = (body: string[]) => `---\nname: t\ntype: project\n---\n\n${body.map((line) => `${line}\n`).join('')}`;

test.each([[[]], [['--diff3']], [['--zdiff3']], [['--union']]])(
  'whatever git merge-file %s leaves of two files becomes one with every line of both, and stays so',
  (options) => {
    const merged = (texts: string[]) => {
      const paths = texts.map((text, at) => {
        writeFileSync(join(dir, `${at}.md`), text);
        return join(dir, `${at}.md`);
      });
      return spawnSync('git', ['merge-file', '-p', ...options, ...paths], { encoding: 'utf8' }).stdout;
    };
    fc.assert(
      fc.property(lines, lines, lines, (ours, base, theirs) => {
        const text = merged([file(ours), file(base), file(theirs)]);
        const one = tidyTopic(resolved(text) ?? text);
        expect(one).not.toMatch(/^(?:<{7}|\|{7}|={7}|>{7})/m);
        expect(one).toMatch(/^---\nname: t\ntype: project\n---\n/);
        expect(tidyTopic(one)).toBe(one);
        const standing = new Set(text.split('\n'));
        const kept = [...ours, ...theirs].filter((line) => !base.includes(line) && line.trim() !== '');
        const all = one.split('\n');
        // A bullet that says what another says goes with what is below it.
        const nested = (line: string) => line.startsWith('  ');
        for (const line of kept) if (standing.has(line) && !nested(line)) expect(all).toContain(line);
      }),
      { numRuns: sized({ quick: 10, deep: 60 }) },
    );
  },
);

test('what a union leaves is tidied: keys and bullets that stand twice, a second frontmatter, authors of one line', () => {
  const text = `---
name: hosts
description: Where
description: Where things run
type: project
---

- Staging is alpha. <!-- shared by Kim Lee -->
description: Hosts
type: reference
---

- Staging is alpha. <!-- shared by Ann Bo -->
- Live is beta.
  - It has two racks.
- Live is beta.
`;
  expect(tidyTopic(text)).toBe(`---
name: hosts
description: Where things run
type: reference
---

- Staging is alpha. <!-- shared by Ann Bo, Kim Lee -->
- Live is beta.
  - It has two racks.
- Live is beta.
`);
});

test('a hundred kilobytes of lines that are all alike are reconciled in seconds of CPU', () => {
  const alike = 'x\n'.repeat(50_000);
  const last = `${alike}z\n`;
  const began = process.cpuUsage();
  const both = `<<<<<<< a\n${alike}=======\n${last}>>>>>>> b\n`;
  expect(withoutMarkers(both, { path: 'a.md', before: null })?.text).toBe(last);
  const heads = `---\nname: a\n---\n<<<<<<< a\n- b\n=======\n- c\n>>>>>>> b\n${'name: a\n---\n'.repeat(8_000)}`;
  expect(withoutMarkers(heads, { path: 'a.md', before: null })?.text).toContain('- b\n- c\n');
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1e6).toBeLessThan(8);
});
