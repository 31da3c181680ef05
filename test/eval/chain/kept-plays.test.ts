// Published plays: none of a session's words, and played again as they were.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runAgent } from '../../../src/agent/loop.ts';
import { textsIn } from '../../../src/base/text/json.ts';
import { testModel } from '../../support/app.ts';
import { isDeep } from '../../support/depth.ts';
import { says } from '../../support/messages-server.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { hasReal, real } from '../../support/transcripts.ts';
import { hiderOf } from './hidden.ts';
import { keptPlayOf, keptPlays, playAgain } from './kept-plays.ts';
import { CHAINS, linksOf } from './links.ts';
import { needsOf, readLines } from './needs.ts';
import { playChain } from './play.ts';

const SAID = 'the proxy in front of the store listens on port 4000 and nowhere else';

test('eight words of a session in a row are hidden, whatever stands around and between them, and shown again', () => {
  const session = aSession([`Note that ${SAID} today.`, 'Thanks.']);
  const { hide, show, isQuoting } = hiderOf([session.path]);
  const text = `- ${SAID.replace(' port', '\n  port')} (said)\n\n- the proxy in front of the store`;
  const hidden = hide(text);
  expect(hidden).toMatch(/^- ⟦0:1:\d+:\d+⟧\n {2}⟦0:1:\d+:\d+⟧ \(said\)\n\n- the proxy in front of the store$/);
  expect(show(hidden)).toBe(text);
  expect([text, hidden].map(isQuoting)).toEqual([true, false]);
});

test('a published play is played again without a model; requests that are other by now are counted', async () => {
  const dir = tempDir();
  aSession([`Note that ${SAID} today.`], { dir, startsAt: '2026-11-20T09:00:00Z' });
  aSession(['And now?'], { dir, id: '22222222-2222-4333-8444-555555555555', startsAt: '2026-11-22T09:00:00Z' });
  const model = await testModel(() => says(`# Memory\n\n- ${SAID}`));
  const environment = { ANTHROPIC_API_KEY: 'loopback', ANTHROPIC_BASE_URL: model.access.baseURL };
  const out = tempDir();
  await playChain(dir, { out, system: 'summary', model: 'test-model', environment });
  const kept = await keptPlayOf(out);
  expect(kept).not.toContain(SAID);
  const again = (text: string, first?: number) => {
    const path = join(tempDir(), 'play.jsonl');
    writeFileSync(path, text);
    return playAgain(path, { first });
  };
  expect(await again(kept)).toMatchObject({ asked: 2, others: 0, isToldTheSame: true });
  expect(await again(kept, 1)).toMatchObject({ asked: 1, isToldTheSame: true });
  const changed = kept.replaceAll(/"asked":"\w{8}/g, '"asked":"00000000').replace('# Memory', '# Other\\n- one more');
  expect(await again(changed)).toMatchObject({ others: 2, isToldTheSame: false });
});

describe.skipIf(!hasReal)('on the real sessions (../shared/transcripts; skipped where they are not there)', () => {
  // In the small size one session of one chain.
  test.each(isDeep ? keptPlays() : keptPlays().slice(0, 1))('%s tells today what it told', async (path) => {
    const again = await playAgain(path, { sessions: real, parts: { runAgent }, first: isDeep ? undefined : 1 });
    expect(again.isToldTheSame || again.isShort || again.others > 0).toBe(true);
  });

  test.each(CHAINS.filter(({ usedInDevelopment }) => isDeep || usedInDevelopment).map(({ name }) => name))(
    'nothing that is published of %s repeats eight words of a session',
    async (name) => {
      const { isQuoting } = hiderOf((await linksOf(name, real)).map(({ path }) => path));
      const plays = keptPlays().filter((path) => readLines<{ chain: string }>(path)[0]?.chain === name);
      const published = textsIn([plays.map((path) => readLines(path)), needsOf(name).map(({ fact }) => fact)]);
      expect(published.filter(isQuoting)).toEqual([]);
    },
  );
});
