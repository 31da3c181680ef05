// What looks like a secret and is none: texts of lock files, hashes, ids, logs, and code.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles } from '../../../src/base/files/directories.ts';
import gitleaks from '../../../src/base/secrets/gitleaks.json' with { type: 'json' };
import { redact } from '../../../src/base/secrets/redact-text.ts';
import { HEADS } from '../../../src/base/secrets/vendors.ts';
import { sized, waysTaken } from '../../support/depth.ts';
import { type Random, seeded } from '../../support/random.ts';

const root = join(import.meta.dirname, '../../..');
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const SETS = {
  hex: `${DIGITS}abcdef`,
  base62: `${DIGITS}${LOWER}${LOWER.toUpperCase()}`,
  base64: `${DIGITS}${LOWER}${LOWER.toUpperCase()}+/`,
  base32: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  ulid: '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
  lower: `${DIGITS}${LOWER}`,
};

function some(set: keyof typeof SETS, length: number, random: Random): string {
  const letters = [...SETS[set]];
  return Array.from({ length }, () => random.pick(letters)).join('');
}

const NAMES = [...new Set([...gitleaks.rules.map(({ id }) => id.split('-')[0] as string), ...Object.keys(HEADS)])];
const WORDS = 'client user request build asset index worker stream parser session token cache secret key page'.split(
  ' ',
);

/** Each makes a text of its kind, with vendors' names in it as packages and projects have them. */
const KINDS: ((random: Random, name: string) => string)[] = [
  (r, name) =>
    `    "node_modules/@${name}/sdk": {\n      "version": "${r.below(9)}.${r.below(30)}.0",\n      "resolved": "https://registry.npmjs.org/@${name}/sdk/-/sdk-1.2.0.tgz",\n      "integrity": "sha512-${some('base64', 86, r)}==",\n`,
  (r, name) =>
    `"@${name}/client@^1.0.0":\n  version "1.${r.below(9)}.0"\n  resolved "https://registry.yarnpkg.com/@${name}/client/-/client-1.0.0.tgz#${some('hex', 40, r)}"\n  integrity sha512-${some('base64', 86, r)}==\n`,
  (r, name) => `[[package]]\nname = "${name}"\nversion = "0.${r.below(40)}.1"\nchecksum = "${some('hex', 64, r)}"\n`,
  (r, name) => `github.com/${name}/go v1.${r.below(50)}.0 h1:${some('base64', 43, r)}=\n`,
  (r, name) =>
    `${name}==2.${r.below(30)}.1 \\\n    --hash=sha256:${some('hex', 64, r)} \\\n    --hash=sha256:${some('hex', 64, r)}\n`,
  (r, name) =>
    `commit ${some('hex', 40, r)}\nAuthor: Kim <kim@example.org>\n\n    ${name}: fix the ${r.pick(WORDS)} (#${r.below(999)})\n`,
  (r, name) =>
    `${some('hex', 7, r)} Merge branch '${name}-${r.pick(WORDS)}' into main\nindex ${some('hex', 10, r)}..${some('hex', 10, r)} 100644\n`,
  (r, name) => `${some('hex', 64, r)}  dist/${name}-${r.pick(WORDS)}.js\n${some('hex', 32, r)}  b.txt\n`,
  (r, name) => `FROM ${name}/${r.pick(WORDS)}:1.2@sha256:${some('hex', 64, r)}\n`,
  (r, name) =>
    `${name}_${r.pick(['app', 'project', 'team', 'user', 'channel', 'task'])}_id: ${uuid(r)}, trace_id=${some('hex', 32, r)} span=${some('hex', 16, r)}\n`,
  (r, name) =>
    `GET /${name}/v1/items/${some('base62', 22, r)}?cursor=${some('base64', 40, r)} etag: "${some('hex', 32, r)}"\n`,
  (r) =>
    `{"next_page_token":"${some('base62', 40, r)}","id":"${some('ulid', 26, r)}","request_id":"req_${some('base62', 24, r)}"}\n`,
  (r, name) =>
    `pod/${name}-${some('hex', 10, r)}-${some('lower', 5, r)} Running, image ${name}@sha256:${some('hex', 64, r)}\n`,
  (r) => `tool_use toolu_${some('base62', 24, r)}, msg_${some('base62', 24, r)}, call_${some('base62', 24, r)}\n`,
  (r) => `<img src="data:image/png;base64,${some('base64', 400, r)}==">\n`,
  (r) => `//# sourceMappingURL=data:application/json;base64,${some('base64', 300, r)}\n`,
  (r, name) =>
    `import { ${name.replace(/_/g, '')}Key } from './${name}.${some('hex', 8, r)}.js'; // ${some('hex', 20, r)}\n`,
  (r, name) => `const cacheKey = '${some('hex', 32, r)}', ${name}_commit = '${some('hex', 40, r)}';\n`,
  (r) => `ssh-rsa ${some('base64', 372, r)}== kim@example.org\nSHA256:${some('base64', 43, r)} ED25519\n`,
  (r) => `onion ${some('base32', 56, r).toLowerCase()}.onion, bafy${some('base32', 55, r).toLowerCase()}\n`,
  (r) =>
    `.css-${some('lower', 7, r)} { } .sc-${some('base62', 6, r)} { } chunk-${some('ulid', 8, r)}.js ${some('base62', 21, r)}\n`,
  (r) =>
    `arn:aws:iam::${some('hex', 12, r).replace(/\D/g, '1')}:role/deploy i-${some('hex', 17, r)} vpc-${some('hex', 8, r)} ami-${some('hex', 17, r)}\n`,
  (r) =>
    `the card of ${uuid(r)} moved at ${1_700_000_000_000 + r.below(9e10)}, sha ${some('hex', 40, r)}, call +49 30 ${1_000_000 + r.below(9_000_000)}\n`,
  (r) =>
    `card ${r.below(1e10)}, card #${r.below(1e5)}, card-${some('hex', 16, r)}, at ${r.below(9e5)} ${r.below(9e3)} ${r.below(9e3)} of the card, card id 4${some('hex', 15, r).replace(/\D/g, '1')}\n`,
];

