// nocturne why: what became of a session, what of it waits and why, what failed, and what would happen next.

import type { Command } from 'commander';
import { ERRORS, isErrorCode } from '../../../base/errors.ts';
import { type Explanation, explainSessions } from '../terminal/explain-session.ts';
import { type CommonOptions, withApp, withJson, withMemory } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';

export function addWhy(program: Command): void {
  const command = program
    .command('why')
    .description('what became of a session, what of it waits and why, and what would happen next')
    .argument('<session>', 'its id, the beginning of it, or its transcript');
  withJson(
    withMemory(command),
    'one line per session: { session, transcript, unreadable, memory, ranges, waiting, failures, proposals, next }',
  )
    .addHelpText('after', '\nExample:\n  nocturne why 0d8c1a52')
    .action((what: string, options: CommonOptions) =>
      withApp(options, async (app) => {
        const found = await explainSessions(app, { what, memory: options.memory });
        for (const explanation of found) print(options.json ? JSON.stringify(explanation) : describe(explanation));
      }),
    );
}

function describe(found: Explanation): string {
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
