// The Messages API that an agent's program asks in a run. Behind it stands a reader, who gets of each request only what is
// new in it, as text; the whole is kept beside. With `model` it is a real model, which gets the request as it is.

import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as textFrom } from 'node:stream/consumers';
import { eventText, messageEvents } from '../../agents/protocols.ts';
import { passOn } from '../chain/recorded-model.ts';

interface Block {
  type: string;
  text?: string;
  tool_use_id?: string;
  content?: string | Block[];
  is_error?: boolean;
  id?: string;
  input?: object;
  [key: string]: unknown;
}

interface Request {
  model: string;
  system?: string | Block[];
  messages: { role: string; content: string | Block[] }[];
  tools?: { name: string; input_schema: { properties?: object; required?: string[] } }[];
}

interface Answer {
  content: Block[];
  stop_reason: string;
  usage: object;
}

/** Lines of system prompts that the reader of this process has read: in the next run they are the same. */
const read = new Set<string>();
const WAITED_MS = 10_000;

export async function startReader({
  behind,
  model,
  run,
  dir,
}: {
  behind: string;
  model?: string;
  run: number;
  dir: string;
}) {
  mkdirSync(dir, { recursive: true });
  const shown = new Set<string>();
  const answers = new Map<string, Promise<Answer>>();
  const answerTo = (whole: string, headers: IncomingHttpHeaders) => {
    const turn = answers.size + 1;
    writeFileSync(join(dir, `${String(turn).padStart(2, '0')}.json`), whole);
    if (model) return askModel(behind, JSON.stringify({ ...JSON.parse(whole), stream: false }), headers);
    const asks = [`run ${run}, turn ${turn}`, ...newIn(JSON.parse(whole), shown)];
    return askModel(behind, JSON.stringify({ model: 'reader', asks: asks.join('\n\n').split('\n') }), headers);
  };
  const server = createServer(async (incoming, outgoing): Promise<unknown> => {
    const whole = await textFrom(incoming);
    const { url = '', method } = incoming;
    if (method !== 'POST' || !url.startsWith('/v1/messages'))
      return outgoing.writeHead(method === 'HEAD' ? 200 : 404).end();
    const tokens = Math.ceil(whole.length / 3.6);
    if (url.includes('count_tokens')) return outgoing.end(JSON.stringify({ input_tokens: tokens }));
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    const waits = setInterval(() => outgoing.write(eventText({ type: 'ping' })), WAITED_MS);
    // What has no tools is no turn of the session, but a title or a topic. What comes again is answered the same.
    const isTurn = whole.includes('"name":"Bash"');
    const answer = isTurn ? (answers.get(whole) ?? answerTo(whole, incoming.headers)) : Promise.resolve(ASIDE);
    if (isTurn) answers.set(whole, answer);
    const got = await answer.catch(() => null).finally(() => clearInterval(waits));
    if (!got) answers.delete(whole);
    if (!got) return outgoing.destroy();
    return stream(outgoing, { ...got, usage: model ? got.usage : { ...got.usage, input_tokens: tokens } });
  }).listen(0, '127.0.0.1');
  server.requestTimeout = 0;
  await new Promise((listening) => server.on('listening', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const ASIDE: Answer = {
  content: [{ type: 'text', text: 'Work' }],
  stop_reason: 'end_turn',
  usage: { output_tokens: 1 },
};

/** As text: system prompt and tools, once, and what of the messages was not shown before; what the reader said is left out. */
function newIn({ system = [], messages, tools = [] }: Request, shown: Set<string>): string[] {
  const isFirst = shown.size === 0;
  const parts: string[] = [];
  if (isFirst) {
    const lines = blocksOf(system).flatMap(({ text = '' }) => text.split('\n'));
    const fresh = lines.filter((line) => !read.has(line));
    for (const line of lines) read.add(line);
    parts.push(
      `--- system prompt${fresh.length < lines.length ? ': what is not as in the runs before' : ''}`,
      fresh.join('\n'),
    );
    const inputs = tools.map(({ name, input_schema: { properties = {}, required = [] } }) => {
      const names = Object.keys(properties).map((each) => (required.includes(each) ? each : `[${each}]`));
      return `${name}: ${names.join(', ')}`;
    });
    parts.push(['--- tools and their input', ...inputs].join('\n'));
  }
  for (const { role, content } of messages.filter(({ role }) => role !== 'assistant')) {
    for (const { type, text, tool_use_id, is_error, content: result } of blocksOf(content)) {
      const said =
        type === 'tool_result'
          ? blocksOf(result ?? '')
              .map((each) => each.text ?? `(${each.type})`)
              .join('\n')
          : text;
      const of = type === 'tool_result' ? `result of ${tool_use_id}${is_error ? ', which failed' : ''}` : role;
      const part = `--- ${of}\n${said}`;
      if (!shown.has(part)) parts.push(part);
      shown.add(part);
    }
  }
  return parts;
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

async function askModel(behind: string, body: string, headers: IncomingHttpHeaders): Promise<Answer> {
  const sent = { method: 'POST', headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) }, body };
  const got = await passOn(new URL('/v1/messages', behind), sent);
  if (got.status !== 200) throw new Error(`${got.status}: ${got.body}`);
  return JSON.parse(got.body);
}

let messages = 0;

function stream(to: ServerResponse, { content, stop_reason, usage }: Answer): void {
  messages += 1;
  const reply = { id: `msg_${process.pid}_${messages}`, model: 'reader', content, stop_reason, usage };
  for (const event of messageEvents(reply)) to.write(eventText(event));
  to.end();
}
