// Why memory is as it is: why (what became of a session), explain (what a line rests on), transcript (what a session holds).

import { type Inspection, inspect } from '../../../../jobs/inspect.ts';
import { AppError, ERRORS, isErrorCode } from '../../../base/errors.ts';
import { sayProposals } from '../../../memory/dream/proposals.ts';
import {
  type ExplainedEntry,
  type ExplainedLine,
  explainEntry,
  explainLines,
  restingOn,
  toldOf,
} from '../../../memory/dream/provenance.ts';
import { findLedger } from '../../../memory/ledger/ledger.ts';
import type { MemoryReader } from '../../../memory/store/live-files.ts';
import { openSession } from '../../../transcript/session.ts';
import { memoriesOf, memoryDirFor } from '../../places.ts';
import type { CommandSpec } from '../spec.ts';
import { type Explanation, explainSessions } from '../terminal/explain-session.ts';
import { type CommonOptions, configFor, MEMORY, memoryPath, withApp } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';
import { withReader } from '../terminal/reader.ts';

const why: CommandSpec<CommonOptions, [string]> = {
  name: 'why',
  about: 'what became of a session, and what would happen next',
  group: 'Every day',
  args: [['<session>', 'its id, the beginning of it, or its transcript']],
  options: MEMORY,
  json: 'one line per session: { session, transcript, unreadable, memory, ranges, waiting, failures, proposals, next }',
  examples: ['why 0d8c1a52'],
  run: (call) =>
    withApp(call, async (app) => {
      const { memory, json } = call.options;
      const found = await explainSessions(app, { what: call.args[0], memory });
      for (const explanation of found) print(json ? JSON.stringify(explanation) : describeSession(explanation));
    }),
};

function describeSession(found: Explanation): string {
  const { ranges, waiting, failures } = found;
  const divided = new Set(ranges.flatMap(({ messages, from }) => (messages ? [from] : [])));
  const total = ranges.reduce((sum, { messages, turns }) => sum + (messages ? 0 : turns), divided.size);
  return [
    `session     ${found.session}`,
    `transcript  ${found.transcript}${found.unreadable ? ` — ${found.unreadable}` : ''}`,
    `memory      ${found.memory}`,
    `turns       ${total}`,
    ...ranges.map((range) => {
      const ids = range.messages
        ? sayPart(range.messages)
        : range.turns === 1
          ? range.from
          : `${range.from} … ${range.to}`;
      const turns = range.messages ? 'part' : String(range.turns);
      const wrote = range.wrote ? `, ${range.wrote}` : '';
      const by = range.job ? ` (${range.job}${range.at ? `, ${range.at}` : ''})` : '';
      return `  ${turns.padStart(4)} ${range.state.padEnd(10)} ${ids}: ${range.why}${wrote}${by}`;
    }),
    ...waiting.map(({ notBefore, why }) => `waits       until ${notBefore}${why ? `: ${why}` : ''}`),
    ...failures.map((failure) => `failed      ${sayFailure(failure)}`),
    ...found.proposals.map(({ entry, text, says }) => `proposed    ${text} (${entry}): ${says}`),
    `next        ${found.next}`,
  ].join('\n');
}

function sayPart({ from, through }: { from: string; through: string }): string {
  return from === through ? from : `${from} … ${through}`;
}

function sayFailure({
  at,
  code,
  state,
  attempts,
  tries,
  message,
  ...failure
}: Explanation['failures'][number]): string {
  const limit = tries === null ? 'as often as it takes' : `${attempts} of ${tries} tries`;
  const what = code && isErrorCode(code) && ERRORS[code].class !== code ? `${failure.class}, ${code}` : failure.class;
  const fate = { retrying: `, ${limit}`, failed: ', given up', ended: ` in ${failure.key}` }[state];
  return `${at} ${what}${fate}: ${message}`;
}

const explain: CommandSpec<CommonOptions, [string]> = {
  name: 'explain',
  about: 'what a line of memory rests on: entries, quotes, sessions',
  group: 'Older names',
  args: [['<what>', 'PATH of a topic, PATH:LINE for one line (its number or id), or an entry (e_…)']],
  options: MEMORY,
  json: '[{ path, number, id, text, isPersons, authors, entries, changed }]; of an entry: { id, type, text, evidence, …, resting, told, proposals }',
  examples: ['explain working-agreements.md:7'],
  run: (call) =>
    withApp(call, (app) =>
      withReader(app, async (store) => {
        const [what] = call.args;
        const { json } = call.options;
        if (/^e_[0-9a-f]{12}$/.test(what)) return explainOne(store, { id: what, json });
        const [, given = what, line] = /^(.+?)(?::(\d+|[0-9a-f]{8}))?$/.exec(what) ?? [];
        const lines = await explainLines(store, { path: memoryPath(store, given), line });
        print(json ? JSON.stringify(lines) : lines.map(describeLine).join('\n\n'));
      }),
    ),
};