function uuid(random: Random): string {
  return [8, 4, 4, 4, 12].map((length) => some('hex', length, random)).join('-');
}

async function alarmsIn(texts: string[]): Promise<string[]> {
  const alarms: string[] = [];
  for (const text of texts) {
    const { found, text: left } = await redact(text);
    if (found.length > 0)
      alarms.push(`${found.map(({ rule }) => rule)}: ${text.slice(0, 200)} → ${left.slice(0, 200)}`);
  }
  return alarms;
}

const TEXTS = sized({ quick: 1_000, deep: 10_000 });

test(`of ${TEXTS} texts of lock files, hashes, ids and logs at most one is taken for a secret`, async () => {
  const random = seeded(7);
  const texts = Array.from({ length: TEXTS }, (_, at) => {
    const kind = KINDS[at % KINDS.length] as (typeof KINDS)[number];
    return kind(random, random.pick(NAMES));
  });
  const alarms = await alarmsIn(texts);
  expect(alarms.length, alarms.slice(0, 5).join('\n')).toBeLessThanOrEqual(1);
});

test('none of our own code and lock file is taken for one, nor that of libraries', async () => {
  // Hono's basic-auth documents a password of its own.
  const files = [
    ...['src', 'jobs', 'prompts'].map((dir) => join(root, dir)),
    ...['zod/v4/core', 'hono/dist', 'commander/lib', 'bullmq/dist/esm'].map((dir) => join(root, 'node_modules', dir)),
  ];
  const texts = [readFileSync(join(root, 'package-lock.json'), 'utf8')];
  for (const dir of files) {
    for (const path of listFiles(dir)) {
      if (/\.(?:js|ts|md)$/.test(path) && !/secrets\/|basic-auth|\.d\.ts$/.test(path))
        texts.push(readFileSync(join(dir, path), 'utf8'));
    }
  }
  const pieces = texts.flatMap((text) => text.match(/[\s\S]{1,4000}/g) ?? []).slice(0, 4_000);
  expect(pieces.length).toBeGreaterThan(1_000);
  // In the small size every fourth.
  const groups = [0, 1, 2, 3];
  const taken = new Set(waysTaken(groups));
  expect(await alarmsIn(pieces.filter((_, at) => taken.has(at % groups.length)))).toEqual([]);
});
