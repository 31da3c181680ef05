// The systems that are compared, each as a process that works a list of sessions and can be killed: nocturne's command line
// with its inbox and worker, and the drivers beside this file. Each keeps everything in one directory.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ComparedSession } from './sets.ts';

export interface At {
  /** Where the system keeps everything. */
  dir: string;
  /** The loopback model. */
  url: string;
}

export interface Working {
  /** Resolves with the exit code; null where it was killed. */
  ended: Promise<number | null>;
  kill(): void;
  /** How many sessions it said are done, in their order. */
  done(): number;
}

export interface System {
  name: string;
  version: string;
  /** Whether what it was given stays given when its process is killed. */
  hasInbox: boolean;
  /** Gives it the sessions, as whatever calls it would; it may begin at once. */
  give(sessions: ComparedSession[], at: At): void;
  /** Works on what it was given, or on `sessions`, until all is done. */
  work(sessions: ComparedSession[], at: At): Working;
  /** The facts that it keeps. */
  facts(at: At): string[];
  /** What runs once a day, where something does. */
  night?(at: At): Working;
}

const root = join(import.meta.dirname, '../..');
const DOOR = join(root, 'dist/nocturne.js');

function environment({ dir, url }: At): NodeJS.ProcessEnv {
  return {
    ...{
      PATH: process.env.PATH,
      HOME: dir,
      NOCTURNE_HOME: join(dir, 'home'),
      NOCTURNE_MEMORY_DIR: join(dir, 'memory'),
    },
    ...{ NOCTURNE_QUEUE_URL: '', NOCTURNE_ZONE: 'UTC', NOCTURNE_MODEL: 'loopback', OPENAI_API_KEY: 'loopback' },
    ...{ ANTHROPIC_API_KEY: 'loopback', ANTHROPIC_BASE_URL: url, MEM0_TELEMETRY: 'false' },
  };
}

function start(args: string[], at: At): Working {
  mkdirSync(at.dir, { recursive: true });
  const child = spawn(process.execPath, args, { cwd: at.dir, env: environment(at), stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  let failed = '';
  child.stdout.on('data', (text) => {
    said += text;
  });
  child.stderr.on('data', (text) => {
    failed += text;
  });
  return {
    ended: new Promise((resolve) =>
      child.once('close', (code) => {
        if (code) process.stderr.write(failed);
        resolve(code);
      }),
    ),
    kill: () => void child.kill('SIGKILL'),
    done: () => said.match(/^done \d+$/gm)?.length ?? 0,
  };
}

export const nocturne: System = {
  name: 'nocturne',
  version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version,
  hasInbox: true,
  give(sessions, at) {
    mkdirSync(at.dir, { recursive: true });
    const paths = sessions.map(({ path }) => path);
    const given = spawnSync(process.execPath, [DOOR, 'enqueue', 'extract', ...paths], { env: environment(at) });
    if (given.status !== 0) throw new Error(`nocturne took no session: ${given.stderr}`);
  },
  work: (_sessions, at) => start([DOOR, 'worker', '--once'], at),
  night: (at) => start([DOOR, 'dream'], at),
  facts({ dir }) {
    const logs = join(dir, 'memory/logs');
    const days = existsSync(logs) ? readdirSync(logs, { recursive: true, encoding: 'utf8' }) : [];
    const texts = days.filter((path) => path.endsWith('.md')).map((path) => readFileSync(join(logs, path), 'utf8'));
    return texts.flatMap((text) => [...text.matchAll(/^- \d\d:\d\d \*\*\w+\*\* (.*)$/gm)].map(([, fact = '']) => fact));
  },
};

/** A system that is driven by a file of drivers/, with what is installed in `peers`. */
export function driven(
  peers: string,
  file: string,
  { name, version, flags = [] }: { name: string; version: string; flags?: string[] },
): System {
  const driver = join(import.meta.dirname, 'drivers', file);
  const list = (at: At) => join(at.dir, '..', `${name.replaceAll(/\W+/g, '-')}-sessions.json`);
  return {
    name,
    version,
    hasInbox: false,
    give() {},
    work(sessions, at) {
      mkdirSync(at.dir, { recursive: true });
      writeFileSync(list(at), JSON.stringify(sessions));
      return start([driver, peers, at.dir, at.url, list(at), ...flags], at);
    },
    facts(at) {
      const listed = spawnSync(process.execPath, [driver, peers, at.dir, at.url, list(at), '--list'], {
        env: environment(at),
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
      });
      if (listed.status !== 0) throw new Error(`${name} does not list what it keeps: ${listed.stderr}`);
      return JSON.parse(listed.stdout.trim().split('\n').at(-1) ?? '[]');
    },
  };
}

export function bytesIn(dir: string): number {
  const paths = existsSync(dir) ? readdirSync(dir, { recursive: true, encoding: 'utf8' }) : [];
  return paths.reduce((sum, path) => sum + statSync(join(dir, path)).size, 0);
}

/** Whether any file in the directory holds the words, as they are. */
export function holds(dir: string, words: string): boolean {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((path) => join(dir, path));
  return paths.some((path) => statSync(path).isFile() && readFileSync(path).includes(words));
}
