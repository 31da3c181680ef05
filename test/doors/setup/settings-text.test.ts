import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Json, readSettings, setValue, takeOut } from '../../../src/doors/setup/agents/settings-text.ts';
import { sized } from '../../support/depth.ts';
import { wildSettings } from '../../support/settings-text.ts';

const RUNS = sized({ quick: 80, deep: 400 });
const OURS = { hooks: [{ type: 'command', command: 'ours', args: ['x'] }] };
const PLACES = [
  ['hooks', 'SessionEnd'],
  ['hooks', 'Stop'],
  ['hooks', 'SessionEnd'],
  ['permissions', 'allow'],
];

function addAll(text: string): string {
  return PLACES.reduce((into, path) => setValue(into, { path: [...path, -1], value: OURS, file: 'f' }), text);
}

function takeAll(text: string, before: Record<string, unknown>): string {
  const isThere = (path: (string | number)[]) =>
    path.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], before) !== undefined;
  return takeOut(text, {
    file: 'f',
    isOurs: (value) => JSON.stringify(value) === JSON.stringify(OURS),
    stays: isThere,
  });
}

test('what is added to settings, however they are written, comes last in its lists, and nothing else changes', () => {
  fc.assert(
    fc.property(wildSettings, ({ text, value }) => {
      const expected = structuredClone(value) as Record<string, Record<string, unknown[]>>;
      for (const [top = '', key = ''] of PLACES) {
        expected[top] ??= {};
        expected[top][key] = [...(expected[top][key] ?? []), OURS];
      }
      expect(readSettings(addAll(text), 'f')).toEqual(expected);
    }),
    { numRuns: RUNS },
  );
});

test('what was added and is taken out leaves the same settings, with every comment, however they are written', () => {
  fc.assert(
    fc.property(wildSettings, ({ text, value }) => {
      const back = takeAll(addAll(text), value);
      expect(readSettings(back, 'f')).toEqual(value);
      expect(comments(back)).toEqual(comments(text));
    }),
    { numRuns: RUNS },
  );
});

test('where nothing is known of the settings before, what is left is still settings, without a list or object of ours', () => {
  fc.assert(
    fc.property(wildSettings, ({ text, value }) => {
      const back = takeAll(addAll(text), {});
      const left = readSettings(back, 'f') as Record<string, Record<string, unknown[]>>;
      for (const [top = '', key = ''] of PLACES) {
        const had = (value[top] as Record<string, unknown[]> | undefined)?.[key] ?? [];
        expect(left[top]?.[key] ?? []).toEqual(had);
      }
      expect(Object.keys(value)).toEqual(expect.arrayContaining(Object.keys(left)));
    }),
    { numRuns: RUNS },
  );
});

test('a value is set in its place, or as the last, in objects that are made for it', () => {
  const set = (text: string, path: string[], value: Json) => setValue(text, { path, value, file: 'f' });
  expect(set('{\n  "a": 1, // one\n  "b": [2]\n}\n', ['a'], ['x'])).toBe(
    '{\n  "a": [\n    "x"\n  ], // one\n  "b": [2]\n}\n',
  );
  expect(set('{ "b": 2 }', ['a'], 1)).toBe('{ "b": 2, "a": 1 }');
  expect(set('{\n  "a": { "b": 1 }, // one\n}\n', ['a', 'c', 'd'], 2)).toBe(
    '{\n  "a": { "b": 1, "c": {"d":2} }, // one\n}\n',
  );
  expect(set('{ "a": { "b": 1 /* one */ } }', ['a', 'b'], 2)).toBe('{ "a": { "b": 2 /* one */ } }');
  expect(set('', ['a', 'b'], 1)).toBe('{\n  "a": {\n    "b": 1\n  }\n}\n');
  expect(() => set('{ "a": 1 }', ['a', 'b'], 2)).toThrow('f has no object at "a"');
});

test.each([
  ['{ "a": }', 'line 1'],
  ['{\n  "a": 1\n', 'line 3'],
  ['[1]', 'holds a list'],
  ['"x"', 'holds a string'],
  ['{ "hooks": [] }', 'no object at "hooks"'],
  ['{ "hooks": { "SessionEnd": {} } }', 'no list at "hooks.SessionEnd"'],
  ['{ "hooks": {}, "hooks": {} }', 'the key "hooks" twice'],
])('%s cannot be added to, and the error names file and place', (text, words) => {
  expect(() => addAll(text)).toThrow(`f ${words.startsWith('line') ? 'is not JSON' : ''}`.trim());
  expect(() => addAll(text)).toThrow(words);
});

function comments(text: string): string[] {
  // Comments of the generator are the only places where these words stand outside of strings.
  return text.match(/\/\* all of it \*\/|\/\/ for now|\/\/ "hooks": \[\]/g) ?? [];
}
