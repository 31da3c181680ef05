// Set-up and removal on settings files as people have them: to the byte where nobody touched the file since, else what
// was put in is gone and nothing else.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { aPerson } from '../support/person.ts';
import { runHere } from '../support/run-here.ts';

const OTHERS = `{
  "hooks": {
    "SessionEnd": [
      { "hooks": [{ "type": "command", "command": "say done" }] } // theirs
    ],
    "Stop": []
  },
  "permissions": { "allow": ["Bash(ls)"], "deny": [] }
}
`;

interface Row {
  name: string;
  text: string | null;
  mode?: number;
  isLink?: boolean;
  /** Why it is left alone. */
  refused?: string;
}

const ROWS: Row[] = [
  { name: 'comments', text: '// of mine\n{\n  /* the best */\n  "model": "opus" // for now\n  // the end\n}\n' },
  { name: 'tabs', text: '{\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n' },
  { name: 'CRLF', text: '{\r\n    "model": "opus", // best\r\n    "hooks": {}\r\n}\r\n' },
  { name: 'BOM', text: '\uFEFF{\n  "model": "opus"\n}\n' },
  { name: 'hooks of others', text: OTHERS },
  { name: 'read-only', text: '{\n  "model": "opus"\n}\n', mode: 0o444 },
  { name: 'minified, with hooks of others', text: JSON.stringify({ hooks: { Stop: [{ hooks: [] }] }, model: 'opus' }) },
  { name: 'symlink', text: '{\n  "model": "opus"\n}\n', isLink: true, mode: 0o644 },
  { name: 'invalid', text: '{\n  "model": "opus"\n  "env": {}\n}\n', refused: 'is not JSON: Comma expected in line 3' },
  { name: 'empty', text: '' },
  { name: 'duplicate keys', text: '{\n  "hooks": {},\n  "hooks": {}\n}\n', refused: 'has the key "hooks" twice' },
  { name: 'lists in lists', text: '{\n  "x": [[1, []]],\n  "hooks": { "Stop": [{ "hooks": [{ "args": [[]] }] }] }\n}' },
  { name: 'no final newline', text: '{\n  "model": "opus"\n}' },
  { name: 'trailing commas', text: '{\n  "hooks": {\n    "Stop": [ /* none */ ],\n  },\n  "env": { "A": "1", },\n}\n' },
  { name: 'one line', text: '{ "model": "opus" }\n' },
  { name: 'not there', text: null },
];

function aFile({ text, mode = 0o600, isLink = false }: Row) {
  const { user, environment } = aPerson();
  mkdirSync(join(user, '.claude'));
  const file = join(user, '.claude', 'settings.json');
  const real = isLink ? join(user, 'dotfiles.json') : file;
  if (isLink) symlinkSync('../dotfiles.json', file);
  if (text !== null) {
    writeFileSync(real, text);
    chmodSync(real, mode);
  }
  const setUp = (...args: string[]) =>
    runHere(['setup', 'claude-code', '--yes', ...args], { ...environment, NOCTURNE_MODEL: 'offline' });
  const now = () => (existsSync(file) ? readFileSync(file, 'utf8') : null);
  return { home: join(user, '.nocturne'), file, real, mode, setUp, now };
}

test.each(ROWS)('$name: set up and removed, nothing was there', async (row) => {
  const { home, file, real, mode, setUp, now } = aFile(row);
  const ended = await setUp();
  if (row.refused) {
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(`${file} ${row.refused}`) });
    expect(existsSync(home)).toBe(false);
  } else {
    expect(now()).toContain('SessionStart');
    const [backup = ''] = readdirSync(join(home, 'installed'));
    expect(statSync(join(home, 'installed', backup)).mode & 0o777).toBe(0o600);
    expect((await setUp('--remove')).code).toBe(0);
    expect(readdirSync(join(home, 'installed'))).toEqual([]);
  }
  expect(now()).toBe(row.text);
  if (row.text === null) return;
  expect(lstatSync(file).isSymbolicLink()).toBe(row.isLink ?? false);
  expect(statSync(real).mode & 0o777).toBe(mode);
});

/** As a person adds a setting: behind the first brace. */
const touched = (text: string) => text.replace('{', '{ "mine": [true], // since\n');

test.each(ROWS.filter(({ refused }) => !refused))('$name: edited since, it keeps the edit', async (row) => {
  const { real, setUp, now } = aFile(row);
  await setUp();
  chmodSync(real, 0o600);
  writeFileSync(real, touched(now() ?? ''));
  await setUp('--remove');
  // Where nothing was but ours, the comma stays that the person wrote.
  expect(now()).toBe(row.text ? touched(row.text) : '{ "mine": [true] // since\n}\n');
});

test('with CRLF every line that comes in ends so, in a list that is empty over two lines, too', async () => {
  const { setUp, now } = aFile({ name: '', text: '{\r\n  "hooks": {\r\n    "SessionEnd": [\r\n    ]\r\n  }\r\n}\r\n' });
  await setUp();
  expect(now()).not.toMatch(/[^\r]\n/);
});

test('where a person took the hooks out by hand, what was kept of the file goes with --remove all the same', async () => {
  const { home, file, setUp, now } = aFile({ name: '', text: '{}' });
  await setUp();
  expect(readdirSync(join(home, 'installed'))).toHaveLength(1);
  writeFileSync(file, '{ "model": "opus" }');
  expect((await setUp('--remove', '--dry-run')).stdout).toContain('No agent has settings');
  expect(readdirSync(join(home, 'installed'))).toHaveLength(1);
  await setUp('--remove');
  expect(readdirSync(join(home, 'installed'))).toEqual([]);
  expect(now()).toBe('{ "model": "opus" }');
});
