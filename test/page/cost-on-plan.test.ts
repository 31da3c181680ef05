// The page's view of cost, where an agent's program that stands as the model uses up a plan.

import { expect, test } from 'vitest';
import { served } from '../server/served.ts';
import { claudeSays, fakeProgram } from '../support/fake-program.ts';
import { aSession } from '../support/session-file.ts';
import { enter, OURS } from './enter.ts';

test('tells how many requests went out on it today, and of which program', async () => {
  const fake = fakeProgram('claude');
  fake.answers(claudeSays({ entries: [] }));
  const variables = { PATH: `${fake.dir}:${process.env.PATH}`, NOCTURNE_MODEL: 'claude-code' };
  const page = await served({ app: { variables, settings: { planRequests: 40 } } });
  await page.app.extract({ transcript: aSession().path, ended: true });
  const { cookie } = await enter(page);
  const answer = await fetch(`${page.url}/cost?month=2026-11`, { headers: { ...OURS, cookie } });
  const shown = (await answer.text()).replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  expect(shown).toContain('1 of 40 requests on your plan today');
  expect(shown).toContain('claude-code your plan 1,100');
});
