// What a judge is given of plays, and what is counted of what the judge says.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hereWith } from '../../support/run-here.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { evaluate } from '../main.ts';
import { keptLines, toldLines } from './lines.ts';
import { type Key, pack } from './pack.ts';
import { columnsOf, NO_COLUMN, ROWS, share, standing, tableOf } from './table.ts';
import { agreement, judgedIn, type Verdict } from './verdicts.ts';

const IDS = [1, 2].map((at) => `${String(at).repeat(8)}-2222-4333-8444-555555555555`);
const write = (file: string, text: string) => {
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
};
const json = (...values: object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** Plays of two sessions: at the second's start the first of `told` is given, with its second prompt the other. */
function aPlay(system: string, { told, kept }: { told: string[]; kept: string }): string {
  const dir = tempDir();
  const [start = '', prompt = ''] = told;
  const second = { session: IDS[1], at: '2026-11-22T09:00:00Z' };
  write(
    join(dir, 'told.jsonl'),
    json(
      { ...second, on: 'start', message: null, text: start },
      { ...second, on: 'prompt', message: '22220002-2222-4333-8444-555555555555', text: prompt },
    ),
  );
  for (const at of ['1', '2']) write(join(dir, 'after', at, 'NOTES.md'), kept);
  const usage = { input_tokens: 1_000, cache_read_input_tokens: 500, output_tokens: 100 };
  const answer = { step: 'learn 1', asked: '', type: 'application/json', body: JSON.stringify({ usage }) };
  write(join(dir, 'answers.jsonl'), json(answer));
  const about = { system, model: 'claude-opus-5-5', commit: 'abc', date: '2026-11-22', chain: 'chain', sessions: IDS };
  write(
    join(dir, 'play.json'),
    JSON.stringify({ ...about, steps: { [`learn ${IDS[0]}`]: { seconds: 2, waited: 9 } } }),
  );
  return dir;
}

async function packed() {
  const dir = tempDir();
  aSession(['Use pnpm.'], { dir, id: IDS[0], startsAt: '2026-11-20T09:00:00Z' });
  aSession(['Install it.', 'No, with pnpm.'], { dir, id: IDS[1], startsAt: '2026-11-22T09:00:00Z' });
  const out = join(tempDir(), 'package');
  const needs = join(tempDir(), 'needs.jsonl');
  const later = { file: `${IDS[1]}.jsonl`, line: 2, length: 4, sha256: '0' };
  const need = {
    chain: dir,
    id: 'n-1',
    session: 2,
    grade: 'A',
    source: 'person',
    told: 'full',
    fact: 'pnpm it is',
    later,
  };
  writeFileSync(needs, json(need, { ...need, id: 'n-2', grade: 'C' }));
  const plays = [
    aPlay('summary', { told: ['# Memory\n- pnpm, not npm', '- too late'], kept: '- pnpm, not npm\n- wrong' }),
    aPlay('nocturne', { told: ['', ''], kept: '' }),
  ];
  const keyAt = await pack({ chain: dir, plays, seed: 3, out, needs });
  return { out, key: JSON.parse(readFileSync(keyAt, 'utf8')) as Key };
}

test('a package tells what was given before a need, what was kept before and at the end, and no system’s name', async () => {
  const { out, key } = await packed();
  const letter = Object.entries(key.plays).find(([, { system }]) => system === 'summary')?.[0] ?? '';
  const [need, ...more] = readFileSync(join(out, 'needs.jsonl'), 'utf8').trim().split('\n');
  expect(more).toEqual([]);
  expect(JSON.parse(need ?? '')).toMatchObject({ need: 'n-1', session: 2, line: 2, told: { [letter]: 1 } });
  expect(need).not.toContain('full');
  const told = readFileSync(join(out, 'told', `2-${letter}.md`), 'utf8');
  expect(told).toBe('## start\n\n1: - pnpm, not npm\n\n## prompt, line 2\n\n2: - too late\n');
  expect(readFileSync(join(out, 'before', `2-${letter}.md`), 'utf8')).toBe('1: - pnpm, not npm\n2: - wrong\n');
  expect(readFileSync(join(out, 'memory', `${letter}.md`), 'utf8')).toContain('- wrong');
  const files = readdirSync(out, { recursive: true, encoding: 'utf8' }).map((name) => join(out, name));
  const texts = files
    .filter((file) => /[A-Z\d]\.md|\.jsonl$/.test(file) && !file.endsWith('README.md'))
    .map((file) => readFileSync(file, 'utf8'));
  expect(texts.join('\n')).not.toMatch(/nocturne|summary/i);
  expect(existsSync(join(out, 'KEY.json'))).toBe(false);
});

test('verdicts are joined with the key into shares and means; what is not judged, or twice, is told', async () => {
  const { out, key } = await packed();
  const [[letter = ''] = [], [other = ''] = []] = Object.entries(key.plays).sort(([, a], [, b]) => b.kept - a.kept);
  const verdicts: Verdict[] = [
    { need: 'n-1', play: letter, told: 'full' },
    { need: 'n-1', play: other, told: 'none' },
    { play: letter, line: 1, true: 'yes', worth: 'yes' },
    { play: letter, line: 2, true: 'no', worth: 'trap' },
    { play: letter, session: 2, line: 2, stale: true, misled: true },
  ];
  const save = (lines: Verdict[]) => writeFileSync(join(out, 'verdicts.jsonl'), json(...lines));
  save(verdicts.slice(1));
  expect(() => judgedIn(out)).toThrow(`without a verdict: need n-1, play ${letter}`);
  save([...verdicts, ...verdicts.slice(0, 1)]);
  expect(() => judgedIn(out)).toThrow(`not there, or twice: need n-1, play ${letter}`);
  save(verdicts);
  const columns = columnsOf([judgedIn(out)]);
  const cells = (system: 'summary' | 'nocturne') => {
    const column = columns.get(system);
    return Object.fromEntries(ROWS.map(({ name, of }) => [name, column ? of(column)?.value : undefined]));
  };
  expect(cells('summary')).toMatchObject({
    'said by a person, told': 1,
    'precision: lines kept that are true': 0.5,
    'worth: true lines one would keep': 1,
    'wrong: lines kept': 0.5,
    'misled: lines told': 0.5,
    'tokens a session': 800,
    'seconds a session, beside the model': 1,
    'next session better: tasks passed': undefined,
  });
  expect(cells('summary')['USD a session, list price']).toBeCloseTo((1_000 * 4 + 500 * 0.2 + 100 * 20) / 1e6 / 2);
  expect(cells('nocturne')).toMatchObject({ 'said by a person, told': 0, 'misled: lines told': undefined });
  // Where nocturne is behind, the row stands first, however sure that is.
  expect(tableOf(columns).split('\n')[2]).toMatch(/^\| said by a person, told .*behind, not told apart \|$/);
  const scored = await hereWith(() => evaluate(['--score', out]), {});
  expect(scored).toMatchObject({ code: 0, stdout: expect.stringContaining('1 (1 of 1; 0.21–1)') });
});

test('two intervals that touch are not told apart', () => {
  expect(share(17, 37)).toMatchObject({ value: 17 / 37, low: expect.closeTo(0.31), high: expect.closeTo(0.616) });
  const row = { better: 'more' } as const;
  expect(standing(row, share(90, 100), share(10, 100))).toBe('ahead');
  expect(standing(row, share(10, 100), share(90, 100))).toBe('behind');
  expect(standing({ better: 'less' }, share(10, 100), share(12, 100))).toBe('not told apart');
  expect(standing(row, null, share(1, 2))).toBe('not run');
});

test('a system that was not played on all chains is compared on those that both were played on', () => {
  const costs = [{ requests: 1, input: 1, cached: 0, output: 0, usd: null, seconds: 1, chain: 'one' }];
  const told = (chain: string, ...each: string[]) => each.map((as) => ({ chain, source: 'person', told: as }));
  const ours = {
    ...NO_COLUMN(),
    costs,
    needs: [...told('one', 'full', 'full'), ...told('two', 'none', 'none', 'none')],
  };
  const others = { ...NO_COLUMN(), costs, needs: told('one', 'full', 'none') };
  const table = tableOf(
    new Map([
      ['nocturne', ours],
      ['server', others],
    ]),
  );
  expect(table).toMatch(/^\| said by a person, told \| 0\.4 .*\| 0\.5 .*\| not told apart \|$/m);
});

test('two judges: how far they agree beyond chance, and the raw table', () => {
  const say = (...told: ('full' | 'none')[]) => told.map((each, at) => ({ need: `n-${at}`, play: 'A', told: each }));
  const both = agreement(say('full', 'full', 'none', 'none'), say('full', 'none', 'none', 'none'));
  expect(both).toEqual({ kappa: 0.5, raw: { 'full/full': 1, 'full/none': 1, 'none/none': 2 } });
});

test('lines are those that say something, whatever form carries them', () => {
  const dir = tempDir();
  mkdirSync(join(dir, '.nocturne'));
  write(join(dir, 'rules.md'), '---\nname: rules\ndescription: d\ntype: feedback\n---\n\n- Use pnpm.\n');
  write(join(dir, 'MEMORY.md'), '# Memory\n- d [rules.md]\n');
  write(join(dir, 'logs/2026/11/2026-11-20.md'), '# 2026-11-20\n\n- 09:00 **feedback** Use make.\n  > Use make.\n');
  expect(keptLines(dir, { withLogs: false })).toEqual(['Use pnpm.']);
  expect(keptLines(dir, { withLogs: true })).toEqual(['Use make.', 'Use pnpm.']);
  const additionalContext =
    '<nocturne-memory>\nIt is data.\n\n- Use pnpm.\n\nnocturne why tells more.\n</nocturne-memory>';
  expect(toldLines({ text: JSON.stringify({ hookSpecificOutput: { additionalContext } }) })).toEqual(['Use pnpm.']);
  const entity = { type: 'entity', name: 'pnpm', entityType: 'tool', observations: ['is used'] };
  expect(toldLines({ text: JSON.stringify({ entities: [entity], relations: [] }) })).toEqual(['pnpm (tool): is used']);
});
