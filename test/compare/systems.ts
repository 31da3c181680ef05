// The systems that are compared, each as a process that works a list of sessions and can be killed: nocturne's command line
// with its inbox and worker, and the drivers in drivers/. Each keeps everything in one directory.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
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
/** For all alike: what a machine has compiled before it need not compile again. */
const COMPILED = join(root, 'node_modules/.cache/nocturne-test');

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
    NODE_COMPILE_CACHE: COMPILED,
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

const nocturne: System = {
  name: 'nocturne',
  version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version,
  hasInbox: true,
  give(sessions, at) {
    mkdirSync(join(at.dir, 'home'), { recursive: true });
    // As the others: one session at a time.
    writeFileSync(join(at.dir, 'home/config.json'), JSON.stringify({ concurrency: 1 }));
    const paths = sessions.map(({ path }) => path);
    const given = spawnSync(process.execPath, [DOOR, 'learn', '--later', ...paths], { env: environment(at) });
    if (given.status !== 0) throw new Error(`nocturne took no session: ${given.stderr}`);
  },
  work: (_sessions, at) => start([DOOR, 'worker', '--once'], at),
  night: (at) => start([DOOR, 'dream'], at),
  facts: ({ dir }) => factsInLogs(join(dir, 'memory')),
};

/** What the daily logs of a memory directory say. */
export function factsInLogs(memory: string): string[] {
  const logs = join(memory, 'logs');
  const days = existsSync(logs) ? readdirSync(logs, { recursive: true, encoding: 'utf8' }) : [];
  const texts = days.filter((path) => path.endsWith('.md')).map((path) => readFileSync(join(logs, path), 'utf8'));
  return texts.flatMap((text) => [...text.matchAll(/^- \d\d:\d\d \*\*\w+\*\* (.*)$/gm)].map(([, fact = '']) => fact));
}

/** Installed without scripts: better-sqlite3 13 carries its binaries, and mem0ai works with it although it names 12. */
const PEERS = { mem0ai: '3.3.1', 'better-sqlite3': '13.2.0', '@modelcontextprotocol/server-memory': '2026.8.31' };

/** Throws where npm does: a comparison without the others is none. */
export function installPeers(peers: string): void {
  mkdirSync(peers);
  writeFileSync(join(peers, 'package.json'), '{}');
  const packages = Object.entries(PEERS).map(([name, version]) => `${name}@${version}`);
  execFileSync('npm', ['install', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund', ...packages], {
    cwd: peers,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
}

/** Those for which nothing is installed. */
export const PEERLESS = ['nocturne', 'ask once and append', 'ask once and append, with tools'];

export function allSystems(peers: string): System[] {
  const mem0 = { version: PEERS.mem0ai };
  const server = { version: PEERS['@modelcontextprotocol/server-memory'] };
  return [
    nocturne,
    driven(peers, 'mem0.mjs', { ...mem0, name: 'mem0, each exchange' }),
    driven(peers, 'mem0.mjs', { ...mem0, name: 'mem0, whole sessions', flags: ['--whole'] }),
    driven(peers, 'server-memory.mjs', { ...server, name: 'reference memory server' }),
    driven(peers, 'append.mjs', { name: 'ask once and append', version: '(ours)' }),
    driven(peers, 'append.mjs', { name: 'ask once and append, with tools', version: '(ours)', flags: ['--tools'] }),
  ];
}

/** A system that is driven by a file of drivers/, with what is installed in `peers`. */
function driven(
  peers: string,
  file: string,
  { name, version, flags = [] }: { name: string; version: string; flags?: string[] },
): System {
  const driver = join(import.meta.dirname, 'drivers', file);
  const list = (at: At) => join(at.dir, '../sessions.json');
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
  return filesIn(dir).reduce((sum, path) => sum + statSync(path).size, 0);
}

/** Whether any file in the directory holds the words, as they are. */
export function holds(dir: string, words: string): boolean {
  return filesIn(dir).some((path) => readFileSync(path).includes(words));
}

function filesIn(dir: string): string[] {
  const items = existsSync(dir) ? readdirSync(dir, { recursive: true, withFileTypes: true }) : [];
  return items.filter((item) => item.isFile()).map((item) => join(item.parentPath, item.name));
}
