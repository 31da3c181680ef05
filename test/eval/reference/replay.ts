// Plays a cassette again: today's extraction and dream of a session, with the answers of a reader in place of a model.
// Not by request: the session is shown whole, in one excerpt, and every entry is proposed with all that it quotes. So a
// cassette stays of use where prompts change, or how tokens are counted, or what goes into which excerpt. With a budget
// of tokens an entry is proposed as soon as an excerpt shows what it rests on.

import { foldSpace } from '../../../src/rules/quotes.ts';
import {
  calls,
  type MessagesRequest,
  type MessagesServer,
  type ModelReply,
  says,
  startMessagesServer,
  toolResults,
} from '../../support/messages-server.ts';
import { messagesShown, type Shown } from '../../support/obedient.ts';
import { playedHouse } from '../../support/played-house.ts';
import { type CassetteEntry, type CassetteLine, pathOfSession } from './cassette.ts';

const NOW = '2026-11-22T05:00:00Z';
const ENTRIES_PER_CALL = 20;
/** Far more than the longest of the sessions takes (44,000). */
const WHOLE_SESSION_TOKENS = 4_000_000;

/** The jobs over a memory of their own. */
export interface PlayedHouse {
  /** Where its files stand. */
  dir: string;
  extract(transcript: string): Promise<unknown>;
  dream(): Promise<unknown>;
  entries(): Promise<{ text: string }[]>;
  /** Of its topics, by path. */
  lines(): Promise<string[]>;
  close(): Promise<void>;
}

export interface HouseOptions {
  access: MessagesServer['access'];
  excerptTokens: number;
  /** What time it is there. */
  now(): Date;
}

/**
 * `cassette`: the lines of one session; `excerptTokens`: of one excerpt, default: the whole session is one; `house`: which jobs play
 * it, default: today's.
 */
export async function replay(
  session: string,
  cassette: CassetteLine[],
  {
    excerptTokens = WHOLE_SESSION_TOKENS,
    house = playedHouse('sqlite'),
  }: { excerptTokens?: number; house?(options: HouseOptions): Promise<PlayedHouse> } = {},
) {
  const entries = cassette.flatMap((line) => line.entries ?? []).filter(({ taken }) => taken);
  const waiting = new Map(entries.map((entry) => [foldSpace(entry.text), entry]));
  const proposed = cassette.filter(({ kind, operations }) => kind === 'dream' && operations);
  const heard: string[] = [];
  const server = await startMessagesServer((request) => {
    if (!request.tools.some(({ name }) => name === 'record_entries')) return answerDream(request, proposed);
    if (request.messages.length === 1) return answerExcerpt(request, waiting);
    heard.push(lastText(request));
    return request.messages.length > 3 ? says('Done.') : mended(request);
  });
  const jobs = await house({ access: server.access, excerptTokens, now: () => new Date(NOW) });
  try {
    await jobs.extract(pathOfSession(session));
    await jobs.dream();
    const recorded = (await jobs.entries()).map(({ text }) => withoutMend(text));
    const known = new Set(recorded.map(foldSpace));
    const missing = entries.filter(({ text }) => !known.has(foldSpace(text)));
    const lines = await jobs.lines();
    const why = (text: string) =>
      waiting.has(foldSpace(text)) ? 'no excerpt showed what it rests on' : heard.join('\n');
    const refused = [...new Set(missing.map(({ text }) => text))].map((text) => ({ text, why: why(text) }));
    // `refused`: of what was recorded in the play and is not now, with what the extraction said of it; `lines`: of topics
    // after one dream.
    return { entries: recorded, refused, lines };
  } finally {
    await jobs.close();
    await server.close();
  }
}

/**
 * Records what the excerpt shows the grounds of, and takes it from what is waiting. In the last excerpt also what it shows
 * some grounds of: what the play saw in one excerpt may stand in several.
 */
