// `npm run eval`: what a memory is worth to later sessions (chains of real ones), and LoCoMo. Asks a model only where one is
// named, or a key is there.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command, CommanderError } from 'commander';
import { OFFLINE_MODEL, requireAccess } from '../../src/agent/agent-types.ts';
import { type Config, loadConfig } from '../../src/base/config/config.ts';
import { AppError, describeError, isAppError } from '../../src/base/errors.ts';
import { readTextNow } from '../../src/base/files/files.ts';
import { EXIT, note, print, progress } from '../../src/terminal/output.ts';
import type { Parts } from '../../src/worker/job-bounds.ts';
import { type ChainOptions, chainOptions, runChains } from './chain/commands.ts';
import { readLocomo } from './locomo/file.ts';
import { answerAll, locomoTable } from './locomo/run.ts';

interface Options extends ChainOptions {
  locomo?: string;
  samples?: number;
}

const program = () =>
  chainOptions(new Command('npm run eval --'))
    .description('what a memory is worth to later sessions: chains of real sessions, and LoCoMo')
    .option('--model <id>', 'default: the configured one where a key is there')
    .option('--locomo <file>', "LoCoMo's locomo10.json: its questions, answered with what nocturne tells")
    .option('--samples <count>', 'only the first conversations', Number)
    .option('--json', 'the result as one JSON value')
    .exitOverride()
    .addHelpText(
      'after',
      '\nA model is reached as nocturne reaches it: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL.\n' +
        'Interrupted, the same command with the same --out goes on where it stopped.\n\n' +
        'Examples:\n  npm run eval -- --chains\n' +
        '  npm run eval -- --chain entireio+skills --sessions ../transcripts --model claude-opus-5-5 --out play\n' +
        '  npm run eval -- --locomo locomo10.json --model claude-opus-5-5 --out locomo',
    );

if (process.argv[1] === import.meta.filename) await evaluate(process.argv.slice(2));

/** `parts`: how agents are run, if not as users run them. */
export async function evaluate(args: string[], parts: Parts = {}): Promise<void> {
  try {
    if (args[0] === '--tasks') return await (await import('./tasks/run.ts')).tasks(args.slice(1));
    await main(program().parse(args, { from: 'user' }).opts<Options>(), parts);
  } catch (error) {
    // Commander has said what it found; asking for help is no mistake.
    const isUsage = error instanceof CommanderError || isAppError(error, 'bad-input');
    if (!(error instanceof CommanderError)) note(`eval: ${describeError(error)}`);
    const isHelp = error instanceof CommanderError && error.exitCode === 0;
    process.exitCode = isHelp ? EXIT.fine : isUsage ? EXIT.usage : EXIT.failed;
  }
}

async function main(options: Options, parts: Parts): Promise<void> {
  const config = await loadConfig({ model: options.model });
  const { model, environment } = config;
  if (await runChains(options, { model, environment, parts })) return;
  if (options.locomo) return locomo(options.locomo, { ...options, config, parts });
  throw new AppError('bad-input', 'Nothing was asked for.', {
    remedy: 'Say --chains, --chain or --locomo; --help tells.',
  });
}

async function locomo(path: string, { samples, json, ...how }: Options & { config: Config; parts: Parts }) {
  const text = readTextNow(path);
  if (text === null) {
    const remedy = 'LoCoMo is at github.com/snap-research/locomo; its licence forbids shipping it.';
    throw new AppError('bad-input', `There is no file ${path}.`, { remedy });
  }
  const conversations = readLocomo(text, path).slice(0, samples);
  const { model, access, environment } = how.config;
  if (model === OFFLINE_MODEL)
    throw new AppError('bad-input', 'The offline model answers no questions: name one by --model.');
  requireAccess({ model, access });
  const out = resolve(how.out ?? mkdtempSync(join(tmpdir(), 'nocturne-locomo-')));
  const bar = progress('opening');
  const say = (now: string) => bar.say(now);
  const all = await answerAll(conversations, { model, environment, parts: how.parts, out, say }).finally(() =>
    bar.stop(),
  );
  print(json ? JSON.stringify({ model, answers: all }) : locomoTable(all));
  note(`What was asked is in ${out}.`);
}
