// One extraction of a session with the default settings against a loopback model, in a memory directory of its own.

import { join } from 'node:path';
import { extract } from '../../jobs/extract.ts';
import { runAgent } from '../../src/agent/loop.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { openHome } from '../../src/memory/home/home.ts';
import { JobSpend } from '../../src/memory/home/spend.ts';
import { releaseLease, takeLease } from '../../src/memory/ledger/job-rows.ts';
import { openStore } from '../../src/memory/open.ts';
import { type MessagesRequest, type Script, startMessagesServer } from '../support/messages-server.ts';

/** Extracts the session at `path`, below `dir`; answers what became of it and what was sent to the model. */
export async function extracted(
  path: string,
  { dir, script }: { dir: string; script: Script },
): Promise<{ outcome: string; requests: MessagesRequest[] }> {
  const server = await startMessagesServer(script);
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
    return { outcome: report.outcome, requests: server.requests };
  } finally {
    store.close();
    await home.close();
    await server.close();
  }
}
