// Reads prompts/*.md and fills in their variables, strictly: a variable without a value and a value without a
// variable are both errors, so that a prompt never reaches a model half filled.
// `{{name}}` is a variable, `{{> part}}` includes prompts/_part.md, `{{#name}} … {{/name}}` is left out where the value is
// empty or `none`: rules for what is not there are not sent.

import { hash } from 'node:crypto';
import { AppError } from './errors.ts';
import { packagePath, readTextNow } from './files/files.ts';

/** What stands for data that is not there. */
export const NONE = 'none';

interface Prompt {
  text: string;
  /** Eight hex digits over the template with its parts, not over the values: it names the wording that was used. */
  fingerprint: string;
}

/** Renders `prompts/<name>.md`. Values are inserted as they are; a value is never scanned for variables. */
export async function renderPrompt(name: string, values: Record<string, string>): Promise<Prompt> {
  const template = loadTemplate(name);
  const wanted = new Set([...template.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] as string));
  const missing = [...wanted].filter((key) => values[key] === undefined);
  const unused = Object.keys(values).filter((key) => !wanted.has(key));
  if (missing.length > 0 || unused.length > 0) {
    throw new AppError('bad-input', `prompt ${name}: missing values [${missing}], unknown values [${unused}].`);
  }
  const given = template.replace(/\{\{#(\w+)\}\}\n?(.*?)\{\{\/\1\}\}\n?/gs, (_, key: string, section: string) =>
    ['', NONE].includes(values[key] ?? '') ? '' : section,
  );
  return {
    text: given.replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key] as string),
    fingerprint: hash('sha256', template).slice(0, 8),
  };
}

/** Text from outside as a value: each line prefixed, so that none can end the fence around it; `none` if there is none. */
export function asData(text: string | null | undefined): string {
  if (!text?.trim()) return NONE;
  return text.trimEnd().replace(/^/gm, '| ');
}

function loadTemplate(name: string): string {
  const text = readTextNow(packagePath('prompts', `${name}.md`));
  if (text === null) throw new AppError('bad-input', `prompts/${name}.md is missing from this installation.`);
  return text.replace(/\{\{> (\w+)\}\}/g, (_, part: string) => loadTemplate(`_${part}`).trimEnd());
}
