// An MCP client nobody here wrote, the official SDK's, connected over stdio to the built `nocturne mcp`.

import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import { DOOR } from './run.ts';

/** What a tool answered; `data` is its structured content. */
export interface Called<T = Record<string, unknown>> {
  isError: boolean;
  text: string;
  data: T;
}

export interface Connected {
  client: Client;
  pid: number;
  call<T = Record<string, unknown>>(tool: string, input?: object): Promise<Called<T>>;
  close(): Promise<void>;
}

/** Connects a client; `era`: the protocol of 2026, or what clients of before speak. */
export async function connect(
  args: string[],
  environment: Environment,
  { cwd, era = 'before' }: { cwd?: string; era?: '2026' | 'before' } = {},
): Promise<Connected> {
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
  } = await client.callTool({ name: tool, arguments: { ...input } });
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  return { isError, text, data: structuredContent as T };
}
