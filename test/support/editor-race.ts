// Commits against an editor process that rewrites the same file as fast as it can.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/time.ts';
import { shaOf } from '../../src/memory/ledger/version-rows.ts';
import { openStore } from '../../src/memory/open.ts';

/** Makes `rounds` commits to a file in `dir` while the editor is at work. */
export async function raceEditor(dir: string, { way, rounds }: { way: string; rounds: number }) {
  const path = join(dir, 'a.md');
  writeFileSync(path, '# head\n');
  const store = await openStore(dir, { clock: systemClock });
  const script = join(import.meta.dirname, '../fixtures/memory/busy-editor.ts');
  const editor = spawn(process.execPath, [script, path, way], { stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  editor.stdout.on('data', (chunk) => {
    output += chunk;
  });
  await once(editor.stdout, 'data');
  for (let round = 0; round < rounds; round += 1) {
    await store.commit({ actor: 'job:race' }, () => ({
      files: [{ path: 'a.md', change: (text) => withLine(text ?? '', `ours ${round}`) }],
    }));
    // Lets the editor's output in.
    await new Promise(setImmediate);
  }
  editor.stdin.end();
  await once(editor, 'close');
  await store.missing();
  const said = JSON.parse(output.trim().split('\n').at(-1) ?? '') as {
    edits: number;
    notFound: number[];
    torn: number;
  };
  const rows = store.ledger.all('select content, sha from version where sha is not null');
  const live = new Set(((await store.read('a.md')) ?? '').split('\n'));
  const all = new Set([...live, ...rows.flatMap((row) => String(row.content).split('\n'))]);
  store.close();
  return {
    /** How many edits the editor made, and how many of them it did not find in the file at its next look. */
    edits: said.edits,
    notFound: said.notFound.length,
    /** Edits that neither the file nor any version holds. */
    lost: [
      ...said.notFound.map((edit) => `theirs ${edit}`).filter((line) => !all.has(line)),
      ...[`theirs ${said.edits}`].filter((line) => !live.has(line)),
    ],
    /** Lines of commits that neither the file nor any version holds. */
    lostCommits: Array.from({ length: rounds }, (_, round) => `ours ${round}`).filter((line) => !all.has(line)),
    /** How often a reader saw half a file. */
    torn: said.torn,
    /** Versions whose bytes are not those of their hash. */
    broken: rows.filter((row) => shaOf(row.content as Buffer) !== row.sha).length,
  };
}

/** Adds a line at the end and keeps the newest 20 of its kind. */
function withLine(text: string, line: string): string {
  const ours = text.split('\n').filter((one) => one.startsWith('ours '));
  const rest = text.split('\n').filter((one) => one !== '' && !one.startsWith('ours '));
  return `${[...rest, ...ours.slice(-19), line].join('\n')}\n`;
}
