// A set with the offline model, in this process, for the tests: what `npm run eval` does, without forks.

import { jobsInProcess, type Model } from '../support/jobs-in-process.ts';
import { tempDir } from '../support/temp.ts';
import { liveThrough } from './nights.ts';
import { perfectExtractor } from './perfect.ts';
import { recognise } from './recognise.ts';
import { type Details, type Figures, score, sum, together } from './score.ts';
import type { EvalSet, Sample } from './set.ts';

/** The figures of all samples; `perfect`: the set's own facts in place of the extraction. */
export async function evaluateOffline(
  { samples }: EvalSet,
  { perfect }: { perfect: boolean },
): Promise<{ figures: Figures; details: Details }> {
  const scored = await Promise.all(samples.map((sample) => (perfect ? withPerfect(sample) : scoreOf(sample))));
  return {
    figures: sum(scored.map(({ figures }) => figures)),
    details: together(scored.map(({ details }) => details)),
  };
}

async function withPerfect(sample: Sample): Promise<ReturnType<typeof score>> {
  const server = await perfectExtractor(sample);
  try {
    return await scoreOf(sample, { model: 'perfect', access: server.access });
  } finally {
    await server.close();
  }
}

async function scoreOf(sample: Sample, extractor?: Model): Promise<ReturnType<typeof score>> {
  const open = (dir: string, now: string) => jobsInProcess(dir, now, { extract: extractor });
  const observed = await liveThrough(sample, { dir: tempDir(), open });
  const texts = (of: { text: string }[]) => of.map(({ text }) => text);
  return score(sample, observed, {
    entries: recognise(sample.facts, texts(observed.entries)),
    lines: recognise(sample.facts, texts(observed.lines)),
    messages: recognise(sample.facts, observed.messages),
  });
}
