// An MCP client nobody here wrote, the official SDK's, connected over stdio to the built `nocturne mcp`, or to what that
// command does, in this process.

import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import { type Environment, loadConfig } from '../../src/base/config/config.ts';
import { attachedStores, serveMemory } from '../../src/cli/serve-command.ts';
import { openApp } from '../../src/worker/compose.ts';
import { DOOR } from './run.ts';

/** What a tool answered; `data` is its structured content, or its error as data. */
export interface Called<T = Record<string, unknown>> {
  isError: boolean;
  text: string;
  data: T;
}

export interface Connected {
  client: Client;
  call<T = Record<string, unknown>>(tool: string, input?: object): Promise<Called<T>>;
  close(): Promise<void>;
}

/** Connects a client; `era`: the protocol of 2026, or what earlier clients speak. */
export async function connect(
  args: string[],
  environment: Environment,
  { cwd, era = 'before' }: { cwd?: string; era?: '2026' | 'before' } = {},
): Promise<Connected & { pid: number }> {
  const env = Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [DOOR, 'mcp', ...args],
    env: Object.fromEntries(env),
    cwd,
    stderr: 'pipe',
  });
  const mode = era === '2026' ? ('auto' as const) : ('legacy' as const);
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    client,
    pid: transport.pid as number,
    call: <T>(tool: string, input?: object) => called<T>(client, tool, input),
    close: () => client.close(),
  };
}

/** Connects a client to the command's work in this process; for what the tools do. */
export async function connectHere(
  stores: string[],
  environment: Environment,
  { cwd = process.cwd() } = {},
): Promise<Connected> {
  const app = await openApp(await loadConfig({}, environment), { startedBy: 'program' });
  const attached = attachedStores(app.config, { given: stores, cwd });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const connection = await serveMemory(app, { stores: attached, version: '1.0.0', transport: theirs });
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'legacy' } });
  await client.connect(ours);
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= client
      .close()
      .then(() => connection.close())
      .then(() => app.close());
    return closing;
  };
  onTestFinished(close);
  return { client, call: <T>(tool: string, input?: object) => called<T>(client, tool, input), close };
}

/** A hash over every file of a directory: names, bytes, modes and times, links as links. */
export function treeHash(dir: string): string {
  const hash = createHash('sha256');
  for (const path of (readdirSync(dir, { recursive: true }) as string[]).sort()) {
    const stat = lstatSync(join(dir, path));
    const content = stat.isFile() ? readFileSync(join(dir, path)) : '';
    hash.update(JSON.stringify([path, stat.mode, stat.size, stat.isFile() && stat.mtimeMs])).update(content);
  }
  return hash.digest('hex');
}

/** Calls a tool: its text, and its data. */
export async function called<T>(client: Client, tool: string, input: object = {}): Promise<Called<T>> {
  const {
    isError = false,
    content,
    structuredContent,
    _meta,
  } = await client.callTool({ name: tool, arguments: { ...input } });
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  return { isError, text, data: (isError ? _meta?.['nocturne/error'] : structuredContent) as T };
}
