// `node test/eval/reference/main.ts`: makes a cassette of a play, and scores what readers judged of plays.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { print } from '../../../src/terminal/output.ts';
import { cassetteOf, cassettePath } from './cassette.ts';
import { referenceFacts } from './facts.ts';
import { describeScore, judgementSchema, scoreJudgements } from './judgement.ts';

const program = new Command('node test/eval/reference/main.ts').description(
  'the reference facts: cassettes and scores',
);

program
  .command('cassette <directory> <name>')
  .description('keep the answers of a play, without words of the transcripts')
  .action((directory: string, name: string) => {
    const lines = cassetteOf(directory);
    mkdirSync(dirname(cassettePath(name)), { recursive: true });
    writeFileSync(cassettePath(name), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const entries = lines.flatMap((line) => line.entries ?? []);
    const lost = entries.flatMap(({ evidence }) => evidence).filter(({ place }) => place === null);
    print(
      `${lines.length} answers, ${entries.length} entries; ${lost.length} quotes stand nowhere in the transcripts.`,
    );
  });

program
  .command('score <judgement...>')
  .description('recall by tier, precision, what was invented, traps and topics, of all judgements together')
  .option('--work', 'against the facts of the sessions for work; default: the sealed ones')
  .action((paths: string[], { work }: { work?: boolean }) => {
    const judgements = paths.map((path) => judgementSchema.parse(JSON.parse(readFileSync(path, 'utf8'))));
    print(describeScore(scoreJudgements(judgements, referenceFacts(work ? 'work' : 'sealed'))));
  });

await program.parseAsync();
