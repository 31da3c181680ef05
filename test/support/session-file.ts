// Writes small Claude Code sessions for tests, turn by turn, in the records that Claude Code writes.

import { appendFileSync, existsSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tempDir } from './temp.ts';

/** What happens in a turn after its prompt. */
export type Step =
  | { says: string }
  /** What a person types while the agent works, which begins no turn. */
  | { types: string }
  /** The same, but only the records of the queue tell of it. */
  | { queues: string }
  /** A dialog, and the option that a person chose. */
  | { asks: string; options: string[]; chose: string }
  /** `refused`: a person does not let the agent do it, and says this. */
  | { calls: string; input: object; result?: string; fails?: boolean; refused?: string };

export interface SessionOptions {
  id?: string;
  cwd?: string;
  /** Instant of the first record; each record is ten seconds later. */
  startsAt?: string;
  /** What the agent writes with `Write` is only told, until `act` is called. Default: it is written where its directory is. */
  isTold?: boolean;
}

/** What a session says of which a test only needs that something is to be kept. */
export const RULE = 'Always use pnpm instead of npm.';
/** What Claude Code writes where a person does not let the agent do something, before what they say. */
const REFUSED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n";

/** A session, by default in a directory of its own, in which a person says this, turn by turn. */
export function aSession(
  prompts: readonly string[] = [RULE],
  { dir = tempDir(), ...options }: SessionOptions & { dir?: string } = {},
): SessionFile {
  const session = sessionFile(dir, options);
  for (const prompt of prompts) session.add(prompt);
  return session;
}

export type SessionFile = ReturnType<typeof sessionFile>;

/** A session file `<id>.jsonl` in `dir`, without a turn yet. */
export function sessionFile(dir: string, options: SessionOptions = {}) {
  const id = options.id ?? '11111111-2222-4333-8444-555555555555';
  const path = join(dir, `${id}.jsonl`);
  const startsAt = Date.parse(options.startsAt ?? '2026-11-20T09:00:00Z');
  const turns: string[] = [];
  const ids: string[] = [];
  const acts: (() => void)[] = [];
  let records = 0;
  writeFileSync(path, '');

  const write = (type: 'user' | 'assistant' | 'attachment', message?: object, more: object = {}) => {
    records += 1;
    const uuid = `${id.slice(0, 4)}${String(records).padStart(4, '0')}-${id.slice(9)}`;
    ids.push(type === 'assistant' ? String(Object(message).id) : uuid);
    const timestamp = new Date(startsAt + records * 10_000).toISOString();
    const common = { isSidechain: false, cwd: options.cwd ?? '/home/kim/orchard', sessionId: id, version: '2.1.219' };
    appendFileSync(path, `${JSON.stringify({ ...common, type, message, uuid, timestamp, ...more })}\n`);
    return uuid;
  };
  const goOn = (steps: Step[]) => {
    for (const step of steps) {
      if ('types' in step) {
        const origin = { kind: 'human' };
        write('attachment', undefined, { attachment: { type: 'queued_command', prompt: step.types, origin } });
        continue;
      }
      if ('queues' in step) {
        records += 1;
        const timestamp = new Date(startsAt + records * 10_000).toISOString();
        for (const more of [{ operation: 'enqueue', content: step.queues }, { operation: 'remove' }])
          appendFileSync(path, `${JSON.stringify({ type: 'queue-operation', timestamp, sessionId: id, ...more })}\n`);
        continue;
      }
      const messageId = `msg_${id.slice(0, 4)}${records}`;
      if ('says' in step) {
        write('assistant', { id: messageId, role: 'assistant', content: [{ type: 'text', text: step.says }] });
        continue;
      }
      const call = `toolu_${id.slice(0, 4)}${records}`;
      if ('asks' in step) {
        const question = { question: step.asks, header: 'Choice', multiSelect: false };
        const questions = [{ ...question, options: step.options.map((label) => ({ label, description: label })) }];
        const use = { type: 'tool_use', id: call, name: 'AskUserQuestion', input: { questions } };
        write('assistant', { id: messageId, role: 'assistant', content: [use] });
        const told = `User has answered your questions: "${step.asks}"="${step.chose}". You can now continue with the user's answers in mind.`;
        const content = [{ type: 'tool_result', tool_use_id: call, content: told }];
        write(
          'user',
          { role: 'user', content },
          { toolUseResult: { questions, answers: { [step.asks]: step.chose } } },
        );
        continue;
      }
      const use = { type: 'tool_use', id: call, name: step.calls, input: step.input };
      write('assistant', { id: messageId, role: 'assistant', content: [use] });
      const told = step.refused === undefined ? step.result : `${REFUSED}${step.refused}`;
      if (told === undefined) continue;
      const is_error = step.fails ?? step.refused !== undefined;
      const { file_path, content } = step.input as { file_path?: string; content?: string };
      if (step.calls === 'Write' && !is_error && file_path && content !== undefined) {
        const at = new Date(startsAt + records * 10_000);
        acts.push(() => {
          if (!existsSync(dirname(file_path))) return;
          writeFileSync(file_path, content);
          utimesSync(file_path, at, at);
        });
        if (!options.isTold) acts.at(-1)?.();
      }
      const result = { type: 'tool_result', tool_use_id: call, content: told, is_error };
      write('user', { role: 'user', content: [result] });
    }
  };
  return {
    path,
    id,
    /** The id of the nth turn (from 1): that of its prompt. */
    turn: (n: number) => turns[n - 1] as string,
    /** The id of the message of the nth record (from 1). */
    message: (n: number) => ids[n - 1] as string,
    /** Adds a turn at the end of the file. */
    add(prompt: string, steps: Step[] = [{ says: 'Done.' }]) {
      turns.push(write('user', { role: 'user', content: prompt }, { origin: { kind: 'human' } }));
      goOn(steps);
    },
    /** Goes on with the last turn. */
    goOn,
    /** Writes what the agent wrote, at the time of its calls. */
    act: () => {
      for (const act of acts) act();
    },
  };
}
