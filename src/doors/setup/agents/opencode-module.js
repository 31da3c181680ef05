// Written by nocturne install opencode. Remove it with: nocturne uninstall opencode
// When a session is idle or was compacted, writes it as `opencode export` would into the nocturne home, and tells
// nocturne's hook about it. Never throws into opencode, and waits for nobody.

import { spawn } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const INSTALLED = { node: '', hook: '', home: '' };
const EVENTS = new Set(['session.idle', 'session.compacted']);

export const Nocturne = async ({ client, directory }) => ({
  event: async ({ event }) => {
    const id = event.properties?.sessionID;
    if (!EVENTS.has(event.type) || !/^[\w-]+$/.test(id ?? '') || process.env.NOCTURNE_WORKER) return;
    try {
      const { data: info } = await client.session.get({ path: { id } });
      // A subagent's session is told of with its parent's.
      if (!info || info.parentID) return;
      const { data: messages } = await client.session.messages({ path: { id } });
      if (messages) tell({ event: event.type, info, messages, cwd: info.directory ?? directory });
    } catch {
      // What cannot be read now is read at the next event.
    }
  },
});

function tell({ event, info, messages, cwd }) {
  const { node, hook, home } = INSTALLED;
  const sessions = join(home, 'sessions', 'opencode');
  mkdirSync(sessions, { recursive: true, mode: 0o700 });
  const transcript = join(sessions, `${info.id}.json`);
  const temporary = `${transcript}.${process.pid}.tmp`;
  writeFileSync(temporary, JSON.stringify({ info, messages }), { mode: 0o600 });
  renameSync(temporary, transcript);
  const child = spawn(node, [hook, 'opencode'], {
    env: { ...process.env, NOCTURNE_HOME: home },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
  });
  child.on('error', () => {});
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify({ session_id: info.id, transcript_path: transcript, cwd, hook_event_name: event }));
  child.unref();
}
