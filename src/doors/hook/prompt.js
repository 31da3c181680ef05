// What the hook loads to answer a prompt: recall-prompt.ts with the settings of this machine and the wings.

import { loadConfig } from '../../base/config/config.ts';
import { WINGS } from '../../wings/index.ts';
import { answerPrompt as answer } from '../recall-prompt.ts';
import { useWings } from '../wing.ts';

export async function answerPrompt(request) {
  useWings(WINGS);
  return answer(await loadConfig(), request);
}
