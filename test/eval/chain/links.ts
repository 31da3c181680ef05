// The sessions of a chain, in the order of their first record: all of a directory, or those that chains.json names.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../../src/base/errors.ts';
import type { Message } from '../../../src/transcript/messages.ts';
import { openSession } from '../../../src/transcript/session.ts';

export interface Link {
  id: string;
  path: string;
  messages: Message[];
  startsAt: string;
  endsAt: string;
}

const chainsSchema = z.array(
  z.strictObject({
    name: z.string(),
    repository: z.url(),
    usedInDevelopment: z.boolean(),
    sessions: z.array(z.strictObject({ path: z.string(), sha256: z.string().regex(/^[0-9a-f]{64}$/) })),
  }),
);
export type Chain = z.infer<typeof chainsSchema>[number];

export const CHAINS: Chain[] = chainsSchema.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, '../chains/chains.json'), 'utf8')),
);

/** Where the chains' transcripts lie, if nothing says otherwise. */
export const sessionsDir = (given?: string) => given ?? process.env.NOCTURNE_EVAL_SESSIONS;

/** `chain`: a directory, or a name in chains.json. Throws where a file is not the one that is named there. */
export async function linksOf(chain: string, sessions?: string): Promise<Link[]> {
  const named = CHAINS.find(({ name }) => name === chain);
  const links = await Promise.all((named ? namedPaths(named, sessions) : pathsIn(chain)).map(linkAt));
  const timed = links.flatMap((link) => link ?? []);
  if (timed.length === 0) throw new AppError('bad-input', `${chain} holds no session with times.`);
  return timed.sort((a, b) => a.startsAt.localeCompare(b.startsAt));
}

function pathsIn(dir: string): string[] {
  if (!existsSync(dir)) {
    const remedy = `Name a directory, or one of ${CHAINS.map(({ name }) => name).join(', ')}.`;
    throw new AppError('bad-input', `There is no directory ${dir}, and no chain of that name.`, { remedy });
  }
  const files = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
  return files.map((name) => join(dir, name));
}

function namedPaths({ name, sessions }: Chain, given?: string): string[] {
  const dir = sessionsDir(given);
  const remedy = 'Say with --sessions DIR (or NOCTURNE_EVAL_SESSIONS) where they lie.';
  if (!dir) throw new AppError('bad-input', `The transcripts of ${name} are not part of the project.`, { remedy });
  return sessions.map(({ path, sha256 }) => {
    const whole = join(dir, path);
    if (!existsSync(whole)) throw new AppError('bad-input', `${name}: there is no ${whole}.`, { remedy });
    const found = createHash('sha256').update(readFileSync(whole)).digest('hex');
    if (found === sha256) return whole;
    throw new AppError('bad-input', `${whole} has the SHA-256 ${found}, and ${name} was played with ${sha256}.`, {
      remedy: 'Take the file of that hash: figures of another would not be those of the chain.',
    });
  });
}

async function linkAt(path: string): Promise<Link | null> {
  const session = await openSession(path);
  const messages = await Array.fromAsync(session.messages());
  const times = messages.flatMap(({ at }) => at ?? []).sort();
  const [startsAt = ''] = times;
  return startsAt ? { id: session.id, path, messages, startsAt, endsAt: times.at(-1) ?? '' } : null;
}
