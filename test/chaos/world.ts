// The world of a chaos run: projects with a memory directory each, and sessions in which every turn says one thing
// that nobody else says, so that afterwards each can be counted.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/base/config/config.ts';
import type { Random } from '../support/random.ts';
import { type SessionFile, sessionFile } from '../support/session-file.ts';
import { chaosHouse } from './chaos-house.ts';

export interface WorldOptions {
  root: string;
  directories: number;
  sessions: number;
  queueUrl: string;
  concurrency: number;
}

export interface ChaosSession {
  file: SessionFile;
  /** Of its project. */
  cwd: string;
  turns: number;
}

/** What the `turn`th turn (from 1) of a session says: the words are in no other turn. */
export function statementOf(session: Pick<ChaosSession, 'file'>, turn: number): string {
  if (isAboutUser(session, turn)) return `I work at the station ${codeOf(session)}-${turn} is heron bureau.`;
  return `Remember that the code word of station ${codeOf(session)}-${turn} is heron.`;
}

/** Every other session begins with something about the user, which the user scope keeps. */
export function isAboutUser(session: Pick<ChaosSession, 'file'>, turn: number): boolean {
  return turn === 1 && Number(session.file.id.slice(0, 4)) % 2 === 1;
}

/** What marks that turn in a log line. */
export function markOf(session: Pick<ChaosSession, 'file'>, turn: number): string {
  return `station ${codeOf(session)}-${turn} is heron`;
}

export type World = Awaited<ReturnType<typeof makeWorld>>;

export async function makeWorld(options: WorldOptions, random: Random) {
  const home = chaosHouse.homeIn(options.root);
  const transcripts = join(options.root, 'transcripts');
  for (const dir of [home, transcripts]) mkdirSync(dir, { recursive: true });
  const settings = { concurrency: options.concurrency, requestMs: 15_000, userScope: true };
  writeFileSync(join(home, 'config.json'), JSON.stringify(settings));
  const environment: Environment = {
    PATH: process.env.PATH,
    HOME: home,
    NOCTURNE_HOME: home,
    CLAUDE_CONFIG_DIR: join(home, 'claude'),
    NOCTURNE_MODEL: 'offline',
    NOCTURNE_QUEUE_URL: options.queueUrl,
    NOCTURNE_ZONE: 'UTC',
  };
  const app = await chaosHouse.open(environment);
  const projects = Array.from({ length: options.directories }, (_, index) => {
    const cwd = join(options.root, 'projects', `project-${index}`);
    mkdirSync(cwd, { recursive: true });
    return cwd;
  });
  const startsAt = new Date(Date.now() - 6 * 3_600_000).toISOString();
  const sessions = Array.from({ length: options.sessions }, (_, index): ChaosSession => {
    const cwd = index < projects.length ? (projects[index] as string) : random.pick(projects);
    // Message ids begin with its first four digits.
    const id = `${String(index).padStart(4, '0')}0000-2222-4333-8444-555555555555`;
    const session = { file: sessionFile(transcripts, { id, cwd, startsAt }), cwd, turns: 0 };
    for (let turns = 1 + random.below(3); turns > 0; turns -= 1) grow(session);
    return session;
  });

  function grow(session: ChaosSession): void {
    session.turns += 1;
    session.file.add(statementOf(session, session.turns));
  }
  return {
    ...app,
    home,
    environment,
    sessions,
    /** Goes on with a session: one more turn. */
    grow,
    /** Puts a session into its inbox, as a hook does; one that waits or is being worked is put again. */
    async announce(session: ChaosSession) {
      await app.announce(session.file.path);
    },
  };
}

function codeOf({ file }: Pick<ChaosSession, 'file'>): string {
  return file.id.slice(0, 8);
}