function answerExcerpt(request: MessagesRequest, waiting: Map<string, CassetteEntry>): ModelReply {
  const input = textOf(request.messages[0]);
  const shown = messagesShown(request).map((message) => ({ ...message, text: foldSpace(message.text) }));
  const [, at, of] = /^\(part (\d+) of (\d+)\)$/m.exec(input) ?? [];
  const ready: object[] = [];
  for (const [key, entry] of waiting) {
    const evidence = entry.evidence.flatMap(({ message, quote }) => {
      const found = quote && findShown({ message, quote }, shown);
      return found ? [{ quote, message: found.id, isContext: found.isContext }] : [];
    });
    const isWhole = evidence.length === entry.evidence.length;
    if (!isWhole && (at !== of || evidence.every(({ isContext }) => isContext))) continue;
    waiting.delete(key);
    const inOrder = evidence.toSorted((a, b) => Number(a.isContext) - Number(b.isContext));
    const rests = inOrder.map(({ message, quote }) => ({ message, quote }));
    ready.push({ type: entry.type, strength: entry.strength, text: entry.text, evidence: rests });
  }
  if (ready.length === 0) return says('Nothing.');
  const parts = Array.from({ length: Math.ceil(ready.length / ENTRIES_PER_CALL) }, (_, part) =>
    ready.slice(part * ENTRIES_PER_CALL, (part + 1) * ENTRIES_PER_CALL),
  );
  return { tools: parts.flatMap((part) => calls('record_entries', { entries: part }).tools ?? []) };
}

/**
 * What was refused because too few of its words are its quotes', once more with those words, as a reader does who is told;
 * the readers of the plays were not.
 */
function mended(request: MessagesRequest): ModelReply {
  const sent = request.messages[1]?.content;
  const proposed = Array.isArray(sent)
    ? sent.flatMap(({ input }) => (input ? [input as { entries: Proposed[] }] : []))
    : [];
  const again = toolResults(request).flatMap(({ content }, part) =>
    [...JSON.stringify(content).matchAll(/(\d+): not recorded\. text: fewer than/g)].flatMap(([, at]) => {
      const entry = proposed[part]?.entries[Number(at)];
      const said = entry?.evidence.map(({ quote }) => foldSpace(quote).slice(0, 150)).join(' ');
      return entry ? [{ ...entry, text: `${entry.text} (“${said}”)` }] : [];
    }),
  );
  return again.length > 0 ? calls('record_entries', { entries: again }) : says('Done.');
}

interface Proposed {
  text: string;
  evidence: { quote: string }[];
}

function withoutMend(text: string): string {
  return text.replace(/ \(“.*”\)$/, '');
}

/** What the cassette proposes next, on the entries as they are called today: a second time only where part was refused. */
function answerDream(request: MessagesRequest, proposed: CassetteLine[]): ModelReply {
  const ids = new Map<string, string>();
  for (const line of textOf(request.messages[0]).split('\n')) {
    if (!line.startsWith('{"id":"e_')) continue;
    const { id, text } = JSON.parse(line) as { id: string; text: string };
    ids.set(foldSpace(withoutMend(text)), id);
  }
  const next = proposed.shift();
  const today = (id: string) => ids.get(foldSpace(next?.texts?.[id] ?? ''));
  const operations = (next?.operations ?? []).flatMap((operation) => {
    const renamed = renameEntries(operation, today) as typeof operation;
    return renamed.entries?.length === 0 || renamed.kind === 'hold' ? [] : [renamed];
  });
  return operations.length > 0 ? calls('propose_operations', { operations }) : says('Done.');
}

/** Every list of entries in a value with each id as it is called today, and without those that are not there. */
function renameEntries(value: unknown, today: (id: string) => string | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => renameEntries(item, today));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === 'entries' && Array.isArray(item)
        ? item.flatMap((id: string) => today(id) ?? [])
        : renameEntries(item, today),
    ]),
  );
}

/**
 * The quoted message as it is shown; where its id does not tell, the first that says the words. What is shown of it can
 * be cut before the words: the checks read all of it.
 */
function findShown({ message, quote }: { message: string; quote: string }, shown: Shown[]): Shown | undefined {
  const isNamed = ({ id }: Shown) => message.startsWith(id);
  const saying = shown.filter(({ text }) => text.includes(foldSpace(quote)));
  return saying.find(isNamed) ?? saying[0] ?? shown.find(isNamed);
}

/** What came last: the input, or what a call came to. */
function lastText(request: MessagesRequest): string {
  return textOf(request.messages.at(-1));
}

function textOf({ content = '' }: Partial<MessagesRequest['messages'][number]> = {}): string {
  if (typeof content === 'string') return content;
  return content.map((block) => String(block.text ?? block.content ?? '')).join('\n');
}
