// The dream alone: every fact of the set is recorded as the set words it, in six languages, with look-alikes, changes
// and things said several times.

import { expect, onTestFinished, test } from 'vitest';
import { isDeep } from '../support/depth.ts';
import { nightIn } from '../support/job-world.ts';
import { tempDir } from '../support/temp.ts';
import { liveThrough } from './nights.ts';
import { perfectExtractor } from './perfect.ts';
import { recognise } from './recognise.ts';
import { ratio, score, sum, together } from './score.ts';
import type { Sample } from './set.ts';
import { OWN } from './sets.ts';

/** Too few of their words are in what was said, and with its words they are not told from each other. */
const IN_OTHER_WORDS = ['hafen/h-du', 'household/r-ada', 'household/r-alma'];

const deep = test.runIf(isDeep);

deep('of all that could be recorded the dream loses nothing, says nothing twice and invents nothing', async () => {
  const scored = await Promise.all(OWN.samples.map(scoreOf));
  const figures = sum(scored.map((each) => each.figures));
  const { missed, lost, duplicates, unsupported, traps, failures } = together(scored.map(({ details }) => details));
  const untold = missed.filter((fact) => !IN_OTHER_WORDS.some((id) => fact.startsWith(`${id}:`)));
  expect({ missed: untold, lost, duplicates, unsupported, traps, failures }).toEqual({
    missed: [],
    lost: [],
    duplicates: [],
    unsupported: [],
    traps: [],
    failures: [],
  });
  const { evidence } = figures.extraction;
  expect(evidence.of - evidence.count).toBe(missed.length);
  expect(ratio(figures.retention)).toBe(1);
  expect(ratio(figures.memory.beside)).toBe(1);
  expect(figures.retention.of).toBeGreaterThan(130);
});

async function scoreOf(sample: Sample): Promise<ReturnType<typeof score>> {
  const server = await perfectExtractor(sample);
  onTestFinished(() => server.close());
  const home = tempDir();
  const open = (dir: string, now: string) => nightIn({ dir, home, now, extractor: server });
  const observed = await liveThrough(sample, { dir: tempDir(), open });
  const texts = (of: { text: string }[]) => of.map(({ text }) => text);
  return score(sample, observed, {
    entries: recognise(sample.facts, texts(observed.entries)),
    lines: recognise(sample.facts, texts(observed.lines)),
    messages: recognise(sample.facts, observed.messages),
  });
}
