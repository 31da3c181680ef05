// What `npm run eval` does with chains: plays one, packs plays for a judge, scores what the judge found, and counts all that is
// published again.

import { appendFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { AppError } from '../../../src/base/errors.ts';
import { print, progress } from '../../../src/terminal/output.ts';
import { publishPart } from '../../support/evidence.ts';
import { keptPlayOf, keptPlays, PLAYS, playAgain } from './kept-plays.ts';
import { sessionsDir } from './links.ts';
import { NEEDS, placedNeeds } from './needs.ts';
import { pack } from './pack.ts';
import { type Play, playChain, SYSTEMS, type SystemName, type ToldTo } from './play.ts';
import { publishedColumns, sources, tasksTable, VERDICTS } from './published.ts';
import { columnsOf, needsTable, tableOf } from './table.ts';
import { judgedIn } from './verdicts.ts';

export interface ChainOptions {
  model?: string;
  chain?: string;
  system?: SystemName;
  sessions?: string;
  out?: string;
  pack?: boolean;
  plays?: string[];
  seed?: string;
  score?: string;
  key?: string;
  keepPlay?: string;
  keepNeeds?: string;
  keepAs?: string;
  chains?: boolean;
  publish?: boolean;
  json?: boolean;
}

const systems = new Option('--system <name>', 'what the chain is played with').choices(Object.keys(SYSTEMS));

export const chainOptions = (command: Command) =>
  command
    .option('--chain <name>', 'play the sessions of a chain in chains.json, or of a directory; keep what each was told')
    .addOption(systems.default('nocturne'))
    .option('--sessions <dir>', 'where the transcripts of chains.json lie; default: NOCTURNE_EVAL_SESSIONS')
    .option('--out <dir>', 'where a chain keeps its play; the same one goes on, or is played again from its answers')
    .option('--pack', 'with --chain, --plays and --out: a package of plays for a judge')
    .option('--plays <dirs...>', 'the plays to pack, each the --out of one')
    .option('--seed <number>', 'draws the order of plays and lines; default: 1')
    .option(
      '--score <package>',
      "count a judge's verdicts.jsonl (verdicts-2.jsonl of another, verdicts-3.jsonl of who settles)",
    )
    .option('--key <file>', 'the key of the package; default: beside it')
    .option('--keep-play <dir>', 'publish a play, without words of the sessions, as test/eval/chains/plays/NAME.jsonl')
    .option('--keep-as <name>', 'NAME; with --score: publish what was judged, as test/eval/chains/verdicts/NAME.json')
    .option('--keep-needs <file>', 'with --chain: check what a reader wrote of needs, and add it to needs.jsonl')
    .option('--chains', 'count all that was judged of chains again; --publish: into docs/dev/evidence.md')
    .option('--publish');

/** Returns false where nothing of chains was asked for. */
export async function runChains(options: ChainOptions, play: Omit<Play, 'out' | 'say'>): Promise<boolean> {
  if (options.chains) await countAll(options, play.parts);
  else if (options.keepPlay) await publishPlay(options.keepPlay, options);
  else if (options.keepNeeds) await addNeeds(options.keepNeeds, options);
  else if (options.score) score(options.score, options);
  else if (options.pack) await packPlays(options);
  else if (options.chain) await playOne(options.chain, { ...options, ...play });
  else return false;
  return true;
}

async function publishPlay(dir: string, { keepAs, sessions }: ChainOptions): Promise<void> {
  if (!keepAs) throw new AppError('bad-input', '--keep-play needs --keep-as NAME.');
  mkdirSync(PLAYS, { recursive: true });
  writeFileSync(join(PLAYS, `${keepAs}.jsonl`), await keptPlayOf(resolve(dir), sessions));
}

async function countAll({ publish, sessions }: ChainOptions, parts: Play['parts']): Promise<void> {
  const columns = publishedColumns();
  const [table, needs] = [tableOf(columns), needsTable(columns)];
  if (publish)
    for (const [name, part] of Object.entries({ worth: table, needs, sources: await sources(), tasks: tasksTable() }))
      publishPart(name, part);
  print(`${table}\n\n${needs}\n`);
  if (!sessionsDir(sessions))
    return print('Without --sessions DIR no play is played again: told are the figures as published.');
  for (const path of keptPlays()) {
    const { play, asked, others, isShort, isToldTheSame } = await playAgain(path, { sessions, parts });
    const earlier = others > 0 ? `, ${others} of them made with an earlier prompt (${play.commit})` : '';
    const told = isToldTheSame ? 'told the same' : 'told otherwise';
    if (isShort)
      print(
        `${basename(path)}: ${play.system} on ${play.chain}: today more is asked than was answered (${play.commit}).`,
      );
    else print(`${basename(path)}: ${play.system} on ${play.chain}: ${asked} answers${earlier}; ${told}.`);
  }
}

async function addNeeds(path: string, { chain = '', sessions }: ChainOptions): Promise<void> {
  const needs = await placedNeeds(path, { chain, sessions });
  appendFileSync(NEEDS, needs.map((need) => `${JSON.stringify(need)}\n`).join(''));
  print(`${needs.length} needs of ${chain} were added.`);
}

function score(dir: string, { key, keepAs }: ChainOptions): void {
  const judged = judgedIn(resolve(dir), key);
  const columns = columnsOf([judged]);
  print(`${tableOf(columns)}\n\n${needsTable(columns)}`);
  if (judged.kappa !== undefined)
    print(`\nTwo judges: kappa ${judged.kappa.toFixed(2)}; ${JSON.stringify(judged.raw)}`);
  if (keepAs) mkdirSync(VERDICTS, { recursive: true });
  if (keepAs)
    writeFileSync(
      join(VERDICTS, `${keepAs}.json`),
      `${JSON.stringify(judged, (key, value) => (key === 'note' ? undefined : value))}\n`,
    );
}

async function packPlays({ chain, plays = [], seed = '1', out, sessions }: ChainOptions): Promise<void> {
  if (!chain || plays.length === 0 || !out)
    throw new AppError('bad-input', '--pack needs --chain NAME, --plays DIR… and --out PACKAGE.');
  const key = await pack({
    chain,
    plays: plays.map((dir) => resolve(dir)),
    seed: Number(seed),
    out: resolve(out),
    sessions,
  });
  print(`The package is ${resolve(out)}: a judge reads README.md there and writes verdicts.jsonl.`);
  print(`Which play is whose is in ${key}: keep it from the judge.`);
}

async function playOne(chain: string, { out, json, ...play }: ChainOptions & Omit<Play, 'out' | 'say'>): Promise<void> {
  const to = resolve(out ?? mkdtempSync(join(tmpdir(), 'nocturne-chain-')));
  const bar = progress('opening');
  const say = (text: string) => bar.say(text);
  const { sessions, told, asked, others } = await playChain(chain, { ...play, out: to, say }).finally(() => bar.stop());
  const spoken = (on: ToldTo['on']) => told.filter((each) => each.on === on && each.text !== '').length;
  const figures = { starts: spoken('start'), prompts: spoken('prompt'), failures: spoken('failure') };
  if (json) return print(JSON.stringify({ sessions, ...figures, asked, others, out: to }));
  print(
    `${sessions} sessions; told at ${figures.starts} starts, ${figures.prompts} prompts, ${figures.failures} failures.`,
  );
  if (others > 0) print(`${others} of ${asked} answers were made for other requests than the code asks now.`);
  print(`The play is in ${to}: told.jsonl, after/N (memory after each night), answers.jsonl, play.json.`);
}
