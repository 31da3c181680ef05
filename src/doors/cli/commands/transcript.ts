// nocturne transcript: what a session file holds, and what an extraction would make of it. Never asks a model, never
// writes anything.

import type { Command } from 'commander';
import { type Inspection, inspect } from '../../../../jobs/inspect.ts';
import { findLedger } from '../../../memory/ledger/ledger.ts';
import { openSession } from '../../../transcript/session.ts';
import { memoriesOf, memoryDirFor } from '../../places.ts';
import { type CommonOptions, configFor, withJson, withMemory } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';

export function addTranscript(program: Command): void {
  const command = program
    .command('transcript')
    .description('what a session holds and what would be extracted')
    .argument('<file>', 'a session file')
    .option('--session <id>', 'the id of the session, where its file holds none')
    .option('--live', 'the session still runs: leave its last turn alone');
  withJson(withMemory(command), '{ transcript, format, session, memory, turns, speakers, offered, skipped, … }')
    .addHelpText(
      'after',
      '\nIt asks no model and writes nothing.\n\nExample:\n  nocturne transcript ~/.claude/projects/-home-kim-orchard/0d8c1a52.jsonl',
    )
    .action(async (file: string, options: CommonOptions & { session?: string; live?: boolean }) => {
      const inspection = await look(file, options);
      print(options.json ? JSON.stringify(inspection) : describe(inspection));
    });
}

async function look(file: string, options: CommonOptions & { session?: string; live?: boolean }): Promise<Inspection> {
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

function describe(found: Inspection): string {
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
