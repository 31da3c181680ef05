// What `npm start` does: learns from the example sessions, or those given, and dreams, in a temporary directory, and prints what was
// remembered, from which words, the files that hold it, and what the next session would be told. Of what it made on the way only the
// memory stays, and is named.

import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OFFLINE_LIMITS } from '../agent/agent-types.ts';
import { type Config, loadConfig } from '../base/config/config.ts';
import { describeError, type Failure } from '../base/errors.ts';
import { listFiles, removeTree } from '../base/files/directories.ts';
import { packagePath } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { recallFor } from '../hook/start-recall.ts';
import { entriesWhere } from '../memory/entries.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { sessionDirs } from '../memory/session-rows.ts';
import { shortId } from '../memory/short-ids.ts';
import { note, print, style } from '../terminal/output.ts';
import { sayOutcome, saySpeaker } from '../terminal/phrases.ts';
import { type App, openApp } from '../worker/compose.ts';
import type { Parts } from '../worker/job-bounds.ts';

/** Where it works, and with which runner of the agent. */
interface StartOptions {
  root?: string;
  parts?: Parts;
}

/** Sets the exit code. */
export async function startWith(given: string[], options: StartOptions = {}): Promise<void> {
  try {
    const { root = join(tmpdir(), `nocturne-${randomUUID().slice(0, 8)}`), parts } = options;
    const config = await demoConfig(root, given.length > 0);
    const app = await openApp(config, parts);
    try {
      await demonstrate(app, given.length > 0 ? given : await exampleSessions());
    } finally {
      await app.close();
      removeTree(config.home);
    }
  } catch (error) {
    note(`nocturne: ${describeError(error)}`);
    process.exitCode = 1;
  }
}

/** A home and a memory directory of their own; a real model only where a key is there and a session was given. */
async function demoConfig(root: string, isGiven: boolean): Promise<Config> {
  const config = await loadConfig();
  const hasKey = config.access.apiKey !== undefined || config.access.authToken !== undefined;
  const model = isGiven && hasKey ? config.model : 'offline';
  const own = { home: join(root, 'home'), memoryDir: join(root, 'memory') };
  return { ...config, ...own, queueUrl: undefined, databaseUrl: undefined, model };
}

async function exampleSessions(): Promise<string[]> {
  const dir = packagePath('test', 'fixtures', 'example');
  return listFiles(dir).map((name) => join(dir, name));
}

async function demonstrate(app: App, transcripts: string[]): Promise<void> {
  note(`${sayCount(transcripts.length, 'session')}, model ${app.config.model}`);
  const memory = await app.memoryFor();
  const tell = (name: string, { outcome, error }: { outcome: string; error?: Failure }) => {
    note(`  ${name}: ${sayOutcome(outcome)}${error ? ` (${error.message})` : ''}`);
    if (error) process.exitCode = 1;
  };
  for (const transcript of transcripts) {
    const report = await app.extract({ transcript, ended: true });
    tell(`session ${await shortId(app.db, 'session', report.session)}`, report);
  }
  tell('dream', await app.dream(memory, {}));
  await show(app, memory);
}

async function show(app: App, memory: MemoryRow): Promise<void> {
  const { config, db } = app;
  const dir = memory.dir ?? '';
  const entries = await entriesWhere(db, memory.id);
  print(`\n${title(`Remembered: ${sayCount(entries.length, 'thing')}, each with the words it rests on`)}`);
  for (const { text, by, evidence } of entries) print(`- ${text}\n    ${sayQuote(by, evidence)}`);
  if (entries.length === 0) {
    const rules = [OFFLINE_LIMITS, 'With ANTHROPIC_API_KEY set a real model reads the session.'];
    print(['Nothing was worth keeping.', ...(config.model === 'offline' ? rules : [])].join('\n'));
    return removeTree(dirname(dir));
  }
  const files = await app.files(memory).list({ content: true });
  for (const file of files.items) {
    if (!('text' in file)) continue;
    // What only nocturne reads of a log stands in comments.
    print(`\n${title(file.path)}\n${file.text.replaceAll(/^ *<!--.*-->\n/gm, '').trimEnd()}`);
  }
  const [cwd] = await sessionDirs(db, memory.id);
  const { text } = await recallFor(config, { cwd, isAlone: true });
  print(`\n${title('What the next session is told')}\n${text.trimEnd()}`);
  print(`\nThe memory stays in ${dir}; remove it when you have seen it.`);
}

function title(text: string): string {
  return `${style('bold', text)}\n${'─'.repeat(Math.min(text.length, 78))}`;
}

function sayQuote(by: string, [first]: readonly { quote: string }[]): string {
  return `${saySpeaker(by)}: “${first?.quote ?? ''}”`;
}

if (import.meta.main) await startWith(process.argv.slice(2));
