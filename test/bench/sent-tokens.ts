// What one extraction of a session sends, counted in o200k tokens, with a loopback model that records once and ends.

import { join } from 'node:path';
import { extract } from '../../jobs/extract.ts';
import { runAgent } from '../../src/agent/loop.ts';
import { loadConfig } from '../../src/config.ts';
import { openHome } from '../../src/memory/home/home.ts';
import { JobSpend } from '../../src/memory/home/spend.ts';
import { releaseLease, takeLease } from '../../src/memory/store/leases.ts';
import { openStore } from '../../src/memory/store/store.ts';
import { countO200k } from '../../src/transcript/tokens.ts';
import { calls, type MessagesRequest, says, startMessagesServer } from '../support/messages-server.ts';

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
  const server = await startMessagesServer((request) =>
    request.messages.length === 1 ? recordOne(request) : says('Done.'),
  );
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
    return { outcome: report.outcome, ...weigh(server.requests) };
  } finally {
    store.close();
    home.close();
    await server.close();
  }
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
