import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { redact } from '../../../src/base/secrets/redact-text.ts';
import { bitsOf } from '../../../src/base/secrets/rule.ts';
import { type Random, seeded } from '../../support/random.ts';
import { type Sample, sampleOf } from '../../support/regex-sampler.ts';

/** gitleaks' rules, not part of the project. */
const path = join(import.meta.dirname, '../../../../shared/reference/gitleaks-rules.toml');

/** Rules that no line answers, each with its reason. */
const UNANSWERED: Record<string, string> = {
  'pkcs12-file': 'tells a file by its name, not a text',
};

/** What the sampler makes too literal a thing of, as people write it. */
const WRITTEN: Record<string, (word: (length: number) => string) => string[]> = {
  'curl-auth-header': (word) => [`curl -H "Authorization: Bearer `, word(24), `" https://a.example`],
  'curl-auth-user': (word) => ['curl -u bob:', word(12), ' https://a.example'],
  jwt: (word) => ['is eyJ', `${word(30)}.eyJ${word(40)}.${word(43)}`, ' now'],
  'jwt-base64': (word) => ['is ZXlKhbGci', word(80), ' now'],
  'kubernetes-secret-yaml': (word) => [
    'kind: Secret\nmetadata:\n  name: a\ndata:\n  url: ',
    word(24),
    '\ntype: Opaque',
  ],
  'nuget-config-password': (word) => ['<add key="Password" value="', word(16), '" />'],
  'private-key': (word) => ['-----BEGIN RSA PRIVATE KEY-----\n', word(64), '\n-----END RSA PRIVATE KEY-----'],
  'slack-webhook-url': (word) => ['https://hooks.slack.com/services/', word(44), ''],
  // Forty digits in hex are a commit as long as no name stands there.
  'sourcegraph-access-token': (word) => ['SOURCEGRAPH_TOKEN=', word(40).toLowerCase().replace(/[g-z]/g, 'a'), ''],
};

const NAMED = String.raw`(?i)[\w.-]{0,50}?(?:`;
const NAMED_TOO = String.raw`[\w.-]{0,50}?(?i:[\w.-]{0,50}?(?:`;
const JOINT = String.raw`(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`;

/** Ids and patterns, as the file has them. */
function rules(): { id: string; pattern: string; entropy: number }[] {
  return readFileSync(path, 'utf8')
    .split('[[rules]]\n')
    .slice(1)
    .map((rule) => ({
      id: /^id = "(.*)"$/m.exec(rule)?.[1] ?? '',
      pattern: /^regex = '''([\s\S]*?)'''$/m.exec(rule)?.[1] ?? '',
      entropy: Number(/^entropy = (.*)$/m.exec(rule)?.[1] ?? 0),
    }));
}

/** A text that the rule is meant for: with the name its vendor goes by, as a key, where it asks for a name. */
function textOf(id: string, pattern: string, random: Random): Sample {
  const pieces = WRITTEN[id]?.((length) => sampleOf(`[a-zA-Z0-9]{${length}}`, random).text);
  if (pieces !== undefined) return { text: pieces.join(''), secret: pieces[1] as string };
  const isNamed = pattern.startsWith(NAMED) || pattern.startsWith(NAMED_TOO);
  const [name, value] = pattern.split(JOINT) as [string, string | undefined];
  if (!isNamed || value === undefined) return sampleOf(pattern.replaceAll('xoxe.xox', 'xoxe\\.xox'), random);
  const vendor = sampleOf(name.slice(0, name.lastIndexOf('(?:[ \\t')), random).text;
  const secret = sampleOf(value, random).secret.replaceAll('"', '');
  const key = /key|token|password|COM$/i.test(vendor) ? vendor : `${vendor}_key`;
  return { text: `${key} = "${secret}"`, secret };
}

test.skipIf(!existsSync(path))(
  'every rule of gitleaks has a line that answers for it, save those named here',
  async () => {
    const random = seeded(20_261_122);
    const missed = new Map<string, string>();
    for (const { id, pattern, entropy } of rules()) {
      if (pattern === '') {
        missed.set(id, 'no pattern');
        continue;
      }
      const rounds = 20;
      let found = 0;
      let last = '';
      for (let round = 0; round < rounds; round++) {
        let sample = textOf(id, pattern, random);
        for (let tries = 0; bitsOf(sample.secret) <= entropy && tries < 50; tries++)
          sample = textOf(id, pattern, random);
        const { text } = await redact(`It says:\n${sample.text}\nand goes on.`);
        if (!text.includes(sample.secret)) found++;
        else last = sample.text;
      }
      if (found < rounds * 0.9) missed.set(id, `${found} of ${rounds}: ${last.slice(0, 300)}`);
    }
    expect([...missed].filter(([id]) => UNANSWERED[id] === undefined)).toEqual([]);
    expect(Object.keys(UNANSWERED).length).toBeLessThanOrEqual(5);
  },
);
