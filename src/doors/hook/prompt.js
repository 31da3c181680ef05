// What the hook loads to answer a prompt: recall-prompt.ts with the settings of this machine and the place where memory is kept.

import { loadConfig } from '../../base/config/config.ts';
import { keepInDatabase } from '../../wings/fleet/fleet-keeping.ts';
import { useKeeping } from '../keeping.ts';
import { answerPrompt as answer } from '../recall-prompt.ts';

export async function answerPrompt(request) {
  useKeeping(keepInDatabase);
  return answer(await loadConfig(), request);
}
