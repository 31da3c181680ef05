// A working tree with the memories that recall may show there: its project's, the user's, the tree's own.

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { redact } from '../../jobs/redact.ts';
import { type Config, loadConfig } from '../../src/base/config/config.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { type RecallOptions, recallFor } from '../../src/hook/start-recall.ts';
import { Memories } from '../../src/memory/memories.ts';
import { MemoryFiles } from '../../src/memory/memory-files.ts';
import { scrubOf } from '../../src/memory/redaction.ts';
import { dirWith, tempDir } from './temp.ts';

/** A directory with one topic that says `says`. */
export function fill(dir: string, says: string, more: Record<string, string> = {}): string {
  const files = {
    'MEMORY.md': `# Memory\n\n- About ${says} [about.md]\n`,
    'about.md': `---\nname: about\ndescription: About it\ntype: project\n---\n- Says ${says}.\n`,
    ...more,
  };
  return dirWith(files, dir);
}

export interface RecallWorld {
  home: string;
  /** A working tree, its project's memory, the user's, the tree's. */
  root: string;
  project: string;
  user: string;
  local: string;
  ask(options?: RecallOptions): ReturnType<typeof recallFor>;
  open(dir: string): Promise<KnownMemory>;
}

/** A memory in which nocturne worked, until the test is done. */
export interface KnownMemory {
  redact(words: string): Promise<unknown>;
  /** How often a topic was shown and used. */
  uses(path: string): Promise<{ shown: number; used: number } | undefined>;
}

export async function recallWorld(settings: object = { userScope: true }, make = tempDir): Promise<RecallWorld> {
  const home = make();
  const root = join(home, 'code/orchard');
  mkdirSync(root, { recursive: true });
  execFileSync('git', ['init', '-q', root]);
  mkdirSync(join(home, '.nocturne'));
  writeFileSync(join(home, '.nocturne/config.json'), JSON.stringify(settings));
  const config = await loadConfig({}, { HOME: home, NOCTURNE_NOW: '2026-11-21T02:00:00Z', PATH: process.env.PATH });
  const project = join(home, '.claude/projects', root.replaceAll(/[^A-Za-z0-9]/g, '-'), 'memory');
  return {
    ...{ home, root, project },
    user: join(home, '.claude/memory'),
    local: join(root, '.claude/memory'),
    ask: (options = {}) => recallFor(config, { cwd: root, ...options }),
    open: (dir) => open(config, dir),
  };
}

async function open({ home, clock }: Config, dir: string): Promise<KnownMemory> {
  const db = await openDatabase({ home });
  const memories = new Memories({ db, home, clock });
  onTestFinished(async () => {
    await memories.close();
    await db.close();
  });
  const { id } = await memories.ofDirectory(dir, { scope: 'project', name: 'test' });
  await new MemoryFiles(memories, await memories.of(id)).list();
  return {
    redact: (words) => redact({ scrub: scrubOf(words), memories: [id] }, { memories }),
    uses: (path) =>
      db.get(
        'select shown, used from topic_use join file on file.id = topic_use.file where topic_use.memory = ? and path = ?',
        ...[id, path],
      ),
  };
}

export async function filledRecallWorld(settings?: object): Promise<RecallWorld> {
  const made = await recallWorld(settings);
  fill(made.project, 'plums');
  fill(made.user, 'pears');
  fill(made.local, 'figs');
  return made;
}
