import { rules as presetRules } from '@secretlint/secretlint-rule-preset-recommend';
import { describe, expect, test } from 'vitest';
import { redact } from '../../../src/base/secrets/redact-text.ts';
import { partsOf, plainForms, sourceOf } from '../../../src/base/secrets/token-forms.ts';
import { NAMED, TOKENS } from '../../../src/base/secrets/vendor-table.ts';
import { seeded } from '../../support/random.ts';
import { nearMissesOf, PLACES, secretOf } from '../../support/secret-forms.ts';

const ROUNDS = 5;

/** How a person, a shell, code and JSON name a vendor's key. */
const NAMINGS: ((name: string) => string)[] = [
  (name) => `${name.toUpperCase()}_API_KEY=`,
  (name) => `${name}_token: `,
  (name) => `the ${name} key is `,
  (name) => `const ${name.replaceAll('_', '')}Key = '`,
  (name) => `\\"${name}-secret\\": \\"`,
];

const PATTERNS = TOKENS.flatMap(({ form }) =>
  plainForms(form).map((plain) => ({
    form,
    pattern: new RegExp(sourceOf(partsOf(plain), { broken: false, open: true })),
  })),
);

/** Whether the text is of a form of another line, as what misses `sk-proj-` is of `sk-`. */
function hasOtherForm(text: string, form: string): boolean {
  return PATTERNS.some((other) => other.form !== form && other.pattern.test(text));
}

const forms = TOKENS.map(({ id, form }) => [id, form] as const);
const named = NAMED.flatMap((line) => line.forms.map((form) => [line.id, form, line.names] as const));

test.each(forms)('%s: %s is taken out wherever it stands, with nothing beside it', async (_, form) => {
  const random = seeded(1);
  const passed: string[] = [];
  let all = 0;
  for (const [place, put] of Object.entries(PLACES)) {
    for (let round = 0; round < ROUNDS; round++) {
      const secret = secretOf(form, random);
      all++;
      if ((await redact(put(secret))).text.includes(secret.slice(-16))) passed.push(`${place}: ${secret}`);
    }
  }
  expect(passed.length, passed.slice(0, 3).join('\n')).toBeLessThanOrEqual(all * 0.03);
});

test.each(named)('%s: %s is taken out with its name beside it', async (_, form, names) => {
  const random = seeded(2);
  const passed: string[] = [];
  let all = 0;
  for (const put of Object.values(PLACES)) {
    for (const naming of NAMINGS) {
      const secret = secretOf(form, random);
      const text = put(secret, naming(random.pick(names)));
      all++;
      if ((await redact(text)).text.includes(secret)) passed.push(text);
    }
  }
  // A short one may by chance have no digit, and is then no different from a word.
  expect(passed.length, passed.slice(0, 3).join('\n')).toBeLessThanOrEqual(all * 0.03);
});

describe('what misses a form by one thing stays', () => {
  test.each(forms)('%s: %s', async (_, form) => {
    const random = seeded(3);
    const taken: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      for (const miss of nearMissesOf(form, random).filter((each) => !hasOtherForm(each, form))) {
        const text = `see ${miss} there`;
        if ((await redact(text)).text !== text) taken.push(text);
      }
    }
    expect(taken.slice(0, 3)).toEqual([]);
  });

  test.each(named)('%s: %s without its name, or as the id of something', async (_, form) => {
    const random = seeded(4);
    const taken: string[] = [];
    for (const before of ['commit ', 'etag: ', 'page_id=', 'see ']) {
      const text = `see ${before}${secretOf(form, random)} there`;
      if ((await redact(text)).text !== text) taken.push(text);
    }
    expect(taken.slice(0, 3)).toEqual([]);
  });
});

test('a checksum proves a token even inside a word, where another would be part of the word', async () => {
  // The last six letters are the CRC-32 of the thirty before.
  const proven = `ghp_${'0123456789ABCDEFGHIJabcdefghij'}4Us3aw`;
  const text = `x${proven}`;
  expect((await redact(text)).text).not.toBe(text);
  const other = `xghp_${'0123456789ABCDEFGHIJabcdefghij'}000000`;
  expect((await redact(other)).text).toBe(other);
});

test('every rule of the preset that knows vendors has a line here, too', () => {
  const notVendors = /-(?:filter-comments|basicauth|privatekey|database-connection-string)$/;
  const otherNames: Record<string, string> = { gcp: 'google', 'hashicorp-vault': 'vault' };
  const vendors = presetRules
    .map(({ meta }) => meta.id)
    .filter((id) => !notVendors.test(id))
    .map((id) => id.replace(/^.*secretlint-rule-/, ''));
  const ids = new Set(TOKENS.map(({ id }) => id));
  expect(vendors.length).toBeGreaterThan(20);
  expect(vendors.filter((id) => !ids.has(otherNames[id] ?? id))).toEqual([]);
});
