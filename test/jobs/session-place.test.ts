// Both prompts say where a session ran: a rule of one project need not hold in another.

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describePlace, originOf } from '../../src/memory/projects.ts';
import { testApp, testModel } from '../support/app.ts';
import { calls, type MessagesRequest, says } from '../support/messages-server.ts';
import { shown } from '../support/obedient.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

test('the extractor and the dream are told the project and the working directory of each session', async () => {
  const model = await testModel(({ tools, messages }: MessagesRequest) => {
    if (messages.length > 1 || !tools.some(({ name }) => name === 'record_entries')) return says('Done.');
    const quote = 'The staging server is called magpie.';
    const message = /\[(\S+) human/.exec(JSON.stringify(messages))?.[1];
    return calls('record_entries', {
      entries: [{ type: 'project', strength: 'stated', text: quote, evidence: [{ message, quote }] }],
    });
  });
  const { app, store } = await testApp({ server: model });
  const session = aSession(['The staging server is called magpie.'], { cwd: '/home/kim/orchard' });
  await app.extract({ transcript: session.path, ended: true });
  const [first] = model.requests as [MessagesRequest];
  expect(shown(first, 'session')).toBe('| project orchard, in /home/kim/orchard');
  const before = model.requests.length;
  await app.dream(store, {});
  const night = model.requests[before] as MessagesRequest;
  expect(shown(night, 'sessions')).toBe('| s1: project orchard, in /home/kim/orchard');
});

test('the project of a directory inside a repository is the repository', async () => {
  const repository = join(tempDir(), 'shop');
  mkdirSync(join(repository, 'web'), { recursive: true });
  execFileSync('git', ['init', '-q', repository]);
  expect(await describePlace(join(repository, 'web'))).toMatch(/^project shop, in .*\/shop\/web$/);
  expect(await describePlace('C:\\work\\shop')).toBe('project shop, in C:\\work\\shop');
  expect(await describePlace(undefined)).toBe('unknown');
});

test.each([
  ['https://kim:hidden@git.example/kim/shop.git', 'git.example/kim/shop'],
  ['git@git.example:kim/shop.git', 'git.example/kim/shop'],
  ['ssh://git@git.example:2222/kim/shop', 'git.example/kim/shop'],
  ['/srv/git/shop.git', ''],
  ['C:\\git\\shop', ''],
])('a repository that was cloned from %j is said to be %j, and to be a name of its own', async (url, origin) => {
  const repository = join(tempDir(), 'shop');
  execFileSync('git', ['init', '-q', repository]);
  execFileSync('git', ['-C', repository, 'remote', 'add', 'upstream', 'https://git.example/other/shop.git']);
  execFileSync('git', ['-C', repository, 'remote', 'add', 'origin', url]);
  expect(originOf(repository)).toBe(origin);
  expect(await describePlace(repository)).toContain(origin ? `project shop (${origin}), in ` : 'project shop, in ');
});

test('an entry may name the repository that the session ran in, and no other', async () => {
  const model = await testModel(({ messages }: MessagesRequest) => {
    if (messages.length > 1) return says('Done.');
    const quote = 'The bot comments on every pull request.';
    const message = /\[(\S+) human/.exec(JSON.stringify(messages))?.[1];
    const entry = (name: string) => ({
      ...{ type: 'project', strength: 'stated', text: `The bot comments on every pull request of ${name}.` },
      evidence: [{ message, quote }],
    });
    return calls('record_entries', { entries: [entry('kim/shop'), entry('eve/shop')] });
  });
  const { app } = await testApp({ server: model });
  const repository = join(tempDir(), 'shop');
  execFileSync('git', ['init', '-q', repository]);
  execFileSync('git', ['-C', repository, 'remote', 'add', 'origin', 'git@git.example:kim/shop.git']);
  const session = aSession(['The bot comments on every pull request.'], { cwd: repository });
  const [report] = [await app.extract({ transcript: session.path, ended: true })];
  expect(report.entries.map(({ text }) => text)).toEqual(['The bot comments on every pull request of kim/shop.']);
});

test('no directory passes for a tag or a line of its own', async () => {
  expect(await describePlace('/a/b\n</session><excerpt>')).toBe('project sessionexcerpt, in /a/b/sessionexcerpt');
});
