// sweep: finds sessions that no hook told of, and puts what has pending turns into the inboxes.

import { InvalidArgumentError } from 'commander';
import { isInstant } from '../../../base/time.ts';
import { FOUND_AGENTS, type FoundAgent } from '../../../transcript/find-sessions.ts';
import type { App } from '../../compose.ts';
import { ingestSpool } from '../../hook/ingest.ts';
import { type SweepReport, sweepSessions } from '../../hook/sweep.ts';
import type { CommandSpec, OptionSpec } from '../spec.ts';
import { type CommonOptions, MEMORY, withApp } from '../terminal/options.ts';
import { note, print } from '../terminal/output.ts';
import { progressBar } from '../terminal/progress.ts';

export interface FindingOptions extends CommonOptions {
  since?: string;
  agent?: FoundAgent;
}

const DAY_MS = 86_400_000;

export const FOUND_SHAPE = '{ agents, enqueued: [{ agent, transcript, memory }], problems }';

export const FINDING: OptionSpec[] = [
  ['--since <when>', 'only sessions that changed since then: a date, or so many days ago (7d)', { parse: whenFrom }],
  ['--agent <name>', `only sessions of one agent: ${FOUND_AGENTS.join(', ')}`, { parse: agentFrom }],
];

const sweep: CommandSpec<FindingOptions> = {
  name: 'sweep',
  about: 'find sessions that changed lately and put what was not extracted yet into the inbox',
  group: 'Older names',
  options: [...FINDING, ...MEMORY],
  json: FOUND_SHAPE,
  examples: ['sweep && nocturne worker --once'],
  run: (call) =>
    withApp(call, async (app) => {
      await ingestSpool(app, { onProblem: note });
      await find(app, { ...call.options, since: call.options.since ?? `${app.config.sweepDays}d` });
    }),
};

/**
 * Finds sessions and puts what is pending into the inboxes, with a bar on the way; prints what it found. A file that
 * cannot be read is named and counted, and no failure: the rest has been found.
 */
export async function find(app: App, options: FindingOptions): Promise<void> {
  const agents = options.agent === undefined ? undefined : [options.agent];
  const since = options.since === undefined ? undefined : sinceOf(options.since, app.config.clock.now());
  const bar = progressBar('sessions');
  const report = await sweepSessions(app, {
    agents,
    since,
    instructions: options.instructions,
    onFound: (count) => bar.start(count),
    onLooked: () => bar.tick(),
  }).finally(() => bar.stop());
  print(options.json ? JSON.stringify(report) : describe(report));
  for (const problem of report.problems) note(problem);
}

function agentFrom(name: string): FoundAgent {
  const agent = FOUND_AGENTS.find((each) => each === name);
  if (agent) return agent;
  throw new InvalidArgumentError(
    `Name one of ${FOUND_AGENTS.join(', ')}. opencode keeps its sessions in a database: export one and give the file.`,
  );
}

function whenFrom(given: string): string {
  if (/^\d{1,5}d$/.test(given) || isInstant(given)) return given;
  throw new InvalidArgumentError('It is no time; give a date like 2026-11-20, an instant, or days like 7d.');
}

export function sinceOf(given: string, now: Date): Date {
  return given.endsWith('d') ? new Date(now.getTime() - Number.parseInt(given, 10) * DAY_MS) : new Date(given);
}

function describe(report: SweepReport): string {
  const lines = Object.entries(report.agents).map(([agent, { found, enqueued = 0, ...skipped }]) => {
    const others = Object.entries(skipped).map(([verdict, count]) => `${count} ${verdict}`);
    return `${agent.padEnd(12)} ${found} found, ${enqueued} enqueued${others.length > 0 ? `, ${others.join(', ')}` : ''}`;
  });
  return lines.length > 0 ? lines.join('\n') : 'no sessions found';
}

export const commands: CommandSpec[] = [sweep];
