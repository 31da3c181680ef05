// A client of several servers: what is refused for now, or gets no answer, is asked again, as the official SDK does, of
// whichever server is next. What is asked is the same however often.

import { setTimeout as after } from 'node:timers/promises';
import type { Random } from '../../support/random.ts';

const ANSWER_MS = 20_000;
const AGAIN_MS = 250;
const MOST_AGAIN_MS = 3_000;
const GIVE_UP_MS = 300_000;

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the body of whatever was asked for
  body: any;
}

export interface Client {
  tenant: string;
  ask(method: string, path: string, body?: object): Promise<Answer>;
}

export interface ClientOptions {
  tenant: string;
  key: string;
  urls: string[];
  random: Random;
  /** Told of each try that got no answer, or one that asks to come again. */
  onRetry(why: string): void;
}

export function clientOf({ tenant, key, urls, random, onRetry }: ClientOptions): Client {
  return {
    tenant,
    async ask(method, path, body) {
      const endsAt = performance.now() + GIVE_UP_MS;
      let last = '';
      while (performance.now() < endsAt) {
        try {
          const answer = await fetch(`${random.pick(urls)}${path}`, {
            method,
            headers: { 'x-api-key': key, 'content-type': 'application/json' },
            ...(body && { body: JSON.stringify(body) }),
            signal: AbortSignal.timeout(ANSWER_MS),
          });
          const found = { status: answer.status, body: await answer.json() };
          if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) return found;
          last = `${answer.status} ${JSON.stringify(found.body)}`;
          onRetry(String(answer.status));
          const seconds = Number(answer.headers.get('retry-after') ?? 0);
          await after(Math.min(MOST_AGAIN_MS, seconds * 1_000 || AGAIN_MS));
        } catch (error) {
          last = String((error as Error).cause ?? error);
          onRetry('no answer');
          await after(AGAIN_MS);
        }
      }
      throw new Error(`${method} ${path} got no answer: ${last}`);
    },
  };
}
