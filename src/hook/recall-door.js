// What the hook loads to answer within a session: a prompt, or a call that failed, with the settings of this machine.

import { loadConfig } from '../base/config/config.ts';
import { answerFailure } from './failure-recall.ts';
import { answerPrompt } from './prompt-recall.ts';

export async function answerWithin(request) {
  const config = await loadConfig();
  return request.failure ? answerFailure(config, request) : answerPrompt(config, request);
}
