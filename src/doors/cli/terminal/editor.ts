// The person's editor, on a file.

import { spawnSync } from 'node:child_process';

/** The editor may be a command with arguments (`code --wait`), so a shell reads it; the path is never read by one. */
export function openEditor(editor: string, path: string): boolean {
  const isWindows = process.platform === 'win32';
  const run = isWindows
    ? spawnSync(`${editor} "${path}"`, { stdio: 'inherit', shell: true })
    : spawnSync('/bin/sh', ['-c', `${editor} "$@"`, editor, path], { stdio: 'inherit' });
  return run.status === 0;
}
