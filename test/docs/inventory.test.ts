// What users were promised is kept, or is gone with a reason: inventory.md against the docs of today.

import { expect, test } from 'vitest';
import { namesInDocs, readList } from './inventory.ts';

const list = readList();
const today = new Set(namesInDocs());

test('each command, option, setting, format, endpoint, tool, export and promise of the list is in the docs', () => {
  expect(list.filter(({ name, gone }) => gone === undefined && !today.has(name))).toEqual([]);
});

test('what came since is in the list', () => {
  const listed = new Set(list.flatMap(({ name, gone }) => (gone === undefined ? [name] : [])));
  expect([...today].filter((name) => !listed.has(name))).toEqual([]);
});

test('what is gone has a reason', () => {
  expect(list.filter(({ name, gone }) => gone !== undefined && (gone === '' || today.has(name)))).toEqual([]);
  expect(list.length).toBeGreaterThan(400);
});
