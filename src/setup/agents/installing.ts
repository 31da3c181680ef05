// Installing into an agent's settings and taking it back. A receipt in the home keeps the text as it was before: as long
// as nobody else changed the file, uninstall puts those very bytes back, and removes a file and directories that were made.
// Where someone did, it takes out nocturne's own elements and leaves the rest.
// Files are written whole, through links, with the mode they had; a file that changed since it was read is not written.

import { hash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../base/config/config.ts';
import { AppError, attempt } from '../../base/errors.ts';
import { kindOf, realPath, removeIfEmpty, replaceText } from '../../base/files/directories.ts';
import { holdsText, readTextNow, removeFile, statNow, writeWhole } from '../../base/files/files.ts';
import { parseJson } from '../../base/text/json.ts';
import type { Programs } from './agents.ts';
import { type Agent, type AgentName, findAgent } from './agents.ts';

const receiptSchema = z.object({
  file: z.string(),
  /** The text before; null: there was no file. */
  before: z.string().nullable(),
  /** SHA-256 of the text that was written. */
  after: z.string(),
  /** Directories that were made for it, the innermost first. */
  made: z.array(z.string()),
});

type Receipt = z.infer<typeof receiptSchema>;

/** What would become of a file; nothing is written yet. */
export interface Change {
  agent: AgentName;
  file: string;
  /** Null: there is no file, or will be none. */
  from: string | null;
  to: string | null;
  /** Kept when it was written; null: the one there is goes. */
  receipt: Receipt | null;
}

/** What installing changes; `from` and `to` are the same where all is in place. */
export function planInstall(config: Config, ask: { agent: AgentName; programs: Programs }): Change {
  const agent = findAgent(ask.agent);
  const file = agent.file(config);
  const from = readFile(file);
  const old = readReceipt(config, ask.agent);
  const known = old?.file === file ? old : null;
  const before = from === null ? null : withoutOurs(agent, { text: from, file, receipt: known });
  const to = agent.add(before ?? '', ask.programs, config);
  const made = from === null ? missingAbove(file) : (known?.made ?? []);
  const isInPlace = from !== null && agent.find(from, file).join('\n') === agent.find(to, file).join('\n');
  if (isInPlace) return { agent: ask.agent, file, from, to: from, receipt: known };
  return { agent: ask.agent, file, from, to, receipt: { file, before, after: digest(to), made } };
}

/** What uninstalling changes. */
export function planUninstall(config: Config, name: AgentName): Change {
  const agent = findAgent(name);
  const receipt = readReceipt(config, name);
  const file = receipt?.file ?? agent.file(config);
  const from = readFile(file);
  return {
    agent: name,
    file,
    from,
    to: from === null ? null : withoutOurs(agent, { text: from, file, receipt }),
    receipt: null,
  };
}

/** Makes the change. Throws `conflict` where the file is not what the change was made from. */
export function applyChange(config: Config, { agent, file, from, to, receipt }: Change): void {
  if (readFile(file) !== from) {
    throw new AppError('conflict', `${file} changed meanwhile; nothing was written.`, {
      remedy: 'Run the same command again.',
    });
  }
  const old = readReceipt(config, agent);
  // Kept before the file is written: with a receipt for a text that was never written, uninstall looks for itself.
  if (receipt) writeWhole(receiptPath(config, agent), `${JSON.stringify(receipt, null, 2)}\n`);
  if (to !== null && to !== from) replaceText(file, to);
  if (to === null && from !== null) removeFile(file);
  if (receipt) return;
  for (const dir of old?.made ?? []) removeIfEmpty(dir);
  removeFile(receiptPath(config, agent));
}

/** The agents that nocturne was installed for on this home. */
export function isInstalled(config: Config, agent: AgentName): boolean {
  return readReceipt(config, agent) !== null;
}

/** Whether there is something to take out: a receipt may be gone with the home while the hooks stay. */
export function hasOurs(config: Config, name: AgentName): boolean {
  if (isInstalled(config, name)) return true;
  const agent = findAgent(name);
  const file = agent.file(config);
  // What cannot be read is not ours to change.
  return attempt(
    () => agent.find(readTextNow(file) ?? '', file).length > 0,
    () => false,
  );
}

function withoutOurs(
  agent: Agent,
  { text, file, receipt }: { text: string; file: string; receipt: Receipt | null },
): string | null {
  if (receipt && digest(text) === receipt.after) return receipt.before;
  return agent.remove(text, { file, before: receipt ? receipt.before : '' });
}

function readFile(file: string): string | null {
  if (kindOf(file) === 'link' && realPath(file) === null) {
    throw new AppError('bad-input', `${file} is a broken link; nothing was changed.`, {
      remedy: 'Make the file it names, or remove the link.',
    });
  }
  const text = readTextNow(file);
  if (text === null || holdsText(file)) return text;
  throw new AppError('bad-input', `${file} is not UTF-8 text; nothing was changed.`, { remedy: 'Fix it by hand.' });
}

function receiptPath(config: Config, agent: AgentName): string {
  return join(config.home, 'installed', `${agent}.json`);
}

function readReceipt(config: Config, agent: AgentName): Receipt | null {
  const path = receiptPath(config, agent);
  const text = readTextNow(path);
  if (text === null) return null;
  const found = receiptSchema.safeParse(parseJson(text));
  // A receipt that cannot be read is none: what is nocturne's is then found in the file itself.
  return found.success ? found.data : null;
}

/** The directories above `path` that are not there, the innermost first. */
function missingAbove(path: string): string[] {
  const dir = dirname(path);
  return statNow(dir) !== null || dir === path ? [] : [dir, ...missingAbove(dir)];
}

function digest(text: string): string {
  return hash('sha256', text);
}
