// The words of a proposal in the person's editor, as a file of the home that is gone afterwards.

import { join } from 'node:path';
import type { ShownProposal } from '../../../jobs/review/list.ts';
import type { Config } from '../../base/config/config.ts';
import { AppError } from '../../base/errors.ts';
import { readTextNow, removeFile, writeWhole } from '../../base/files/files.ts';
import { openEditor } from '../cli/terminal/editor.ts';

/** What a person makes of the words. Throws `bad-input` where there is no editor, or where it failed. */
export function editText({ editor, home }: Pick<Config, 'editor' | 'home'>, proposal: ShownProposal): string {
  if (editor === undefined || !process.stdin.isTTY) {
    throw new AppError('bad-input', 'There are no words: no --text, and no editor at a terminal.', {
      remedy: 'Give --text "…", or set EDITOR.',
    });
  }
  const path = join(home, `${proposal.id}.txt`);
  const words = proposal.lines.length > 0 ? proposal.lines : proposal.entries.map(({ text }) => text);
  writeWhole(path, `${words.join('\n')}\n`);
  try {
    if (!openEditor(editor, path)) throw new AppError('bad-input', `${editor} failed, so nothing was changed.`);
    return (readTextNow(path) ?? '').trim();
  } finally {
    removeFile(path);
  }
}
