// What a system is that a chain is played with, whatever it keeps and however it tells it.

import { openModel } from '../../../src/agent/model.ts';
import { loadConfig } from '../../../src/base/config/config.ts';
import type { Parts } from '../../../src/worker/job-bounds.ts';
import type { Link } from './links.ts';

/** What a session was told. `message`: the prompt or the failed call's result that it came with. */
export interface Told {
  on: 'start' | 'prompt' | 'failure';
  message: string | null;
  at: string;
  text: string;
}

export interface System {
  /** What the session is told, before anything of it is learned. */
  tell(link: Link, keep: (told: Told) => void): void | Promise<void>;
  learn?(link: Link): void | Promise<void>;
  /** The night after. */
  dream?(link: Link): Promise<void>;
  close?(): Promise<void>;
}

export interface SystemAt {
  /** The directory of the play; what is kept lies in its `memory`. */
  out: string;
  model: string;
  /** With the recorded model's address. */
  environment: NodeJS.ProcessEnv;
  parts?: Parts;
}

/** What a system may tell a session at a time: as much as nocturne tells at its start. */
export const RECALL_CHARACTERS = 10_000;
/** A reader may stand behind the model's API, and take their time. */
export const PATIENCE_MS = 21_600_000;
const OUTPUT_TOKENS = 8_192;

type Client = ReturnType<typeof openModel>;
type Asked = Parameters<Client['messages']['create']>[0];
export type Answer = Extract<Awaited<ReturnType<Client['messages']['create']>>, { content: unknown }>;

/** Asks the model as nocturne's own jobs reach it. */
export async function asker({ model, environment }: SystemAt) {
  const { access } = await loadConfig({ model }, environment);
  const request = { model, access, requestMs: PATIENCE_MS, maxOutputTokens: OUTPUT_TOKENS };
  const client = openModel(
    { ...request, system: '', input: '', tools: [], maxTurns: 1 },
    { reserve: async () => 0, settle: async () => {} },
  );
  return async (asked: Pick<Asked, 'system' | 'messages' | 'tools'>): Promise<Answer> => {
    const answer = await client.messages.create({ model, max_tokens: OUTPUT_TOKENS, stream: false, ...asked });
    return answer as Answer;
  };
}

export function saidIn({ content }: Answer): string {
  return content
    .flatMap((block) => (block.type === 'text' ? block.text : []))
    .join('\n')
    .trim();
}
