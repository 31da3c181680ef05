import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import gitleaks from '../../../src/base/secrets/gitleaks.json' with { type: 'json' };
import { redact } from '../../../src/base/secrets/redact-text.ts';
import { seeded } from '../../support/random.ts';
import { tokenOf, tokensOfAll } from '../../support/vendor-tokens.ts';
import { translate } from './generate-rules.ts';

/** gitleaks' rules as released, not part of the project. */
const path = join(import.meta.dirname, '../../../../shared/reference/gitleaks-rules.toml');

/** Where a token turns up. */
const PLACES: Record<string, (line: string) => string> = {
  'human text': (line) => `Hello, for the staging box use ${line} please, and tell Kim.`,
  'the end of a sentence': (line) => `It is ${line}.\nThen go on.`,
  'coloured tool output': (line) => `ok\n\u001b[32m${line}\u001b[0m\n`,
  'JSON in JSON': (line) => JSON.stringify({ body: JSON.stringify({ text: `first\n${line}\tnext\r\n` }) }),
  'an escaped tab': (line) => `{\\"row\\": \\"a\\t${line}\\tb\\"}`,
  'a Python repr': (line) => `b'\\x1b[0m\\n${line}\\n'`,
};

test.skipIf(!existsSync(path))('the data are those of the release', () => {
  expect(translate(readFileSync(path, 'utf8'))).toEqual(gitleaks);
});

test.each(Object.entries(PLACES))('tokens of every vendor are taken out of %s', async (_, put) => {
  const random = seeded(1);
  const passed: string[] = [];
  const all = [1, 2, 3].flatMap(() => tokensOfAll(random));
  for (const { id, before, secret } of all) {
    const text = put(before + secret);
    if ((await redact(text)).text.includes(secret)) passed.push(`${id}: ${text}`);
  }
  expect(passed.length, passed.slice(0, 5).join('\n')).toBeLessThanOrEqual(all.length * 0.02);
});

test('a token without the name that its rule asks for stays, and so does the id of something', async () => {
  const random = seeded(4);
  const named = gitleaks.rules.map((rule) => tokenOf(rule, random)).filter(({ before }) => before !== '');
  const taken: string[] = [];
  for (const { secret } of named) {
    for (const before of ['commit ', 'etag: ', 'page_id=', 'see ']) {
      const text = `see ${before}${secret} there`;
      if (/^[\w-]*$/.test(secret) && (await redact(text)).text !== text) taken.push(text);
    }
  }
  expect(taken).toEqual([]);
});

test('a token is found with what is glued to it', async () => {
  const token = `ghp_${'0123456789ABCDEFGHIJabcdefghij'}4Us3aw`;
  const text = `x${token}`;
  expect((await redact(text)).text).not.toBe(text);
});
