// Tokens of every vendor, with their names where they need one, through the whole way: into a session, past
// the model and the disk; and out of a memory that holds them all the same.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listFiles } from '../../../src/base/files/directories.ts';
import { scrubOf } from '../../../src/memory/redaction.ts';
import { answerPrompt, idOf } from '../../page/beside-page.ts';
import { enter, OURS } from '../../page/enter.ts';
import { served } from '../../server/served.ts';
import { testApp, testModel } from '../../support/app.ts';
import { sized } from '../../support/depth.ts';
import { connectHere } from '../../support/mcp.ts';
import { error, says } from '../../support/messages-server.ts';
import { seeded } from '../../support/random.ts';
import { caseOf, linesOf, type SecretCase, type SecretForm } from '../../support/secret-cases.ts';
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
    const every = sized({ quick: 9, deep: 1 });
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

// Each costs a look through all that nocturne keeps, so the small size takes a seeded sixtieth.
test('nocturne redact --match takes each of them out of a memory that holds it', async () => {
  const { app, store, dir, home } = await testApp();
  const every = sized({ quick: 60, deep: 1 });
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

/** One form of each kind, in one line; of numbers nothing can be told by looking for them in all that is kept. */
function oneOfEachKind(seed: number): SecretCase[] {
  const random = seeded(seed);
  const forms = linesOf<SecretForm>(join(import.meta.dirname, '../../fixtures/secret-forms.jsonl')).filter(
    ({ template, value, transform, undetectable }) =>
      !undetectable &&
      !transform &&
      !/\n|^\{/.test(template) &&
      template.length < 160 &&
      !/^(?:pem|seed|digits)/.test(value),
  );
  const inDisguise = { id: 'disguise', kind: 8, template: 'token pasted: {{S}}', value: 'ghp', transform: 'zwsp' };
  const kinds = [...new Set(forms.map(({ kind }) => kind))].filter((kind) => kind !== 8).sort();
  expect(kinds).toEqual([1, 2, 3, 4, 5, 6, 7]);
  const taken = kinds.map((kind) => random.pick(forms.filter((form) => form.kind === kind)));
  return [...taken, inDisguise].map((form) => caseOf(form, random));
}

test('one form of each kind reaches neither the model nor the disk by any way that is no message', async () => {
  const cases = oneOfEachKind(8);
  const session = sessionFile(tempDir());
  for (const { text } of cases)
    session.add('Go on, please.', [{ calls: `Run ${text}`, input: { file_path: `/srv/${text}` }, result: 'ok' }]);
  const records = readFileSync(session.path, 'utf8').trimEnd().split('\n');
  const named = records.map((line, at) => ({ ...JSON.parse(line), gitBranch: cases[at % cases.length]?.text }));
  const titles = cases.flatMap(({ text }) => [
    { type: 'summary', summary: text, leafUuid: named[0]?.uuid },
    { type: 'custom-title', customTitle: text, sessionId: session.id },
  ]);
  writeFileSync(session.path, [...titles, ...named].map((record) => `${JSON.stringify(record)}\n`).join(''));
  const model = await testModel(() => says('Nothing worth keeping.'));
  const world = await served({ withProjects: true, app: { server: model, settings: { recallPrompts: true } } });
  const { app, dir, home, store, environment } = world;
  await app.extract({ transcript: session.path, ended: true });

  for (const { text } of cases) await app.remember(store, { text, type: 'reference' });
  const lines = cases.map(({ text }) => `- ${text}\n`).join('');
  const content = `---\nname: x\ndescription: Boxes\ntype: reference\n---\n${lines}`;
  const { id } = await world.stores.adopt(dir);
  const key = await world.client({ stores: [id] });
  const { memories } = key.sdk.beta.memoryStores;
  await expect(memories.create(id, { path: '/by-http.md', content })).rejects.toMatchObject({ status: 400 });
  const mcp = await connectHere([`notes=${dir}:rw`], environment);
  expect(await mcp.call('memory_write', { path: 'by-mcp.md', content })).toMatchObject({ isError: false });

  const { cookie, token } = await enter(world);
  const headers = { ...OURS, cookie };
  const topic = `${world.url}/memory/${idOf(world)}/topic/by-mcp.md`;
  const read = async (query = '') => (await fetch(`${topic}${query}`, { headers })).text();
  // What a person types in the place of the first line.
  for (const { text } of cases) {
    const form = await read(/\?edit=[\w.]+/.exec(await read())?.[0]);
    const fields = [...form.matchAll(/name="(line|index|shown)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      plainOf(value),
    ]);
    const typed = { ...Object.fromEntries(fields), text: `- ${text}, once more` };
    const saved = await fetch(`${world.url}/do/edit`, {
      ...{ method: 'POST', redirect: 'manual', headers: { ...headers, origin: world.url } },
      body: new URLSearchParams({ token, memory: idOf(world), path: 'by-mcp.md', ...typed }),
    });
    expect(saved.status).toBe(303);
  }
  for (const { text } of cases)
    await answerPrompt(world, { hook_event_name: 'UserPromptSubmit', session_id: 's', cwd: dir, prompt: text });

  const failing = await testModel(() => error(400, cases.map(({ text }) => text).join('\n')));
  const failed = await testApp({ server: failing });
  await failed.app.extract({ transcript: session.path, ended: true }).catch(() => {});

  const sent = JSON.stringify([...model.requests, ...failing.requests]);
  expect(model.requests.length).toBeGreaterThan(0);
  const kept = await textOf(dir, home, failed.dir, failed.home);
  expect(kept).toContain('[redacted:');
  const passed = cases.filter(({ pieces }) =>
    pieces.some((piece) => sent.includes(piece) || kept.includes(Buffer.from(piece).toString('latin1'))),
  );
  expect(passed.map(({ text }) => text)).toEqual([]);
});

/** What an attribute says. */
function plainOf(value: string): string {
  const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
  return value.replace(/&(#?\w+);/g, (all, name) => entities[name] ?? all);
}

test('the directory of a session is named to the model without the secret in its name', async () => {
  // What is shown of a path is one line without tags.
  const cases = oneOfEachKind(10).filter(({ text }) => !/[<>]/.test(text));
  const model = await testModel(() => says('Nothing worth keeping.'));
  const { app } = await testApp({ server: model });
  for (const { text } of cases) {
    const session = sessionFile(tempDir(), { cwd: `/srv/boxes, ${text}` });
    session.add('Always use pnpm here.');
    await app.extract({ transcript: session.path, ended: true });
  }
  const sent = JSON.stringify(model.requests);
  expect(sent).toContain('/srv/boxes, ');
  expect(cases.filter(({ pieces }) => pieces.some((piece) => sent.includes(piece)))).toEqual([]);
});

test('nocturne redact --match leaves no byte of one value of each kind', async () => {
  const cases = oneOfEachKind(9).slice(0, 7);
  const { app, store, dir, home } = await testApp();
  const values = cases.map(({ pieces: [value = ''] }) => value);
  const lines = values.map((value) => `- The box answers to ${value} now.\n`).join('');
  writeFileSync(join(dir, 'boxes.md'), `---\nname: boxes\ndescription: About it\ntype: reference\n---\n${lines}`);
  await app.remember(store, { text: 'The beta starts on 2026-12-04.', type: 'project' });
  await app.dream(store, {});
  for (const value of values) expect((await app.redact({ scrub: scrubOf(value) })).remaining).toEqual([]);
  const left = await textOf(dir, home);
  expect(values.filter((value) => left.includes(value))).toEqual([]);
});

/** All that is in files of the directories, databases too. */
async function textOf(...dirs: string[]): Promise<string> {
  const texts: string[] = [];
  for (const dir of dirs) for (const path of listFiles(dir)) texts.push(readFileSync(join(dir, path), 'latin1'));
  return texts.join('\n');
}
