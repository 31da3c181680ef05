// What is said of a queue and a database before anything of them is loaded: whether a URL can be a queue's, and how a URL may be shown.
// Promises: loads neither BullMQ nor a driver: who only keeps memory in PostgreSQL needs no queue.

import { AppError } from '../base/errors.ts';

/** What the keys of every queue begin with: homes share a server by their namespaces. */
export const PREFIX = 'nocturne';

/** Opens nothing. Errors: `bad-input` for a URL that is none of a Redis; it is not shown, since it may hold a password. */
export function checkQueueUrl(url: string): void {
  // ioredis decodes what is in it, and falls over a password with a bare %.
  if (/^rediss?:$/.test(URL.parse(url)?.protocol ?? '') && !/%(?![\da-f]{2})/i.test(url)) return;
  throw new AppError('bad-input', 'The queue URL is not a Redis URL.', {
    remedy:
      'Give one like redis://host:6379, a % of a password written as %25, or none: a worker needs none. For memory that machines share, set databaseUrl.',
  });
}

/** The URL as it may be shown: without its password and options. */
export function withoutSecrets(url: string): string {
  const shown = new URL(url);
  shown.password = '';
  shown.search = '';
  return shown.href;
}
