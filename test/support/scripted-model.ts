// The model of tests that give no script of their own, behind one loopback server for all of a process: it takes each
// sentence of a person that begins with one of a few words, as it stands, and sorts entries at night as the offline model
// does. It judges nothing, so that no test hangs on what a rule makes of a sentence: a test of what becomes of a model's
// answer says that answer itself (`testModel`).

import { partOf, saidIn, sortEntries } from '../../src/agent/offline-model.ts';
import type { Environment } from '../../src/base/config/config.ts';
import type { MemoryType } from '../../src/memory/memory-types.ts';
import { calls, type MessagesServer, type ModelReply, says, startMessagesServer } from './messages-server.ts';

/** What is taken of a message: its words, what they say, and of which type that is. */
export interface Taken {
  quote: string;
  text: string;
  type: MemoryType;
}

/** The first that fits the beginning of a sentence. */
const BEGINNINGS: [begins: RegExp, type: MemoryType][] = [
  [/^(?:always|never|don['’]t|do not|use) /i, 'feedback'],
  [/^(?:I['’]m|I (?:am|prefer|like|work|maintain|never)|My) /, 'user'],
  [/^[A-Z][\w ]+ (?:is|are) tracked in /, 'reference'],
  [/^(?:We (?:use|ship|deploy|decided) |The [\w. ]*?(?:deadline is|beta starts|listens) )/, 'project'],
];
const ASKS = /^(?:please )?remember(?: that|:) /i;

let shared: Promise<MessagesServer> | undefined;

/** One for all tests of a process; it keeps nothing of what it is asked. */
export function scriptedModel(): Promise<MessagesServer> {
  shared ??= startMessagesServer(async ({ messages, tools }) => {
    for (const kept of [(await shared)?.requests, (await shared)?.bodies]) kept?.splice(0);
    return answer({ messages, tools });
  });
  return shared;
}

/** What a process has in its environment that asks this server. */
export function asking({ access }: MessagesServer): Environment {
  return { NOCTURNE_MODEL: 'test-model', ANTHROPIC_API_KEY: access.apiKey, ANTHROPIC_BASE_URL: access.baseURL };
}

interface Question {
  messages: { content: string | { [key: string]: unknown }[] }[];
  tools?: { name: string }[];
}

/** The reply to a request of either job; `take`: what is taken of a person's message. */
export function answer({ messages: [first, ...later], tools = [] }: Question, take = takeSentences): ModelReply {
  const content = first?.content ?? '';
  const input = typeof content === 'string' ? content : content.map(({ text }) => text).join('\n');
  const knows = (tool: string) => later.length === 0 && tools.some(({ name }) => name === tool);
  const entries = knows('record_entries') ? entriesFrom(input, take) : [];
  const operations = knows('propose_operations') ? sortEntries(input) : [];
  if (entries.length > 0) return calls('record_entries', { entries });
  return operations.length > 0 ? calls('propose_operations', { operations }) : says('Done.');
}

function entriesFrom(input: string, take: (said: string) => Taken[]) {
  const known = partOf(input, 'known');
  const entries = saidIn(partOf(input, 'excerpt')).flatMap(({ message, lines }) =>
    take(lines.join('\n')).map(({ quote, ...what }) => ({ ...what, evidence: [{ message, quote }] })),
  );
  const news = new Map(entries.filter(({ text }) => !known.includes(text)).map((entry) => [entry.text, entry]));
  return [...news.values()].slice(0, 20).map((entry) => ({ ...entry, strength: 'stated' }));
}

function takeSentences(said: string): Taken[] {
  const sentences = said.split(/(?<=[.!?]) |\n+/).filter((each) => !/\?$|\[redacted/.test(each));
  return sentences.flatMap((quote) => {
    const core = quote.replace(ASKS, '').replace(/[.!]*$/, '.');
    const [, type] = BEGINNINGS.find(([begins]) => begins.test(core)) ?? (ASKS.test(quote) ? [null, 'project'] : []);
    const told = core.replace(/^I(?: am|['’]m) /, 'The user is ').replace(/^I ((?:never )?\w+)/, 'The user $1s');
    return type ? [{ quote, type: type as MemoryType, text: told.charAt(0).toUpperCase() + told.slice(1) }] : [];
  });
}
