// What a machine's settings say of the day's limits does not count where several machines share the home, and it is told so.

import { describe, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../../src/base/time.ts';
import { openApp } from '../../../../src/doors/compose.ts';
import { examine } from '../../../../src/doors/doctor/examine.ts';
import { tempDir } from '../../../support/temp.ts';
import { noPostgres } from '../own-database.ts';
import { keptConfig, withHomeKept } from './kept.ts';

// Tokyo has the next day by now.
const clock = fixedClock('2026-11-21T20:00:00Z');

describe.skipIf(noPostgres)(`limits that count ${noPostgres}`, () => {
  const own = withHomeKept();

  test('an app has those that the database keeps; which of its own do not count is named, by doctor too', async () => {
    const first = await openApp(await keptConfig(own.url, { dayTokens: 7_000, dayMoneyUsd: 2 }));
    onTestFinished(() => first.close());
    expect(first.overruled).toEqual([]);
    const config = await keptConfig(own.url, { dayTokens: 9_000, zone: 'Asia/Tokyo', clock });
    const second = await openApp(config);
    onTestFinished(() => second.close());
    expect(second.config).toMatchObject({ dayTokens: 7_000, dayMoneyUsd: 2, zone: 'UTC' });
    const differences = [
      'dayTokens is 9000 in the settings of this machine, but 7000 counts, for all machines',
      'dayMoneyUsd is no limit in the settings of this machine, but 2 counts, for all machines',
      'zone is Asia/Tokyo in the settings of this machine, but UTC counts, for all machines',
    ];
    expect(second.overruled).toEqual(differences);
    await second.home.days.forget('2026-11-21');
    expect(await second.home.days.unreadDay()).toBe('2026-11-21');
    await second.home.days.reopen('2026-11-21');
    const found = await examine(config, { cwd: tempDir(), isOnline: false });
    expect(found.filter(({ what }) => what === 'limits').map(({ state, found }) => [state, found])).toEqual(
      differences.map((each) => ['warn', each]),
    );
  });

  test('without the database no app is opened, and doctor says why', async () => {
    const config = await keptConfig('postgres://127.0.0.1:1/none');
    await expect(openApp(config)).rejects.toMatchObject({ code: 'database-unavailable' });
    expect(await examine(config, { cwd: tempDir(), isOnline: false })).toContainEqual(
      expect.objectContaining({ what: 'home', state: 'fail', found: expect.stringContaining('127.0.0.1:1') }),
    );
  });
});
