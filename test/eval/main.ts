// `npm run eval`: the real jobs over sessions whose facts are known, and one table of what came of it.
// Works in a temporary directory; asks a model only where one is named, or a key is there.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { OFFLINE_MODEL, requireAccess } from '../../src/agent/agent-types.ts';
import { type Config, loadConfig } from '../../src/base/config/config.ts';
import { priceOf } from '../../src/base/config/prices.ts';
import { AppError, describeError, isAppError } from '../../src/base/errors.ts';
import { readTextNow } from '../../src/base/files/files.ts';
import { renderPrompt } from '../../src/base/prompt.ts';
import { EXIT, note, print, progress } from '../../src/terminal/output.ts';
import { openApp } from '../../src/worker/compose.ts';
import type { Parts } from '../../src/worker/job-bounds.ts';
import { type ChainOptions, chainOptions, runChains } from './chain/commands.ts';
import { estimateRun, sayEstimate } from './estimate.ts';
import { readLocomo } from './locomo.ts';
import { liveThrough, type OpenNight } from './nights.ts';
import { perfectExtractor } from './perfect.ts';
import { recognise } from './recognise.ts';
import { describe, describeDetails, describeReading, type Result, readResult, valuesOf } from './report.ts';
import { score, sum, together } from './score.ts';
import type { EvalSet, Sample } from './set.ts';
import { HELD_OUT, OWN } from './sets.ts';
import { stepsIn } from './steps.ts';

interface Options extends ChainOptions {
  set?: 'own' | 'held-out' | 'locomo';
  locomo?: string;
  samples?: number;
  perfect?: boolean;
  against?: string;
  details?: boolean;
  estimate?: boolean;
  keep?: boolean;
  json?: boolean;
}

const program = () =>
  chainOptions(new Command('npm run eval --'))
    .description('measures extraction and dream over sessions whose facts are known')
    .option('--model <id>', 'the model of both jobs; default: the configured one where a key is there, else offline')
    .addOption(new Option('--set <name>', 'which sessions; default: own').choices(['own', 'held-out', 'locomo']))
    .option('--locomo <file>', "LoCoMo's locomo10.json, which is the set then")
    .option('--samples <count>', 'only the first ones of the set (a person, a conversation)', readCount)
    .option('--perfect', "take the set's own facts for the extraction, so that the dream alone is measured")
    .option('--against <file>', 'compare with an earlier result, as --json wrote it')
    .option('--details', 'name what was missed, lost, wrong, twice')
    .option('--estimate', 'only say what it is likely to cost')
    .option('--keep', 'leave the memory directories in place and say where')
    .option('--json', 'the result as one JSON value')
    .exitOverride()
    .addHelpText(
      'after',
      '\nA model is reached as nocturne reaches it: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL.\n' +
        'What it is likely to cost is said before it begins. Interrupted, the same command goes on where it stopped.\n\n' +
        'Examples:\n  npm run eval -- --model offline --details\n' +
        '  npm run -s eval -- --model claude-opus-5-5 --json > after.json\n  npm run eval -- --against before.json',
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
  const { access } = config;
  const hasKey = access.apiKey !== undefined || access.authToken !== undefined;
  const model = options.model ?? (hasKey ? config.model : OFFLINE_MODEL);
  if (await runChains(options, { model, environment: config.environment, parts })) return;
  const set = await readSet(options);
  const like = { set: set.name, samples: set.samples.map(({ name }) => name) };
  const before = options.against ? await readAgainst(options.against, like) : undefined;
  if (model !== OFFLINE_MODEL || options.estimate) {
    const { prices } = config;
    const likely = await estimateRun(set, { perfect: options.perfect === true, price: priceOf(model, prices) });
    note(sayEstimate(model, likely));
    if (options.estimate) return;
  }
  requireAccess({ model, access });
  const root = await rootFor(model, { ...like, perfect: options.perfect === true });
  const bar = progress('opening');
  process.once('SIGINT', () => {
    bar.stop();
    if (model === OFFLINE_MODEL) rmSync(root, { recursive: true, force: true });
    else note(`Stopped. The same command goes on from here; ${root} holds what was done.`);
    process.exit(130);
  });
  let isDone = false;
  try {
    const scored = [];
    for (const [at, sample] of set.samples.entries()) {
      const dir = join(root, sample.name);
      const say = (text: string) => bar.say(`${sample.name} (${at + 1} of ${set.samples.length}) ${text}`);
      const run = { dir, model, perfect: options.perfect === true, say };
      scored.push(await measure(sample, { ...run, config, parts }));
    }
    const figures = sum(scored.map((each) => each.figures));
    const result: Result = {
      version: 1,
      ...like,
      model,
      extraction: options.perfect ? 'perfect' : 'model',
      figures,
      values: valuesOf(figures),
      details: together(scored.map((each) => each.details)),
    };
    bar.stop();
    if (options.json) print(JSON.stringify(result));
    else {
      const reading = describeReading(figures, model, priceOf(model, config.prices));
      print(describe(result, { notes: [...set.notes, ...(reading ? [reading] : [])], against: before }));
    }
    if (options.details && !options.json) print(`\n${describeDetails(result.details)}`);
    if (result.details.failures.length > 0) process.exitCode = EXIT.failed;
    isDone = result.details.failures.length === 0;
  } finally {
    bar.stop();
    if (options.keep) note(`The memory directories are in ${root}.`);
    else if (isDone || model === OFFLINE_MODEL) rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    else note(`The same command goes on from here; ${root} holds what was done.`);
  }
}

