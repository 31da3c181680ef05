// An example memory as the page shows it: three sessions of one repository learned from, two nights, one of them waiting for
// a person's word, what a night put away, and a second memory.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { newId } from '../../src/db/sql.ts';
import { type Served, served } from '../server/served.ts';
import type { TestAppOptions } from '../support/app.ts';
import { gitIn } from '../support/git.ts';
import { tempDir } from '../support/temp.ts';
import { rememberOfUser, spend } from './beside-page.ts';

const SESSIONS = join(import.meta.dirname, '../fixtures/example');

/** One for all tests of a file, each of which leaves it as it was or says what it changed. */
export function useExample(): () => Served {
  const closings: Parameters<NonNullable<TestAppOptions['whenDone']>>[0][] = [];
  let world: Served | undefined;
  beforeAll(async () => {
    world = await exampleMemory({ whenDone: (close) => closings.push(close) });
  });
  afterAll(async () => {
    for (const close of closings.reverse()) await close();
  });
  return () => world as Served;
}

async function exampleMemory(options: TestAppOptions): Promise<Served> {
  const world = await served({ app: options });
  const { app, store } = world;
  const root = tempDir();
  const orchard = join(root, 'orchard');
  mkdirSync(orchard);
  gitIn(orchard).run('init', '-q', '-b', 'main');
  for (const name of readdirSync(SESSIONS)) {
    const transcript = join(root, name);
    writeFileSync(transcript, readFileSync(join(SESSIONS, name), 'utf8').replaceAll('/home/kim/orchard', orchard));
    await app.extract({ transcript, ended: true });
  }
  await app.dream(store, {});
  await app.remember(store, { text: 'The harvest report goes out on the first Monday of the month.', type: 'project' });
  await app.remember(store, { text: 'Screenshots for reviews are taken at 375 and 1280 pixels.', type: 'feedback' });
  await app.dream(store, { review: true });
  const head = '---\nname: orchard-demo\ndescription: Goals that are past\ntype: project\n---\n\n';
  const text = `${head}- The orchard demo is due by 2026-03-01.\n`;
  const by = { job: newId('job'), actor: { kind: 'user', id: null } } as const;
  await app.files(store).create(by, { path: 'archive/orchard-demo.md', text });
  await rememberOfUser(world, 'Answers are to begin with the result, and the reasons come after it.');
  for (const [day, tokens] of [
    ['03', 41_000],
    ['05', 18_000],
    ['06', 66_000],
    ['11', 93_000],
    ['12', 24_000],
    ['17', 120_000],
    ['18', 38_000],
    ['20', 57_000],
  ] as const)
    await spend(world, day, tokens);
  return world;
}
