// What a model's reply means for a run. Every ending that leaves the reply unfinished (cut, refused, too long) is an
// AppError, and the tool calls of such a reply are not run.

import type { BetaMessage } from '@anthropic-ai/sdk/resources/beta/messages';
import { AppError } from '../base/errors.ts';
import type { AgentEnding } from './types.ts';

/** Of a reply, before its tools run: `turn-limit` stands as long as the model wants to go on. */
export function readEnding(reply: BetaMessage, request: { model: string; maxOutputTokens: number }): AgentEnding {
  const fail = (what: string, remedy?: string) =>
    new AppError('bad-reply', `The reply of model ${request.model} ${what}`, { remedy });
  const wantsTools = reply.content.some((block) => block.type === 'tool_use');
  switch (reply.stop_reason) {
    case 'tool_use':
      if (!wantsTools) throw fail('stopped for tools but calls none.');
      return 'turn-limit';
    case 'pause_turn':
      return 'turn-limit';
    case 'end_turn':
    case 'stop_sequence':
      // The SDK would not run them, and what they record would be lost without a word.
      if (wantsTools) throw fail('calls tools but says it has ended.');
      return 'done';
    case 'max_tokens':
      throw fail(
        `was cut at ${request.maxOutputTokens} output tokens.`,
        'Raise maxOutputTokens in config.json of the nocturne home.',
      );
    case 'model_context_window_exceeded':
      throw new AppError(
        'oversize',
        `The conversation with model ${request.model} is oversize, longer than its context window.`,
      );
    case 'refusal':
      throw new AppError(
        'refusal',
        `Model ${request.model} refused: ${reply.stop_details?.explanation ?? reply.stop_details?.category ?? 'no reason given'}.`,
      );
    default:
      throw fail(`ended for an unknown reason: ${reply.stop_reason}.`);
  }
}
