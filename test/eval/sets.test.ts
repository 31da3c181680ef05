// The sets hold what they promise, and their patterns tell their facts apart.

import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/transcript/messages.ts';
import { openSession } from '../../src/transcript/session.ts';
import { waysTaken } from '../support/depth.ts';
import { tempDir } from '../support/temp.ts';
import { collect, lines } from '../support/transcripts.ts';
import { recognise, says as saysFact } from './recognise.ts';
import { type EvalSet, renderSample } from './set.ts';
import { readSample } from './set-file.ts';
import { HELD_OUT, OWN } from './sets.ts';

const factsOf = ({ samples }: EvalSet) => samples.flatMap((sample) => sample.facts);

// In the small size one of them.
describe.each(waysTaken([OWN, HELD_OUT], 1))('the matcher, over the whole set $name', (set) => {
  const facts = factsOf(set);
  const statements = facts.flatMap((fact) =>
    [fact.text, fact.also].filter((text) => text !== undefined).map((text) => ({ fact, text })),
  );

  test('finds every fact in its own statement, in each language it is written in', () => {
    expect(statements.filter(({ fact, text }) => !saysFact(text, fact)).map(({ text }) => text)).toEqual([]);
  });

  test('finds no fact in the statement of another one, of any person', () => {
    const found = recognise(
      facts,
      statements.map(({ text }) => text),
    );
    const crossed = facts.flatMap(({ id }) =>
      (found.get(id) ?? []).flatMap((at) => {
        const other = statements[at];
        return other && other.fact.id !== id ? [`${id}: ${other.text}`] : [];
      }),
    );
    expect(crossed).toEqual([]);
  });
});

test.each([
  [OWN, '8ca817d93f24ad72'],
  [HELD_OUT, '31eb0364bbdbaeac'],
])('the set $name is as it was written', ({ samples }, written) => {
  expect(createHash('sha256').update(JSON.stringify(samples)).digest('hex').slice(0, 16)).toBe(written);
});

test.each(waysTaken([OWN, HELD_OUT]))(
  '$name is read from its transcripts as it was written: every prompt is of a human, and begins a turn unless it is a command',
  async ({ samples }) => {
    for (const sample of samples) {
      for (const { session, path, prompt } of renderSample(sample, tempDir())) {
        const opened = await openSession(path);
        const messages = await collect(opened.messages());
        const prompts = messages.filter(
          (message) => message.speaker === 'human' && (message.beginsTurn || saidIn(message).startsWith('/')),
        );
        expect(prompts.map(({ id }) => id)).toEqual(session.turns.map((_, at) => prompt(at + 1)));
        expect(prompts.map(saidIn)).toEqual(
          session.turns.map(({ says, command }) => (command ? `${command} ${says}` : says)),
        );
      }
    }
  },
);

describe('a sample', () => {
  const head = { sample: 's', about: 'drinks' };
  const on = (day: number) => ({ session: `2026-09-0${day}T08:00:00Z` });
  const tea = { fact: 'tea', type: 'project', text: 'Tea.', match: 'tea' };
  const gin = { fact: 'gin', type: 'project', text: 'Gin.', match: 'gin', replaces: 'tea' };
  const read = (...records: object[]) => readSample(lines(head, ...records));

  test('knows since when a fact holds and until when, also where it comes back', () => {
    const again = { again: 'tea', replaces: 'gin' };
    const first = [on(1), { says: 'tea' }, tea, on(2), { says: 'gin' }, gin];
    const { facts } = read(...first, on(3), { says: 'hm' }, { says: 'tea again' }, again);
    expect(facts.map(({ id, from, until, replaces }) => ({ id, from, until, replaces }))).toEqual([
      { id: 'tea', from: '2026-09-01T08:00:00Z', until: undefined, replaces: ['gin'] },
      { id: 'gin', from: '2026-09-02T08:00:00Z', until: '2026-09-03T08:00:00Z', replaces: ['tea'] },
    ]);
    expect(facts[0]?.said.map(({ turn }) => turn)).toEqual([1, 2]);
  });

  test('knows what says a fact: the prompt, or what was said or chosen after it', () => {
    const { facts } = read(on(1), { says: 'x' }, tea, { agent: 'Yes?' }, { queues: 'tea' }, { ...tea, fact: 'more' });
    expect(facts.map(({ said }) => said[0]?.step)).toEqual([undefined, 1]);
  });

  test('refuses a fact that comes twice, and one that replaces what nobody said', () => {
    expect(() => read(on(1), { says: 'a' }, tea, tea)).toThrow('the fact tea is there twice');
    expect(() => read(on(1), { says: 'a' }, gin)).toThrow('no fact tea');
  });

  test('refuses what it cannot read, and says where', () => {
    expect(() => read(on(1), { says: 'a' }, { agnet: 'Done.' })).toThrow(/^line 4: .*agnet/s);
    expect(() => read({ says: 'a' })).toThrow('line 2: It stands before a session begins.');
  });
});

/** What stands in a prompt, the parts of it that were pasted too. */
function saidIn({ parts }: Message): string {
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n');
}
