// What has another name by now has it in every topic: which lines a night is shown, and one entry that changes several topics.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forget } from '../../../jobs/forget.ts';
import { review, shownProposals } from '../../../jobs/review.ts';
import { undo } from '../../../jobs/undo.ts';
import { lineId } from '../../../src/memory/text/topic.ts';
import { inNights, type Nights, put } from '../../support/night-world.ts';
import { shown } from '../../support/obedient.ts';

const OLD = [
  ['setup', 'After a checkout run `ops/boot` once, then the tests find the database.'],
  ['releases', 'A release is cut from main after `ops/boot` has filled the cache.'],
  ['containers', 'The image of the worker calls `ops/boot` as its entry point.'],
] as const;
const renamed = (text: string) => text.replace('ops/boot', 'tools/prepare.sh');

/** Three topics that say the old name, and many newer lines of its words. */
async function remember({ night, dir, wait }: Nights): Promise<void> {
  await night(
    OLD.map(([, text]) => text),
    (ids) => OLD.map(([topic, text], n) => put(ids[n], text, { topic, description: topic })),
  );
  wait(1);
  for (let team = 0; team < 20; team++) {
    const lines = Array.from({ length: 12 }, (_, n) => `- Script ${n} of the ops team ${team} is called at boot.\n`);
    writeFileSync(join(dir, `team-${team}.md`), `# Scripts of team ${team}\n\n${lines.join('')}`);
  }
}

const NEWS = { type: 'project', text: 'The script `ops/boot` is called `tools/prepare.sh` now.' } as const;
const changeAll = ([id]: string[]) =>
  OLD.map(([topic, text]) => {
    const { description: _, ...change } = put(id, renamed(text), {
      topic,
      out: [lineId(text)],
      description: undefined,
    });
    return change;
  });
const texts = ({ file }: Nights) => Promise.all(OLD.map(([topic]) => file(`${topic}.md`)));

test.each([
  ['the entry alone', NEWS],
  ['what it changes', { ...NEWS, text: 'The script is `tools/prepare.sh`.', changes: 'The script is ops/boot.' }],
])('a rename is shown every line that says the old name: by %s', async (_, news) => {
  await inNights('sqlite', async (nights) => {
    await remember(nights);
    const { requests } = await nights.night([news], () => null);
    for (const [, text] of OLD) expect(JSON.stringify(requests[0])).toContain(`[${lineId(text)}] ${text}`);
  });
});

test('among the further topics each is named or counted once, and none that was put away', async () => {
  await inNights('sqlite', async (nights) => {
    await remember(nights);
    mkdirSync(join(nights.dir, 'archive'));
    for (let team = 0; team < 20; team++)
      writeFileSync(
        join(nights.dir, `archive/team-${team}.md`),
        `- The script \`ops/boot\` is called once more by team ${team}, ${'long ago, '.repeat(40)}now.\n`,
      );
    const { requests } = await nights.night([NEWS], () => null);
    const others = shown(requests[0] as never, 'others');
    const named = others.match(/^[\w-]+ \(/gm) ?? [];
    expect(new Set(named).size).toBe(named.length);
    // The twenty teams' topics, of which none is shown.
    expect(named.length + Number(/and (\d+) more/.exec(others)?.[1] ?? 0)).toBeLessThanOrEqual(20);
  });
});

test('one entry changes lines of three topics; what they rest on, undo and forgetting hold for each', async () => {
  await inNights('sqlite', async (nights) => {
    await remember(nights);
    const before = await texts(nights);
    const { report, requests, ids } = await nights.night([NEWS], changeAll);
    expect(report.refused).toEqual([]);
    expect(requests).toHaveLength(1);
    expect(report.operations.map(({ kind, topic }) => [kind, topic])).toEqual(
      OLD.map(([topic]) => ['change', `${topic}.md`]),
    );
    expect(await texts(nights)).toEqual(before.map(renamed));
    const rests = 'select count(*) as count from rests where memory = ? and source = ?';
    expect(await nights.db.get(rests, nights.row.id, ids[0] as string)).toEqual({ count: 3 });
    const { memories, row } = nights;
    await undo({ job: report.job as string }, { memories });
    expect(await texts(nights)).toEqual(before);
    await nights.night([], () => changeAll(ids));
    expect(await texts(nights)).toEqual(before.map(renamed));
    const meant = await forget({ target: ids[0] as string, confirm: async () => true }, { memories, memory: row });
    expect(meant.lines.map(({ text }) => text).sort()).toEqual(OLD.map(([, text]) => renamed(text)).sort());
  });
});

test('what waits for a person is one thing, and is decided as a whole', async () => {
  await inNights(
    'sqlite',
    async (nights) => {
      const { db, row, memories } = nights;
      await remember(nights);
      const [word, deps] = [{ kind: 'accept' } as const, { memories, memory: row, requestTokens: 12_000 }];
      await review({ word }, deps);
      await nights.night([NEWS], changeAll);
      expect((await shownProposals(db, row)).map(({ lines }) => lines)).toEqual([OLD.map(([, text]) => renamed(text))]);
      expect((await review({ word }, deps)).map(({ outcome }) => outcome)).toEqual(['accepted']);
      for (const text of await texts(nights)) expect(text).not.toContain('ops/boot');
    },
    { deps: { needsApproval: true } },
  );
});

test('a description that is about what goes is asked for once, however many operations change its topic', async () => {
  await inNights('sqlite', async ({ night }) => {
    const said = ['Deploys go through Harbor.', 'Harbor keeps images for ten days.'];
    const topic = { topic: 'deploys', description: 'Harbor images' };
    await night(said, (ids) => [put(ids[0], said[0] as string, topic), put(ids[1], said[1] as string, topic)]);
    const news = ['Deploys go through Quay.', 'Quay keeps pictures for ten days.'];
    const { report } = await night(news, (ids, call) => {
      if (call > 1) return null;
      return news.map((text, n) => {
        const { description: _, ...change } = put(ids[n], text, { topic: 'deploys', out: [lineId(said[n] as string)] });
        return { ...change, over: ['Harbor', 'images'] };
      });
    });
    expect(report.refused.filter((problem) => problem.includes('description'))).toHaveLength(1);
  });
});

test('what is no longer so goes from a line, of which the rest stays, while another topic says what is so', async () => {
  await inNights('sqlite', async (nights) => {
    const [setup, releases] = [OLD[0], OLD[1]];
    await remember(nights);
    const { report } = await nights.night([NEWS], ([id = '']) => {
      const { in: _, description: __, ...takesOut } = put(id, '', { topic: releases[0], out: [lineId(releases[1])] });
      const left = { text: 'A release is cut from main.', entries: [] };
      const { description: ___, ...change } = put(id, renamed(setup[1]), { topic: setup[0], out: [lineId(setup[1])] });
      return [change, { ...takesOut, entries: [id], in: [left], over: ['ops/boot'] }];
    });
    expect(report.refused).toEqual([]);
    expect(await nights.file('releases.md')).toContain('- A release is cut from main.\n');
    expect(await nights.file('setup.md')).toContain(renamed(setup[1]));
  });
});
