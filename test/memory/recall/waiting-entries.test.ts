import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { markHistoryRead, statHistory } from '../../../src/memory/history/log-items.ts';
import { openStore } from '../../../src/memory/open.ts';
import { waitingEntries } from '../../../src/memory/recall/catalog.ts';
import { logPath } from '../../../src/memory/text/daily-log.ts';
import { record } from '../../support/recorded.ts';
import { tempDir } from '../../support/temp.ts';

const [FIRST, SECOND] = ['2026-11-19', '2026-11-20'];
const [PNPM, TREES] = ['Always use pnpm.', 'Water the trees.'];

/** Two days with an entry each, which a dream has read and left as they are. */
async function twoDays() {
  const dir = tempDir();
  const store = await openStore(dir, { clock: fixedClock('2026-11-21T02:00:00Z') });
  onTestFinished(() => store.close());
  await record(store, `${FIRST}T09:00:00Z`, [{ type: 'feedback', text: PNPM }]);
  await record(store, `${SECOND}T09:00:00Z`, [{ type: 'project', text: TREES }]);
  markHistoryRead(store, await statHistory(store));
  const file = (day: string) => join(dir, logPath(day));
  const waiting = () => waitingEntries(dir, store.ledger).map(({ day, text, state }) => `${day} ${state} ${text}`);
  return { dir, store, file, waiting };
}

test('what waits is known of logs that nobody changed, without their being opened', async () => {
  const { store, waiting } = await twoDays();
  expect(waiting()).toEqual([`${FIRST} new ${PNPM}`, `${SECOND} new ${TREES}`]);
  store.ledger.run("update entry set text = 'As the ledger has it.', state = 'held' where text = ?", PNPM);
  expect(waiting()).toEqual([`${FIRST} held As the ledger has it.`, `${SECOND} new ${TREES}`]);
  store.ledger.run("update entry set state = 'distilled'");
  expect(waiting()).toEqual([]);
});

test('a line that a person wrote, changed, took out or put into another log is listed as it stands, once', async () => {
  const { dir, file, waiting } = await twoDays();
  const block = readFileSync(file(FIRST), 'utf8').slice(`# ${FIRST}\n\n`.length);
  writeFileSync(file(FIRST), `# ${FIRST}\n\n- Feed the cat.\n`);
  expect(waiting()).toEqual([`${FIRST} new Feed the cat.`, `${SECOND} new ${TREES}`]);
  writeFileSync(file(SECOND), readFileSync(file(SECOND), 'utf8').replace(TREES, 'Water the oaks.') + block);
  expect(waiting()).toEqual([`${FIRST} new Feed the cat.`, `${SECOND} new Water the oaks.`, `${SECOND} new ${PNPM}`]);
  mkdirSync(join(dir, 'logs/2026/10'));
  writeFileSync(join(dir, logPath('2026-10-01')), '- An old one.\n');
  expect(waiting()).toHaveLength(4);
});
