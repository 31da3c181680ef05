// nocturne list: what is remembered, topic by topic, and what no dream has read yet.

import { type Command, Option } from 'commander';
import { type CatalogTopic, catalogTopics, waitingEntries } from '../../../memory/recall/catalog.ts';
import { cutDescription } from '../../../memory/text/index-file.ts';
import { MEMORY_TYPES, type MemoryType } from '../../../memory/types.ts';
import { type CommonOptions, type Looking, withJson, withLooking, withMemory } from '../terminal/options.ts';
import { print, style } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

const DAY_MS = 24 * 60 * 60_000;

interface Listing {
  memory: string;
  topics: CatalogTopic[];
  waiting: { id: string; type: MemoryType; text: string; day: string; state: string }[];
}

export function addList(program: Command): void {
  const command = program
    .command('list')
    .description('the topics, and entries no dream has read yet')
    .addOption(new Option('--type <type>', 'only of this type').choices([...MEMORY_TYPES]));
  withJson(
    withMemory(command),
    '{ memory, topics: [{ name, path, type, description, lines, pinned, modifiedAt }], waiting: [{ id, type, text, day, state }] }',
  )
    .addHelpText('after', '\nExample:\n  nocturne list --type feedback')
    .action((options: CommonOptions & { type?: MemoryType }) =>
      withLooking(options, (at) => {
        const listing = listingOf(at, options.type);
        if (options.json) print(JSON.stringify(listing));
        else show(listing, at.config.clock.now());
      }),
    );
}

function listingOf({ dir, ledger }: Looking, type: MemoryType | undefined): Listing {
  const isAsked = (item: { type: MemoryType | null }) => type === undefined || item.type === type;
  return {
    memory: dir,
    topics: catalogTopics(dir, ledger).filter(isAsked),
    waiting: waitingEntries(dir, ledger)
      .filter(isAsked)
      .map(({ id, type: of, text, day, state }) => ({ id, type: of, text, day, state })),
  };
}

function show({ memory, topics, waiting }: Listing, now: Date): void {
  if (topics.length + waiting.length === 0) print(`Nothing is remembered in ${memory} yet.`);
  if (topics.length > 0) {
    const rows = topics.map(({ name, type, modifiedAt, lines, pinned, description }) => {
      const said = cutDescription(description);
      return [name, type ?? '–', ageOf(modifiedAt, now), String(lines), pinned ? 'pinned' : '', said];
    });
    printTable(['topic', 'type', 'age', 'lines', '', 'description'], rows);
  }
  if (waiting.length === 0) return;
  print(style('bold', `${topics.length > 0 ? '\n' : ''}Not distilled yet:`));
  printTable(
    ['entry', 'type', 'day', 'text'],
    waiting.map(({ id, type, day, text, state }) => [id, type, day, state === 'held' ? `${text} (held)` : text]),
  );
}

function ageOf(modifiedAt: string, now: Date): string {
  const days = Math.max(0, Math.floor((now.getTime() - Date.parse(modifiedAt)) / DAY_MS));
  return days === 0 ? 'today' : `${days} d`;
}
