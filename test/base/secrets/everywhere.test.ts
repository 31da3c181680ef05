// Tokens of every vendor, with their names where they need one, through the whole way: into a session, past
// the model and the disk; and out of a memory that holds them all the same.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listFiles } from '../../../src/base/files/directories.ts';
import { scrubOf } from '../../../src/memory/redaction.ts';
import { testApp, testModel } from '../../support/app.ts';
import { sized } from '../../support/depth.ts';
import { says } from '../../support/messages-server.ts';
import { seeded } from '../../support/random.ts';
import { type Step, sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { tokensOfAll } from '../../support/vendor-tokens.ts';

const PLACES: [string, (line: string) => { prompt?: string; steps: Step[] }][] = [
  ['human text', (line) => ({ prompt: `Remember that the box answers to\n${line}`, steps: [] })],
  ['tool output', (line) => ({ steps: [{ calls: 'Bash', input: { command: 'deploy' }, result: `ok\n${line}\nok` }] })],
  ['tool input', (line) => ({ steps: [{ calls: 'Bash', input: { command: `first\n${line}\nlast` }, result: 'ok' }] })],
  [
    'JSON in JSON',
    (line) => ({
      steps: [
        { calls: 'Send', input: { body: JSON.stringify({ log: `a\n${line}\tb` }) }, result: JSON.stringify({ line }) },
      ],
    }),
  ],
];

// The small size takes a seeded third in each place.
describe.each(PLACES)('%s', (place, put) => {
  test('of 100 forms of secrets at least 97 reach neither the model nor the disk', async () => {
    const random = seeded(5);
    const every = sized({ quick: 3, deep: 1 });
    const from = seeded(place.length).below(every);
    const secrets = tokensOfAll(random).filter((_, at) => at % every === from);
    const session = sessionFile(tempDir());
    for (const { before, secret } of secrets) {
      const { prompt = 'Deploy it, please, as we always do.', steps } = put(before + secret);
      session.add(prompt, steps);
    }
    const model = await testModel(() => says('Nothing worth keeping.'));
    const { app, dir, home } = await testApp({ server: model, settings: { excerptTokens: 60_000 } });
    await app.extract({ transcript: session.path, ended: true });
    const offline = await testApp({ home: tempDir() });
    await offline.app.extract({ transcript: session.path, ended: true });
    const sent = JSON.stringify(model.requests);
    expect(sent.match(/\[redacted:/g)?.length).toBeGreaterThan(secrets.length * 0.5);
    const kept = await textOf(dir, home, offline.dir, offline.home);
    const passed = secrets.filter(({ secret }) => sent.includes(secret) || kept.includes(secret));
    expect(passed.length, passed.map(({ before, secret }) => before + secret).join('\n')).toBeLessThanOrEqual(
      secrets.length * 0.03,
    );
  });
});

// Each costs a look through all that nocturne keeps, so the small size takes a seeded twentieth.
test('nocturne redact --match takes each of them out of a memory that holds it', async () => {
  const { app, store, dir, home } = await testApp();
  const every = sized({ quick: 20, deep: 1 });
  const from = seeded(7).below(every);
  const secrets = tokensOfAll(seeded(6)).filter((_, at) => at % every === from);
  const topic = (name: string, lines: string[]) =>
    `---\nname: ${name}\ndescription: About it\ntype: reference\n---\n${lines.map((line) => `- ${line}\n`).join('')}`;
  writeFileSync(
    join(dir, 'boxes.md'),
    topic(
      'boxes',
      secrets.map(({ before, secret }) => `The box has ${before}${secret}.`),
    ),
  );
  await app.remember(store, { text: 'The beta starts on 2026-12-04.', type: 'project' });
  await app.dream(store, {});
  for (const { secret } of secrets) expect((await app.redact({ scrub: scrubOf(secret) })).remaining).toEqual([]);
  const left = await textOf(dir, home);
  expect(secrets.filter(({ secret }) => left.includes(secret))).toEqual([]);
});

/** All that is in files of the directories, databases too. */
async function textOf(...dirs: string[]): Promise<string> {
  const texts: string[] = [];
  for (const dir of dirs) for (const path of listFiles(dir)) texts.push(readFileSync(join(dir, path), 'latin1'));
  return texts.join('\n');
}
