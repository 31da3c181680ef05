// What each tool of MCP may be refused for, and which words of the answer say what to do; and the official clients, of both
// versions, that such an answer has to reach. Both know the tools' schemas before they call, as those in agents do.

import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished } from 'vitest';

/** What is in the store `notes`, which may be written, and in `kept`, which may not; `own.md` a person wrote. */
export const NOTES = {
  'hosts.md': '- Staging is alpha.\n- Live is alpha.\n',
  'net/ports.md': '- 8080\n',
  'own.md': `- The key is ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}\n`,
};

const SECRET = `ghp_${'z9Y8x7W6v5'.repeat(4).slice(0, 36)}`;
const SHA = 'a'.repeat(64);
const TOO_LARGE = 'word '.repeat(30_000);
const [PLACE, LIST, AGAIN] = [
  'Use a path inside the memory directory',
  'List the memories',
  'Read it again, and make the change on what is there now.',
];
const OTHER_PLACE = /Use a path inside the memory directory|choose another path/;
const WHICH = /notes.*kept/;
const MAY_WRITE = 'Ask the person for :rw behind --store';

/** Tool, what is wrong, the call, and words of what to do about it. */
export const REFUSED: [tool: string, wrong: string, input: object, remedy: string | RegExp][] = [
  ['list', 'an unknown store', { store: 'other' }, WHICH],
  ['list', 'a bad argument', { path_prefix: 'net' }, 'does not end with "/"'],
  ['list', 'an argument it does not have', { recursive: true }, /recursive/],
  ['search', 'an unknown store', { store: 'other', query: 'alpha' }, WHICH],
  ['search', 'no query', {}, /query/],
  ['search', 'a page of nothing', { query: 'alpha', page: 'next' }, 'Leave page out'],
  ['read', 'an unknown store', { store: 'other', path: 'hosts.md' }, WHICH],
  ['read', 'no path', {}, /path/],
  ['read', 'a path outside', { path: '../hosts.md' }, PLACE],
  ['read', 'a missing memory', { path: 'gone.md' }, LIST],
  ['read', 'a directory', { path: 'net' }, 'List it with the path_prefix "net/"'],
  ['read', 'lines that are not there', { path: 'hosts.md', first_line: 9 }, 'Leave first_line and last_line out'],
  ['write', 'an unknown store', { store: 'other', path: 'a.md', content: 'a' }, WHICH],
  ['write', 'a name without .md', { path: 'a.txt', content: 'a' }, 'does not end with .md'],
  ['write', 'half a character', { path: 'a.md', content: '\ud800' }, 'holds half a character'],
  ['write', 'no hash', { path: 'a.md', content: 'a', expected_content_sha256: 'x' }, 'is no SHA-256'],
  ['write', 'a path outside', { path: '../a.md', content: 'a' }, PLACE],
  ['write', 'a path of nocturne’s', { path: '.nocturne/a.md', content: 'a' }, PLACE],
  ['write', 'a memory that is there', { path: 'hosts.md', content: 'a' }, 'Rename or remove hosts.md first'],
  ['write', 'another text than expected', { path: 'hosts.md', content: 'a', expected_content_sha256: SHA }, AGAIN],
  ['write', 'a memory as directory', { path: 'hosts.md/a.md', content: 'a' }, OTHER_PLACE],
  ['write', 'a read-only store', { store: 'kept', path: 'a.md', content: 'a' }, MAY_WRITE],
  ['write', 'a text that is too large', { path: 'a.md', content: TOO_LARGE }, 'Split it into several memories'],
  ['write', 'a placeholder for a secret', { path: 'own.md', content: '- [redacted:x]\n' }, 'Change the other parts'],
  ['write', 'a secret as name', { path: `${SECRET}.md`, content: 'a' }, 'Say where the secret is kept'],
  ['edit', 'an unknown store', { store: 'other', path: 'hosts.md', old_str: 'alpha' }, WHICH],
  ['edit', 'nothing to do', { path: 'hosts.md' }, 'needs old_str or new_path'],
  ['edit', 'a path outside', { path: '../hosts.md', old_str: 'a' }, PLACE],
  ['edit', 'a new path outside', { path: 'hosts.md', new_path: '../hosts.md' }, PLACE],
  ['edit', 'a missing memory', { path: 'gone.md', old_str: 'a' }, LIST],
  ['edit', 'a text that is not there', { path: 'hosts.md', old_str: 'beta' }, 'did not appear verbatim'],
  ['edit', 'a text that is there twice', { path: 'hosts.md', old_str: 'alpha' }, 'Please ensure it is unique'],
  ['edit', 'another text', { path: 'hosts.md', old_str: 'Live', expected_content_sha256: SHA }, AGAIN],
  ['edit', 'a taken path', { path: 'hosts.md', new_path: 'net/ports.md' }, 'Rename or remove net/ports.md first'],
  ['edit', 'a read-only store', { store: 'kept', path: 'hosts.md', old_str: 'Live' }, MAY_WRITE],
  ['edit', 'a text that is too large', { path: 'hosts.md', old_str: 'Live', new_str: TOO_LARGE }, 'Split it into'],
  ['delete', 'an unknown store', { store: 'other', path: 'hosts.md' }, WHICH],
  ['delete', 'no path', {}, /path/],
  ['delete', 'a path outside', { path: '../hosts.md' }, PLACE],
  ['delete', 'a missing memory', { path: 'gone.md' }, LIST],
  ['delete', 'another text than expected', { path: 'hosts.md', expected_content_sha256: SHA }, AGAIN],
  ['delete', 'a read-only store', { store: 'kept', path: 'hosts.md' }, MAY_WRITE],
];

