// What README promises and no other test asks through the command line: of what a model proposes code keeps what was said, a
// secret reaches no model, a person who writes while a night thinks loses nothing by it, no night takes out much.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linesIn } from '../../src/agent/offline-model.ts';
import { testApp, testModel } from '../support/app.ts';
import { calls, says } from '../support/messages-server.ts';
import { entriesShown, messagesBy, replacesLine, shown } from '../support/obedient.ts';
import { answer } from '../support/scripted-model.ts';
import { aSession, RULE, sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const TOKEN = `ghp_${'xK9mQ2vL7pR4tW8z'.repeat(2)}aB3d`;

test('of what a model proposes code keeps what the user said, and no secret of the session reached the model', async () => {
  const entry = (message: string | undefined, quote: string, text = quote) => ({
    ...{ type: 'feedback', strength: 'stated', text, evidence: [{ message, quote }] },
  });
  const server = await testModel((request) => {
    if (request.messages.length > 1) return says('Done.');
    const [human] = messagesBy(request, 'human');
    const [tool] = messagesBy(request, 'tool');
    const entries = [entry(human, RULE), entry(human, 'Always use yarn.'), entry(tool, 'Always deploy from main.')];
    return calls('record_entries', { entries });
  });
  const { nocturne, json } = await testApp({ server });
  const session = sessionFile(tempDir());
  const result = `Always deploy from main. GITHUB_TOKEN=${TOKEN}`;
  session.add(`${RULE} My token is ${TOKEN}.`, [{ calls: 'Read', input: { file_path: 'notes.md' }, result }]);
  expect((await nocturne('learn', session.path)).code).toBe(0);
  const { waiting } = await json<{ waiting: { text: string }[] }>('list');
  expect(waiting.map(({ text }) => text)).toEqual([RULE]);
  const sent = JSON.stringify(server.requests);
  expect(sent).toContain('Always deploy from main.');
  expect(sent).not.toContain(TOKEN);
});

test('while a night thinks the memory is as it was; where a person changes the line that it replaces, theirs stays', async () => {
  const at = (port: number) => `Always use port ${port} for staging.`;
  const [old, newer, theirs] = [at(4711), at(4712), at(4713)];
  let write = () => {};
  const server = await testModel((request) => {
    if (entriesShown(request).length > 0) write();
    return replacesLine(request);
  });
  const { nocturne, dir } = await testApp({ server });
  await nocturne('learn', aSession([old]).path);
  await nocturne('dream');
  const path = join(dir, 'working-agreements.md');
  const before = readFileSync(path, 'utf8');
  let meanwhile = '';
  write = () => {
    meanwhile = readFileSync(path, 'utf8');
    writeFileSync(path, before.replace(old, theirs));
    write = () => {};
  };
  await nocturne('learn', aSession([newer], { id: '22222222-2222-4333-8444-555555555555' }).path);
  expect((await nocturne('dream')).code).toBe(0);
  expect(meanwhile).toBe(before);
  expect(readFileSync(path, 'utf8')).toBe(`${before.replace(old, theirs)}- ${newer}\n`);
  expect((await nocturne('undo', '--last', '--any')).code).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe(before.replace(old, theirs));
});

test('a night that would take out more than a quarter of the memory changes nothing', async () => {
  const server = await testModel((request) => {
    const lines = linesIn(shown(request, 'topics'));
    const [entry] = entriesShown(request);
    if (lines.length === 0 || request.messages.length > 1) return answer(request);
    const [out, over] = [lines.map(({ id }) => id), lines.map(({ text }) => text)];
    const put = { kind: 'put', topic: lines[0]?.topic, out, over, reason: 'Old.' };
    return calls('propose_operations', { operations: [{ ...put, in: [{ text: entry?.text, entries: [entry?.id] }] }] });
  });
  const { nocturne, dir } = await testApp({ server });
  const rules = ['crates', 'barrels', 'vats', 'carts', 'mills'].map((what, n) => `Always paint ${what} ${n} red.`);
  await nocturne('learn', aSession(rules).path);
  await nocturne('dream');
  const path = join(dir, 'working-agreements.md');
  const before = readFileSync(path, 'utf8');
  expect(before.match(/red/g)).toHaveLength(5);
  const newer = 'Always paint crates 0, barrels 1, vats 2, carts 3 and mills 4 blue, not red.';
  await nocturne('learn', aSession([newer], { id: '22222222-2222-4333-8444-555555555555' }).path);
  expect(await nocturne('dream')).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was changed') });
  expect(JSON.stringify(server.requests.at(-1)?.messages)).toContain('more than a quarter');
  expect(readFileSync(path, 'utf8')).toBe(before);
});
