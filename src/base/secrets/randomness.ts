// Tells what a machine made from what a person named.

/** Shannon's entropy, in bits a character. */
export function bitsOf(value: string): number {
  const counts = new Map<string, number>();
  for (const letter of value) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}

/** Digits, and letters of both cases, in an order that no word or name has. */
export function isShuffled(value: string): boolean {
  const letters = value.replace(/[^A-Za-z0-9]/g, '');
  if (!/\d/.test(letters) || !/[a-z]/.test(letters) || !/[A-Z]/.test(letters)) return false;
  return changesIn(letters) >= letters.length / 4;
}

/** In an order that no word or name has; one case will do where there are digits. */
export function isMachineMade(value: string): boolean {
  const letters = value.replace(/[^A-Za-z0-9]/g, '');
  if (letters.length < 8 || bitsOf(letters) < 2) return false;
  if (/^\d+$/.test(letters)) return true;
  if (/\d/.test(letters)) return changesIn(letters) >= letters.length / 8;
  return /[a-z]/.test(letters) && /[A-Z]/.test(letters) && changesIn(letters) >= letters.length / 5;
}

/** How often the kind of character changes: lower case, upper case, digit. */
function changesIn(letters: string): number {
  return letters.match(/[a-z](?=[A-Z0-9])|[A-Z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0;
}
