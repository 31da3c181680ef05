// What parts of sessions that clients sent do, wherever they are kept.

import { readFileSync, rmSync } from 'node:fs';
import { expect } from 'vitest';
import { systemClock } from '../../src/base/time.ts';
import type { SessionName, SessionParts } from '../../src/doors/shared.ts';
import { transcriptOf } from './transcripts.ts';

/** The text of a part, or null. */
export async function textOfPart(parts: SessionParts, name: SessionName, part: string): Promise<string | null> {
  const read = await parts.read(name, part);
  const text = read && readFileSync(read.path, 'utf8');
  read?.discard();
  return text;
}

/** They are what was put, for as long as they are not removed; of `other`, a session of the same store, `part_a` stays. */
export async function expectPartsKept(parts: SessionParts, name: SessionName, other: SessionName): Promise<void> {
  const put = async (of: SessionName, part: string, text: string) => {
    const from = transcriptOf(text);
    await parts.put(of, part, from);
    expect(() => rmSync(from)).toThrow();
  };
  const large = '{"message":{"id":"\u0000é"}}\n'.repeat(60_000);
  await put(name, 'part_a', large);
  await put(name, 'part_b', 'b');
  await put(other, 'part_a', 'other');
  expect(await textOfPart(parts, name, 'part_a')).toBe(large);
  await parts.remove(name, 'part_a');
  expect([await textOfPart(parts, name, 'part_a'), await textOfPart(parts, name, 'part_b')]).toEqual([null, 'b']);
  const later = new Date(systemClock.now().getTime() + 60_000);
  const ofStore = (names: { store: string }[]) => names.filter(({ store }) => store === name.store);
  expect(new Set(ofStore(await parts.putBefore(later)))).toEqual(new Set([name, other]));
  expect(ofStore(await parts.putBefore(new Date(0)))).toEqual([]);
  await parts.remove(name);
  expect(await textOfPart(parts, name, 'part_b')).toBeNull();
  expect(await textOfPart(parts, other, 'part_a')).toBe('other');
}
