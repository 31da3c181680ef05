// An example memory as the page shows it: three sessions learned from, two nights, one of them waiting for a person's word,
// and a second project.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Served, served } from '../server/served.ts';

const SESSIONS = join(import.meta.dirname, '../../fixtures/example');

export async function exampleMemory(): Promise<Served> {
  const world = await served();
  const { app, store } = world;
  for (const name of readdirSync(SESSIONS)) await app.extract({ transcript: join(SESSIONS, name), ended: true });
  await app.dream(store, {});
  await app.remember(store, { text: 'The harvest report goes out on the first Monday of the month.', type: 'project' });
  await app.remember(store, { text: 'Screenshots for reviews are taken at 375 and 1280 pixels.', type: 'feedback' });
  await app.dream(store, { review: true });
  const second = await app.store(join(app.config.claudeDir, 'memory'));
  app.home.addStore(second.dir);
  await app.remember(second, {
    text: 'Answers are to begin with the result, and the reasons come after it.',
    type: 'feedback',
  });
  for (const [day, tokens] of [
    ['03', 41_000],
    ['05', 18_000],
    ['06', 66_000],
    ['11', 93_000],
    ['12', 24_000],
    ['17', 120_000],
    ['18', 38_000],
    ['20', 57_000],
  ] as const) {
    app.home.days.reserve(`2026-11-${day}`, {
      tokens,
      microUsd: tokens * 4,
      ceilingTokens: 10_000_000,
      nextDayAt: new Date('2026-11-22'),
    });
  }
  return world;
}
