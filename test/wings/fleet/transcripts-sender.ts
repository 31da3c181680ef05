// A process that sends a session to the database. It kills or stops itself at a step, by its number from 1, and says each
// step, and how it ended with how much memory, on a line of its own: `transcripts-sender.ts URL STORE FILE [die|stop] [STEP]`.

import { writeSync } from 'node:fs';
import { openSession } from '../../../src/transcript/session.ts';
import { tempDir } from '../../support/temp.ts';
import { machine, openTranscriptDatabase } from './transcripts.ts';

const [, , url = '', store = '', file = '', how = '', at = '0'] = process.argv;
let steps = 0;

function onStep(step: string): void {
  steps += 1;
  writeSync(1, `${step}\n`);
  if (steps === Number(at)) process.kill(process.pid, how === 'die' ? 'SIGKILL' : 'SIGSTOP');
}

const database = await openTranscriptDatabase(url);
const sending = machine(database, { home: tempDir(), onStep, leaseMs: 250 });
const ended = await sending.send(await openSession(file), store).then(
  (name) => `kept ${name}`,
  (error) => error.code ?? String(error),
);
writeSync(1, `ended ${ended}\npeak ${process.resourceUsage().maxRSS * 1024}\n`);
await database.close();
