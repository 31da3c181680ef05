import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { SeenKeys } from '../../src/transcript/formats/message-builder.ts';

test('keys are new once, however many there are', () => {
  const seen = new SeenKeys();
  const keys = Array.from({ length: 50_000 }, () => randomUUID());
  expect(keys.filter((key) => seen.add(key))).toHaveLength(keys.length);
  expect(keys.filter((key) => seen.add(key))).toHaveLength(0);
});

test('keys that differ little are told apart, also by their second part', () => {
  const seen = new SeenKeys();
  const counted = Array.from({ length: 50_000 }, (_, at) => `2026-02-03T06:17:55.835Z ${at}`);
  expect(counted.filter((key) => seen.add(key))).toHaveLength(counted.length);
  expect(seen.add('k', 'a')).toBe(true);
  expect(seen.add('k', 'b')).toBe(true);
  expect(seen.add('ka')).toBe(true);
  expect(seen.add('k', 'a')).toBe(false);
  expect(seen.add('', '')).toBe(true);
  expect(seen.add('', '')).toBe(false);
});