interface Answer {
  isError?: unknown;
  content: { type: string; text?: unknown }[];
  structuredContent?: unknown;
  _meta?: Record<string, unknown>;
}

export interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(asked: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

interface Process {
  command: string;
  args: string[];
  env: Record<string, string>;
}

const WHO = { name: 'test', version: '1.0.0' };

/** The clients of both versions, the second in both protocols; over stdio each starts a process of its own. */
export const CLIENTS = {
  'version 1': clientsOf(() => new Client1(WHO), Stdio1, Http1),
  'version 2': clientsOf(() => new Client2(WHO, { versionNegotiation: { mode: 'legacy' } }), Stdio2, Http2),
  'version 2, protocol of 2026': clientsOf(
    () => new Client2(WHO, { versionNegotiation: { mode: 'auto' } }),
    Stdio2,
    Http2,
  ),
};
export const VERSIONS = Object.keys(CLIENTS) as (keyof typeof CLIENTS)[];

function clientsOf<T>(
  make: () => AnyClient & { connect(transport: T): Promise<void> },
  Stdio: new (given: Process & { stderr: 'ignore' }) => T,
  Http: new (url: URL, options: { requestInit: RequestInit }) => T,
) {
  return {
    stdio: (given: Process) => connected(make(), new Stdio({ ...given, stderr: 'ignore' })),
    http: (url: URL, headers: Record<string, string>) => connected(make(), new Http(url, { requestInit: { headers } })),
  };
}

async function connected<T>(
  client: AnyClient & { connect(transport: T): Promise<void> },
  transport: T,
): Promise<AnyClient> {
  await client.connect(transport);
  onTestFinished(() => client.close());
  // From here on it checks what comes back.
  await client.listTools();
  return client;
}

/** Of these calls, in their order, what was answered otherwise than by an error that says what to do. */
export async function lostRemedies(client: AnyClient, refused = REFUSED): Promise<string[]> {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([...new Set(REFUSED.map(([tool]) => `memory_${tool}`))]);
  const lost: string[] = [];
  for (const [tool, wrong, given, remedy] of refused) {
    const input = { store: 'notes', ...given };
    const answer = await client.callTool({ name: `memory_${tool}`, arguments: input }).then(
      (result) => result as Answer,
      (error: Error): Answer => ({ content: [{ type: 'text', text: `thrown: ${error.message}` }] }),
    );
    const text = answer.content.map((block) => block.text).join('\n');
    const isTold = typeof remedy === 'string' ? text.includes(remedy) : remedy.test(text);
    if (answer.isError !== true || !isTold) lost.push(`${tool}: ${wrong}: ${text}`);
  }
  return lost;
}

/** The same error as data, and after a conflict what stands there. */
export async function expectData(client: AnyClient): Promise<void> {
  const call = async (tool: string, input: object) =>
    (await client.callTool({ name: tool, arguments: { store: 'notes', ...input } })) as Answer;
  const conflict = await call('memory_write', { path: 'hosts.md', content: 'a' });
  expect(conflict.structuredContent).toBeUndefined();
  expect(conflict._meta).toMatchObject({
    'nocturne/error': {
      code: 'conflict',
      message: expect.stringContaining('hosts.md is there'),
      remedy: 'Rename or remove hosts.md first, or choose another path.',
      found: { path: 'hosts.md', content: NOTES['hosts.md'] },
    },
  });
  const missing = await call('memory_read', { path: 'gone.md' });
  expect(missing._meta).toMatchObject({ 'nocturne/error': { code: 'bad-input', found: null } });
}

/** What each tool answers where it is not refused; a client that does not take it throws. */
export async function expectAnswers(client: AnyClient): Promise<void> {
  const calls: [string, object][] = [
    ['list', {}],
    ['search', { query: 'alpha' }],
    ['read', { path: 'hosts.md' }],
    ['write', { path: 'new.md', content: '- new\n' }],
    ['edit', { path: 'new.md', old_str: 'new', new_str: 'newer' }],
    ['delete', { path: 'new.md' }],
  ];
  for (const [tool, input] of calls) {
    const answer = (await client.callTool({
      name: `memory_${tool}`,
      arguments: { store: 'notes', ...input },
    })) as Answer;
    expect(answer, tool).toMatchObject({ structuredContent: { store: 'notes' } });
    expect(answer.isError ?? false, tool).toBe(false);
  }
}
