// nocturne search: where something is remembered.

import { type Command, Option } from 'commander';
import { type Hit, searchMemory } from '../../../memory/recall/search.ts';
import { type CommonOptions, countUpTo, withJson, withLooking, withMemory } from '../terminal/options.ts';
import { EXIT, note, print, style } from '../terminal/output.ts';

export function addSearch(program: Command): void {
  const command = program
    .command('search')
    .description('find words in topics, entries and logs, best first')
    .argument('<query...>', 'words, "phrases" that must be there, begin* of words')
    .addOption(new Option('--limit <n>', 'so many results').default(20).argParser(countUpTo(10_000)));
  withJson(withMemory(command), '{ query, total, hits: [{ kind, path, line, text, words }] }')
    .addHelpText('after', '\nExit code: 0 found, 1 nothing found.\n\nExample:\n  nocturne search release deadline')
    .action((given: string[], options: CommonOptions & { limit: number }) =>
      withLooking(options, (at) => {
        const query = given.join(' ');
        const { hits, total } = searchMemory(at, { query, limit: options.limit });
        if (total === 0) process.exitCode = EXIT.failed;
        if (options.json) return print(JSON.stringify({ query, total, hits }));
        if (total === 0) return note(`Nothing in ${at.dir} holds ${shown(query)}.`);
        for (const hit of hits) print(describe(hit));
        if (total > hits.length) note(`… and ${total - hits.length} more; --limit shows more.`);
      }),
    );
}

function shown(query: string): string {
  return query.length > 200 ? `${JSON.stringify(query.slice(0, 200))}…` : JSON.stringify(query);
}

function describe({ path, line, text }: Hit): string {
  return `${style('cyan', `${path}:${line}`)}  ${text}`;
}
