// The first hour of somebody new: setup finds the agents, says what it writes, keeps a key that works, and learns the
// sessions of the last days, if that is wanted; what is not wanted is left alone.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testModel } from '../support/app.ts';
import { error, type MessagesRequest, type Script, says } from '../support/messages-server.ts';
import { messagesBy, obey, shown } from '../support/obedient.ts';
import { aPerson, type Person } from '../support/person.ts';
import { start, whileRuns } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';

const FACTS = [
  ...['Always use pnpm instead of npm.', 'Never push to main on Fridays.', 'We deploy with the blue pipeline.'],
  ...['The staging database is harbor-2.', 'Always run the linter first.', 'Never mock the database in tests.'],
  ...['The release deadline is 2026-12-04.', 'Always write commit messages in English.'],
  ...['Never rebase a shared branch.', 'Always name the ticket in the branch.'],
];

/** A person with so many sessions of Claude Code in two projects, ended an hour ago. */
function someoneNew(sessions: number): Person {
  const person = aPerson();
  for (const [n, fact] of FACTS.slice(0, sessions).entries()) {
    const cwd = `/home/kim/${n % 2 ? 'orchard' : 'harbour'}`;
    const dir = join(person.user, '.claude', 'projects', cwd.replaceAll('/', '-'));
    mkdirSync(dir, { recursive: true });
    const session = aSession([fact], { dir, id: `${n}1111111-2222-4333-8444-555555555555`, cwd });
    utimesSync(session.path, new Date('2026-11-21T01:00:00Z'), new Date('2026-11-21T01:00:00Z'));
  }
  return person;
}

const offline = ({ environment }: Person) => ({ ...environment, NOCTURNE_MODEL: 'offline' });

/** Records each fact that it is shown, from the message that says it; the trial of the key gets a word. */
const attentive: Script = (request: MessagesRequest) =>
  request.tools === undefined
    ? says('Hi')
    : obey({
        record: (asked) =>
          FACTS.filter((fact) => shown(asked, 'excerpt').includes(fact)).map((fact) => ({
            ...{ type: 'project', strength: 'stated', text: fact },
            evidence: [{ message: messagesBy(asked, 'human')[0], quote: fact }],
          })),
      })(request);

/** What stands in the daily logs of all projects. */
async function logs(person: Person): Promise<string> {
  const shownIn = async (project: string) => {
    const memory = join(person.user, '.claude', 'projects', `-home-kim-${project}`, 'memory');
    return (await runHere(['list', '--day', '2026-11-20'], { ...offline(person), NOCTURNE_MEMORY_DIR: memory })).stdout;
  };
  return `${await shownIn('harbour')}${await shownIn('orchard')}`;
}

const widest = (text: string) =>
  Math.max(...text.split(/[\r\n]/).map((line) => line.replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, '').length));

test('ten sessions, one command: the key is tried, what each taught is learned once and shown with its quote', async () => {
  const person = someoneNew(10);
  const server = await testModel(attentive);
  const environment = {
    ...person.environment,
    ANTHROPIC_BASE_URL: server.access.baseURL,
    NOCTURNE_MODEL: 'test-model',
  };
  const ended = await runHere(['setup', '--yes', '--learn', '--key-stdin'], environment, { stdin: 'sk-ant-secret\n' });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).toContain('Claude Code   hooks, one with each prompt: ~/.claude/settings.json');
  expect(ended.stdout).toContain('The key works: test-model answers.');
  expect(ended.stdout).toContain('10 sessions of the last 7 days, no price known,');
  expect(ended.stdout).toContain('Learned 10 things from 10 sessions.');
  for (const fact of FACTS) expect(ended.stdout).toContain(`  - ${fact}\n    you: “${fact}”\n`);
  expect(ended.stdout).not.toContain('sk-ant-secret');
  expect(readFileSync(join(person.home, 'endpoint-key'), 'utf8')).toBe('sk-ant-secret\n');
  const asked = server.requests.length;
  await runHere(['worker', '--once', '--nightly'], { ...environment, NOCTURNE_NOW: '2026-11-21T02:30:00Z' });
  const days = server.requests.slice(asked).filter(({ tools }) => tools?.some(({ name }) => name === 'record_entries'));
  expect(days).toEqual([]);
  // Nobody here uses a queue.
  expect(readdirSync(person.home)).not.toContain('queue');
  const all = await logs(person);
  for (const fact of FACTS) expect(all.split(`${fact.slice(0, -1)}`).length - 1).toBe(1);
});

test('at a terminal it says in a few lines what it writes, all of it on d, and asks before; declined sessions stay unlearned', async () => {
  const person = someoneNew(3);
  const no = await runHere(['setup'], offline(person), { isTerminal: true, stdin: 'n\n' });
  expect(no).toMatchObject({ code: 3, stderr: expect.stringContaining('Nothing was changed.') });
  expect(no.stdout.split('\n').length).toBeLessThan(10);
  expect(existsSync(person.home)).toBe(false);
  const ended = await runHere(['setup'], offline(person), { isTerminal: true, stdin: 'd\ny\nn\n' });
  expect(ended.code).toBe(0);
  expect(ended.stdout).toContain('+++ ');
  expect(ended.stdout.replaceAll(/^[-+ ].*$/gm, '')).not.toContain('"hooks"');
  expect(ended.stderr).toMatch(/3 sessions of the last 7 days, free, less than a minute: learn them now\?/);
  expect(widest(ended.stdout.replaceAll(/^[-+].*$/gm, ''))).toBeLessThanOrEqual(80);
  // Whoever answers ends the line.
  expect(widest(ended.stderr.replaceAll('] ', ']\n'))).toBeLessThanOrEqual(80);
  await runHere(['worker', '--once', '--nightly'], offline(person));
  expect(await logs(person)).not.toMatch(/pnpm|Fridays|pipeline/);
  const learned = await runHere(['setup', '--learn'], offline(person), { isTerminal: true, stdin: 'y\n' });
  expect(learned.stdout).toContain('Learned 3 things from 3 sessions.');
  expect(await logs(person)).toMatch(/pnpm/);
  expect((await runHere(['setup', '--yes', '--learn'], offline(person))).stdout).not.toContain('Learned');
});

