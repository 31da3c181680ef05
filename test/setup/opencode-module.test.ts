import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { opencodePlugin } from '../../src/setup/agents/agents.ts';
import { openSession } from '../../src/transcript/session.ts';
import { until } from '../support/run.ts';
import { tempDir } from '../support/temp.ts';

const INFO = { id: 'ses_1', directory: '/work/orchard', time: { created: 1_763_629_200_000 } };
const MESSAGES = [
  {
    info: { id: 'msg_1', role: 'user', sessionID: 'ses_1', time: { created: 1_763_629_200_000 } },
    parts: [{ id: 'prt_1', type: 'text', text: 'Always use pnpm.' }],
  },
];

/** The module as opencode loads it, with a hook that writes down what it was told, and a recall that says what it was asked. */
async function loaded(sessions: Record<string, object | Error>) {
  const dir = tempDir();
  const told = join(dir, 'told');
  const hook = join(dir, "it's a $hook.cjs");
  writeFileSync(
    hook,
    `let said = ''; process.stdin.on('data', (text) => { said += text; }).on('end', () => {
       const fs = require('fs');
       fs.writeFileSync(${JSON.stringify(told)} + '.tmp', JSON.stringify({ args: process.argv.slice(2), home: process.env.NOCTURNE_HOME, input: JSON.parse(said) }));
       fs.renameSync(${JSON.stringify(told)} + '.tmp', ${JSON.stringify(told)});
       const { error } = JSON.parse(said);
       if (error) console.log(JSON.stringify({ hookSpecificOutput: { additionalContext: 'known of ' + error } }));
     });`,
  );
  const nocturne = join(dir, 'nocturne.cjs');
  writeFileSync(
    nocturne,
    `let said = ''; process.stdin.on('data', (text) => { said += text; }).on('end', () => {
       const asked = { args: process.argv.slice(2), home: process.env.NOCTURNE_HOME, input: JSON.parse(said) };
       const hookSpecificOutput = { additionalContext: JSON.stringify(asked) };
       console.log(JSON.stringify({ systemMessage: 'nocturne: 1 line recalled', hookSpecificOutput }));
     });`,
  );
  const file = join(dir, 'nocturne.mjs');
  const home = join(dir, 'home');
  writeFileSync(file, opencodePlugin({ programs: { node: process.execPath, hook, nocturne }, home }));
  const { Nocturne } = await import(pathToFileURL(file).href);
  const get = async ({ path }: { path: { id: string } }) => {
    const info = sessions[path.id];
    if (info instanceof Error) throw info;
    return { data: info };
  };
  const toasts: object[] = [];
  const tui = { showToast: async ({ body }: { body: object }) => toasts.push(body) };
  const client = { session: { get, messages: async () => ({ data: MESSAGES }) }, tui };
  const { event, dispose, ...plugin } = await Nocturne({ client, directory: '/elsewhere' });
  return {
    home,
    told,
    dispose,
    toasts,
    /** What the model is given of a call's output. */
    async calls(tool: string, exit: number | undefined) {
      const result = { title: '', output: 'went on', metadata: { exit } };
      await plugin['tool.execute.after'](
        { tool, sessionID: 'ses_1', callID: 'c', args: { command: 'pnpm test' } },
        result,
      );
      return result.output;
    },
    says: (sessionID: string) => plugin['chat.message']({ sessionID, model: { modelID: 'large' } }),
    /** What a request of the session gets besides. */
    async asks(sessionID: string, model = 'large'): Promise<string[]> {
      const system: string[] = [];
      await plugin['experimental.chat.system.transform']({ sessionID, model: { id: model } }, { system });
      return system;
    },
    tell: (type: string, sessionID?: unknown) => event({ event: { type, properties: { sessionID } } }),
  };
}

test('an idle session is written as opencode exports it, and the hook is told of it', async () => {
  const { home, told, tell } = await loaded({ ses_1: INFO });
  await tell('session.idle', 'ses_1');
  const transcript = join(home, 'sessions', 'opencode', 'ses_1.json');
  await until(() => existsSync(told));
  expect(JSON.parse(readFileSync(told, 'utf8'))).toEqual({
    args: ['opencode'],
    home,
    input: { session_id: 'ses_1', transcript_path: transcript, cwd: '/work/orchard', hook_event_name: 'session.idle' },
  });
  expect(statSync(transcript).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(home, 'sessions', 'opencode'))).toEqual(['ses_1.json']);
  const session = await openSession(transcript);
  expect(session).toMatchObject({ id: 'ses_1', cwd: '/work/orchard' });
});

test('a subagent’s session, another event, an id that is no name and a session that cannot be read tell nothing', async () => {
  const { home, tell } = await loaded({ ses_1: INFO, ses_2: { ...INFO, parentID: 'ses_1' }, ses_3: new Error('gone') });
  await tell('session.idle', 'ses_2');
  await tell('session.idle', 'ses_3');
  await tell('session.updated', 'ses_1');
  await tell('session.idle', '../../ses_1');
  await tell('session.idle');
  expect(existsSync(home)).toBe(false);
});

test('when opencode ends, the hook is told that its sessions have', async () => {
  const { told, tell, dispose } = await loaded({ ses_1: INFO });
  await tell('session.idle', 'ses_1');
  await until(() => existsSync(told));
  rmSync(told);
  await dispose();
  await until(() => existsSync(told));
  expect(JSON.parse(readFileSync(told, 'utf8')).input).toMatchObject({
    session_id: 'ses_1',
    hook_event_name: 'SessionEnd',
  });
});

test('a session’s model is told what is remembered, the same in each request; a model that names it, and a subagent’s, are not', async () => {
  const { home, says, asks, toasts } = await loaded({ ses_1: INFO, ses_2: { ...INFO, parentID: 'ses_1' } });
  await says('ses_1');
  const [told = '', ...more] = await asks('ses_1');
  expect(more).toEqual([]);
  expect(JSON.parse(told)).toEqual({
    args: ['recall', '--hook', '--agent', 'opencode'],
    home,
    input: { session_id: 'ses_1', cwd: '/work/orchard', hook_event_name: 'SessionStart', source: 'startup' },
  });
  expect(toasts).toEqual([{ message: 'nocturne: 1 line recalled', variant: 'info' }]);
  await says('ses_1');
  expect(await asks('ses_1')).toEqual([told]);
  expect(await asks('ses_1', 'small')).toEqual([]);
  await says('ses_2');
  expect(await asks('ses_2')).toEqual([]);
  expect(toasts).toHaveLength(1);
});

test('behind the output of a shell’s call that failed stands what is known of it; of all others the hook is told nothing', async () => {
  const { calls, told } = await loaded({ ses_1: INFO });
  expect(await calls('bash', 0)).toBe('went on');
  expect(await calls('read', 1)).toBe('went on');
  expect(await calls('bash', undefined)).toBe('went on');
  expect(existsSync(told)).toBe(false);
  expect(await calls('bash', 2)).toBe('went on\n\nknown of Exit code 2\nwent on');
  expect(JSON.parse(readFileSync(told, 'utf8'))).toMatchObject({
    args: ['opencode'],
    input: { hook_event_name: 'PostToolUseFailure', tool_name: 'Bash', tool_input: { command: 'pnpm test' } },
  });
});
