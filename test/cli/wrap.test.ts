// Lines for a terminal: what is broken, and what stays whole.

import { globSync, readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { expect, test, vi } from 'vitest';
import { print, printTable } from '../../src/terminal/output.ts';

test('at a terminal a text is broken whatever it begins with, and what is for a program stays one line of JSON', () => {
  const long = 'word '.repeat(40).trim();
  const [isTTY, columns] = [process.stdout.isTTY, process.stdout.columns];
  const said = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    Object.assign(process.stdout, { isTTY: true, columns: 80 });
    for (const each of [`[team] ${long}`, `{ ${long} }`, { long }, [long]]) print(each);
    const lines = said.mock.calls.map(([text]) => String(text).trimEnd().split('\n').length);
    expect(lines.map((count) => count > 1)).toEqual([true, true, false, false]);
  } finally {
    said.mockRestore();
    Object.assign(process.stdout, { isTTY, columns });
  }
});

test('a narrow table has room for letters that are two columns wide', () => {
  const [isTTY, columns] = [process.stdout.isTTY, process.stdout.columns];
  const said = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    Object.assign(process.stdout, { isTTY: true, columns: 50 });
    printTable(
      ['topic', 'type', 'age', 'description'],
      [
        ['設計メモ設計メモ', 'project', '14 days ago', 'Rules for the work, set by the user.'],
        ['tests', 'project', '14 days ago', 'Short.'],
      ],
    );
    const lines = stripVTControlCharacters(String(said.mock.calls[0]?.[0])).trimEnd().split('\n');
    const words = lines.join(' ').split(/ +/).join(' ');
    expect(words).toContain('設計メモ設計メモ project 14 days ago Rules for the work, set by the user.');
    expect(words).toContain('tests project 14 days ago Short.');
  } finally {
    said.mockRestore();
    Object.assign(process.stdout, { isTTY, columns });
  }
});

test('no command hands JSON on as text, which a terminal would break', () => {
  const files = globSync('src/{cli,setup,server,page,tools,terminal}/**/*.ts');
  const found = files.filter((file) => /\bprint\(\s*(?:[\w.]+ \? )?JSON\.stringify/.test(readFileSync(file, 'utf8')));
  expect(files.length).toBeGreaterThan(50);
  expect(found).toEqual([]);
});
