// How large transcripts are read. Run: node test/bench/transcript.bench.ts [--megabytes 1024]
//
// 1. Memory and speed: a Claude Code file made by repeating real sessions with fresh ids, against a bare JSON.parse of
//    each line of the same bytes in the same run, each in a process of its own with the heap that the command line has.
//    What `nocturne why FILE` does with that file, of which nothing is covered, in a process of its own too.
// 2. Reading on: 100 MB read before, 1 KB appended, against a session of 1 KB.
// Without ../shared/transcripts the sessions are the project's own fixtures.

import { execFileSync } from 'node:child_process';
import { appendFileSync, createReadStream, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { listFiles } from '../../src/base/files/directories.ts';
import { openSession, type ReadPoint, readPointAt } from '../../src/transcript/session.ts';
import { readTurns } from '../../src/transcript/turns.ts';
import { writeRepeated } from './repeated-sessions.ts';

const { values } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '1024' },
    only: { type: 'string' },
    measure: { type: 'string' },
    file: { type: 'string' },
  },
});

const MEASURED: Record<string, (path: string, from?: ReadPoint) => Promise<number>> = {
  async bare(path) {
    let lines = 0;
    let pieces: Buffer[] = [];
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 18 })) {
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        pieces.push(chunk.subarray(start, end));
        JSON.parse((pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)).toString('utf8'));
        pieces = [];
        start = end + 1;
        lines++;
      }
      pieces.push(chunk.subarray(start));
    }
    return lines;
  },
  async read(path, from) {
    let messages = 0;
    for await (const _ of (await openSession(path)).messages(from)) messages++;
    return messages;
  },
  async inspect(path) {
    const { inspect } = await import('../../jobs/inspect.ts');
    const deps = {
      memoryDir: '/nowhere',
      ledger: null,
      now: new Date(),
      zone: 'UTC',
      quietMs: 0,
      excerptTokens: 12_000,
    };
    return (await inspect({ session: await openSession(path), ended: true }, deps)).offered.excerpts.length;
  },
};

interface Measure {
  count: number;
  ms: number;
  residentMb: number;
}

if (values.measure) {
  const startedAt = performance.now();
  const count = await (MEASURED[values.measure] as (path: string) => Promise<number>)(values.file ?? '');
  const ms = performance.now() - startedAt;
  console.log(JSON.stringify({ count, ms, residentMb: process.resourceUsage().maxRSS / 1024 } satisfies Measure));
} else {
  const dir = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
  try {
    const shared = join(import.meta.dirname, '../../../shared/transcripts');
    const root = existsSync(shared) ? shared : join(import.meta.dirname, '../fixtures/transcripts');
    const files = (await listFiles(root)).filter((file) => /\.jsonl?$/.test(file)).map((file) => join(root, file));
    const sources = files.filter((file) => /claude-code.*\.jsonl$/.test(file.slice(root.length)));
    const isWanted = (part: string) => values.only === undefined || values.only === part;
    if (isWanted('speed')) speed(dir, sources);
    if (isWanted('growth')) await growth(dir, sources);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function measure(how: string, file: string): Measure {
  const heap = new URL('../../src/doors/cli/small-heap.js', import.meta.url).href;
  const args = ['--import', heap, import.meta.filename, '--measure', how, '--file', file];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

function speed(dir: string, sources: string[]): void {
  const path = join(dir, 'large.jsonl');
  writeRepeated(path, { sources, bytes: Number(values.megabytes) * 2 ** 20 });
  const bytes = statSync(path).size;
  const rate = ({ ms }: Measure) => `${Math.round(bytes / 2 ** 20 / (ms / 1000))} MB/s`;
  measure('bare', path);
  const rounds = [1, 2, 3].map(() => ({ bare: measure('bare', path), read: measure('read', path) }));
  for (const { bare, read } of rounds) {
    const ratio = bare.ms / read.ms;
    console.log(
      `${Math.round(bytes / 2 ** 20)} MB: JSON.parse ${rate(bare)}, read ${rate(read)} (${ratio.toFixed(2)}; wanted 0.6), ` +
        `${read.count} messages, at most ${Math.round(read.residentMb)} MB resident (wanted 200)`,
    );
  }
  const inspected = measure('inspect', path);
  console.log(
    `nocturne why FILE: ${inspected.count} excerpts in ${Math.round(inspected.ms / 1000)} s, ` +
      `at most ${Math.round(inspected.residentMb)} MB resident (wanted 200)`,
  );
  rmSync(path);
}

async function growth(dir: string, sources: string[]): Promise<void> {
  const large = join(dir, 'grown.jsonl');
  const small = join(dir, 'small.jsonl');
  writeRepeated(large, { sources, bytes: 100 * 2 ** 20 });
  const timestamp = '9000-01-01T00:00:00.001Z';
  const record = { type: 'user', sessionId: 's', cwd: '/x', timestamp, origin: { kind: 'human' } };
  const message = (uuid: string) => ({ ...record, uuid, message: { role: 'user', content: 'x'.repeat(800) } });
  appendFileSync(large, `${JSON.stringify(message('last'))}\n`);
  let lastByte = 0;
  for await (const turn of readTurns((await openSession(large)).messages())) lastByte = turn.byte ?? lastByte;
  const point = (await readPointAt(large, lastByte)) ?? undefined;
  appendFileSync(large, `${JSON.stringify({ ...message('new'), timestamp: '9000-01-01T00:00:01.001Z' })}\n`);
  writeFileSync(small, `${JSON.stringify(message('small'))}\n`);
  const time = async (path: string, from?: ReadPoint) => {
    const startedAt = performance.now();
    await MEASURED.read?.(path, from);
    return performance.now() - startedAt;
  };
  const median = async (run: () => Promise<number>) => {
    const times: number[] = [];
    for (let round = 0; round < 51; round++) times.push(await run());
    return times.sort((a, b) => a - b)[25] as number;
  };
  const base = await median(() => time(small));
  const grown = await median(() => time(large, point));
  console.log(
    `100 MB and 1 KB more: ${grown.toFixed(2)} ms; 1 KB: ${base.toFixed(2)} ms (${(grown / base).toFixed(2)}; wanted 2)`,
  );
  rmSync(large);
}
