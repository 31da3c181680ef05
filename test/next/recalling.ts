// What a session is told, by the house that a test is run on.

import { isNext } from './which-house.ts';

type Session = Pick<typeof import('../../src/doors/recall-session.ts'), 'answerHook' | 'recallFor'>;
type Prompt = Pick<typeof import('../../src/doors/recall-prompt.ts'), 'answerPrompt'>;

export const { answerHook, recallFor } = (
  isNext ? await import('../../src/next/hook/start-recall.ts') : await import('../../src/doors/recall-session.ts')
) as Session;

export const { answerPrompt } = (
  isNext ? await import('../../src/next/hook/prompt-recall.ts') : await import('../../src/doors/recall-prompt.ts')
) as Prompt;
