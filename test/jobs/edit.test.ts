import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { editTopic, shownTopic } from '../../jobs/edit.ts';
import { testApp } from '../support/app.ts';

const PATH = 'tools.md';

/** A topic of these bytes, and what edits it from what it showed. */
async function topic(raw: string) {
  const { app, store, dir } = await testApp();
  writeFileSync(join(dir, PATH), raw);
  const file = () => readFileSync(join(dir, PATH), 'utf8');
  const shown = shownTopic(raw);
  const edit = (to: { description?: string; body?: string }) =>
    editTopic(
      { path: PATH, shown: shown.version, description: shown.description, body: shown.body, ...to },
      { store, clock: app.config.clock },
    );
  return { app, store, dir, file, shown, edit };
}

test.each([
  [
    'CRLF, other keys and comments',
    '---\r\n# Ours\r\nname: tools\r\ndescription: Old # really\r\nowner: kim\r\n---\r\n\r\n- One\r\n- Two\r\n',
    { description: ' New\r\nwords ', body: '- One\r\n- Three\r\n' },
    '---\r\n# Ours\r\nname: tools\r\ndescription: New words # really\r\nowner: kim\r\n---\r\n\r\n- One\r\n- Three\r\n',
  ],
  ['no line end at its end', '---\nname: tools\n---\n- One', { body: '\n\n- Two\n\n' }, '---\nname: tools\n---\n- Two'],
  [
    'mixed line ends, where only the description changes',
    '---\ndescription: Old\n---\n\n\n- One\r\n- Two\n\n',
    { description: 'New', body: '- One\r\n- Two\r\n' },
    '---\ndescription: New\n---\n\n\n- One\r\n- Two\n\n',
  ],
  [
    'a description and nothing else',
    '---\ndescription: Old\n---\n',
    { body: '- One' },
    '---\ndescription: Old\n---\n- One\n',
  ],
  ['a head without an end', '---\ndescription: Old\n---', { body: '- One' }, '---\ndescription: Old\n---\n- One\n'],
  ['no description', '- One\n', { description: 'New' }, '---\ndescription: New\n---\n\n- One\n'],
  ['a description that goes', '---\ndescription: Old\n---\n\n- One\n', { description: '' }, '- One\n'],
  [
    'no frontmatter, and a body that looks like it',
    '- One\n',
    { body: '---\na: b\n---\n- One' },
    '\n---\na: b\n---\n- One\n',
  ],
  ['a body that goes', '---\nname: tools\n---\n\n- One\n', { body: '' }, '---\nname: tools\n---\n\n'],
] as [string, string, { description?: string; body?: string }, string][])(
  'an edited topic keeps every other byte, and undo gives all of them back: %s',
  async (_, raw, to, after) => {
    const { app, store, file, edit } = await topic(raw);
    const job = await edit(to);
    expect(file()).toBe(after);
    await app.undo(store, { job: job as string });
    expect(file()).toBe(raw);
  },
);

test('an edit of a topic that says the same is no action', async () => {
  const raw = '---\ndescription: >\n  Two\n  lines\n---\n\n- One\n';
  const { file, edit, shown } = await topic(raw);
  expect(shown).toMatchObject({ description: 'Two lines', body: '- One' });
  expect(await edit({ body: '- One\r\n\r\n' })).toBeNull();
  expect(file()).toBe(raw);
});

test('of a topic that is another version than was shown, or gone, nothing is written', async () => {
  const { store, dir, file, edit } = await topic('- One\n');
  const now = '---\npinned: true\n---\n- One\n';
  writeFileSync(join(dir, PATH), now);
  await expect(edit({ body: '- Two' })).rejects.toMatchObject({ code: 'conflict' });
  expect(file()).toBe(now);
  await store.remove({ actor: 'person' }, { path: PATH });
  await expect(edit({ body: '- Two' })).rejects.toMatchObject({ code: 'conflict' });
  expect(await store.read(PATH)).toBeNull();
});
