// One extraction of a session against a loopback model that records one valid entry in each excerpt and then says that
// it is done; and what was sent to it.

import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { calls, type MessagesRequest, says } from '../support/messages-server.ts';
import { extracted } from './extracted.ts';

export interface ExtractionCost {
  outcome: string;
  requests: number;
  excerpts: number;
  /** Entries that were refused before one was taken. */
  refusals: number;
  /** Estimated input tokens of all requests. */
  tokens: number;
  /** Whether words of a person were offered in any excerpt. */
  hasHumanWords: boolean;
}

/** Extracts the session at `path` with the default settings, in a memory directory below `dir`. */
export async function extractionCost(path: string, dir: string): Promise<ExtractionCost> {
  let candidates: Quotable[] = [];
  let refusals = 0;
  let excerpts = 0;
  let hasHumanWords = false;
  const script = (request: MessagesRequest) => {
    if (request.messages.length === 1) {
      candidates = quotableIn(textOf(request));
      hasHumanWords ||= candidates.some(({ speaker }) => speaker === 'human');
      excerpts += 1;
    } else if (/not recorded|Nothing recorded/.test(JSON.stringify(request.messages.at(-1)))) {
      refusals += 1;
    } else {
      return says('Done.');
    }
    const next = candidates.shift();
    return next === undefined ? says('Done.') : calls('record_entries', { entries: [entryOf(next)] });
  };
  const { outcome, requests } = await extracted(path, { dir, script });
  const tokens = requests.reduce((sum, request) => sum + tokensOf(request), 0);
  return { outcome, requests: requests.length, excerpts, refusals, tokens, hasHumanWords };
}

interface Quotable {
  message: string;
  speaker: string;
  quote: string;
}

/** The first words of each offered message, a person's before all others. */
function quotableIn(input: string): Quotable[] {
  const messages = [...input.matchAll(/^\[(\S+) (human|assistant|tool|subagent)((?: [\d:-]+)*)\]\n((?:\| .*\n?)+)/gm)];
  const quotable = messages.flatMap(([, message = '', speaker = '', , body = '']): Quotable[] => {
    const lines = body.split('\n').map((line) => line.slice(2).trim());
    const line = lines.find((each) => /\w+ \w+/.test(each) && !/left out …|[‹<>`]/.test(each));
    const quote = line?.split(/\s+/).slice(0, 12).join(' ');
    return quote ? [{ message, speaker, quote }] : [];
  });
  return [
    ...quotable.filter(({ speaker }) => speaker === 'human'),
    ...quotable.filter(({ speaker }) => speaker !== 'human'),
  ];
}

function entryOf({ message, quote }: Quotable) {
  return { type: 'project', strength: 'stated', text: quote, evidence: [{ message, quote }] };
}

function textOf({ messages: [first] }: MessagesRequest): string {
  if (typeof first?.content === 'string') return first.content;
  return (first?.content ?? []).map((block) => (typeof block.text === 'string' ? block.text : '')).join('\n');
}

function tokensOf({ system, tools, messages }: MessagesRequest): number {
  return estimateTokens(JSON.stringify({ system, tools, messages }));
}
