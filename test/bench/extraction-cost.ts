// One extraction of a session against a loopback model that records one valid entry in each excerpt and then says that
// it is done; and what was sent to it.

import { join } from 'node:path';
import { extract } from '../../jobs/extract.ts';
import { runAgent } from '../../src/agent/loop.ts';
import { loadConfig } from '../../src/config.ts';
import { openHome } from '../../src/memory/home/home.ts';
import { JobSpend } from '../../src/memory/home/spend.ts';
import { releaseLease, takeLease } from '../../src/memory/store/leases.ts';
import { openStore } from '../../src/memory/store/store.ts';
import { estimateTokens } from '../../src/transcript/tokens.ts';
import { calls, type MessagesRequest, says, startMessagesServer } from '../support/messages-server.ts';

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
  const server = await startMessagesServer((request) => {
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
  });
  const config = await loadConfig({}, { NOCTURNE_HOME: join(dir, 'home'), NOCTURNE_ZONE: 'UTC' });
  const home = openHome(config.home, config.clock);
  const store = await openStore(join(dir, 'memory'), { clock: config.clock });
  try {
    const report = await extract(
      { transcript: path, ended: true },
      {
        ...config,
        agent: { ...config, model: 'loopback', access: server.access },
        runAgent,
        spend: new JobSpend(home, { ...config, jobTokens: Infinity, dayTokens: Number.MAX_SAFE_INTEGER }),
        storeFor: async () => store,
        async withLease(at, key, work) {
          const lease = takeLease(at.ledger, { key, owner: 'bench', now: config.clock.now(), ttlMs: 60_000 });
          if (!lease) return null;
          return work(lease).finally(() => releaseLease(at.ledger, lease));
        },
      },
    );
    const tokens = server.requests.reduce((sum, request) => sum + tokensOf(request), 0);
    return { outcome: report.outcome, requests: server.requests.length, excerpts, refusals, tokens, hasHumanWords };
  } finally {
    store.close();
    home.close();
    await server.close();
  }
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
