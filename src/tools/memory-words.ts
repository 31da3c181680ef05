// What the memory tool and the tools of MCP share: no secret is written that can be known as one, and a text is replaced where it
// stands once, in the words of what is refused.

import { AppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { type Edited, replaceOnce } from '../memory/edit-text.ts';

/** Of an `old_str` that an error repeats. */
const SHOWN_CHARS = 1_000;

/** What is written holds no secret that can be known as one; `redacted`: how many it held, `note` tells the model so. */
export async function withoutSecrets(given: string): Promise<{ text: string; redacted: number; note: string }> {
  const { text, found } = await redact(given);
  const redacted = found.reduce((sum, { count }) => sum + count, 0);
  return {
    text,
    redacted,
    note: redacted > 0 ? `\nA secret in it was not kept: a placeholder stands in its place.` : '',
  };
}

/** Throws `refused` for a name that is a secret: names are shown, listed and kept in every version. */
export async function refuseSecretName(path: string): Promise<void> {
  if ((await redact(path)).found.length === 0) return;
  throw new AppError('refused', 'The path holds a secret; nothing was written.', { remedy: 'Choose another name.' });
}

/** Throws `refused` where an edit would put a secret together from what stands in a file and what it adds. */
export async function refuseJoinedSecret(path: string, before: string, after: string): Promise<void> {
  const { redacted } = await withoutSecrets(after);
  if (redacted === 0 || redacted <= (await withoutSecrets(before)).redacted) return;
  throw new AppError('refused', `${path} was not changed: with the edit it would hold a secret.`, {
    remedy: 'Say where the secret is kept instead of what it is.',
  });
}

/** Replaces the only place where `old_str` stands in a file's text. Throws `bad-input` where there is none or several. */
export function replaceIn(current: string, edit: { path: string; old_str: string; new_str: string }): Edited {
  const { path, old_str, new_str } = edit;
  const edited = replaceOnce(current, { wanted: old_str, by: new_str });
  if ('text' in edited) return edited;
  const isLong = old_str.length > SHOWN_CHARS;
  const wanted = `old_str \`${isLong ? `${old_str.slice(0, SHOWN_CHARS).toWellFormed()}…` : old_str}\``;
  if (edited.found.length === 0) {
    throw refusal(`No replacement was performed, ${wanted} did not appear verbatim in ${path}.`);
  }
  const lines = edited.found.join(', ');
  throw refusal(
    `No replacement was performed. Multiple occurrences of ${wanted} in lines: ${lines}. Please ensure it is unique`,
  );
}

export function refusal(message: string): AppError {
  return new AppError('bad-input', message);
}
