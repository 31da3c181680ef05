// Reads the one JSON object that an agent writes to a hook's stdin. Agents do not always close the pipe, so it ends
// with the first whole object, or when nothing came for a while.

import { parseJson } from '../../base/text/json.ts';

const WAIT_MS = 500;
const MAX_CHARACTERS = 1 << 20;

/** The object, or null where none came, or what came is none. */
export function readHookJson(input: NodeJS.ReadStream): Promise<Record<string, unknown> | null> {
  if (input.isTTY) return Promise.resolve(null);
  return new Promise((resolve) => {
    let text = '';
    const end = (found: Record<string, unknown> | null) => {
      clearTimeout(timer);
      input.removeAllListeners();
      input.destroy();
      resolve(found);
    };
    const timer = setTimeout(() => end(parse(text)), WAIT_MS);
    input.setEncoding('utf8');
    input.on('data', (chunk: string) => {
      text += chunk;
      const found = text.trimEnd().endsWith('}') ? parse(text) : null;
      if (found || text.length > MAX_CHARACTERS) end(found);
    });
    input.once('end', () => end(parse(text)));
    input.once('error', () => end(null));
  });
}

function parse(text: string): Record<string, unknown> | null {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
}
