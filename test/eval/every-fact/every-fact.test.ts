// Every fact of the samples is proposed as they word it, in six languages, with look-alikes, changes and things said several
// times: no check refuses one, and the night loses none and says none twice.

import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runAgent } from '../../../src/agent/loop.ts';
import { sized } from '../../support/depth.ts';
import { asking } from '../../support/scripted-model.ts';
import { tempDir } from '../../support/temp.ts';
import { keptLines } from '../chain/lines.ts';
import { playChain } from '../chain/play.ts';
import { perfectExtractor } from './perfect.ts';
import { readSample, renderSample, SAMPLES } from './sample.ts';

/** Too few of their words are in what was said, and with its words they are not told from each other. */
const IN_OTHER_WORDS = ['h-du', 'r-ada', 'r-alma'];

test.each(sized({ quick: SAMPLES.slice(0, 1), deep: SAMPLES }))(
  'of all that %s says nothing is refused or lost, and nothing said twice',
  async (name) => {
    const sample = readSample(name);
    const [dir, out] = [tempDir(), tempDir()];
    renderSample(sample, { dir, memory: join(out, 'memory') });
    const server = await perfectExtractor(sample);
    onTestFinished(() => server.close());
    const environment = { PATH: process.env.PATH, ...asking(server) };
    await playChain(dir, { out, model: 'test-model', environment, parts: { runAgent } });
    const said = keptLines(join(out, 'memory'), { withLogs: true });
    const lines = keptLines(join(out, 'memory'), { withLogs: false });
    const facts = sample.facts.filter(({ id }) => !IN_OTHER_WORDS.includes(id));
    const without = (texts: string[], of = facts) =>
      of.filter(({ text }) => !texts.some((each) => each.includes(text))).map(({ id, text }) => `${id}: ${text}`);
    expect(facts.length).toBeGreaterThan(5);
    expect(without(said)).toEqual([]);
    expect(
      without(
        lines,
        facts.filter(({ isOver }) => !isOver),
      ),
    ).toEqual([]);
    expect(lines.filter((line, at) => lines.indexOf(line) !== at)).toEqual([]);
  },
);
