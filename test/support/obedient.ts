// A model that does what a test tells it: which entries it finds in a session, which operations it proposes at night.

import { linesIn } from '../../src/agent/offline-model.ts';
import { calls, type MessagesRequest, type ModelReply, says } from './messages-server.ts';
import { answer } from './scripted-model.ts';

/** What it is shown in a request, by the tag around it. */
export function shown(request: MessagesRequest, tag: string): string {
  const question = JSON.stringify(request.messages[0]?.content);
  const text = JSON.parse(question) as string | { text?: string }[];
  const whole = typeof text === 'string' ? text : text.map((block) => block.text ?? '').join('\n');
  return whole.split(`\n<${tag}>\n`)[1]?.split(`\n</${tag}>\n`)[0] ?? '';
}

/** The entries it is shown at night. */
export function entriesShown(request: MessagesRequest): { id: string; text: string; session: string }[] {
  const rows = shown(request, 'entries').split('\n');
  return rows.filter((row) => row.startsWith('{')).map((row) => JSON.parse(row));
}

export interface Shown {
  id: string;
  speaker: string;
  isContext: boolean;
  text: string;
}

/** The messages of the excerpt it is shown, in order. */
export function messagesShown(request: MessagesRequest): Shown[] {
  const messages: Shown[] = [];
  for (const line of shown(request, 'excerpt').split('\n')) {
    const [, id, speaker = '', rest = ''] = /^\[(\S+) (\w+)\b([^\]]*)\]$/.exec(line) ?? [];
    const open = messages.at(-1);
    if (id) messages.push({ id, speaker, isContext: rest.endsWith(' context'), text: '' });
    else if (open && line.startsWith('|')) open.text += `${line.replace(/^\| ?/, '')}\n`;
  }
  return messages;
}

export const messagesBy = (request: MessagesRequest, speaker: string): string[] =>
  messagesShown(request).flatMap((message) => (message.speaker === speaker ? message.id : []));

/** At night the first entry replaces the first line, where one is shown; else as the scripted model. */
export function replacesLine(request: MessagesRequest): ModelReply {
  const [line] = linesIn(shown(request, 'topics'));
  const [entry] = line ? entriesShown(request) : [];
  if (!line || !entry || request.messages.length > 1) return answer(request);
  const operation = {
    ...{ kind: 'put', topic: line.topic, out: [line.id], over: [line.text], reason: 'It is newer.' },
    in: [{ text: entry.text, entries: [entry.id] }],
  };
  return calls('propose_operations', { operations: [operation] });
}

export interface Orders {
  /** By day: what it records of the session it is shown. */
  record?(request: MessagesRequest): unknown[];
  /** By night: what it proposes. */
  propose?(request: MessagesRequest): unknown[];
}

/** Answers a first request with what it is told to, and every later one of the same run with a word. */
export function obey({ record, propose }: Orders): (request: MessagesRequest) => ModelReply {
  return (request) => {
    if (request.messages.length > 1) return says('Done.');
    const isDay = request.tools.some((tool) => tool.name === 'record_entries');
    if (isDay) return record ? calls('record_entries', { entries: record(request) }) : says('Nothing.');
    return propose ? calls('propose_operations', { operations: propose(request) }) : says('Nothing.');
  };
}
