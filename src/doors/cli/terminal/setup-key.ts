// The key at set-up: asked for where there is none, never shown, tried by one request of a few tokens before it is kept.

import type { Config } from '../../../base/config/config.ts';
import { describeError, isAppError, ruleOf } from '../../../base/errors.ts';
import { keepKey, keyPath, keySource } from '../../../base/key.ts';
import { openHome } from '../../../memory/home/home.ts';
import { tryModel } from '../../doctor/checks.ts';
import type { Questions } from './ask.ts';

const MOST_ASKED = 3;

export interface Asking {
  /** Null: nobody is there to answer. */
  questions: Questions | null;
  say(text: string): void;
}

/** Answers whether the model can be asked now, and says why not. */
export async function settleKey(config: Config, { questions, say }: Asking): Promise<boolean> {
  if (config.model === 'offline') return true;
  if (keySource(config) !== 'none') {
    const isGood = (await tryKey(config, say)) === 'good';
    const { apiKey } = config.access;
    if (isGood && keySource(config) === 'environment' && apiKey) await offerToKeep(config, { questions, say, apiKey });
    return isGood;
  }
  for (let asked = 0; questions && asked < MOST_ASKED; asked += 1) {
    const apiKey = (await questions.askHidden('API key for the model (not shown; empty for none): '))?.trim();
    if (!apiKey) break;
    const state = await tryKey({ ...config, access: { ...config.access, apiKey } }, say);
    if (state === 'refused') continue;
    keepKey(config.home, apiKey);
    return state === 'good';
  }
  const otherwise = questions
    ? 'Run nocturne setup again when you have one.'
    : 'Give --key-stdin, --key-file or --key-command.';
  say(`There is no key yet: nothing is learned until there is, and nothing is lost. ${otherwise}`);
  return false;
}

type KeyState = 'good' | 'refused' | 'untried';

async function tryKey(config: Config, say: Asking['say']): Promise<KeyState> {
  const home = openHome(config.home, config.clock, config.zone);
  try {
    const error = await tryModel(config, home);
    if (!error) {
      say(`The key works: ${config.model} answers.`);
      return 'good';
    }
    const isRefused = isAppError(error) && ruleOf(error.code).class === 'auth';
    say(`${isRefused ? 'The key does not work' : 'The key could not be tried'}: ${describeError(error)}`);
    return isRefused ? 'refused' : 'untried';
  } finally {
    home.close();
  }
}

/** A scheduler has nothing of a shell's environment. */
async function offerToKeep(
  { home, userDir }: Config,
  { questions, say, apiKey }: Asking & { apiKey: string },
): Promise<void> {
  const path = keyPath(home).replace(userDir, '~');
  const answer = await questions?.ask(`It is in this shell alone. Keep it for the nights, in ${path}? [y/N] `);
  if (/^y(es)?$/i.test(answer?.trim() ?? '')) keepKey(home, apiKey);
  else say('The key is in this shell alone: nights have none. --key-stdin or --key-file keeps one.');
}