test('without a terminal nothing is asked: it says what to give; --yes alone learns nothing from before', async () => {
  const person = someoneNew(2);
  const unasked = await runHere(['setup'], offline(person));
  expect(unasked).toMatchObject({ code: 3, stderr: expect.stringContaining('without asking: --yes') });
  expect(existsSync(person.home)).toBe(false);
  const yes = await runHere(['setup', '--yes'], offline(person));
  expect(yes).toMatchObject({ code: 0, stdout: expect.stringContaining('left alone. nocturne learn takes them') });
  const keyless = await runHere(['setup', '--yes', '--learn'], { ...person.environment, NOCTURNE_MODEL: 'mine' });
  expect(keyless).toMatchObject({ code: 3, stdout: expect.stringContaining('There is no key yet') });
  expect(keyless.stdout).toContain('Sessions that end from now on wait until the model can be asked.');
  expect(keyless.stdout).not.toContain('From now on nocturne learns');
  expect(await logs(person)).toBe(await logs(someoneNew(0)));
  const json = await runHere(['setup', '--learn', '--yes', '--json'], offline(person));
  expect(JSON.parse(json.stdout)).toMatchObject({
    isDone: true,
    canLearn: true,
    backlog: { sessions: 2, microUsd: 0 },
    learned: { done: 2 },
  });
  const nobody = await runHere(['setup', '--yes'], offline(aPerson()));
  expect(nobody).toMatchObject({ code: 3, stderr: expect.stringContaining('No agent was found here') });
});

test('a key is asked for without being shown and tried; one that is refused is not kept and asked for again', async () => {
  const person = someoneNew(1);
  const server = await testModel([error(401, 'invalid x-api-key'), says('Hi')]);
  const environment = {
    ...person.environment,
    ANTHROPIC_BASE_URL: server.access.baseURL,
    NOCTURNE_MODEL: 'test-model',
  };
  const stdin = 'y\nsk-ant-wrong\nsk-ant-right\nn\n';
  const ended = await runHere(['setup'], environment, { isTerminal: true, stdin });
  expect(ended.stdout).toContain('The key does not work:');
  expect(ended.stdout).toContain('The key works: test-model answers.');
  expect(`${ended.stdout}${ended.stderr}`).not.toMatch(/sk-ant-(wrong|right)/);
  expect(readFileSync(join(person.home, 'endpoint-key'), 'utf8')).toBe('sk-ant-right\n');
  expect(server.headers.map((headers) => headers.authorization)).toEqual([
    'Bearer sk-ant-wrong',
    'Bearer sk-ant-right',
  ]);
});

test('setup --remove finds the hooks where the home was deleted first, and says nothing is there only once it is so', async () => {
  const person = someoneNew(1);
  const file = join(person.user, '.claude', 'settings.json');
  const hooksOfCodex = join(person.user, '.codex', 'hooks.json');
  writeFileSync(file, '{ "model": "opus" }\n');
  mkdirSync(join(person.user, '.codex'));
  await runHere(['setup', '--yes'], offline(person));
  rmSync(person.home, { recursive: true });
  // Another agent's settings that cannot be read stop nobody.
  mkdirSync(join(person.user, '.gemini'));
  writeFileSync(join(person.user, '.gemini', 'settings.json'), '{ broken');
  const removed = await runHere(['setup', '--remove', '--yes'], offline(person));
  expect(removed).toMatchObject({ code: 0, stdout: expect.stringContaining('out of ~/.claude/settings.json') });
  expect(removed.stdout).toContain('out of ~/.codex/hooks.json');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ model: 'opus' });
  expect(readFileSync(hooksOfCodex, 'utf8')).not.toContain('nocturne');
  const again = await runHere(['setup', '--remove', '--yes'], offline(person));
  expect(again.stdout).toBe('No agent has settings of nocturne.\n');
});

test('Ctrl-C ends with a word while nothing answers', async () => {
  const transcript = '.claude/projects/-home-kim-harbour/01111111-2222-4333-8444-555555555555.jsonl';
  const asking = async (script: Script) => {
    const [{ user, environment }, server] = [someoneNew(1), await testModel(script)];
    const reach = { ANTHROPIC_BASE_URL: server.access.baseURL, ANTHROPIC_API_KEY: 'k', NOCTURNE_MODEL: 'm' };
    return { server, call: ['learn', join(user, transcript)], environment: { ...environment, ...reach } };
  };
  const silent = await asking(['hang']);
  const running = start(silent.call, silent.environment);
  await whileRuns(running, silent.server.received(1));
  running.kill('SIGINT');
  expect(await running.ended).toMatchObject({ signal: 'SIGINT', stderr: expect.stringContaining('Stopped.') });
});
