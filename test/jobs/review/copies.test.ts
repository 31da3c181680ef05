// A statement that stands in several topics, as where somebody copied a line: what becomes of one copy and of the others.

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { supportsOf } from '../../../src/memory/ledger/entries.ts';
import { type Reviewed, reviewedMemory } from '../../support/reviewed.ts';

const LINE = 'Alpha listens on port 1000.';
const header = (name: string, more = '') => `---\nname: ${name}\ndescription: All ports\ntype: project${more}\n---\n\n`;

/** A memory in which one topic says where Alpha listens, and a person copied that into other files. */
async function withCopies(copies: Record<string, string>, { review = false } = {}): Promise<Reviewed> {
  const memory = await reviewedMemory({ review });
  await memory.say('Alpha', 1000);
  await memory.dream({ review: false });
  for (const [path, before] of Object.entries(copies)) writeFileSync(join(memory.dir, path), `${before}- ${LINE}\n`);
  await memory.dream({ review: false });
  return memory;
}

test('a newer statement replaces a line in every topic that nocturne may change', async () => {
  const memory = await withCopies({
    'ports.md': `${header('ports')}- Somebody else listens on port 9.\n`,
    'kept.md': header('kept', '\npinned: true'),
  });
  await memory.say('Alpha', 1001);
  expect(await memory.dream()).toMatchObject({ outcome: 'dreamed', refused: [] });
  expect(memory.file('alpha.md')).toContain('- Alpha listens on port 1001.');
  expect(memory.file('alpha.md')).not.toContain(LINE);
  expect(memory.file('ports.md')).toBe(`${header('ports')}- Somebody else listens on port 9.\n`);
  expect(supportsOf(memory.store.ledger, 'ports.md')).toEqual([]);
  expect(memory.file('kept.md')).toContain(LINE);
});

test('a copy in a topic that the model is not shown is replaced too, and what is shown of a proposal says so', async () => {
  const memory = await withCopies({ 'ports.md': header('ports') }, { review: true });
  for (let at = 0; at < 12; at += 1) appendFileSync(join(memory.dir, 'ports.md'), `- Alpha listens on port ${at}.\n`);
  await memory.say('Alpha', 1001);
  await memory.dream();
  const [proposal] = await memory.proposals();
  expect(proposal?.diff).toContain('--- ports.md');
  expect(proposal?.diff).toContain('--- alpha.md');
  await memory.review({ word: { kind: 'accept' } });
  expect(memory.file('ports.md')).not.toContain(LINE);
  expect(memory.file('ports.md')).toContain('port 11.');
});

test('a statement that was withdrawn goes from every topic, except where it rests on something else', async () => {
  const memory = await withCopies({ 'ports.md': header('ports'), 'shown.md': header('shown') });
  const other = await memory.say('Beta', 2000);
  await memory.dream({ review: false });
  const [copy] = supportsOf(memory.store.ledger, 'shown.md');
  memory.store.ledger.run('insert into support values (?, ?, ?)', 'shown.md', copy?.line ?? '', other);
  const log = readFileSync(join(memory.dir, 'logs/2026/11/2026-11-21.md'), 'utf8');
  writeFileSync(join(memory.dir, 'logs/2026/11/2026-11-21.md'), log.replace(/^- .*Alpha[\s\S]*?(?=^- )/m, ''));
  expect(await memory.dream({ review: false })).toMatchObject({ outcome: 'dreamed', refused: [] });
  expect(memory.file('shown.md')).toContain(LINE);
  for (const path of ['alpha.md', 'ports.md']) expect((await memory.store.read(path)) ?? '').not.toContain(LINE);
});
