// Whether a model can be asked at all. Apart from model.ts, so that a command can tell without loading the SDK.

import { AppError } from '../base/errors.ts';
import { type AgentRequest, OFFLINE_MODEL } from './types.ts';

/** Throws `no-model` where there is neither key nor token, unless the model is offline. */
export function requireAccess({ model, access }: Pick<AgentRequest, 'model' | 'access'>): void {
  if (model === OFFLINE_MODEL || access.apiKey || access.authToken) return;
  throw new AppError('no-model', `There is no key for model ${model}.`, {
    remedy:
      'Set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN; for a local endpoint also ANTHROPIC_BASE_URL), or use --model offline.',
  });
}
