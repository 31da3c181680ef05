// A model on this machine that thinks for longer than Node's HTTP client waits by itself, as the command line meets it: in
// its real time, so in the long size alone. How the same is done in little is in test/agent/model.test.ts.

import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ExtractReport } from '../../jobs/extract.ts';
import { testApp, testModel } from '../support/app.ts';
import { sized } from '../support/depth.ts';
import { says } from '../support/messages-server.ts';
import { runJson } from '../support/run.ts';
import { aSession } from '../support/session-file.ts';

test.skipIf(sized({ quick: true, deep: false }))(
  'an answer whose headers come after 310 s is one request, is counted once, and is taken',
  async () => {
    const model = await testModel(async () => {
      await setTimeout(310_000);
      return says('Nothing is to be kept.');
    });
    const { environment, app } = await testApp({ server: model });
    const { code, values } = await runJson<ExtractReport>(['extract', aSession().path], environment);
    expect(values).toMatchObject([{ outcome: 'nothing-worth-keeping', spend: { calls: 1, inputTokens: 100 } }]);
    expect(code).toBe(0);
    expect(model.requests).toHaveLength(1);
    expect(await app.home.days.spendOf('2026-11-21')).toMatchObject({ calls: 1, usedTokens: 110, reservedTokens: 0 });
  },
);
