// recall: what is remembered, as a section for an agent's prompt; by hand, or as a hook of an agent that
// starts.

import { join } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { describeError } from '../base/errors.ts';
import { isOld } from '../db/old-database.ts';
import { readHookJson } from '../hook/hook-input.ts';
import { answerHook, MAX_CHARACTERS, type RecallOptions, recallFor } from '../hook/start-recall.ts';
import { note, print } from '../terminal/output.ts';
import { plainly } from '../terminal/phrases.ts';
import { type CommonOptions, configFor, countUpTo, MEMORY } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

interface Given extends CommonOptions {
  query?: string;
  agent?: string;
  tokens?: number;
  characters?: number;
  session?: string;
  definition?: string;
  hook?: boolean;
}

const recall: CommandSpec<Given> = {
  name: 'recall',
  about: "what is remembered, as a section for an agent's prompt",
  options: [
    ['--query <words>', 'what the session is about: topics that match come first'],
    ['--agent <name>', 'for whom: claude-code loads MEMORY.md by itself, so it is left out'],
    [
      '--tokens <number>',
      'the most it may cost (default: recallTokens of config.json)',
      { parse: countUpTo(999_999_999) },
    ],
    ['--characters <number>', `the longest it may be (default: ${MAX_CHARACTERS})`, { parse: countUpTo(999_999_999) }],
    ['--session <id>', 'a session: asked again for the same, it gets the same, until it is cleared or compacted'],
    ['--definition <file>', 'the file that defines the agent: it gets the memory that it declares, alone'],
    ['--hook', 'as a SessionStart or SubagentStart hook: reads its JSON from stdin, answers in kind, never fails'],
    ...MEMORY,
  ],
  json: '{ memory, standing, isRepeated, text, index, topics, entries, beside: [{ scope, memory, index, topics, entries }], trouble? }',
  examples: ['recall --query "how do we deploy"'],
  async run({ options: given }) {
    if (given.hook) return answerAgent(given);
    const config = await settledFor(given);
    const result = await recallFor(config, optionsOf(given));
    if (given.json) return print(result);
    if (result.text !== '') return print(result.text);
    if (result.trouble !== undefined) return note(`nocturne: ${result.trouble}.`);
    note(
      result.standing.enabled
        ? `Nothing is remembered in ${result.memory}.`
        : `Nothing is recalled: ${plainly(result.standing.reason, config)}.`,
    );
  },
};

/** At the first start what people have of an earlier nocturne is taken in, so that it is recalled. */
async function settledFor(given: Given): Promise<Config> {
  const config = await configFor(given);
  if (config.databaseUrl === undefined && isOld(join(config.home, 'home.db'))) {
    const { openApp } = await import('../worker/compose.ts');
    await (await openApp(config)).close();
  }
  return config;
}

/** An agent that starts must not be kept from it: what goes wrong is said on stderr, and the answer is nothing. */
async function answerAgent(given: Given): Promise<void> {
  try {
    const input = await readHookJson(process.stdin);
    if (!input) return;
    const config = await settledFor(given);
    const answer = await answerHook(config, { input, options: optionsOf(given) });
    if (answer !== '') print(answer);
  } catch (error) {
    note(`nocturne: ${describeError(error)}`);
  }
}

function optionsOf({ query, agent, scope, definition, tokens, characters, session }: Given): RecallOptions {
  return { query, agent, memory: scope, definition, tokens, characters, session };
}

export const commands: CommandSpec[] = [recall];
