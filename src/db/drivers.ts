// What is said of a queue and a database before anything of them is loaded: whether a URL can be a queue's, how a
// URL may be shown, and which packages are not installed with nocturne.
// Promises: loads neither BullMQ nor a driver: who only keeps memory in PostgreSQL needs no queue.

import { AppError } from '../base/errors.ts';
import { packagePath, readTextNow } from '../base/files/files.ts';

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

/** What the keys of every queue begin with: homes share a server by their namespaces. */
export const PREFIX = 'nocturne';

/** Opens nothing. Errors: `bad-input` for a URL that is none of a Redis. */
export function checkQueueUrl(url: string): void {
  const protocol = URL.parse(url)?.protocol;
  // ioredis decodes what is in it, and falls over a password with a bare %.
  if (/%(?![\da-f]{2})/i.test(url)) {
    throw new AppError('bad-input', 'The queue URL has a % that is not followed by two hexadecimal digits.', {
      remedy: 'Write a % in a password as %25, and encode other special characters too.',
    });
  }
  if (protocol === 'redis:' || protocol === 'rediss:') return;
  if (protocol === 'postgres:' || protocol === 'postgresql:') {
    throw new AppError('bad-input', 'The queue URL is for PostgreSQL; a queue works on Redis only.', {
      remedy:
        'Remove it (queueUrl, NOCTURNE_QUEUE_URL): no queue is needed. For memory that machines share, set databaseUrl.',
    });
  }
  // The value itself may hold a password, so only what is known to be harmless is shown.
  throw new AppError('bad-input', `The queue URL ${protocol ? `begins with ${protocol}` : 'is not a URL'}.`, {
    remedy: 'Give one that begins with redis: or rediss:, or none: a worker needs none.',
  });
}

/** The URL as it may be shown: without its password and options. */
export function withoutSecrets(url: string): string {
  const shown = new URL(url);
  shown.password = '';
  shown.search = '';
  return shown.href;
}
