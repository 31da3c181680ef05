// The reference memory server behind a plain tool loop: the model is shown what the two who speak say in a session and the
// server's tools, and what it calls is done, until it calls nothing. Prints `done N` after each session.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [peers, dir, url, list, ...flags] = process.argv.slice(2);
const file = join(dir, 'memory.jsonl');
if (flags.includes('--list')) {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  console.log(JSON.stringify(lines.flatMap((line) => JSON.parse(line).observations ?? [])));
  process.exit(0);
}
// Not before: to list needs none of it.
const { default: Anthropic } = await import('@anthropic-ai/sdk');
const { Client } = await import('@modelcontextprotocol/client');
const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
const manifest = createRequire(join(peers, 'package.json')).resolve('@modelcontextprotocol/server-memory/package.json');
const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
const client = new Client({ name: 'compare', version: '1.0.0' });
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [join(manifest, '..', Object.values(bin)[0])],
    env: { ...process.env, MEMORY_FILE_PATH: file },
    stderr: 'ignore',
  }),
);
const { tools } = await client.listTools();
const anthropic = new Anthropic({ apiKey: 'loopback', baseURL: url, maxRetries: 0 });
for (const [at, { messages }] of JSON.parse(readFileSync(list, 'utf8')).entries()) {
  const shown = messages.filter(({ role }) => role !== 'tool');
  const said = shown.map(({ role, content }) => `${role}: ${content}`).join('\n');
  const conversation = [
    { role: 'user', content: `Keep what matters of this session for later ones.\n<session>\n${said}` },
  ];
  for (let turn = 0; turn < 5; turn += 1) {
    const reply = await anthropic.messages.create({
      model: 'loopback',
      max_tokens: 4_096,
      system: 'You keep a memory of a person and their work in a graph of entities, by the tools given.',
      tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
      messages: conversation,
    });
    const calls = reply.content.filter(({ type }) => type === 'tool_use');
    if (calls.length === 0) break;
    const results = [];
    for (const { id, name, input } of calls) {
      const { content } = await client.callTool({ name, arguments: input });
      results.push({
        type: 'tool_result',
        tool_use_id: id,
        content: content.map(({ text }) => ({ type: 'text', text })),
      });
    }
    conversation.push({ role: 'assistant', content: reply.content }, { role: 'user', content: results });
  }
  console.log(`done ${at}`);
}
await client.close();
process.exit(0);
