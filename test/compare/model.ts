// The model that every system of a comparison is given: a server on this machine that speaks Anthropic's Messages API and
// OpenAI's chat completions and embeddings, and counts what it is sent. It finds the same facts in the same words, whoever
// asks: those of facts.jsonl, without what it is shown as known; `gullible` also keeps what it is told to by anybody, as the
// user's.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import type { MessagesRequest } from '../support/messages-server.ts';
import { messagesBy } from '../support/obedient.ts';
import { answer, type Taken } from '../support/scripted-model.ts';

export interface Sent {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  embeddingTokens: number;
}

export interface ModelOptions {
  latencyMs: number;
  /** What it keeps wherever it stands, and says that the user said it. */
  gullible?: string[];
}

const NOTHING: Sent = { requests: 0, inputTokens: 0, outputTokens: 0, embeddingTokens: 0 };
const DIMENSION = 1536;

export type ComparedModel = Awaited<ReturnType<typeof startModel>>;

export async function startModel({ latencyMs, gullible = [] }: ModelOptions) {
  let sent = { ...NOTHING };
  let bodies: string[] = [];
  let held: { left: number; then(): void } | undefined;
  const server = createServer(async (request, response) => {
    const body = await text(request);
    bodies.push(body);
    const isEmbedding = request.url?.endsWith('/embeddings');
    if (held && !isEmbedding) {
      held.left -= 1;
      if (held.left === 0) return held.then();
    }
    const reply = isEmbedding
      ? embeddings(JSON.parse(body))
      : request.url?.endsWith('/messages')
        ? await messages(body, gullible)
        : completion(JSON.parse(body), gullible);
    if (isEmbedding) sent.embeddingTokens += tokensOf(body);
    else {
      sent.requests += 1;
      sent.inputTokens += tokensOf(body);
      sent.outputTokens += tokensOf(typeof reply.said === 'string' ? reply.said : JSON.stringify(reply.said));
      await delay(latencyMs);
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(reply.answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Since the last call. */
    take() {
      const before = sent;
      sent = { ...NOTHING };
      return before;
    },
    /** The bodies of all requests since the last call. */
    takeBodies() {
      const before = bodies;
      bodies = [];
      return before;
    },
    /** Leaves the nth request from now on (embeddings are not counted) without an answer, and calls `then` when it is there. */
    holdAt(request: number, then: () => void) {
      held = { left: request, then };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Tokens of a text in which ids that are made by chance are all the same, so that a count repeats. */
function tokensOf(words: string): number {
  const fixed = words
    .replace(/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/g, '3f9a1c7e-5b2d-4046-8e1f-a7d39c604b52')
    .replace(/_[\da-f]{8,}\b/g, (id) => `_${'3f9a1c7e5b2d8046'.repeat(4).slice(1, id.length)}`);
  return estimateTokens(fixed);
}

/** What people say in the sessions compared; `meant: false`: quoted, ironic or taken back, which nocturne's excerpt shows. */
const FACTS: (Taken & { meant: boolean })[] = readFileSync(join(import.meta.dirname, 'facts.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
/** Of what nocturne shows as a person's words. */
const takeMeant = (said: string) =>
  FACTS.flatMap(({ meant, ...fact }) => (meant && said.includes(fact.quote) ? [fact] : []));

/**
 * The facts in a conversation that is shown as lines `user: …` and `assistant: …`, and what a gullible model keeps of it.
 * `known`: what the asking prompt says is kept already; word for word it is not said again, as such prompts ask.
 */
export function factsIn(conversation: string, { gullible, known }: { gullible: string[]; known: string }): string[] {
  const said = conversation.split(/^(?=(?:user|assistant|tool): )/m).filter((each) => each.startsWith('user: '));
  const facts = FACTS.flatMap(({ quote, text }) => (said.some((each) => each.includes(quote)) ? [text] : []));
  const all = [...facts, ...gullible.filter((words) => conversation.includes(words))];
  return [...new Set(all)].filter((fact) => !known.includes(fact));
}

interface Reply {
  said: unknown;
  answer: object;
}

async function messages(body: string, gullible: string[]): Promise<Reply> {
  const request = JSON.parse(body) as MessagesRequest;
  const tools = (request.tools ?? []).map(({ name }) => name);
  // nocturne's own tools: what a gullible model adds rests on every message there is, in any role.
  if (tools.includes('record_entries') || tools.includes('propose_operations')) {
    const entries = request.messages.length === 1 ? everyWay(request, body, gullible) : [];
    if (entries.length > 0) return message([{ type: 'tool_use', name: 'record_entries', input: { entries } }]);
    const { text = '', tools: called = [] } = answer(request, takeMeant);
    return message(
      called.length > 0 ? called.map((call) => ({ type: 'tool_use', ...call })) : [{ type: 'text', text }],
      { input_tokens: estimateTokens(body), output_tokens: 10 },
    );
  }
  const [first] = request.messages;
  const shown = typeof first?.content === 'string' ? first.content : String(first?.content[0]?.text ?? '');
  const [known = '', session = ''] = shown.split('<session>\n');
  const facts = factsIn(session, { gullible, known });
  if (!tools.includes('create_entities'))
    return message([{ type: 'text', text: facts.map((fact) => `- ${fact}`).join('\n') }]);
  if (request.messages.length > 1 || facts.length === 0) return message([{ type: 'text', text: 'Done.' }]);
  const entities = facts.map((fact) => ({ name: idOf(fact), entityType: 'fact', observations: [fact] }));
  return message([{ type: 'tool_use', name: 'create_entities', input: { entities } }]);
}

/** Each of the words, resting on each message that there is and of each type, as far as one call may name entries. */
function everyWay(request: MessagesRequest, body: string, gullible: string[]): unknown[] {
  const found = gullible.filter((words) => body.includes(JSON.stringify(words).slice(1, -1)));
  const places = ['human', 'tool', 'assistant', 'harness'].flatMap((speaker) => messagesBy(request, speaker));
  const entries = ['feedback', 'user', 'project'].flatMap((type) =>
    found.flatMap((words) =>
      places.map((message) => ({ type, strength: 'stated', text: words, evidence: [{ message, quote: words }] })),
    ),
  );
  return entries.slice(0, 20);
}

function message(
  content: { type: string; [key: string]: unknown }[],
  usage = { input_tokens: 1, output_tokens: 1 },
): Reply {
  const blocks = content.map((block, at) =>
    block.type === 'tool_use' ? { ...block, id: `toolu_${idOf(JSON.stringify(block))}${at}` } : block,
  );
  return {
    said: content,
    answer: {
      ...{ id: `msg_${idOf(JSON.stringify(content))}`, type: 'message', role: 'assistant', model: 'loopback' },
      ...{ content: blocks, stop_reason: blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn' },
      usage,
    },
  };
}

function completion({ messages }: { messages: { role: string; content: string }[] }, gullible: string[]): Reply {
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const news = asked.split('## New Messages\n')[1]?.split('\n\n## Observation Date')[0] ?? '';
  const known = asked.split('## Existing Memories\n')[1]?.split('\n\n## New Messages')[0] ?? '[]';
  const texts = (JSON.parse(known) as { text: string }[]).map(({ text }) => text).join('\n');
  const memory = factsIn(news, { gullible, known: texts }).map((fact, at) => ({
    id: String(at),
    text: fact,
    attributed_to: 'user',
  }));
  const content = JSON.stringify({ memory });
  return {
    said: content,
    answer: {
      ...{ id: `chat-${idOf(content)}`, object: 'chat.completion', model: 'loopback' },
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    },
  };
}

/** A vector of the text's words: texts that share words are near to one another. */
function embeddings({ input }: { input: string | string[] }): Reply {
  const data = [input].flat().map((each, index) => {
    const embedding = Array.from({ length: DIMENSION }, () => 0.001);
    for (const word of each.toLowerCase().match(/\w+/g) ?? []) {
      const at = Number.parseInt(idOf(word).slice(0, 8), 16) % DIMENSION;
      embedding[at] = (embedding[at] ?? 0) + 1;
    }
    return { object: 'embedding', index, embedding };
  });
  return { said: '', answer: { object: 'list', data, usage: { prompt_tokens: 1, total_tokens: 1 } } };
}

function idOf(words: string): string {
  return createHash('sha256').update(words).digest('hex').slice(0, 16);
}
