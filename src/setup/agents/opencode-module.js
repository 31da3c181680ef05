// Written by nocturne setup opencode. Remove it with: nocturne setup opencode --remove
// When a session is idle or was compacted, and when opencode ends, writes it as `opencode export` would into the nocturne
// home, and tells nocturne's hook about it. A session's model is told what is remembered, the same in each of its requests, and
// behind the output of a shell's call that failed what is known of that.
// Never throws into opencode.

import { execFile, spawn } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const INSTALLED = { node: '', hook: '', nocturne: '', home: '' };
const EVENTS = new Set(['session.idle', 'session.compacted']);
const RECALL_MS = 15_000;
const FAILURE_MS = 2_000;

export const Nocturne = async ({ client, directory }) => {
  /** The hook's words for each session that went on here. */
  const told = new Map();
  /** By session: its model, and what that is told. */
  const begun = new Map();
  return {
    event: async ({ event }) => {
      const id = event.properties?.sessionID;
      if (!EVENTS.has(event.type) || !/^[\w-]+$/.test(id ?? '') || process.env.NOCTURNE_WORKER) return;
      try {
        const { data: info } = await client.session.get({ path: { id } });
        // A subagent's session is told of with its parent's.
        if (!info || info.parentID) return;
        const { data: messages } = await client.session.messages({ path: { id } });
        if (messages) told.set(id, tell({ event: event.type, info, messages, cwd: info.directory ?? directory }));
      } catch {
        // What cannot be read now is read at the next event.
      }
    },
    'chat.message': async ({ sessionID, model }) => {
      if (begun.has(sessionID) || process.env.NOCTURNE_WORKER) return;
      begun.set(sessionID, { model: model?.modelID, text: recall({ client, sessionID, directory }) });
    },
    'experimental.chat.system.transform': async ({ sessionID, model }, { system }) => {
      const session = begun.get(sessionID);
      // Another model only names the session.
      const text = session && (session.model ?? model?.id) === model?.id ? await session.text : '';
      if (text) system.push(text);
    },
    'tool.execute.after': async ({ tool, sessionID, args }, result) => {
      // A call that went well costs nothing.
      const code = result?.metadata?.exit;
      if (tool !== 'bash' || !Number.isInteger(code) || code === 0 || process.env.NOCTURNE_WORKER) return;
      const failed = {
        tool_name: 'Bash',
        tool_input: { command: args?.command },
        error: `Exit code ${code}\n${result.output}`,
      };
      const text = await answerOf(INSTALLED.hook, ['opencode'], FAILURE_MS, {
        ...{ session_id: sessionID, cwd: args?.workdir ?? directory, hook_event_name: 'PostToolUseFailure', ...failed },
      }).then(contextOf, () => '');
      if (text) result.output += `\n\n${text}`;
    },
    dispose: async () => {
      for (const input of told.values()) hook({ ...input, hook_event_name: 'SessionEnd' });
    },
  };
};

function tell({ event, info, messages, cwd }) {
  const sessions = join(INSTALLED.home, 'sessions', 'opencode');
  mkdirSync(sessions, { recursive: true, mode: 0o700 });
  const transcript = join(sessions, `${info.id}.json`);
  const temporary = `${transcript}.${process.pid}.tmp`;
  writeFileSync(temporary, JSON.stringify({ info, messages }), { mode: 0o600 });
  renameSync(temporary, transcript);
  const input = { session_id: info.id, transcript_path: transcript, cwd, hook_event_name: event };
  hook(input);
  return input;
}

function hook(input) {
  const { node, hook, home } = INSTALLED;
  const child = spawn(node, [hook, 'opencode'], {
    env: { ...process.env, NOCTURNE_HOME: home },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
  });
  child.on('error', () => {});
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify(input));
  child.unref();
}

/** What is remembered, for the model; a line about it is shown to the person. Empty for nothing, and for whatever fails. */
async function recall({ client, sessionID, directory }) {
  try {
    const { data: info } = await client.session.get({ path: { id: sessionID } });
    if (!info || info.parentID) return '';
    const input = { session_id: sessionID, cwd: info.directory ?? directory, hook_event_name: 'SessionStart' };
    const asked = { ...input, source: 'startup' };
    const answer = await answerOf(INSTALLED.nocturne, ['recall', '--hook', '--agent', 'opencode'], RECALL_MS, asked);
    if (answer.trim() === '') return '';
    const { systemMessage } = JSON.parse(answer);
    // Not waited for: where nobody looks, nobody answers.
    if (systemMessage) client.tui.showToast({ body: { message: systemMessage, variant: 'info' } }).catch(() => {});
    return contextOf(answer);
  } catch {
    return '';
  }
}

function contextOf(answer) {
  return answer.trim() === '' ? '' : (JSON.parse(answer).hookSpecificOutput?.additionalContext ?? '');
}

/** What a program of nocturne's prints to this. */
function answerOf(program, args, timeout, input) {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, NOCTURNE_HOME: INSTALLED.home }, timeout, windowsHide: true };
    const child = execFile(INSTALLED.node, [program, ...args], options, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    );
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(input));
  });
}
