// What one would take instead of nocturne, as files that are read whole: what the agent keeps itself, one summary that is
// rewritten after each session, and notes that are appended.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject, objectsOf, textOf } from '../../../src/base/text/json.ts';
import type { Link } from './links.ts';
import { sessionText } from './session-text.ts';
import { asker, RECALL_CHARACTERS, type System, type SystemAt, saidIn } from './system.ts';

const WORTH = `Worth keeping is what a later session in this repository would otherwise ask a person again, search for again, or get
wrong again:
- what people asked for that holds beyond this session: rules, preferences, decisions and the reason for them;
- what was found out with effort: how things are built, run, tested and released here, where something is, which command or
  approach failed and why, and what worked instead;
- how the work stands: what is done, what is open, what was given up.
Give exact names, paths, commands and values. Leave out what one look at the repository says, and anything secret. Say of what may
change on which day it was so.`;

const SUMMARY = `You keep the one Markdown file that a coding agent is given at the beginning of every session in a repository. A session
has ended: write the file anew, so that it serves the sessions to come. Answer with the whole new file and nothing else, at most
${RECALL_CHARACTERS} characters; what is longer is cut off at the end.

${WORTH}

Keep of the old file what still holds. Where the session shows that something has changed, let the new take the place of the old.`;

const NOTES = `A session of a coding agent in a repository has ended. Write down what a later session there should know, as short
Markdown bullets, one fact each. They are put at the end of the notes, of which the newest ${RECALL_CHARACTERS} characters are given to each
later session. Answer with the new bullets and nothing else, and with the word "nothing" where there are none.

${WORTH}

Do not repeat what the notes say already. Where the session shows that a note no longer holds, say so in a bullet.`;

export function nothing(): System {
  return { tell: ({ startsAt }, keep) => keep({ on: 'start', message: null, at: startsAt, text: '' }) };
}

export function summary(at: SystemAt): System {
  const file = join(at.out, 'memory', 'MEMORY.md');
  return {
    tell: tellFile(file),
    async learn(link) {
      const ask = await asker(at);
      const old = textAt(file);
      const input = `<file>\n${old || '(empty: this was the first session)'}\n</file>\n\n${shown(link)}`;
      const said = saidIn(await ask({ system: SUMMARY, messages: [{ role: 'user', content: input }] }));
      if (said !== '') write(file, withoutFence(said).slice(0, RECALL_CHARACTERS));
    },
  };
}

export function append(at: SystemAt): System {
  const file = join(at.out, 'memory', 'NOTES.md');
  return {
    tell: tellFile(file),
    async learn(link) {
      const ask = await asker(at);
      const notes = textAt(file);
      const input = `<notes>\n${notes.slice(-RECALL_CHARACTERS) || '(none yet)'}\n</notes>\n\n${shown(link)}`;
      const said = saidIn(await ask({ system: NOTES, messages: [{ role: 'user', content: input }] }));
      if (/\w/.test(said) && !/^\W*nothing\W*$/i.test(said)) write(file, `${notes}${withoutFence(said)}\n`);
    },
  };
}

/** The agent's own files: CLAUDE.md and its like as its transcripts show them, and the memory that it wrote itself. */
export function own({ out }: SystemAt): System {
  const dir = join(out, 'memory');
  return {
    tell({ path, startsAt }, keep) {
      // It lies in the repository when the session begins.
      for (const [name, text] of instructionsIn(path)) write(join(dir, name), text);
      const files = existsSync(dir) ? readdirSync(dir, { recursive: true, withFileTypes: true }) : [];
      const paths = files.flatMap((file) => (file.isFile() ? join(file.parentPath, file.name) : []));
      const order = (file: string) => `${file.includes(MEMORY) ? 1 : 0}${file.endsWith('MEMORY.md') ? 0 : 1}${file}`;
      const sorted = paths.sort((a, b) => order(a).localeCompare(order(b)));
      const text = sorted.map((file) => `## ${file.slice(dir.length + 1)}\n\n${textAt(file).trim()}`).join('\n\n');
      keep({ on: 'start', message: null, at: startsAt, text: text.slice(0, RECALL_CHARACTERS) });
    },
    learn({ messages }) {
      const calls = new Map<string, { input: unknown }>();
      for (const { parts } of messages)
        for (const part of parts) {
          if (part.kind === 'call') calls.set(part.id, part);
          const call = part.kind === 'result' && !part.isError ? calls.get(part.callId) : undefined;
          if (part.kind === 'result' && call) takeCall(call.input, part.text, dir);
        }
    },
  };
}

const MEMORY = 'memory-of-the-agent';
const INSTRUCTIONS = /^(?:CLAUDE(?:\.local)?|AGENTS)\.md$/;

/** The name under which a file is kept here: of what instructs agents, and of their own memory; null for all else. */
function nameOf(path: string): string | null {
  const [, file = ''] = /([^\\/]+)$/.exec(path) ?? [];
  if (/[\\/]\.claude[\\/]projects[\\/][^\\/]+[\\/]memory[\\/]/.test(path)) return `${MEMORY}/${file}`;
  if (INSTRUCTIONS.test(file)) return file;
  return /[\\/]\.claude[\\/]rules[\\/]/.test(path) ? `rules/${file}` : null;
}

/** What a call of a tool for files says of one of these files: as it was written, changed or read whole. */
function takeCall(input: unknown, result: string, dir: string): void {
  if (!isObject(input)) return;
  const name = nameOf(textOf(input.file_path) ?? '');
  if (name === null) return;
  const file = join(dir, name);
  const edits = objectsOf(input.edits).concat('new_string' in input ? [input] : []);
  if (typeof input.content === 'string') write(file, input.content);
  else if (edits.length > 0) write(file, edits.reduce(edited, textAt(file)));
  else if (input.offset === undefined && input.limit === undefined) write(file, asRead(result));
}

/** Where the old text is not known, what is new stands at the end. */
function edited(text: string, { old_string, new_string }: Record<string, unknown>): string {
  const [before, after] = [textOf(old_string) ?? '', textOf(new_string) ?? ''];
  return before !== '' && text.includes(before) ? text.replace(before, () => after) : `${text}${after}\n`;
}

/** Without numbers of lines, and what the program says beside the file. */
function asRead(result: string): string {
  const [text = ''] = result.split('<system-reminder>');
  return text.replaceAll(/^ *\d+[→\t]/gm, '');
}

/** What the program put before the agent of itself: CLAUDE.md of directories that it came into. */
function instructionsIn(path: string): [name: string, text: string][] {
  const lines = readFileSync(path, 'utf8').split('\n');
  const attached = lines.filter((line) => line.includes('"nested_memory"'));
  return attached.flatMap((line) => {
    const { attachment } = JSON.parse(line);
    const { path: from = '', content } = isObject(attachment?.content) ? attachment.content : attachment;
    const name = nameOf(String(from)) ?? /[^\\/]+$/.exec(String(from))?.[0];
    return name && typeof content === 'string' ? [[name, content] as [string, string]] : [];
  });
}

const shown = ({ startsAt, messages }: Link) =>
  `<session date="${startsAt.slice(0, 10)}">\n${sessionText(messages)}\n</session>`;

const textAt = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function tellFile(file: string): System['tell'] {
  return ({ startsAt }, keep) =>
    keep({ on: 'start', message: null, at: startsAt, text: textAt(file).slice(-RECALL_CHARACTERS) });
}

/** A model may put its whole answer into a fence. */
function withoutFence(said: string): string {
  const [, inside] = /^```(?:markdown|md)?\n([\s\S]*)\n```$/.exec(said) ?? [];
  return inside ?? said;
}
