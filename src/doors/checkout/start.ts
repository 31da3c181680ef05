// `npm start`: takes the example sessions, or those given, through the embedded queue in a temporary directory, and
// prints the memory that comes out.

import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, loadConfig } from '../../base/config/config.ts';
import { describeError } from '../../base/errors.ts';
import { listFiles } from '../../base/files/directories.ts';
import { packagePath } from '../../base/files/files.ts';
import { enqueueExtract, put } from '../cli/commands/enqueue.ts';
import { note, print } from '../cli/terminal/output.ts';
import { progress } from '../cli/terminal/progress.ts';
import { type App, compose } from '../compose.ts';
import { runWorker } from '../worker/worker.ts';

const given = process.argv.slice(2);

try {
  const app = compose(await demoConfig());
  try {
    await demonstrate(app, given.length > 0 ? given : await exampleSessions());
  } finally {
    app.close();
  }
} catch (error) {
  note(`nocturne: ${describeError(error)}`);
  process.exitCode = 1;
}

/** A home and a memory directory of their own; a real model only where a key is there and a session was given. */
async function demoConfig(): Promise<Config> {
  const config = await loadConfig();
  const root = join(tmpdir(), `nocturne-${randomUUID().slice(0, 8)}`);
  const hasKey = config.access.apiKey !== undefined || config.access.authToken !== undefined;
  const model = given.length > 0 && hasKey ? config.model : 'offline';
  return { ...config, home: join(root, 'home'), memoryDir: join(root, 'memory'), queueUrl: undefined, model };
}

async function exampleSessions(): Promise<string[]> {
  const dir = packagePath('test', 'fixtures', 'example');
  return (await listFiles(dir)).map((name) => join(dir, name));
}

async function demonstrate(app: App, transcripts: string[]): Promise<void> {
  note(
    `${transcripts.length} session${transcripts.length === 1 ? '' : 's'}, model ${app.config.model}, embedded queue`,
  );
  for (const transcript of transcripts) await enqueueExtract(app, { transcript, ended: true });
  const store = await app.storeFor({});
  put(app, { store, kind: 'dream', key: 'dream' }, {});
  const bar = progress('opening the queue');
  let isFine = true;
  await runWorker(app, {
    signal: new AbortController().signal,
    untilIdle: true,
    onResult: (result) => {
      bar.say(`${result.kind} ${result.key}: ${result.outcome}`);
      note(`  ${result.kind.padEnd(8)} ${result.key}: ${result.outcome}${result.reason ? ` (${result.reason})` : ''}`);
      isFine &&= result.reason === null;
    },
    onError: (message) => note(`  ${message}`),
  }).finally(() => bar.stop());
  print(`\n${store.dir}`);
  for (const path of await listFiles(store.dir)) if (!/ledger|lock|aside/.test(path)) print(`  ${path}`);
  print(`\nMEMORY.md\n${'─'.repeat(60)}\n${(await store.read('MEMORY.md')) ?? '(nothing was worth keeping)\n'}`);
  if (!isFine) process.exitCode = 1;
}
