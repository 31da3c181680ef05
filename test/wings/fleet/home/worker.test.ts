// A worker whose home goes out of reach for a while says so, works on when it is back, and is seen again.

import { describe, expect, onTestFinished, test } from 'vitest';
import { runAgent } from '../../../../src/agent/loop.ts';
import { enqueueExtract } from '../../../../src/doors/cli/commands/enqueue.ts';
import { openApp } from '../../../../src/doors/compose.ts';
import { runWorker, wakeQueueOptions } from '../../../../src/doors/worker/worker.ts';
import { forget, missing, REDIS } from '../../../queue/backends.ts';
import { sessionFile } from '../../../support/session-file.ts';
import { tempDir } from '../../../support/temp.ts';
import { lineTo } from '../line.ts';
import { noPostgres } from '../own-database.ts';
import { keptConfig, withHomeKept } from './kept.ts';

const lacking = noPostgres || ((await missing()) ?? '');

describe.skipIf(lacking)(`a worker and its home ${lacking}`, () => {
  const own = withHomeKept();

  test('while the database is away a worker lives, and afterwards does what waits', async () => {
    const line = await lineTo(own.url);
    const app = await openApp(await keptConfig(line.url, { queueUrl: REDIS }), { runAgent });
    const { namespace } = await wakeQueueOptions(app);
    onTestFinished(() => forget(REDIS, namespace));
    const enqueue = async (id: string) => {
      const session = sessionFile(tempDir(), { id, cwd: '/work/shop' });
      session.add('Always water the trees.');
      await enqueueExtract(app, { transcript: session.path, ended: true });
    };
    const results = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const away = Promise.withResolvers<void>();
    const ending = new AbortController();
    let done = 0;
    const ended = runWorker(app, {
      signal: ending.signal,
      onResult: ({ outcome }) => results[done++]?.resolve(outcome),
      onError: (message) => /The database at .* does not answer/.test(message) && away.resolve(),
    });
    await enqueue('01112222-2222-4333-8444-555555555555');
    expect(await results[0]?.promise).toBe('recorded');
    line.close();
    await away.promise;
    const back = await lineTo(own.url, Number(new URL(line.url).port));
    onTestFinished(() => back.close());
    await enqueue('02112222-2222-4333-8444-555555555555');
    expect(await results[1]?.promise).toBe('recorded');
    expect(await app.home.workers.all()).toHaveLength(1);
    ending.abort();
    await ended;
    expect(await app.home.workers.all()).toEqual([]);
    await app.close();
  });
});
