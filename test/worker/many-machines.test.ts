// Memory in a PostgreSQL database, as two machines have it: each with a home of its own, NOCTURNE_DATABASE_URL and nothing else.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { answerPrompt } from '../../src/hook/prompt-recall.ts';
import { recallFor } from '../../src/hook/start-recall.ts';
import { environmentIn } from '../support/app.ts';
import { noPostgres, type OwnDatabase, ownDatabase } from '../support/own-database.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { asking, scriptedModel } from '../support/scripted-model.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const SESSION = '0d8c1a52-5d1b-4c58-9a64-1f2e3d4c5b6a';

describe.skipIf(noPostgres)(`many machines ${noPostgres}`, () => {
  let own: OwnDatabase;
  let here: Machine;
  let there: Machine;
  let id: string;

  type Machine = Awaited<ReturnType<typeof machine>>;
  async function machine(settings: object = {}) {
    const home = tempDir();
    writeFileSync(join(home, 'config.json'), JSON.stringify(settings));
    const shared = { NOCTURNE_HOME: home, NOCTURNE_DATABASE_URL: own.url };
    const environment = environmentIn(home, { ...shared, ...asking(await scriptedModel()) });
    const run = (...args: string[]) => runHere(args, environment, { cwd: home });
    const done = async (...args: string[]) => {
      const ended = await run(...args);
      expect(ended, args.join(' ')).toMatchObject({ code: 0 });
      return ended.stdout;
    };
    const json = <T>(...args: string[]) => jsonHere<T>(args, environment);
    const hook = async (event: string, more: object = {}) => {
      const input = { hook_event_name: event, session_id: 's1', cwd: home, source: 'startup', ...more };
      return runHere(['recall', '--hook'], environment, { stdin: JSON.stringify(input), cwd: home });
    };
    const prompt = async (more: object) => {
      const input = { hook_event_name: 'UserPromptSubmit', cwd: home, ...more };
      return answerPrompt(await loadConfig({}, environment), { input, isOver: () => false });
    };
    return { home, environment, run, done, json, hook, prompt };
  }
  type Listed = { memory: string; waiting: { text: string }[]; topics: { name: string }[] };
  const waiting = async (at: Machine, ...args: string[]) =>
    (await at.json<Listed>('list', ...args)).waiting.map(({ text }) => text);

  /** One of them has learned something, and dreamed. */
  beforeEach(async () => {
    own = await ownDatabase();
    here = await machine({ recallPrompts: true });
    there = await machine({ recallPrompts: true });
    const dir = join(here.home, 'memory');
    const session = aSession(['Always water the trees before noon.'], { id: SESSION, cwd: here.home });
    await here.done('learn', session.path, '--memory', dir);
    await here.done('dream', '--memory', dir);
    id = (await here.json<Listed>('list', '--memory', dir)).memory;
    for (const { environment } of [here, there]) Object.assign(environment, { NOCTURNE_MEMORY_DIR: id });
    return () => own.drop();
  }, 60_000);

  test('what one was told and forgot, pinned and undid, the other lists and explains; of a redaction nothing is in any row', async () => {
    expect((await there.json<Listed>('list')).topics).toMatchObject([{ name: 'working-agreements' }]);
    await here.done('remember', 'Deploys happen on Tuesdays.');
    expect(await waiting(there)).toEqual(['Deploys happen on Tuesdays.']);
    expect(await there.done('why', 'Tuesdays')).toContain('Deploys happen on Tuesdays.');
    expect(await there.done('why', SESSION)).toContain('water the trees');
    await there.done('forget', 'Deploys happen', '--yes');
    expect(await waiting(here)).toEqual([]);
    await there.done('undo', '--last');
    expect(await waiting(here)).toHaveLength(1);
    expect(await here.done('show', 'working-agreements', '--pin')).toContain('is pinned');
    expect(await there.done('show', 'working-agreements', '--pin')).toContain('is pinned already');
    expect(await there.done('list', '--sessions')).toContain(SESSION.slice(0, 8));
    expect(await there.done('check')).toContain('fine');
    expect((await there.run('doctor', '--no-online')).stdout).toContain(new URL(own.url).pathname.slice(1));

    await here.done('remember', 'The gate code is hunter2hunter2.');
    expect(await there.done('redact', '--match', 'hunter2hunter2', '--yes')).toContain('redacted');
    expect(JSON.stringify(await here.json('list'))).not.toContain('hunter2');
    const found = await own.ask<{ n: string }>(
      "select count(*) as n from public.version where content::text like '%' || $1 || '%'",
      [Buffer.from('hunter2hunter2').toString('hex')],
    );
    expect(found).toEqual([{ n: '0' }]);
  });

  test('a session is given the same by the other machine; a prompt is given what is near; a forgotten line is given to nobody', async () => {
    const recall = async ({ environment }: Machine) =>
      recallFor(await loadConfig({}, environment), { session: 's1', query: 'trees' });
    const first = await recall(here);
    expect(first).toMatchObject({ memory: id, isRepeated: false, text: expect.stringContaining('before noon') });
    expect(await recall(there)).toMatchObject({ text: first.text, isRepeated: true });
    const started = JSON.parse((await there.hook('SessionStart', { session_id: 's2' })).stdout);
    expect(started.hookSpecificOutput.additionalContext).toContain('before noon');

    await here.done('remember', 'The gate is opened at seven.');
    const prompt = { session_id: 's2', prompt: 'When is the gate opened?' };
    expect(await there.prompt(prompt)).toContain('opened at seven');
    await here.done('forget', 'gate is opened', '--yes');
    const again = { ...prompt, session_id: 's3' };
    expect(await there.prompt(again)).not.toContain('opened at seven');
    expect(JSON.stringify(await own.ask('select text from public.recalled'))).not.toContain('opened at seven');
  });

  test('a database that takes a connection and says nothing holds no session up: one line, and nothing is recalled', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await new Promise((listening) => silent.on('listening', listening));
    const { port } = silent.address() as { port: number };
    here.environment.NOCTURNE_DATABASE_URL = `postgres://nobody@127.0.0.1:${port}/none`;
    const beganAt = performance.now();
    const { code, stdout } = await here.hook('SessionStart');
    expect(performance.now() - beganAt).toBeLessThan(15_000);
    const systemMessage = expect.stringMatching(/^nocturne: The database .* nothing is recalled$/);
    expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 0, systemMessage });
  });

  test('an editor gets a copy of a file: what it saves is one commit that undo takes back, unless another was first', async () => {
    const editor = join(here.home, 'editor');
    const edits = (script: string) => {
      writeFileSync(editor, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      const at = { ...here.environment, EDITOR: editor };
      return runHere(['show', 'working-agreements', '--edit'], at, { isTerminal: true });
    };
    const read = () => there.done('show', 'working-agreements');
    const before = await read();
    expect((await edits('echo "- Mine." >> "$1"')).stderr).toMatch(/^Saved; nocturne undo .*job_\w+ takes/);
    expect(await read()).toContain('- Mine.');
    await there.done('undo', '--last');
    expect(await read()).toBe(before);
    expect((await edits('true')).stderr).toContain('Nothing was changed.');
    const theirs = `update file set head = (select id from public.version where file = file.id limit 1), updated_at = '' where path = 'working-agreements.md'`;
    await here.done('show', 'working-agreements', '--pin');
    const late = await edits(`psql -q "${own.url}" -c "${theirs}"; echo "- Mine." >> "$1"`);
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was changed.') });
    const [, kept = ''] = /What you wrote is in\s(\S+)\.$/m.exec(late.stderr) ?? [];
    expect(readFileSync(kept, 'utf8')).toContain('- Mine.');
  });

  test('what there is no directory for is refused, with what to use instead; looking makes no memory', async () => {
    const refused = async (...args: string[]) => (await here.run(...args)).stderr;
    expect(await refused('show', '--edit')).toContain('nocturne show FILE --edit');
    expect(await refused('share', 'working-agreements')).toMatch(/repository|directory/);
    expect(await refused('list', '--scope', 'local')).toContain('Memory is kept in a database');
    expect(await refused('list', '--store', 'nothing-like-it')).toContain('There is no memory store "nothing-like-it"');
    const count = () => own.ask('select count(*) as n from public.memory');
    const before = await count();
    for (const args of [['list'], ['why', 'trees'], [], ['search', 'trees']]) {
      here.environment.NOCTURNE_MEMORY_DIR = undefined;
      await here.run(...args);
    }
    expect(await count()).toEqual(before);
  });

  test('a session of one is worked by the other, from what is kept of it; a clone on another machine shares the memory once it is adopted', async () => {
    const clones = [here, there].map(({ home, environment }) => {
      environment.NOCTURNE_MEMORY_DIR = undefined;
      const cwd = join(home, 'shop');
      mkdirSync(join(cwd, '.git'), { recursive: true });
      writeFileSync(join(cwd, '.git', 'HEAD'), 'ref: refs/heads/main\n');
      writeFileSync(join(cwd, '.git', 'config'), '[remote "origin"]\n\turl = https://example.org/shop.git\n');
      return cwd;
    }) as [string, string];
    const session = aSession(['Never commit to main directly.', 'I prefer tea over coffee.'], { cwd: clones[0] });
    await here.done('learn', '--later', session.path);
    rmSync(session.path);
    await there.done('worker', '--once');
    const [list, other] = [here, there].map(
      ({ environment }, n) =>
        (...args: string[]) =>
          runHere(args, environment, { cwd: clones[n] }),
    ) as [typeof here.run, typeof here.run];
    const { stdout, stderr } = await other('list');
    expect(stdout).not.toContain('commit to main');
    expect(stderr).toMatch(/^This looks like shop, remembered at .*shop \(the same remote\): nocturne adopt$/m);
    expect(await other('adopt', '--yes')).toMatchObject({ code: 0 });
    const listed = await other('list', '--json');
    expect(listed.stdout).toContain('commit to main');
    expect(listed.stdout).toBe((await list('list', '--json')).stdout);
  });

  test('what a day may spend is said for all machines: one that was full has room again', async () => {
    expect(await here.run('config', 'dayTokens', '10')).toMatchObject({
      stderr: expect.stringContaining('on all machines'),
    });
    const session = aSession(['Never commit to main directly.'], { id: SESSION.replace('0d', '1d'), cwd: there.home });
    const full = await there.run('learn', session.path);
    expect(full.stdout + full.stderr).toContain('daily limit of 10 tokens');
    await here.run('config', 'dayTokens', '1000000');
    expect(await there.done('learn', session.path)).toContain('commit to main');
  });
});
