// nocturne explain: where a line of memory comes from, down to the words that were said and who said them.

import type { Command } from 'commander';
import { AppError } from '../../../base/errors.ts';
import { sayProposals } from '../../../memory/dream/proposals.ts';
import {
  type ExplainedEntry,
  type ExplainedLine,
  explainEntry,
  explainLines,
  restingOn,
  toldOf,
} from '../../../memory/dream/provenance.ts';
import type { MemoryReader } from '../../../memory/store/read-only-store.ts';
import { type CommonOptions, memoryPath, withApp, withJson, withMemory } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';
import { withReader } from '../terminal/reader.ts';

export function addExplain(program: Command): void {
  const command = program
    .command('explain')
    .description('what a line of memory rests on: entries, quotes, sessions')
    .argument('<what>', 'PATH of a topic, PATH:LINE for one line (its number or id), or an entry (e_…)');
  withJson(
    withMemory(command),
    '[{ path, number, id, text, isPersons, authors, entries, changed }]; of an entry: { id, type, text, evidence, …, resting, told, proposals }',
  )
    .addHelpText('after', '\nExample:\n  nocturne explain working-agreements.md:7')
    .action((what: string, options: CommonOptions) =>
      withApp(options, (app) =>
        withReader(app, async (store) => {
          if (/^e_[0-9a-f]{12}$/.test(what)) return explainOne(store, { id: what, json: options.json });
          const [, given = what, line] = /^(.+?)(?::(\d+|[0-9a-f]{8}))?$/.exec(what) ?? [];
          const lines = await explainLines(store, { path: memoryPath(store, given), line });
          print(options.json ? JSON.stringify(lines) : lines.map(describeLine).join('\n\n'));
        }),
      ),
    );
}

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
