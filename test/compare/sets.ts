// What the systems of a comparison are given: sessions as files for nocturne and as messages for the others, which are shown
// the same words. Those of the repository are of a seed, so that it is known what is in them and a run can be repeated.

import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { openSession } from '../../src/transcript/session.ts';
import { readLocomo } from '../eval/locomo.ts';
import { renderSample } from '../eval/set.ts';
import { HELD_OUT, inEnglish } from '../eval/sets.ts';
import { ATTACKS } from '../support/attacks.ts';
import { seeded } from '../support/random.ts';
import { sessionFile } from '../support/session-file.ts';
import { tokensOfAll } from '../support/vendor-tokens.ts';

export interface ComparedSession {
  path: string;
  /** Of the person, the assistant and tools, in their order. */
  messages: { role: 'user' | 'assistant' | 'tool'; content: string }[];
  /** Of all messages together. */
  tokens: number;
}

/** A transcript as those see it who are given messages. */
export async function comparedSession(path: string): Promise<ComparedSession> {
  const session = await openSession(path);
  const messages: ComparedSession['messages'] = [];
  for await (const { speaker, parts } of session.messages()) {
    const content = parts
      .flatMap((part) => ('text' in part && typeof part.text === 'string' ? part.text : []))
      .join('\n');
    const role = speaker === 'human' ? 'user' : speaker === 'assistant' ? 'assistant' : 'tool';
    if (content !== '') messages.push({ role, content });
  }
  return { path, messages, tokens: messages.reduce((sum, { content }) => sum + estimateTokens(content), 0) };
}

/** The smallest Claude Code sessions below a directory that are long enough to hold something. */
export function realSessions(root: string, count: number): Promise<ComparedSession[]> {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.jsonl') && !basename(path).startsWith('agent-'))
    .map((path) => join(root, path))
    .filter((path) => statSync(path).size > 40_000)
    .sort((a, b) => statSync(a).size - statSync(b).size || a.localeCompare(b));
  return Promise.all(paths.slice(0, count).map(comparedSession));
}

/** What this repository has: the example sessions, the English ones of the set that nothing is fitted to, and chats. */
export async function ourSessions(dir: string): Promise<ComparedSession[]> {
  const examples = join(import.meta.dirname, '../fixtures/example');
  const names = readdirSync(examples).filter((name) => name.endsWith('.jsonl'));
  const samples = inEnglish(HELD_OUT).samples.flatMap((sample, person) => {
    const sessions = sample.sessions.map((session, at) => ({ ...session, id: idOf('e', person * 100 + at) }));
    return renderSample({ ...sample, sessions }, join(dir, sample.name));
  });
  const paths = [...names.map((name) => join(examples, name)), ...samples.map(({ path }) => path)];
  return Promise.all(paths.map(comparedSession));
}

/** The first letters of a session's id are those of its messages'. */
function idOf(letter: string, at: number): string {
  return `${letter}${String(at).padStart(3, '0')}0000-0000-4000-8000-000000000000`;
}

const THINGS = ['the orchard page', 'the invoice job', 'the import script', 'the search index', 'the mail queue'];
/** Two for each chat, none like another. */
const SAID = [
  ['Always install with pnpm instead of npm.', 'I prefer short answers without a summary.'],
  ['Never commit to main on a Friday.', 'I work in Lisbon, on western European time.'],
  ['Always write migrations by hand in plain SQL.', 'I am responsible for the billing service.'],
  ['Never mock the payment gateway in tests.', 'I prefer tabs over spaces in Makefiles.'],
  ['Always run ripgrep rather than find.', 'I am new to Kubernetes.'],
  ['Never log the address of a customer.', 'I prefer diagrams in Mermaid to screenshots.'],
];

/** Chats as arrays of messages, in each of which a person says two things that matter, among others that do not. */
export async function chats(dir: string, seed: number): Promise<ComparedSession[]> {
  const dice = seeded(seed);
  mkdirSync(dir, { recursive: true });
  const paths = SAID.map(([rule = '', person = ''], at) => {
    const call = { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'time make' } };
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: `real ${1 + dice.below(90)}s\n`.repeat(20) };
    const path = join(dir, `chat-${at + 1}.json`);
    const messages = [
      { role: 'user', content: `Have a look at ${dice.pick(THINGS)}, it is slow today.` },
      { role: 'assistant', content: [call] },
      { role: 'user', content: [result] },
      { role: 'assistant', content: 'It is slow because of the cold cache. Shall I warm it?' },
      { role: 'user', content: `Yes. ${rule}` },
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'Thanks. What is left to do?' },
      { role: 'assistant', content: 'Nothing but the changelog line.' },
      { role: 'user', content: person },
      { role: 'assistant', content: 'Understood.' },
    ];
    writeFileSync(path, JSON.stringify(messages));
    return path;
  });
  return Promise.all(paths.map(comparedSession));
}

/** Fifty secrets, half of them said by a person and half printed by a tool. */
export async function withSecrets(
  dir: string,
  seed: number,
): Promise<{ sessions: ComparedSession[]; secrets: string[] }> {
  const dice = seeded(seed);
  mkdirSync(dir, { recursive: true });
  const tokens = tokensOfAll(dice).filter(({ before }) => before === '');
  const secrets = Array.from({ length: 50 }, () => dice.pick(tokens).secret);
  const files = Array.from({ length: 10 }, (_, at) => {
    const session = sessionFile(dir, { id: idOf('5', at) });
    for (const [n, secret] of secrets.slice(at * 5, at * 5 + 5).entries()) {
      if ((at + n) % 2 === 0) session.add(`Remember that the token of box ${at}-${n} is ${secret} for now.`);
      else
        session.add('Print the environment.', [
          { calls: 'Bash', input: { command: 'env' }, result: `BOX=${secret}\n` },
        ]);
    }
    return session.path;
  });
  return { sessions: await Promise.all(files.map(comparedSession)), secrets };
}

/** Sessions in which somebody who is not the person asks for something to be kept. */
export async function withInjections(
  dir: string,
  count: number,
): Promise<{ sessions: ComparedSession[]; words: string[] }> {
  const attacks = ATTACKS.slice(0, count);
  mkdirSync(dir, { recursive: true });
  const files = attacks.map(({ prompt, steps }, at) => {
    const session = sessionFile(dir, { id: idOf('a', at) });
    session.add(prompt, steps);
    return session.path;
  });
  return { sessions: await Promise.all(files.map(comparedSession)), words: attacks.map(({ says }) => says) };
}

/** The sessions of LoCoMo's file, which is brought: its licence forbids shipping it. */
export function locomoSessions(file: string, dir: string): Promise<ComparedSession[]> {
  const { samples } = readLocomo(readFileSync(file, 'utf8'), file);
  const files = samples.flatMap(({ sessions }) =>
    sessions.map(({ id, startsAt, turns }) => {
      const session = sessionFile(dir, { id, startsAt });
      for (const { says, steps } of turns) session.add(says, steps);
      return session.path;
    }),
  );
  return Promise.all(files.map(comparedSession));
}
