// What an earlier set-up wrote into the settings of an agent: `doctor` names what is another nocturne's, and `setup` repairs it.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyHome } from '../support/old-homes.ts';
import { runHere } from '../support/run-here.ts';
import { scriptedModel } from '../support/scripted-model.ts';

test('hooks that start a nocturne that is elsewhere by now are named, and repaired once', async () => {
  const old = copyHome('plain');
  const environment = { ...old.environment(await scriptedModel()), PATH: '/nowhere' };
  const run = (...args: string[]) => runHere(args, environment);
  const settings = join(old.user, '.claude/settings.json');
  const setUp = () => run('setup', 'claude-code', '--schedule', 'none', '--yes');
  await setUp();
  const made = readFileSync(settings, 'utf8');
  const programs = [...made.matchAll(/"(\/[^"]*\/)(?:dist|src)\/[^"]*"/g)].map(([, at]) => at as string);
  writeFileSync(settings, made.replaceAll(programs[0] as string, '/opt/nocturne/'));
  const told = async () => (await run('doctor')).stdout;
  expect(await told()).toContain('names another nocturne');
  await setUp();
  expect(await told()).not.toContain('names another nocturne');
  expect(readFileSync(settings, 'utf8')).toBe(made);
});
