// Commands over a store of the database, called rightly and wrongly: a copy is this process's own affair, so nobody is told of
// its directory; where nothing is found the store is named.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runHere } from '../../support/run-here.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { noPostgres, putStore, withStores } from './own-database.ts';

const TOPIC =
  '---\nname: trees\ndescription: how trees are kept\ntype: project\n---\n\n- Trees are watered before noon.\n';

/** Nothing is there that could be found. */
const NOTHING = [
  ...['show none', 'show none --history', 'show none --diff', 'why e_00000000', 'why none:1', 'list --day'],
  ...[
    'forget none --yes',
    'pin none',
    'pin none --off',
    'reprocess --session none',
    'snapshot create none',
    'why none',
  ],
];
const FINE = [
  ...['extract SESSION', 'extract SESSION --json', 'remember words --json', 'forget words --yes --json', 'review'],
  ...['search trees --all', 'search trees --all --json', 'list --all --json', 'sessions --all --json', 'status --json'],
  ...['dream --json', 'why trees --json', 'review --json', 'list --json'],
  ...['snapshot create --json', 'cost --all --json', 'recall --json', 'mcp --json', 'enqueue dream --json'],
  ...['worker --once --json', 'undo --json', 'redact --match words --dry-run --json'],
];

describe.skipIf(noPostgres)(`a store of the database ${noPostgres}`, () => {
  const own = withStores({ stores: {} });

  test('is named where a command finds nothing, and its copy by none', async () => {
    const id = await putStore(own.stores, { 'trees.md': TOPIC, 'MEMORY.md': '# Memory\n\n- [trees.md]\n' });
    const [home, cwd] = [tempDir(), tempDir()];
    const environment = {
      ...{ PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, NOCTURNE_DATABASE_URL: own.database.url },
      ...{ NOCTURNE_MODEL: 'offline', NOCTURNE_QUEUE_URL: '', NOCTURNE_ZONE: 'UTC', NOCTURNE_MEMORY_DIR: id },
      NOCTURNE_NOW: '2026-11-21T02:00:00Z',
    };
    const session = aSession(['Always water the trees before noon.'], { cwd: '/work/shop' });
    const run = async (call: string) => {
      const args = call.split(' ').map((each) => (each === 'SESSION' ? session.path : each));
      const { code, stdout, stderr } = await runHere(args, environment, { cwd });
      return { call, code, said: stdout + stderr };
    };
    for (const call of NOTHING) {
      expect(await run(call)).toEqual({ call, code: 1, said: expect.stringMatching(new RegExp(`in ${id}\\b`)) });
    }
    const told: Awaited<ReturnType<typeof run>>[] = [];
    for (const call of FINE) told.push(await run(call));
    expect(told.filter(({ said }) => said.includes(join(home, 'copies')))).toEqual([]);
    expect(told.filter(({ code }) => code === 1)).toEqual([]);
    expect(told[1]?.said).toContain(`"memory":"${id}"`);
    expect(readFileSync(join(home, 'logs', 'nocturne.log'), 'utf8')).toContain(`"store":"${id}"`);
  });
});
