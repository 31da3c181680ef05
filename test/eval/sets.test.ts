// The sets hold what they promise, and their patterns tell their facts apart.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { redact } from '../../src/base/text/redact.ts';
import { openSession } from '../../src/transcript/session.ts';
import type { Message } from '../../src/transcript/types.ts';
import { jobsInProcess } from '../support/jobs-in-process.ts';
import { says, startMessagesServer } from '../support/messages-server.ts';
import { tempDir } from '../support/temp.ts';
import { collect, lines } from '../support/transcripts.ts';
import { recognise, says as saysFact } from './recognise.ts';
import { type EvalSet, type Fact, renderSample, type Sample } from './set.ts';
import { readSample } from './set-file.ts';
import { HELD_OUT, OWN } from './sets.ts';

const factsOf = ({ samples }: EvalSet) => samples.flatMap((sample) => sample.facts);
const facts = factsOf(OWN);
const ALL_KINDS = [
  'assistant',
  'hypothetical',
  'momentary',
  'quoted',
  'retracted',
  'sarcasm',
  'secret',
  'third-party',
  'tool',
];

describe.each([OWN, HELD_OUT])('the matcher, over the whole set $name', (set) => {
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

describe('the set that is held out', () => {
  test('is as it was written', () => {
    const hash = createHash('sha256').update(JSON.stringify(HELD_OUT.samples)).digest('hex');
    expect(hash.slice(0, 16)).toBe('31eb0364bbdbaeac');
  });

  test('has two dozen sessions, sixty facts, as many traps, of every kind, in five languages', () => {
    const facts = factsOf(HELD_OUT);
    expect(HELD_OUT.samples.flatMap((sample) => sample.sessions).length).toBeGreaterThanOrEqual(24);
    expect(facts.filter((fact) => !fact.never).length).toBeGreaterThanOrEqual(60);
    expect(facts.filter((fact) => fact.never).length).toBeGreaterThanOrEqual(60);
    expect([...new Set(facts.flatMap((fact) => fact.never ?? []))].sort()).toEqual(ALL_KINDS);
    expect(new Set(facts.map(({ id }) => id)).size).toBe(facts.length);
  });
});

describe('the set', () => {
  test('has thirty sessions and a hundred and fifty facts, and traps of every kind beside them', () => {
    expect(OWN.samples.flatMap((sample) => sample.sessions).length).toBeGreaterThanOrEqual(30);
    expect(facts.filter((fact) => !fact.never).length).toBeGreaterThanOrEqual(150);
    const kinds = new Set(facts.flatMap((fact) => fact.never ?? []));
    expect([...kinds].sort()).toEqual(ALL_KINDS);
  });

  test('names every fact once', () => {
    expect(new Set(facts.map(({ id }) => id)).size).toBe(facts.length);
  });

  test('has facts that change, that look alike, and that are said in several sessions', () => {
    const live = facts.filter((fact) => !fact.never);
    expect(live.filter((fact) => fact.replaces.length > 0).length).toBeGreaterThanOrEqual(15);
    expect(live.filter((fact) => fact.group).length).toBeGreaterThanOrEqual(20);
    const sessionsOf = (fact: Fact) => new Set(fact.said.map(({ session }) => session)).size;
    expect(live.filter((fact) => sessionsOf(fact) > 1).length).toBeGreaterThanOrEqual(8);
  });

  test('holds no secret that would pass the redaction of a whole session', async () => {
    const secrets = facts.filter((fact) => fact.never === 'secret' && /^(?:ghp|AKIA)/.test(fact.text));
    expect(secrets).toHaveLength(2);
    for (const { text } of secrets) expect((await redact(`The token is ${text}.`)).text).not.toContain(text);
  });

  test('has each form in which a person says something, in one of its sessions, and a fact in each', () => {
    const forms = OWN.samples.flatMap(({ sessions, facts }) =>
      facts.flatMap(({ said }) =>
        said.flatMap(({ session, turn, step }) => {
          const spoken = sessions.find(({ id }) => id === session)?.turns[turn - 1];
          const [isCommand, inStep] = [spoken?.command !== undefined, step === undefined ? null : spoken?.steps[step]];
          return inStep ? Object.keys(inStep).at(-1) : isCommand ? 'command' : 'says';
        }),
      ),
    );
    expect([...new Set(forms)].sort()).toEqual(['chose', 'command', 'queues', 'refused', 'says', 'types']);
  });

  test('has a session that takes two excerpts, and one in which the agent writes to its memory', async () => {
    const server = await startMessagesServer(() => says('Nothing worth keeping.'));
    const sample = OWN.samples.find(({ name }) => name === 'museum') as Sample;
    const dir = tempDir();
    const requests = [];
    const jobs = await jobsInProcess(join(dir, 'memory'), '2026-11-21T02:00:00Z', {
      extract: { model: 'some-model', access: server.access },
    });
    for (const { path } of renderSample(sample, join(dir, 'sessions'), join(dir, 'memory'))) {
      const { spend, coverage } = await jobs.extract(path);
      requests.push({ calls: spend.calls, became: coverage?.map(({ became }) => became) });
    }
    jobs.close();
    await server.close();
    expect(requests.map(({ calls }) => calls)).toEqual([1, 1, 1, 1, 1, 2]);
    expect(requests[3]?.became).toEqual(['main-agent', 'nothing']);
  });

  test.each([OWN, HELD_OUT])(
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
});

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
