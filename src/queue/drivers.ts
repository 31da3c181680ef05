// What a server of a queue has in common with one of memory: its driver, its version, and its URL as it may be shown.
// Promises: loads neither BullMQ nor a driver: who only keeps memory in PostgreSQL needs no queue.

import { AppError } from '../base/errors.ts';
import { packagePath, readTextNow } from '../base/files/files.ts';

const OLDEST_POSTGRES = 13;

/**
 * Packages that are not installed with nocturne, because few need them. Errors: `bad-input` with the command that installs
 * them, where one is not there.
 */
export async function optionalPackage<T>(names: string[], need: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const { peerDependencies } = JSON.parse(readTextNow(packagePath('package.json')) ?? '{}');
    const isGlobal = readTextNow(packagePath('..', '..', 'package.json')) === null;
    const wanted = names.map((name) => `"${name}@${peerDependencies?.[name] ?? 'latest'}"`);
    throw new AppError('bad-input', `The package ${names.join(' or ')} is not installed; ${need} needs it.`, {
      remedy: `npm install ${isGlobal ? '--global ' : ''}${wanted.join(' ')}`,
    });
  }
}

/** Errors: `bad-input` where a queue at the URL needs a driver that is not installed. */
export async function checkQueueDriver(url: string | undefined): Promise<void> {
  if (/^postgres(?:ql)?:/i.test(url ?? '')) await loadPgForQueue();
}

export function loadPgForQueue() {
  return optionalPackage(['pg'], 'a queue on Postgres', () => import('pg'));
}

export function loadBoard() {
  return optionalPackage(['@bull-board/api', '@bull-board/hono'], 'the board', async () => ({
    ...(await import('@bull-board/api')),
    ...(await import('@bull-board/api/bullMQAdapter')),
    ...(await import('@bull-board/hono')),
  }));
}

/** Throws `queue-unavailable` for a server that is older than BullMQ's schema needs. */
export function checkPostgresVersion(version: string, server: string): void {
  if (Number.parseInt(version, 10) >= OLDEST_POSTGRES) return;
  throw new AppError('queue-unavailable', `PostgreSQL at ${server} is version ${version}, which is too old.`, {
    remedy: `Use PostgreSQL ${OLDEST_POSTGRES} or newer, or Redis.`,
  });
}

/** What a driver is given so that its sessions have these options, behind those of the URL: the driver would take those alone. */
export function withSessionOptions(url: string, options: string): { connectionString: string; options: string } {
  const at = new URL(url);
  const own = at.searchParams.get('options');
  at.searchParams.delete('options');
  return { connectionString: own === null ? url : at.href, options: own === null ? options : `${own} ${options}` };
}

/** The URL as it may be shown: without its password and options. */
export function withoutSecrets(url: string): string {
  const shown = new URL(url);
  shown.password = '';
  shown.search = '';
  return shown.href;
}
