// Which lines of memory a session's calls may have overtaken.

import { expect, test } from 'vitest';
import { overtakenIn } from '../../src/rules/overtaken.ts';
import { type Step, triedIn } from '../support/lessons.ts';

const ASKED: Step = { human: 'Tidy the repository up.' };
const edit = (old_string: string, new_string: string): Step => ({
  ...{ tool: 'Edit', input: { file_path: 'README.md', old_string, new_string }, prints: 'ok' },
});
const run = (command: string, prints = 'ok', failed = false): Step => ({ run: command, prints, failed });
const SKILLS = 'The skills live in `plugins/entire/skills/`, one directory each.';

test.each<[string, Step, string]>([
  ['a move', run('git mv plugins/entire/skills skills'), SKILLS],
  ['a move of what holds it', run('cd /repo && mv plugins old && ls'), SKILLS],
  ['a move to below', run('git mv plugins/entire/skills old/plugins/entire/skills'), SKILLS],
  ['a move up', run('git mv plugins/entire/skills plugins/'), SKILLS],
  ['what removes it', run('git rm -r ./plugins/entire/skills/explain'), 'See `skills/explain` for the form.'],
  ['an edit', edit('go 1.25.2\n', 'go 1.26.2\n'), 'Go is pinned to 1.25.2.'],
  [
    'a patch',
    { tool: 'apply_patch', input: { patch: '*** Begin Patch\n-use "a/v1"\n+use "a/v2"' }, prints: 'ok' },
    'It uses `a/v1`.',
  ],
  [
    'a substitution',
    run("grep -rl pkg/gitsync . | xargs sed -i 's|pkg/gitsync|gitsync|g'"),
    'The package is `pkg/gitsync`.',
  ],
  ['a merge', run('gh pr merge 24 --squash', 'Merged'), 'PR #24 is open and waits for review.'],
  ['what the host says', run('gh pr view 24 --json state', '{"state":"MERGED"}'), 'PR #24 is a draft.'],
  ['a branch that goes', run('git branch -d fix/tabs', 'Deleted'), 'Branch fix/tabs is not merged yet.'],
])('a line is named with the call that may have overtaken it: %s', async (_, step, line) => {
  const found = overtakenIn(new Map([[7, line]]), await triedIn([ASKED, step]));
  expect([...found.keys()]).toEqual([7]);
});

test('a line is left alone where what it names is put back by a later call', async () => {
  const steps = [ASKED, run('mv plugins /tmp/plugins'), run('cp -r /tmp/plugins plugins')];
  expect(overtakenIn(new Map([[7, SKILLS]]), await triedIn(steps)).size).toBe(0);
});

test('a line is left alone where what it names is worked on afterwards', async () => {
  const read: Step = { tool: 'Read', input: { file_path: '/repo/docs/a.md' }, prints: 'text' };
  const found = overtakenIn(
    new Map([[7, 'Read `docs/a.md` first.']]),
    await triedIn([ASKED, edit('see docs/a.md', 'see it'), read]),
  );
  expect(found.size).toBe(0);
});

test.each<[string, Step, string]>([
  ['a call that failed', run('git mv plugins/entire/skills skills', 'fatal: no', true), SKILLS],
  ['what is built again', run('rm -rf dist && npm run build'), 'The bundle is `dist/app.js`.'],
  ['where something moves to', run('mv skills plugins/entire/skills'), SKILLS],
  ['what only looks', run('cat plugins/entire/skills/x.md; gh pr view 25', '{"state":"MERGED"}'), 'PR #24 is a draft.'],
  ['an edit that keeps it', edit('uses 1.25.2', 'uses Go 1.25.2'), 'Go is pinned to 1.25.2.'],
  [
    'a list in which it is open',
    run('gh pr list -s all', '41 tabs OPEN\n40 spaces MERGED'),
    'PR #41 waits for review.',
  ],
  ['a view of it that is open', run('gh pr view 41', 'state: OPEN\nIt was CLOSED by mistake.'), 'PR #41 is a draft.'],
  ['a look at its branch', run('git branch --list fix/tabs'), 'Branch fix/tabs is not merged yet.'],
  ['what is printed', run("ls | sed 's#plugins/entire/skills#skills#'"), SKILLS],
  ['a move there and back', run('mv plugins/entire /tmp/a && npm test; mv /tmp/a plugins/entire'), SKILLS],
  ['what leaves the index alone', run('git rm -r --cached plugins/entire/skills'), SKILLS],
  ['another number', run('gh pr merge 240', 'Merged'), 'PR #24 is a draft.'],
])('a line is left alone by %s', async (_, step, line) => {
  expect(overtakenIn(new Map([[7, line]]), await triedIn([ASKED, step])).size).toBe(0);
});

test('a megabyte of edits in one call is read in linear time', async () => {
  const [each] = await triedIn([ASKED, edit('a', 'b')]);
  if (!each) throw new Error('no call');
  const edits = '{"newText":"b","oldText":"a"},'.repeat(1e6 / 30);
  const long = { ...each, call: { ...each.call, text: `call edit {"edits":[${edits}{"newText":"b","oldText":"a"}` } };
  const cpu = process.cpuUsage();
  for (const end of ['', ']}']) {
    const call = { ...long.call, text: long.call.text + end };
    overtakenIn(new Map([[7, 'See `docs/a.md`.']]), [{ ...long, call }]);
  }
  expect(process.cpuUsage(cpu).user / 1e6).toBeLessThan(8);
});
