// What a caller expects to stand at a path before it is changed.

import { AppError } from '../../base/errors.ts';
import { shaOf } from '../ledger/version-rows.ts';

/** What must stand at the path, else nothing is changed and the error is `conflict`. */
export type Precondition = { contentSha256: string } | { mustNotExist: true };

/** Throws `conflict`, which says what was found, where a precondition does not hold. */
export function check(
  { path, precondition }: { path: string; precondition?: Precondition },
  current: string | null,
): void {
  if (!precondition) return;
  const found = current === null ? 'no file' : `content with the SHA-256 ${shaOf(current)}`;
  if ('mustNotExist' in precondition) {
    if (current === null) return;
    throw new AppError('conflict', `${path} exists already: found ${found}.`, {
      remedy: 'Choose another path, or edit what stands there.',
    });
  }
  if (current !== null && shaOf(current) === precondition.contentSha256) return;
  throw new AppError('conflict', `${path} is not what was expected (${precondition.contentSha256}): found ${found}.`, {
    remedy: 'Read it again and repeat the change on what stands there now.',
  });
}
