// What one extraction of a session sends, counted in o200k tokens, with a loopback model that records once and ends.

import { countO200k } from '../../src/transcript/excerpt/tokens.ts';
import { calls, type MessagesRequest, says } from '../support/messages-server.ts';
import { extracted } from './extracted.ts';

export interface SentTokens {
  outcome: string;
  requests: number;
  /** All input tokens of all requests, cached ones included. */
  raw: number;
  /** The same with what is read from the cache at 0.1 and what is written to it at 1.25. */
  weighted: number;
}

/** Extracts the session at `path` with the default settings, in a memory directory below `dir`. */
export async function sentTokens(path: string, dir: string): Promise<SentTokens> {
  const script = (request: MessagesRequest) => (request.messages.length === 1 ? recordOne(request) : says('Done.'));
  const { outcome, requests } = await extracted(path, { dir, script });
  return { outcome, ...weigh(requests) };
}

/** One entry that rests on the first words of a person; none where nobody said anything. */
function recordOne(request: MessagesRequest) {
  const input = JSON.stringify(request.messages[0]?.content);
  const [, message, quote] = /\\n\[(\S+) human[^\]]*\]\\n\| ([\w ,.]{8,60})/.exec(input) ?? [];
  const evidence = [{ message, quote: quote?.trim() }];
  const entry = { type: 'project', strength: 'stated', text: 'The user asked for what is quoted.', evidence };
  return calls('record_entries', { entries: message ? [entry] : [] });
}

/** A request reads from the cache what the one before it sent, and writes the rest. */
function weigh(requests: MessagesRequest[]): Omit<SentTokens, 'outcome'> {
  let raw = 0;
  let weighted = 0;
  let cached = 0;
  for (const request of requests) {
    const { system, tools, messages } = request;
    const tokens = countO200k(JSON.stringify({ system, tools })) + countO200k(JSON.stringify(messages));
    if (messages.length === 1) cached = countO200k(JSON.stringify({ system, tools }));
    const isFirst = raw === 0;
    const read = isFirst ? 0 : Math.min(cached, tokens);
    raw += tokens;
    weighted += read * 0.1 + (tokens - read) * 1.25;
    cached = tokens;
  }
  return { requests: requests.length, raw, weighted: Math.round(weighted) };
}
