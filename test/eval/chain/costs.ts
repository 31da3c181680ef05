// What each session of a play cost, its night included, as the model's answers and the clock tell it.

import { join } from 'node:path';
import { costMicroUsd, priceOf } from '../../../src/base/config/prices.ts';
import { isObject, parseJson } from '../../../src/base/text/json.ts';
import { playIn } from './play.ts';
import { answersIn } from './recorded-model.ts';

export interface CostOfSession {
  requests: number;
  /** Without what was read from the prompt's cache. */
  input: number;
  cached: number;
  output: number;
  /** At list price; null for a model without one. */
  usd: number | null;
  /** Beside the model's answers. */
  seconds: number;
}

export function costsOf(dir: string): CostOfSession[] {
  const { model, sessions, steps } = playIn(dir);
  const price = priceOf(model);
  const answers = answersIn(join(dir, 'answers.jsonl'));
  return sessions.map((session, at) => {
    const usages = answers.filter(({ step }) => step.split(' ')[1] === String(at + 1)).map(({ body }) => usageIn(body));
    const sum = (name: string) => usages.reduce((all, usage) => all + Number(usage[name] ?? 0), 0);
    const cacheWriteTokens = sum('cache_creation_input_tokens');
    const tokens = {
      ...{ inputTokens: sum('input_tokens') + cacheWriteTokens, cacheWriteTokens },
      ...{ cachedInputTokens: sum('cache_read_input_tokens'), outputTokens: sum('output_tokens') },
    };
    const taken = Object.entries(steps).filter(([name]) => name.endsWith(` ${session}`));
    return {
      ...{ requests: usages.length, input: tokens.inputTokens, cached: tokens.cachedInputTokens },
      output: tokens.outputTokens,
      usd: usages.length === 0 ? 0 : price ? costMicroUsd(tokens, price) / 1e6 : null,
      seconds: taken.reduce((all, [, { seconds }]) => all + seconds, 0),
    };
  });
}

/** Of an answer in one piece, or of a stream: what its beginning says, and then its end. */
function usageIn(body: string): Record<string, unknown> {
  const pieces = body.startsWith('{') ? [body] : body.split('\n').map((line) => line.replace(/^data: /, ''));
  const usages = pieces.flatMap((piece) => {
    const json = parseJson(piece);
    if (!isObject(json)) return [];
    const said = isObject(json.message) ? json.message.usage : json.usage;
    return isObject(said) ? [said] : [];
  });
  return Object.assign({}, ...usages);
}
