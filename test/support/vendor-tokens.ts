// Tokens of every vendor that is known: made of gitleaks' patterns and of the beginnings of our own table.

import gitleaks from '../../src/base/secrets/gitleaks.json' with { type: 'json' };
import { bitsOf } from '../../src/base/secrets/rule.ts';
import { HEADS } from '../../src/base/secrets/vendors.ts';
import type { Random } from './random.ts';
import { sampleOf } from './regex-sampler.ts';

export interface VendorToken {
  id: string;
  /** What stands before it, where it is only told by that. */
  before: string;
  secret: string;
}

const JOINT = String.raw`(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`;
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

export function tokensOfAll(random: Random): VendorToken[] {
  const run = () =>
    Array.from({ length: 44 }, (_, at) => (at % 5 === 3 ? random.below(10) : random.pick([...LETTERS]))).join('');
  const heads = Object.entries(HEADS).flatMap(([id, all]) =>
    all.split(' ').map((head) => ({ id, before: '', secret: head + (id === 'aws' ? run().toUpperCase() : run()) })),
  );
  return [...gitleaks.rules.map((rule) => tokenOf(rule, random)), ...heads];
}

/** A token of a rule; with the name its vendor goes by, as a key, where the rule asks for a name. */
export function tokenOf(
  { id, pattern, entropy = 2 }: { id: string; pattern: string; entropy?: number },
  random: Random,
): VendorToken {
  const [name = '', value] = pattern.split(JOINT);
  const made = () =>
    sampleOf(value ?? pattern.replaceAll('[Xx][Oo][Xx][Ee].', '[Xx][Oo][Xx][Ee]\\.'), random).secret.replaceAll(
      '"',
      '',
    );
  let secret = made();
  for (let tries = 0; (bitsOf(secret) <= entropy || !/\d/.test(secret)) && tries < 50; tries++) secret = made();
  if (value === undefined) return { id, before: '', secret };
  const vendor = sampleOf(name.slice(0, name.lastIndexOf('(?:[ \\t')), random).text;
  return { id, before: `${/key|token|password|COM$/i.test(vendor) ? vendor : `${vendor}_api_key`} = `, secret };
}
