// How long the store takes with 10,000 topics, each figure beside a plain atomic file write on the same disk in the
// same run (write, sync, rename, sync the directory): `node test/bench/store.bench.ts [topics]`.

import { closeSync, fsyncSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/time.ts';
import { openStore } from '../../src/memory/open.ts';
import { median } from '../support/median.ts';

const topics = Number(process.argv[2] ?? 10_000);
const dir = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const by = { actor: 'job:bench' };

function text(n: number): string {
  const lines = Array.from({ length: 8 }, (_, line) => `- Line ${line} of topic ${n}, about as long as a line is.\n`);
  return `---\nname: topic-${n}\ndescription: Topic ${n}\ntype: project\n---\n${lines.join('')}`;
}

async function time(rounds: number, work: (round: number) => unknown): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await work(round);
    took.push(performance.now() - start);
  }
  return median(took);
}

function writeAtomically(path: string, content: string): void {
  const sync = (target: string, content?: string) => {
    const file = openSync(target, content === undefined ? 'r' : 'w');
    if (content !== undefined) writeFileSync(file, content);
    fsyncSync(file);
    closeSync(file);
  };
  sync(`${path}.tmp`, content);
  renameSync(`${path}.tmp`, path);
  sync(join(path, '..'));
}

const name = (n: number) => `topic-${String(n % topics).padStart(5, '0')}.md`;
for (let n = 0; n < topics; n += 1) writeFileSync(join(dir, name(n)), text(n));
const other = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const plainMs = await time(200, (round) => writeAtomically(join(other, name(round % 20)), text(round)));

const firstMs = await time(1, async () => (await openStore(dir, { clock: systemClock })).close());
// What was written less than two seconds ago is read again at every look.
await new Promise((resolve) => setTimeout(resolve, 2_100));
await time(1, async () => (await openStore(dir, { clock: systemClock })).close());
const openMs = await time(5, async () => (await openStore(dir, { clock: systemClock })).close());
const store = await openStore(dir, { clock: systemClock });
const readMs = await time(500, (round) => store.read(name(round * 37)));
const lookUpMs = await time(500, (round) => store.lookUp(name(round * 37)));
const listMs = await time(10, () => store.list());
const commitMs = await time(50, (round) =>
  store.edit(by, { path: name(round * 37), old: 'Line 3 of', new: `Line 3 (${round}) of` }),
);
const createMs = await time(50, (round) => store.write(by, { path: `new/topic-${round}.md`, text: text(round) }));
store.close();

const rows: [string, number, number?][] = [
  ['plain atomic file write', plainMs],
  [`first open of ${topics} unknown topics`, firstMs],
  ['open', openMs, 1_000],
  ['read', readMs, 5],
  ['look up', lookUpMs],
  ['list', listMs],
  ['commit of one file', commitMs, 50],
  ['commit of a new file', createMs],
];
for (const [what, ms, limitMs] of rows) {
  const limit = limitMs === undefined ? '' : `  limit ${limitMs} ms: ${ms < limitMs ? 'holds' : 'MISSED'}`;
  const figure = `${ms.toFixed(2).padStart(9)} ms ${(ms / plainMs).toFixed(1).padStart(8)} ×`;
  process.stdout.write(`${what.padEnd(40)}${figure}${limit}\n`);
}
for (const made of [dir, other]) rmSync(made, { recursive: true });
process.exitCode = rows.some(([, ms, limitMs]) => limitMs !== undefined && ms >= limitMs) ? 1 : 0;
