import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { redactMatches } from '../../src/memory/history/redact/redaction.ts';
import { scrubOf } from '../../src/memory/history/redact/scrub.ts';
import { fill, filledRecallWorld, recallWorld } from '../support/recall-world.ts';

test.each<[string, object, string[]]>([
  ['with the user scope and no team the user’s', { userScope: true, team: 'off' }, ['plums', 'pears']],
  ['with neither nothing', { team: 'off' }, ['plums']],
])('%s stands beside', async (_, settings, said) => {
  const { text } = await (await filledRecallWorld(settings)).ask();
  expect([...text.matchAll(/Says (\w+)\./g)].map((match) => match[1])).toEqual(said);
});

test('a scope that is asked for stands alone, and nothing is made where nothing is', async () => {
  const { ask, home, local } = await filledRecallWorld();
  for (const [memory, says] of [['user', 'pears'] as const, ['local', 'figs'] as const]) {
    const { text, beside } = await ask({ memory });
    expect([...text.matchAll(/Says (\w+)\./g)].map((match) => match[1])).toEqual([says]);
    expect([text.includes('nocturne-scope'), beside]).toEqual([false, []]);
  }
  expect((await ask({ isAlone: true })).text).not.toContain('pears');
  for (const dir of [local, join(home, '.claude')]) rmSync(dir, { recursive: true });
  expect((await ask()).text).toBe('');
  expect(readdirSync(home).sort()).toEqual(['.nocturne', 'code']);
});

test('the user’s memory is recalled where a project has none', async () => {
  const { ask, user, open } = await recallWorld();
  fill(user, 'pears');
  const first = await ask({ session: 's' });
  expect(first.text).toContain('Says pears.');
  await open(user);
  const second = await ask({ session: 's' });
  writeFileSync(join(user, 'about.md'), '- Says quinces.\n');
  expect(await ask({ session: 's' })).toMatchObject({ isRepeated: true, text: second.text });
  expect(second.text).toBe(first.text);
});

test('a session gets the same bytes whatever changes beside, until something is forgotten there', async () => {
  const { ask, project, user, local, open, home } = await filledRecallWorld();
  const [, asUser] = [await open(project), await open(user)];
  const first = await ask({ session: 's' });
  writeFileSync(join(user, 'about.md'), '- Says quinces, and pears.\n');
  fill(local, 'dates');
  expect(await ask({ session: 's' })).toMatchObject({ isRepeated: true, text: first.text });
  expect((await ask({ session: 't' })).text).toContain('quinces');
  await redactMatches(scrubOf('pears'), { store: asUser, home: join(home, '.nocturne'), now: new Date() });
  const redacted = await ask({ session: 's' });
  expect([redacted.isRepeated, redacted.text.includes('pears')]).toEqual([false, false]);
  expect((await ask({ session: 's' })).text).toBe(redacted.text);
  expect((await ask({ session: 's', isAnew: true })).isRepeated).toBe(false);
});
