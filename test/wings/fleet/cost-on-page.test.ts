// The page's view of cost, where memory lives in a database: what other machines used there is told, too.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testModel } from '../../support/app.ts';
import { says } from '../../support/messages-server.ts';
import { runHere } from '../../support/run-here.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { enter, OURS } from '../page/enter.ts';
import { served } from '../server/served.ts';
import { noPostgres, withStores } from './own-database.ts';

describe.skipIf(noPostgres)(`the page's view of cost, over a database ${noPostgres}`, () => {
  const own = withStores({ stores: {} }, { isNew: true });

  test('tells of the database, and what other machines used', async () => {
    const server = await testModel(() => ({
      ...says('Nothing.'),
      usage: { input_tokens: 10_000, output_tokens: 1_000 },
    }));
    const home = tempDir();
    const cwd = join(home, 'code', 'garden');
    mkdirSync(join(cwd, '.git'), { recursive: true });
    const prices = { priced: { input: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 10 } };
    writeFileSync(join(home, 'config.json'), JSON.stringify({ prices }));
    const session = aSession(['Always water the trees before noon.'], { cwd });
    const machine = {
      ...{ PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, NOCTURNE_DATABASE_URL: own.database.url },
      ...{ NOCTURNE_QUEUE_URL: '', NOCTURNE_ZONE: 'UTC', NOCTURNE_NOW: '2026-11-21T02:00:00Z' },
      ...{ ANTHROPIC_API_KEY: server.access.apiKey ?? '', ANTHROPIC_BASE_URL: server.access.baseURL ?? '' },
    };
    expect(await runHere(['extract', session.path, '--model', 'priced'], machine)).toMatchObject({ code: 0 });
    // From now on the store stands for a directory of another machine.
    await own.database.ask("update store set source = 'elsewhere:' || id");

    const page = await served({ app: { settings: { databaseUrl: own.database.url } } });
    const { cookie } = await enter(page);
    const answer = await fetch(`${page.url}/cost?month=2026-11`, { headers: { ...OURS, cookie } });
    const shown = (await answer.text()).replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
    expect(shown).toContain('other machines, killed jobs $0.03 11,000');
    expect(shown).toContain('nocturne cost --all tells of the jobs of all machines.');
    expect(shown).toMatch(/Database \S+: \d+ stores?; .*no worker was seen Workers/);
  });
});
