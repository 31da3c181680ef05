// The `offline` model: a few rules behind the SDK's own `fetch`, answering the Messages protocol with tool calls. It takes
// what a person says outright in English ("Always use …", "I prefer …", "Remember that …"), each sentence as its own quote,
// and at night puts each entry under the topic of its type. It is no language model: it understands nothing, and is there
// to try nocturne out without key or network. The same request gets the same answer, byte for byte. It never calls out.
// It reads without zod, which the forked child would load for it alone.

import { hash } from 'node:crypto';
import { isObject, type JsonObject, parseJson } from '../base/text/json.ts';
import { isOpposite } from '../rules/words.ts';

/** One sentence for `--help`. */
export const OFFLINE_DESCRIPTION =
  'built-in rules for explicit statements in English instead of a model: no key, no network, for trying out and tests';

interface Statement {
  type: 'user' | 'feedback' | 'project' | 'reference';
  text: string;
}

/** How a sentence begins that states something, and of which type that is. */
const STATEMENTS: [form: RegExp, type: Statement['type']][] = [
  // "Always fails on Windows" reports what happens.
  [/^(?:we )?(?:always|never) (?!the\b|an?\b|got\b|get\b|\w+(?:ed|[^su]s)\b)\S+ \S+/i, 'feedback'],
  // "Don't touch the parser" is about the task at hand.
  [/^(?:don['’]t|do not) .*\b(?:ever|again|instead|without|every|any|all)\b/i, 'feedback'],
  [/^(?:we )?(?:use|prefer) .+ (?:instead of|rather than|over) /i, 'feedback'],
  [/^I (?:(?:really|usually|only) )?(?:prefer|use|work|maintain|speak|always|never) \S+/i, 'user'],
  [/^I(?:['’]m| am) (?:an? (?!bit|little|lot|few)|new to )\S+/i, 'user'],
  [/^My (?:\w+ )?(?:name|role|job|team|editor|shell|language|time ?zone) is /i, 'user'],
  [/^We (?:use|decided|agreed|deploy|ship|support) (?!the\b|an?\b|th[ai]s\b|it\b)\S+/i, 'project'],
  [/^The [^,;:]+ (?:is|starts|begins|ends) (?:on )?\d{4}-\d{2}-\d{2}\b/i, 'project'],
  [/^[^,;:]+ (?:is|are) (?:tracked|documented) (?:in|at|on|under) \S+/i, 'reference'],
];
const REMEMBER = /^(?:please )?remember(?: that|:) (?=\S+ \S+)/i;
/** What is asked, quoted, thought aloud or for now is not said outright; nor is what says "I" once more. */
const NOT_OUTRIGHT =
  /\?$|^["“„«‘'(>]|\[redacted|\b(?:if|unless|maybe|perhaps|could|might|would|yet|(?:for|right) now|this time|just)\b|.\b(?:I|me)\b/i;
const TOPICS: Record<string, [topic: string, description: string]> = {
  user: ['user-profile', 'Who the user is and what they prefer; read before choosing tools or style'],
  feedback: ['working-agreements', 'Rules for the work, set by the user; read before changing or running anything'],
  project: ['project-facts', 'Goals, decisions and deadlines of the project; read before planning'],
  reference: ['references', 'Where things are found outside the repository: trackers, dashboards, documents'],
};
/** What the tool takes at once. */
const ENTRIES_PER_CALL = 20;
const LONGEST_CHARS = 400;
const CUT = /^… \d+ characters (?:of a paste )?left out …$/;

/** Answers a request to the Messages API, which is never one to be streamed, as the API would. */
export async function offlineFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const body = await new Request(input, init).text();
  const { model, tools, messages } = JSON.parse(body);
  const id = hash('sha256', body).slice(0, 24);
  const reply = answer(recordsIn(tools), recordsIn(messages));
  const content =
    typeof reply === 'string'
      ? [{ type: 'text', text: reply }]
      : reply.map(({ tool, input }, at) => ({ type: 'tool_use', id: `toolu_${id}_${at}`, name: tool, input }));
  return Response.json({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: typeof reply === 'string' ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  });
}

/** The records of a list, or none where something else is in it. */
function recordsIn(list: unknown): JsonObject[] {
  return Array.isArray(list) && list.every(isObject) ? list : [];
}

/** A sentence, or calls of tools. */
type Answer = string | { tool: string; input: unknown }[];

function answer(tools: JsonObject[], messages: JsonObject[]): Answer {
  const [question = '', ...later] = messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) => textOf(content));
  const knows = (tool: string) => tools.some(({ name }) => name === tool);
  const isExtraction = knows('record_entries');
  if (!isExtraction && !knows('propose_operations'))
    return 'The offline model only knows how to record entries and to propose operations.';
  // What was refused is left out: rules that were wrong once would be so again.
  if (later.length > 0) return 'Done.';
  if (isExtraction) {
    const entries = findEntries(partOf(question, 'excerpt'), partOf(question, 'known'));
    const calls = Map.groupBy(entries.entries(), ([at]) => Math.floor(at / ENTRIES_PER_CALL));
    if (entries.length === 0) return 'Nothing worth keeping.';
    const inputs = [...calls.values()].map((part) => ({ entries: part.map(([, entry]) => entry) }));
    return inputs.map((input) => ({ tool: 'record_entries', input }));
  }
  const operations = sortEntries(question);
  return operations.length > 0 ? [{ tool: 'propose_operations', input: { operations } }] : 'Nothing to work in.';
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return recordsIn(content)
    .flatMap(({ text }) => (typeof text === 'string' ? text : []))
    .join('\n');
}

/** What stands between the tags of prompts/*-input.md: the last such pair, so that data before it cannot stand in for it. */
export function partOf(question: string, tag: string): string {
  const text = `\n${question}\n`;
  const end = text.lastIndexOf(`\n</${tag}>\n`);
  const start = text.lastIndexOf(`\n<${tag}>\n`, end);
  return start < 0 || end < 0 ? '' : text.slice(start + tag.length + 4, end);
}

/** The messages of an excerpt that are a person's and may be quoted. */
export function saidIn(excerpt: string): { message: string; lines: string[] }[] {
  return excerpt.split(/\n(?=\[\S+ (?:human|assistant|tool|subagent|harness)\b)/).flatMap((section) => {
    const [, message] = /^\[(\S+) human(?![^\]]* context\])[^\]]*\]\n/.exec(section) ?? [];
    const lines = section.split('\n').filter((row) => row.startsWith('|'));
    return message ? [{ message, lines: lines.map((row) => row.replace(/^\| ?/, '')) }] : [];
  });
}

/** The statements of an excerpt, each once, without those that are `known`. */
function findEntries(excerpt: string, known: string) {
  const found = saidIn(excerpt).flatMap(({ message, lines }) => {
    let isCode = false;
    const prose = lines.filter((line, at) => {
      const isFence = /^\s*(?:```|~~~)/.test(line);
      if (isFence) isCode = !isCode;
      const isHalf = [lines[at - 1], lines[at + 1]].some((beside = '') => CUT.test(beside));
      return !isFence && !isCode && !isHalf && !/^(?:\t| {4})/.test(line);
    });
    const sentences = prose.flatMap((line) =>
      line
        .replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '')
        .trim()
        .split(/(?<=[.!?]) /),
    );
    return sentences.flatMap((quote) => {
      const statement = readStatement(quote);
      return statement ? [{ ...statement, strength: 'stated', evidence: [{ message, quote }] }] : [];
    });
  });
  const news = found.filter(({ text }) => !known.includes(text));
  return [...new Map(news.map((entry) => [entry.text, entry])).values()];
}

function readStatement(sentence: string): Statement | null {
  const core = sentence.replace(REMEMBER, '').replace(/^please /i, '');
  if (sentence.length > LONGEST_CHARS || NOT_OUTRIGHT.test(core)) return null;
  const [, type] = STATEMENTS.find(([form]) => form.test(core)) ?? [];
  if (type === undefined && !REMEMBER.test(sentence)) return null;
  const told = core
    .replace(/^I(?:['’]m| am) /i, 'The user is ')
    .replace(HOW_I_DO, (_, how, verb) => `The user ${how}${ofThem(verb)}`)
    .replace(/^My /, "The user's ")
    .replace(/\bmy\b/g, 'their')
    .replace(/[\s.!]*$/, '');
  const text = told.charAt(0).toUpperCase() + told.slice(1);
  return {
    type: type ?? (text.startsWith('The user') ? 'user' : 'project'),
    text: /https?:\/\/\S+$/.test(text) ? text : `${text}.`,
  };
}

/** Adverbs, of which verbs that end alike are none, and the verb. */
const HOW_I_DO = /^I ((?:(?!(?:f|re|app|rep|comp|supp|multip)ly )\w+ly |always |never |often )*)([\w'’]+)/i;
const SAME = /^(?:can|could|may|might|must|shall|should|will|would|was|had|did|\w+ed|(?:ca|wo|\w+d|was)n['’]t)$/i;

/** A verb that somebody says of themselves, as it is said of them. */
function ofThem(verb: string): string {
  if (SAME.test(verb)) return verb;
  const [, word = '', not = ''] = /^(\w+?)(n['’]t)?$/.exec(verb.toLowerCase()) ?? [];
  if (word === 'have') return `has${not}`;
  const stem = word.replace(/(?<=[^aeiou])y$/, 'ie').replace(/(?:[sxzo]|[cs]h)$/, '$&e');
  return `${stem}s${not}`;
}

interface ShownLine {
  id: string;
  text: string;
  topic: string;
  type: string;
  /** Nobody changes it but who wrote it. */
  writer?: string;
}

const LINE = /^\[([0-9a-f]{8})(?: seen once \S+)?( person| program)?\] (.*)$/gm;

/** The lines of the topics that a dream shows. */
export function linesIn(topics: string): ShownLine[] {
  return topics.split(/^(?=### )/m).flatMap((section) => {
    const [heading, topic = '', type = ''] = /^### (.+)\.md \((\w+)\)/.exec(section) ?? [];
    const rows = heading === undefined ? [] : [...section.matchAll(LINE)];
    return rows.map(([, id = '', writer, text = '']) => ({ id, text, topic, type, writer: writer?.trim() }));
  });
}

/** The entries that a dream is given, a JSON line each; of an id that comes twice the last. */
export function entriesIn(part: string): Record<'id' | 'text' | 'type' | 'at', string>[] {
  const entries = part.split('\n').flatMap((line) => {
    const { id, text, type, at } = Object(parseJson(line));
    return typeof id === 'string' && typeof text === 'string' ? [{ id, text, type: String(type), at: String(at) }] : [];
  });
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()];
}

const OTHERWISE = 'Said otherwise since.';

/** A dream's operations: an entry joins the line that says the same, replaces one that denies it, or is a new one. */
export function sortEntries(question: string): JsonObject[] {
  const shown = partOf(question, 'topics');
  const lines = linesIn(shown);
  const waiting = entriesIn(partOf(question, 'entries'));
  const facts = [...Map.groupBy(waiting, ({ text }) => text)].map(([text, same]) => {
    const line = lines.find((each) => each.text === text);
    return { text, type: same[0]?.type ?? '', entries: same.map(({ id }) => id), at: same.at(-1)?.at ?? '', line };
  });
  const known = `${shown}\n${partOf(question, 'others')}`.split('\n').map((row) => row.replace(/^### /, ''));
  const pinned = /^\(pinned, nothing goes into them: (.*)\)$/m.exec(known.join('\n'))?.[1]?.split(', ') ?? [];
  return facts.map(({ text, type, entries, at, line }, n): JsonObject => {
    const later = facts.find(
      (other, m) => isOpposite(other.text, text) && (other.at > at || (other.at === at && m > n)),
    );
    if (later) return { kind: 'drop', entries, because: 'gave-way', of: later.entries[0], reason: OTHERWISE };
    if (line?.writer)
      return { kind: 'drop', entries, because: 'duplicate', of: line.id, reason: `A ${line.writer} wrote it.` };
    const over = lines.find((each) => !each.writer && isOpposite(each.text, text));
    const put = { kind: 'put', in: [{ text, entries }] };
    if (line) return { ...put, topic: line.topic, out: [line.id], reason: 'Said again.' };
    if (over) return { ...put, topic: over.topic, out: [over.id], over: [over.text], reason: OTHERWISE };
    const [name, description] = TOPICS[type] ?? ['notes', 'What has no other place'];
    const topic = pinned.includes(name) ? `more-${name}` : name;
    const isKnown = known.some((row) => row.startsWith(`${topic}.md (`) || row.startsWith(`${topic} (`));
    return { ...put, topic, ...(!isKnown && { description, type }), reason: 'Not in memory yet.' };
  });
}
