// Texts of any code points, as fast-check's own unit `binary` makes them: that one lists all million of them first, which
// costs each process a second.

import fc from 'fast-check';

const SURROGATES = { from: 0xd800, count: 0x800 };

const anyCharacter = fc.nat({ max: 0x10ffff - SURROGATES.count }).map(
  (at) => String.fromCodePoint(at < SURROGATES.from ? at : at + SURROGATES.count),
  (character) => {
    const point = typeof character === 'string' ? (character.codePointAt(0) ?? 0) : 0;
    if (typeof character !== 'string' || character !== String.fromCodePoint(point) || !character.isWellFormed())
      throw new Error('No character.');
    return point < SURROGATES.from ? point : point - SURROGATES.count;
  },
);

export function anyText(of: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ ...of, unit: anyCharacter });
}