/** A directory of its own; where a model is asked, the one that the same command had before, as long as the prompts are. */
async function rootFor(model: string, like: object): Promise<string> {
  if (model === OFFLINE_MODEL) return realpathSync(mkdtempSync(join(tmpdir(), 'nocturne-eval-')));
  const prompts = await Promise.all(
    ['extract', 'dream'].map(async (name) => (await renderPrompt(name, {})).fingerprint),
  );
  const hash = createHash('sha256')
    .update(JSON.stringify({ model, prompts, ...like }))
    .digest('hex')
    .slice(0, 12);
  const root = join(tmpdir(), `nocturne-eval-${hash}`);
  if (existsSync(root)) note(`Going on with what ${root} holds.`);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  return realpathSync(root);
}

interface Run {
  dir: string;
  model: string;
  perfect: boolean;
  config: Config;
  parts: Parts;
  say(text: string): void;
}

async function measure(sample: Sample, run: Run): Promise<ReturnType<typeof score>> {
  const extractor = run.perfect ? await perfectExtractor(sample) : undefined;
  try {
    const { access } = run.config;
    const dreaming = { model: run.model, access };
    const extracting = extractor ? { model: 'perfect', access: extractor.access } : dreaming;
    const steps = stepsIn(join(run.dir, 'steps.json'));
    const observed = await liveThrough(sample, { ...run, steps, open: openWith(run, { extracting, dreaming }) });
    run.say('recognising facts');
    const texts = (of: { text: string }[]) => of.map(({ text }) => text);
    return score(sample, observed, {
      entries: recognise(sample.facts, texts(observed.entries)),
      lines: recognise(sample.facts, texts(observed.lines)),
      messages: recognise(sample.facts, observed.messages),
    });
  } finally {
    await extractor?.close();
  }
}

type Reached = Pick<Config, 'model' | 'access'>;

/** Nights as the doors wire them, in a home of their own, with the user's settings for the jobs left alone. */
function openWith(
  { dir, config, parts }: Run,
  { extracting, dreaming }: { extracting: Reached; dreaming: Reached },
): OpenNight {
  return async (memory, now) => {
    const home = join(dir, 'home');
    const { environment } = config;
    const isolated = { ...environment, HOME: home, USERPROFILE: home, CLAUDE_CONFIG_DIR: home, NOCTURNE_HOME: home };
    const own = await loadConfig(
      { memoryDir: memory, queueUrl: '' },
      { ...isolated, NOCTURNE_ZONE: 'UTC', NOCTURNE_NOW: now },
    );
    const [day, night] = await Promise.all([extracting, dreaming].map((to) => openApp({ ...own, ...to }, parts)));
    if (!day || !night) throw new Error('two apps were opened');
    const row = await night.memoryFor({});
    return {
      memories: night.memories,
      memory: row,
      extract: (transcript) => day.extract({ transcript, ended: true }),
      dream: () => night.dream(row, {}),
      async close() {
        await day.close();
        await night.close();
      },
    };
  };
}

async function readSet({ locomo, set = locomo ? 'locomo' : 'own', samples }: Options): Promise<EvalSet> {
  if (set === 'locomo' && !locomo) {
    throw new AppError('bad-input', '--set locomo needs --locomo FILE.', {
      remedy: 'Its locomo10.json is at github.com/snap-research/locomo; its licence forbids shipping it.',
    });
  }
  if (set !== 'locomo' && locomo) throw new AppError('bad-input', `--locomo is a set of its own, beside --set ${set}.`);
  const ours = set === 'held-out' ? HELD_OUT : OWN;
  const chosen = set === 'locomo' ? readLocomo(await readGiven(locomo as string), locomo as string) : ours;
  return { ...chosen, samples: chosen.samples.slice(0, samples) };
}

async function readAgainst(path: string, like: Pick<Result, 'set' | 'samples'>): Promise<Result> {
  return readResult(await readGiven(path), { path, like });
}

async function readGiven(path: string): Promise<string> {
  const text = readTextNow(path);
  if (text === null) throw new AppError('bad-input', `There is no file ${path}.`);
  return text;
}

function readCount(value: string): number {
  const count = Number(value);
  if (Number.isInteger(count) && count > 0) return count;
  throw new AppError('bad-input', `--samples is ${JSON.stringify(value)}, not a whole number above 0.`);
}
