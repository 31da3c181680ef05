// What the steps of a run came to, kept in a file, so that a run that was interrupted goes on where it stopped and its
// figures are those of the whole. A step that failed is not kept: it is tried again.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Usage } from '../../src/base/config/prices.ts';

export interface Steps {
  /** What a step took, where it was done before. */
  get(step: string): Usage | undefined;
  set(step: string, spent: Usage): void;
}

/** The steps of one sample, in a file that need not be there. */
export function stepsIn(path: string): Steps {
  const done = new Map<string, Usage>(existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : []);
  return {
    get: (step) => done.get(step),
    set(step, spent) {
      done.set(step, spent);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(`${path}.new`, JSON.stringify([...done]));
      renameSync(`${path}.new`, path);
    },
  };
}

/** Nothing is kept. */
export function forgottenSteps(): Steps {
  return { get: () => undefined, set() {} };
}
