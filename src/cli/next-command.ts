// next: what the next session will be told, word for word, with why, and what is left out. It asks what the hooks ask, and notes
// nothing. Also the door of the hook that agents call where a session begins: `nocturne recall --hook`, as it is installed.

import { join } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { describeError } from '../base/errors.ts';
import { isOld } from '../db/old-database.ts';
import { readHookJson } from '../hook/hook-input.ts';
import { promptNext } from '../hook/prompt-recall.ts';
import { answerHook, answerTrouble, MAX_CHARACTERS, type RecallResult, recallFor } from '../hook/start-recall.ts';
import { leftOut, whyTold } from '../memory/recall/recall.ts';
import { AGENT_NAMES, type AgentName, findAgent } from '../setup/agents/agents.ts';
import { note, print, printRaw, printTable } from '../terminal/output.ts';
import { fromHome, plainly } from '../terminal/phrases.ts';
import { type CommonOptions, configFor, MEMORY } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

interface Given extends CommonOptions {
  agent: AgentName;
  prompt?: string;
  hook?: boolean;
}

type Prompted = Awaited<ReturnType<typeof promptNext>>;

const next: CommandSpec<Given> = {
  name: 'next',
  about: 'what the next session will be told, word for word, and why',
  options: [
    ['--agent <name>', 'the agent of that session', { choices: AGENT_NAMES, default: 'claude-code' }],
    ['--prompt <text>', 'a prompt: also show what is told with it'],
    ['--hook', 'as a hook', { isHidden: true }],
    ...MEMORY,
  ],
  json: '{ memory, state, text, index, topics, entries, lessons, left, beside: [{ scope, memory, index, topics, entries, lessons, left }], prompt: { text, lines, known, leftOut } | null, trouble? }',
  more: 'It changes nothing: no line counts as told.',
  examples: ['next', 'next --agent codex --prompt "how do we deploy"'],
  async run({ options: given, wrong }) {
    if (given.hook) return answerAgent(given);
    if (given.prompt !== undefined && given.scope !== undefined && given.scope !== 'project')
      wrong("--prompt is about the project's memory: leave out --scope");
    const { agent, prompt, scope: memory } = given;
    const config = await settledFor(given);
    const cwd = process.cwd();
    const { isRepeated: _, ...told } = await recallFor(config, { cwd, memory, agent, isOnlyAsked: true });
    const asked = prompt !== undefined && findAgent(agent).asksWithPrompt;
    const prompted = asked ? await promptNext(config, { cwd, prompt, told: told.text }) : null;
    if (given.json) return print({ ...told, prompt: prompted });
    if (told.trouble !== undefined) return note(`nocturne: ${told.trouble}.`);
    if (!told.state.enabled) return note(`A session here is told nothing: ${plainly(told.state.reason, config)}.`);
    sayStart(told, { ...given, config });
    if (prompt !== undefined) sayPrompt(prompted, { ...given, config });
  },
};

function sayStart(told: Omit<RecallResult, 'isRepeated'>, { agent, config }: Given & { config: Config }) {
  const { title } = findAgent(agent);
  const memory = fromHome(told.memory, config);
  if (told.text === '') note(`At its start a session of ${title} is told nothing: nothing is remembered in ${memory}.`);
  else printRaw(`At its start a session of ${title} is told, word for word:\n\n${told.text}\n\n`);
  tell('Told', whyTold(told));
  if (agent === 'claude-code' && told.text !== '') print(`${title} reads MEMORY.md by itself, where there is one.`);
  const limit = `no room in ${MAX_CHARACTERS.toLocaleString('en')} characters`;
  tell(
    'Left out',
    leftOut(told).map((what) => [limit, what]),
  );
}

function tell(heading: string, rows: string[][]): void {
  if (rows.length > 0) printTable(['Why', heading], rows);
}

function sayPrompt(prompted: Prompted, { agent, config }: Given & { config: Config }) {
  const { title, asksWithPrompt } = findAgent(agent);
  if (!asksWithPrompt) return print(`With a prompt it is told nothing: ${title} has no hook for prompts.`);
  if (!config.recallPrompts) return print('With a prompt it is told nothing: recallPrompts is off.');
  const { text = '', lines = [], leftOut = [], known = [] } = prompted ?? {};
  if (text !== '') printRaw(`With the prompt it is told, word for word:\n\n${text}\n\n`);
  else print('With the prompt it is told nothing more: nothing else in memory is about it.');
  tell(
    'Told',
    lines.map(({ said, shares }) => [`shares ${shares.join(', ')}`, said]),
  );
  tell('Left out', [
    ...known.map((said) => ['told at the start', said]),
    ...leftOut.map(({ said }) => ['no room, or a secret in it', said]),
  ]);
}

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
  const input = await readHookJson(process.stdin);
  if (!input) return;
  try {
    const config = await settledFor(given);
    const { agent, scope: memory } = given;
    const answer = await answerHook(config, { input, options: { agent, memory } });
    if (answer !== '') print(answer);
  } catch (error) {
    note(`nocturne: ${describeError(error)}`);
    const answer = answerTrouble(input, error);
    if (answer !== '') print(answer);
  }
}

export const commands: CommandSpec[] = [next];
