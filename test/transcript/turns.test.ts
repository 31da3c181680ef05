import { describe, expect, test } from 'vitest';
import type { Message, Turn } from '../../src/transcript/messages.ts';
import { hasOpenCall, isSettled, readTurns } from '../../src/transcript/turns.ts';
import { collect } from '../support/transcripts.ts';
import { message } from '../support/turns.ts';

async function* stream(messages: Message[]): AsyncGenerator<Message> {
  yield* messages;
}
const cut = (...messages: Message[]): Promise<Turn[]> => collect(readTurns(stream(messages)));
const shape = (turns: Turn[]): string[] =>
  turns.map((turn) => `${turn.id}: ${turn.messages.map((item) => item.id).join(' ')}`);

const prompt = (id: string, more: Partial<Message> = {}): Message => message(id, 'human', ['hi'], more);
const answer = (id: string): Message => message(id, 'assistant', ['done']);
const notice = (id: string): Message => message(id, 'harness', ['<task-notification>']);

describe('readTurns', () => {
  test('begins a turn at each prompt and at nothing else', async () => {
    const queued = prompt('q', { beginsTurn: false });
    const turns = await cut(prompt('p1'), answer('a1'), queued, notice('n'), answer('a2'), prompt('p2'), prompt('p3'));
    expect(shape(turns)).toEqual(['p1: p1 a1 q n a2', 'p2: p2', 'p3: p3']);
  });

  test('puts the preamble of the program at the head of the first turn, which keeps the id of its prompt', async () => {
    expect(shape(await cut(notice('n1'), notice('n2'), prompt('p'), answer('a')))).toEqual(['p: n1 n2 p a']);
  });

  test('makes a turn of its own of what an agent did before the first prompt', async () => {
    expect(shape(await cut(notice('n'), answer('a'), prompt('p')))).toEqual(['n: n a', 'p: p']);
  });

  test('makes one turn of a session without a prompt, and none where nobody did anything', async () => {
    expect(shape(await cut(notice('n'), message('s', 'subagent', ['x'])))).toEqual(['n: n s']);
    expect(await cut(notice('n'))).toEqual([]);
    expect(await cut()).toEqual([]);
  });

  test('dates a turn by its prompt, else by the first message that has a time', async () => {
    const at = '2026-11-02T09:00:00Z';
    const later = '2026-11-02T10:00:00Z';
    const [first] = await cut({ ...notice('n'), at }, prompt('p', { at: later }));
    const [second] = await cut(prompt('p'), { ...answer('a'), at });
    expect([first?.at, second?.at]).toEqual([later, at]);
  });
});

describe('a turn', () => {
  const call = message('c', 'assistant', [{ kind: 'call', id: 't1', tool: 'Bash', input: {} }]);
  const result = message('r', 'tool', [{ kind: 'result', callId: 't1', text: '', isError: true }]);
  const open: Turn = { id: 'p', messages: [prompt('p'), call] };
  const closed: Turn = { id: 'p', messages: [prompt('p'), call, result] };
  const minute = 60_000;
  const live = { hasNext: false, ended: false, unchangedMs: 0, quietMs: 30 * minute };

  test('has an open call until its result is there, a failed one too', () => {
    expect([hasOpenCall(open), hasOpenCall(closed)]).toEqual([true, false]);
  });

  test('is settled when another follows or the session ended, whatever is open', () => {
    for (const turn of [open, closed]) {
      expect(isSettled(turn, { ...live, hasNext: true })).toBe(true);
      expect(isSettled(turn, { ...live, ended: true })).toBe(true);
      expect(isSettled(turn, live)).toBe(false);
    }
  });

  test('at the end of a live session is settled once the file was quiet for long enough', () => {
    expect(isSettled(closed, { ...live, unchangedMs: 30 * minute - 1 })).toBe(false);
    expect(isSettled(closed, { ...live, unchangedMs: 30 * minute })).toBe(true);
  });

  test('with an open call waits for it, but not for ever', () => {
    expect(isSettled(open, { ...live, unchangedMs: 23 * 60 * minute })).toBe(false);
    expect(isSettled(open, { ...live, unchangedMs: 24 * 60 * minute })).toBe(true);
  });
});
