// The reference memory server behind a plain tool loop: it is shown each session and keeps a graph of it; a later session is
// told what its own search finds for the first prompt.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { AppError } from '../../../src/base/errors.ts';
import { sessionText } from './session-text.ts';
import { asker, RECALL_CHARACTERS, type System, type SystemAt } from './system.ts';

const PACKAGE = '@modelcontextprotocol/server-memory';
const VERSION = '2026.8.31';
/** Requests for one session. */
const MOST_TURNS = 20;

const KEEP = `You keep the memory of a coding agent in a knowledge graph, by the tools that you are given. A session of the agent in a
repository has ended. Look at what the graph holds where it may matter, then put into it what a later session there should know:
rules, preferences and decisions of people with their reasons; what was found out with effort (how things are built, run and
tested, where something is, what failed and why, what worked instead); how the work stands. Entities have telling names, and an
observation is one fact in a sentence, with exact names, paths, commands and values. Delete observations that the session shows to
be wrong now. Leave out what one look at the repository says, and anything secret. When all is kept, answer "done" and call nothing.`;

export async function memoryServer(at: SystemAt): Promise<System> {
  const peers = mkdtempSync(join(tmpdir(), 'nocturne-peers-'));
  try {
    return await started(at, peers);
  } catch (error) {
    rmSync(peers, { recursive: true, force: true });
    throw error;
  }
}

async function started(at: SystemAt, peers: string): Promise<System> {
  install(peers);
  const manifest = createRequire(join(peers, 'package.json')).resolve(`${PACKAGE}/package.json`);
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
  const client = new Client({ name: 'nocturne-eval', version: '1.0.0' });
  mkdirSync(join(at.out, 'memory'), { recursive: true });
  const env = { ...process.env, MEMORY_FILE_PATH: join(at.out, 'memory', 'memory.jsonl') } as Record<string, string>;
  const args = [join(manifest, '..', String(Object.values(bin)[0]))];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));
  const call = async (name: string, input: Record<string, unknown>) => {
    const { content, isError } = await client.callTool({ name, arguments: input });
    const texts = content.flatMap((part) => (part.type === 'text' ? part.text : []));
    return { text: texts.join('\n'), isError: isError === true };
  };
  const { tools } = await client.listTools();
  const offered = tools.map(({ name, description = '', inputSchema }) => ({
    ...{ name, description, input_schema: inputSchema as { type: 'object' } },
  }));
  return {
    async tell({ messages }, keep) {
      const first = messages.find(({ speaker, isSidechain }) => speaker === 'human' && !isSidechain);
      if (!first) return;
      const query = first.parts.flatMap((part) => (part.kind === 'text' ? part.text : [])).join('\n');
      const { text } = await call('search_nodes', { query });
      const told = { on: 'prompt', message: first.id, at: first.at ?? '' } as const;
      const isEmpty = /"entities": *\[\]/.test(text);
      keep({ ...told, text: isEmpty ? '' : text.slice(0, RECALL_CHARACTERS) });
    },
    async learn({ startsAt, messages }) {
      const ask = await asker(at);
      const input = `<session date="${startsAt.slice(0, 10)}">\n${sessionText(messages)}\n</session>`;
      const conversation: Parameters<typeof ask>[0]['messages'] = [{ role: 'user', content: input }];
      for (let turn = 0; turn < MOST_TURNS; turn += 1) {
        const { content } = await ask({ system: KEEP, tools: offered, messages: conversation });
        const calls = content.filter((block) => block.type === 'tool_use');
        if (calls.length === 0) return;
        conversation.push({ role: 'assistant', content });
        const results = [];
        for (const { id, name, input: given } of calls) {
          const { text, isError } = await call(name, given as Record<string, unknown>);
          results.push({ type: 'tool_result' as const, tool_use_id: id, content: text, is_error: isError });
        }
        conversation.push({ role: 'user', content: results });
      }
    },
    async close() {
      await client.close();
      rmSync(peers, { recursive: true, force: true });
    },
  };
}

function install(peers: string): void {
  writeFileSync(join(peers, 'package.json'), '{}');
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${PACKAGE}@${VERSION}`];
  try {
    execFileSync('npm', args, { cwd: peers, stdio: 'pipe', shell: process.platform === 'win32' });
  } catch (error) {
    const remedy = 'It is installed for each play from the npm registry: see to it that npm reaches one.';
    throw new AppError('server-error', `npm could not install ${PACKAGE}@${VERSION}.`, { remedy, cause: error });
  }
}
