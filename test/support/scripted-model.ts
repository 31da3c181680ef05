// The model of tests that give no script of their own, behind one loopback server for all of a process: it takes each
// sentence of a person that begins with one of a few words, as it stands, and sorts an entry into the topic of its type.
// It judges nothing, so that no test hangs on what a rule makes of a sentence: a test of what becomes of a model's answer
// says that answer itself (`testModel`).

import type { Environment } from '../../src/base/config/config.ts';
import { isObject, parseJson } from '../../src/base/text/json.ts';
import type { Operation } from '../../src/memory/dream/operations.ts';
import type { MemoryType } from '../../src/memory/types.ts';
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
const TOPICS: Record<string, [name: string, description: string]> = {
  user: ['user-profile', 'Who the user is and what they prefer; read before choosing tools or style'],
  feedback: ['working-agreements', 'Rules for the work, set by the user; read before changing or running anything'],
  project: ['project-facts', 'Goals, decisions and deadlines of the project; read before planning'],
  reference: ['references', 'Where things are found outside the repository: trackers, dashboards, documents'],
};

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
  const operations = knows('propose_operations') ? operationsFrom(input) : [];
  if (entries.length > 0) return calls('record_entries', { entries });
  return operations.length > 0 ? calls('propose_operations', { operations }) : says('Done.');
}

function entriesFrom(input: string, take: (said: string) => Taken[]) {
  const known = partOf(input, 'known');
  const entries = partOf(input, 'excerpt')
    .split(/\n(?=\[\S+ \w+)/)
    .flatMap((section) => {
      const [, message] = /^\[(\S+) human(?! .*context\])/.exec(section) ?? [];
      const said = section.replace(/^[^|].*$|^\| ?/gm, '').trim();
      return message ? take(said).map(({ quote, ...what }) => ({ ...what, evidence: [{ message, quote }] })) : [];
    });
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

/** What becomes of a night's entries: a line that says the same stays, all else is a new line. */
function operationsFrom(input: string): Operation[] {
  const shown = partOf(input, 'topics');
  const lines = topicsOf(shown).flatMap((topic) => topic.lines);
  const withdrawn = entriesOf(partOf(input, 'withdrawn')).map(({ id }) => id);
  const waiting = entriesOf(partOf(input, 'entries')).filter(({ id }) => !withdrawn.includes(id));
  const said = [...Map.groupBy(waiting, ({ text }) => text)].map(([text, same]) => {
    const line = lines.find((each) => each.text === text);
    return { text, type: same[0]?.type ?? '', entries: same.map(({ id }) => id), line };
  });
  const reason = 'As it was said.';
  const again = said.flatMap(({ text, entries, line }): Operation[] => {
    if (line?.writer) return [{ kind: 'drop', entries, because: 'duplicate', of: line.id, reason }];
    const lines = [{ text, entries }];
    return line ? [{ kind: 'merge', entries, topic: line.topic, lines, replaces: [line.id], reason }] : [];
  });
  const news = Map.groupBy(
    said.filter(({ line }) => !line),
    ({ type }) => type,
  );
  const added = [...news].map(([type, facts]): Operation => {
    const [topic, description] = TOPICS[type] ?? ['notes', 'What has no other place'];
    const isKnown = `${shown}\n${partOf(input, 'others')}`.search(RegExp(`^(### ${topic}.md|${topic}) \\(`, 'm')) >= 0;
    const lines = facts.map(({ text, entries }) => ({ text, entries }));
    const entries = facts.flatMap((fact) => fact.entries);
    return { kind: 'add', entries, topic, lines, reason, ...(!isKnown && { type: type as MemoryType, description }) };
  });
  const taken: Operation = { kind: 'drop', entries: withdrawn, because: 'withdrawn', reason };
  return [...again, ...added, ...(withdrawn.length > 0 ? [taken] : [])];
}

/** What stands between the tags of prompts/*-input.md: the last such pair. */
export function partOf(input: string, tag: string): string {
  const end = input.lastIndexOf(`\n</${tag}>`);
  const start = input.lastIndexOf(`<${tag}>\n`, end);
  return start < 0 || end < 0 ? '' : input.slice(start + tag.length + 3, end);
}

/** The entries that a dream is given, a JSON line each. */
export function entriesOf(lines: string): Record<'id' | 'text' | 'type' | 'at', string>[] {
  return lines.split('\n').flatMap((line) => {
    const entry = parseJson(line);
    return isObject(entry) ? [entry as ReturnType<typeof entriesOf>[number]] : [];
  });
}

const LINE = /^\[([0-9a-f]{8})(?: seen once \S+)?( person| program)?(?: withdrawn [^\]]+)?\] (.*)$/gm;

/** The topics that it is shown; `writer`: who wrote a line by hand. */
export function topicsOf(shown: string) {
  return shown.split(/^(?=### )/m).flatMap((section) => {
    const [, topic = '', type = ''] = /^### (.+)\.md \((\w+)\)/.exec(section) ?? [];
    const rows = [...section.matchAll(LINE)].map(([, id = '', writer = '', text = '']) => ({
      id,
      writer,
      text,
      topic,
    }));
    return topic === '' ? [] : [{ name: topic, type, lines: rows }];
  });
}
