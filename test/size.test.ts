// How much there is to read, by room, against the table in AGENTS.md: files, and lines as Biome lays them out, without blank
// and comment lines. What is under its budget lowers it; only an issue that names a sum raises it.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const IS_CODE = /\.(?:ts|mts|js|mjs|css|sql|html)$/;
const IS_OUTSIDE = /^(?:docs|prompts|\.claude-plugin)\//;
const NO_CODE = /^\s*(?:$|\/\/|\/\*|\*|--)/;
/** A room may be so much below its budget before that is lowered. */
const SLACK = 0.03;

type Size = { files: number; lines: number };

function roomOf(path: string): string {
  const [top = '', room = ''] = path.split('/');
  return top === 'src' && path.split('/').length > 2 ? `src/${room}` : top;
}

function sizes(): Map<string, Size> {
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
  const rooms = new Map<string, Size>();
  for (const path of tracked.filter((each) => IS_CODE.test(each) && !IS_OUTSIDE.test(each))) {
    const { files, lines } = rooms.get(roomOf(path)) ?? { files: 0, lines: 0 };
    const own = readFileSync(join(root, path), 'utf8')
      .split('\n')
      .filter((line) => !NO_CODE.test(line)).length;
    rooms.set(roomOf(path), { files: files + 1, lines: lines + own });
  }
  return rooms;
}

function budgets(): Map<string, Size> {
  const rows = readFileSync(join(root, 'AGENTS.md'), 'utf8').matchAll(/^\| `([\w/]+)` \| ([\d,]+) \| ([\d,]+) \|$/gm);
  const count = (text = '') => Number(text.replaceAll(',', ''));
  return new Map([...rows].map(([, room = '', files, lines]) => [room, { files: count(files), lines: count(lines) }]));
}

test('no room is larger than AGENTS.md says, or so much smaller that its budget is to be lowered', () => {
  const table = budgets();
  const wrong = [...sizes()].filter(([room, { files, lines }]) => {
    const budget = table.get(room);
    return !budget || files > budget.files || lines > budget.lines || lines < budget.lines * (1 - SLACK);
  });
  expect(wrong.map(([room, found]) => ({ room, found, budget: table.get(room) }))).toEqual([]);
});