async function explainOne(store: MemoryReader, { id, json }: { id: string; json?: boolean }): Promise<void> {
  const entry = explainEntry(store, id);
  if (!entry) throw new AppError('bad-input', `There is no entry ${id} in ${store.dir}.`);
  const resting = await restingOn(store, [id]);
  const told = toldOf(store.dir, id);
  const proposals = sayProposals(store.ledger, id);
  if (json) return print(JSON.stringify({ ...entry, resting, told, proposals }));
  const name = (of: string) => (line: { path: string; text: string }) => `  ${line.path}: ${line.text} (${of})`;
  const found = [...resting.alone.map(name('on it alone')), ...resting.shared.map(name('on others too'))];
  const rests = found.length > 0 ? 'What rests on it:' : 'No line rests on it.';
  print([describeEntry(entry, ''), ...told.map(describeTold), ...proposals, rests, ...found].join('\n'));
}

function describeTold({ day, op, topic, reason, over = [] }: ReturnType<typeof toldOf>[number]): string {
  const gone = over.length > 0 ? ` No longer true: ${over.join('; ')}` : '';
  return `  dream of ${day}: ${op}${topic ? ` → ${topic}` : ''}. ${reason}${gone}`;
}

function describeLine({ path, number, id, text, isPersons, authors, entries, changed }: ExplainedLine): string {
  const head = `${path}:${number} [${id}]\n  ${text}`;
  if (authors.length > 0) return `${head}\n  shared by ${authors.join(', ')}`;
  if (changed) {
    const by = changed.actor === 'external' || changed.actor === 'person' ? 'you' : changed.actor;
    const was = [`  changed by ${by} on ${changed.at}; it said: ${changed.text}`, '  and rested on:'];
    return [head, ...was, ...changed.entries.map((entry) => describeEntry(entry, '  '))].join('\n');
  }
  if (isPersons) return `${head}\n  written by a person or by the main agent`;
  return [head, ...entries.map((entry) => describeEntry(entry, '  '))].join('\n');
}

function describeEntry(entry: ExplainedEntry, indent: string): string {
  const { id, type, strength, state, at, text, by, session, turn, evidence, log, transcript, sentFrom } = entry;
  const isTakenOut = !entry.isInLog && state !== 'sent' && state !== 'withdrawn' && state !== 'forgotten';
  const gone = isTakenOut ? ', taken out there: the next dream takes out what rests on it alone' : '';
  const lines = [
    `← ${id}, ${type}, ${strength}, ${state}, in ${log}${state === 'sent' ? ' of the user scope' : gone}`,
    `  ${text}`,
    ...(entry.gave && entry.gave.length > 0 ? [`  gave the line: ${entry.gave.join(' … ')}`] : []),
    ...evidence.map(({ message, quote }) => `  “${quote}” (message ${message})`),
    evidence.length === 0
      ? `  written by a person, ${at}`
      : `  said by ${by}, ${at}${session && `, session ${session}, turn ${turn}`}`,
    ...sentFrom.map((dir) => `  sent from ${dir}: nocturne explain ${id} --memory ${dir}`),
    ...(session && (transcript || sentFrom.length === 0) ? [`  transcript ${transcript ?? 'unknown'}`] : []),
  ];
  return lines.map((line) => `${indent}${line}`).join('\n');
}

interface LookOptions extends CommonOptions {
  session?: string;
  live?: boolean;
}

const transcript: CommandSpec<LookOptions, [string]> = {
  name: 'transcript',
  about: 'what a session holds and what would be extracted',
  group: 'Older names',
  args: [['<file>', 'a session file']],
  options: [
    ['--session <id>', 'the id of the session, where its file holds none'],
    ['--live', 'the session still runs: leave its last turn alone'],
    ...MEMORY,
  ],
  json: '{ transcript, format, session, memory, turns, speakers, offered, skipped, … }',
  more: 'It asks no model and writes nothing.',
  examples: ['transcript ~/.claude/projects/-home-kim-orchard/0d8c1a52.jsonl'],
  run: async (call) => {
    const inspection = await look(call.args[0], call.options);
    print(call.options.json ? JSON.stringify(inspection) : describeInspection(inspection));
  },
};

async function look(file: string, options: LookOptions): Promise<Inspection> {
  const config = await configFor(options);
  const session = await openSession(file, { id: options.session });
  const memoryDir = memoryDirFor(config, session);
  const ledger = findLedger(memoryDir);
  try {
    const memories = memoriesOf(config, { cwd: session.cwd, memory: memoryDir });
    const deps = { ...config, memoryDir, memories, ledger, now: config.clock.now() };
    return await inspect({ session, ended: !options.live }, deps);
  } finally {
    ledger?.close();
  }
}

function describeInspection(found: Inspection): string {
  const { offered, turns } = found;
  const speakers = Object.entries(found.speakers).map(([speaker, count]) => `${count} ${speaker}`);
  const states = [...Map.groupBy(turns, ({ state }) => state)].map(([state, { length }]) => `${length} ${state}`);
  return [
    `${found.transcript}: ${found.format}, ${found.sizeBytes} bytes, last changed ${found.modifiedAt}`,
    `session   ${found.session}${found.cwd ? ` in ${found.cwd}` : ''}`,
    `memory    ${found.memory}`,
    `turns     ${turns.length}${states.length > 0 ? `: ${states.join(', ')}` : ''}`,
    `messages  ${speakers.join(', ') || 'none'}`,
    `offered   ${offered.messages} messages of ${offered.turns} turns, about ${offered.tokens} tokens in ${offered.excerpts.length} excerpts`,
    ...found.skipped.map(({ what, count, why }) => `skipped   ${count} ${what}: ${why}`),
  ].join('\n');
}

export const commands: CommandSpec[] = [why, explain, transcript];
