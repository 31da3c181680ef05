// The module that opencode is given, from its template beside this file: with the paths of this nocturne and its home.

import { AppError } from '../../../base/errors.ts';
import { readTextNow } from '../../../base/files/files.ts';
import { opencodeTemplate, type Programs } from './programs.ts';

const MARK = '// Written by nocturne install opencode.';
const INSTALLED = "const INSTALLED = { node: '', hook: '', home: '' };";

export function isOpencodePlugin(text: string): boolean {
  return text.startsWith(MARK);
}

/** The module's text. */
export function opencodePlugin({ programs, home }: { programs: Programs; home: string }): string {
  const path = opencodeTemplate();
  const template = readTextNow(path);
  if (!template?.includes(INSTALLED)) throw new AppError('storage', `${path} is not the template it should be.`);
  const { node, hook } = programs;
  return template.replace(INSTALLED, () => `const INSTALLED = ${JSON.stringify({ node, hook, home })};`);
}
