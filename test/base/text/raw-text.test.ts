import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesOf, rawText } from '../../../src/memory/edit-text.ts';
import { anyText } from '../../support/any-text.ts';

test('text of any bytes gives back exactly these bytes', () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
    anyText({ maxLength: 6 }).map((text) => Buffer.from(text.toWellFormed())),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const bytes = Buffer.concat(pieces);
      expect(bytesOf(rawText(bytes)).equals(bytes)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('what is text stays as it reads around bytes that are none', () => {
  expect(rawText(Buffer.from('- Grüße 😀\n'))).toBe('- Grüße 😀\n');
  const bytes = Buffer.from('one caf\xe9\ntwo\n', 'latin1');
  expect(rawText(bytes).split('\n')[1]).toBe('two');
  expect(bytesOf(`${rawText(bytes)}drei Öfen\n`)).toEqual(Buffer.concat([bytes, Buffer.from('drei Öfen\n')]));
});
