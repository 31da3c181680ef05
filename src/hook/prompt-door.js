// What the hook loads to answer a prompt: prompt-recall.ts with the settings of this machine.

import { loadConfig } from '../base/config/config.ts';
import { answerPrompt as answer } from './prompt-recall.ts';

export async function answerPrompt(request) {
  return answer(await loadConfig(), request);
}
