// What is under a directory of the memory: every file and directory that a path may name.
// Links, hidden items and names that confine.ts refuses are left out; nothing is read but names and sizes.

import { join } from 'node:path';
import { readDirectory } from '../../base/files/directories.ts';
import { isMemoryPath } from './confine.ts';

export interface TreeItem {
  /** Within the memory directory. */
  path: string;
  isDirectory: boolean;
  /** Of a directory: of all files under it. */
  sizeBytes: number;
  /** 1 for what is in the directory itself. */
  level: number;
  /** Of a directory: how many files are right in it. */
  files: number;
}

/** All items under the directory at `absolute`, which is `within` the memory directory ('' for itself), top down. */
export function readTree(absolute: string, within: string, level = 1): TreeItem[] {
  const items: TreeItem[] = [];
  for (const { name, kind, sizeBytes } of readDirectory(absolute) ?? []) {
    const path = within === '' ? name.normalize('NFC') : `${within}/${name.normalize('NFC')}`;
    if (!isMemoryPath(path)) continue;
    if (kind === 'file') items.push({ path, isDirectory: false, sizeBytes, level, files: 0 });
    if (kind === 'directory') {
      const inside = readTree(join(absolute, name), path, level + 1);
      const files = inside.filter((item) => !item.isDirectory && item.level === level + 1).length;
      items.push({ path, isDirectory: true, sizeBytes: totalBytes(inside), level, files }, ...inside);
    }
  }
  return items;
}

/** The bytes of all files among `items`. */
export function totalBytes(items: TreeItem[]): number {
  return items.reduce((sum, item) => sum + (item.isDirectory ? 0 : item.sizeBytes), 0);
}
