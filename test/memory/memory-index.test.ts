// MEMORY.md says of a topic what the topic says of itself, before a dream builds the index again, and undo takes both back.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { undo } from '../../jobs/undo.ts';
import { type By, commit } from '../../src/memory/commit.ts';
import { beginJob } from '../../src/memory/job-rows.ts';
import { MemoryFiles } from '../../src/memory/memory-files.ts';
import { withFollowingIndex } from '../../src/memory/memory-index.ts';
import { explainLines } from '../../src/memory/rests.ts';
import { newTopic } from '../../src/memory/text/topic.ts';
import { API, ENGINE_TAKEN, JOB, skipped, USER } from '../support/memory-world.ts';
import { inNights, type Nights, put } from '../support/night-world.ts';

const TEXT = newTopic({
  ...{ name: 'harbour', description: 'Which ships lie in the harbour', type: 'project' },
  lines: ['The Ida lies at pier 4.'],
});

/** A memory with one topic, whose index a person wrote into. */
async function memory(nights: Nights) {
  const { dir, row, memories, file } = nights;
  await nights.night(['The harvest runs on crates.'], ([a]) => [put(a, 'The harvest runs on crates.')]);
  const before = `${await file('MEMORY.md')}- Ask Kim.\n`;
  writeFileSync(join(dir, 'MEMORY.md'), before);
  const index = () => file('MEMORY.md');
  return { files: new MemoryFiles(memories, row), before, index };
}

async function replace(files: MemoryFiles, by: By, path: string, [old, now]: [string, string]) {
  return files.write(by, { path, text: ((await files.read({ path }))?.text ?? '').replace(old, now) });
}

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('a topic that a program creates, describes anew, renames or deletes is in the index at once, and every other line stays', () =>
    inNights(engine, async (nights) => {
      const { files, before, index } = await memory(nights);
      await files.create(API, { path: 'harbour.md', text: TEXT });
      expect((await index()).split('\n')).toEqual(expect.arrayContaining(before.split('\n')));
      expect(await index()).toContain('- Which ships lie in the harbour [harbour.md]\n');
      await replace(files, API, 'harbour.md', ['Which ships lie', 'What lies']);
      expect(await index()).toContain('- What lies in the harbour [harbour.md]\n');
      await files.rename(API, { from: 'harbour.md', to: 'quay.md' });
      expect(await index()).toContain('- What lies in the harbour [quay.md]\n');
      expect(await index()).not.toContain('[harbour.md]');
      await files.delete(API, { path: 'quay.md' });
      expect(await index()).toBe(before);
    }));

  it('the index follows in the commit of the change, and undo takes both back', () =>
    inNights(engine, async (nights) => {
      const { files, before, index } = await memory(nights);
      const job = await beginJob(nights.db, { kind: 'edit', startedBy: 'person', at: nights.now().toISOString() });
      await replace(files, { ...USER, job }, 'facts.md', ['description: Facts', 'description: What is']);
      expect(await index()).toBe(before.replace('- Facts [', '- What is ['));
      expect(await nights.db.all('select id from change where job = ?', job)).toHaveLength(1);
      await undo({ job } as never, { memories: nights.memories, environment: {} } as never);
      expect(await index()).toBe(before);
    }));

  it('what was edited by hand is in the index with the next commit that follows, whatever that changes', () =>
    inNights(engine, async (nights) => {
      const { before, index } = await memory(nights);
      const { dir, file, memories, row } = nights;
      writeFileSync(
        join(dir, 'facts.md'),
        (await file('facts.md')).replace('description: Facts', 'description: What is'),
      );
      const log = [{ path: 'logs/2026/11/2026-11-22.md', make: () => '# x\n' }];
      const plan = (sql: never) => withFollowingIndex(sql, row, log);
      await commit(memories, { memory: row.id, paths: 'all' }, JOB, plan as never);
      expect(await index()).toBe(before.replace('- Facts [', '- What is ['));
    }));

  it('what an earlier nocturne put beside the index goes when it is built, and what a person wrote there stays', () =>
    inNights(engine, async (nights) => {
      const { before, index } = await memory(nights);
      mkdirSync(join(nights.dir, 'index'));
      writeFileSync(join(nights.dir, 'index/project.md'), '# Project\n\n- Facts [facts.md]\n');
      writeFileSync(join(nights.dir, 'index/user.md'), '# User\n\n- Facts [facts.md]\n- Kim knows more.\n');
      writeFileSync(join(nights.dir, 'index/reference.md'), '# Reference\n\n- Call Mira before [facts.md]\n');
      await nights.night(['The barn is red.'], ([b]) => [put(b, 'The barn is red.')]);
      expect(readdirSync(join(nights.dir, 'index'))).toEqual(['reference.md', 'user.md']);
      expect(await index()).toBe(before);
    }));

  it('an index that is pinned, that a program writes itself, or that is not there, is left alone', () =>
    inNights(engine, async (nights) => {
      const { files, before, index } = await memory(nights);
      await replace(files, API, 'MEMORY.md', ['- Ask Kim.', '- Ask Ida.']);
      expect(await index()).toBe(before.replace('Kim', 'Ida'));
      await files.create(API, { path: 'notes/today.md', text: '- Ask Ida.\n' });
      expect(await index()).toBe(before.replace('Kim', 'Ida'));
      const pinned = `---\npinned: true\n---\n${before}`;
      await files.write(USER, { path: 'MEMORY.md', text: pinned });
      await files.create(API, { path: 'harbour.md', text: TEXT });
      expect(await index()).toBe(pinned);
      const { files: others } = await nights.withDirectory('other');
      await others.create(API, { path: 'harbour.md', text: TEXT });
      expect((await others.list()).items).toHaveLength(1);
    }));

  it('what a program writes is its word: its lines rest on it, also once a person moved them, and no dream changes one', () =>
    inNights(engine, async (nights) => {
      const { files } = await memory(nights);
      const { db, row, dir, file } = nights;
      await files.create(API, { path: 'harbour.md', text: TEXT });
      const linesOf = (path: string) => explainLines(db, { memory: row.id, path });
      expect(await linesOf('harbour.md')).toMatchObject([{ isPersons: false, program: 'api:apikey_1' }]);
      writeFileSync(join(dir, 'facts.md'), `${await file('facts.md')}- The Ida lies at pier 4.\n- Mine.\n`);
      await files.list();
      expect((await linesOf('facts.md')).map(({ isPersons, program }) => [isPersons, program])).toEqual([
        [false, null],
        [false, 'api:apikey_1'],
        [true, null],
      ]);
      const said = 'The Ida lies at pier 5.';
      const id = (await linesOf('harbour.md'))[0]?.id;
      const { requests } = await nights.night([said], ([a], call) =>
        call === 1 ? [put(a, said, { topic: 'harbour', out: [id], over: ['4'] })] : null,
      );
      expect(JSON.stringify(requests[1]?.messages)).toContain('was written by a program and stays');
      expect(JSON.stringify(requests[0]?.messages)).toContain(`[${id} program] The Ida lies at pier 4.`);
    }));
});
