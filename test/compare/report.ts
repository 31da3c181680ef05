// How a comparison is told: first the rows by which one chooses, and in which of them nocturne is ahead and in which behind;
// then all of them, as tables in Markdown with the best of a row in bold; and what favours whom and was not comparable.

import type { Column } from './measure.ts';

export interface Compared {
  /** Name and version of each system, in the tables' order. */
  systems: string[];
  tables: { title: string; columns: Column[] }[];
  about: { date: string; commit: string; machine: string; seed: number; kills: number };
}

/** Rows in which more is better; in others less is, but for those that judge nobody. */
const MORE_IS_BETTER = /^facts kept/;
const JUDGES_NOBODY = /^(facts of a run|runs killed|embedding tokens|.* of the night after$)/;
/** The rows by which one chooses: what it costs, how long it takes, what it keeps, and what goes wrong. */
const TELLING =
  /^(USD|s a session, model 2|facts kept|kB|same sessions again: requests|facts lost|secrets of \d+ on|injections)/;

const FAVOURS = [
  'The model knows the facts of the repository’s sessions (`test/compare/facts.jsonl`), and says them in the same words whoever asks. ' +
    'So the number of facts says that a system works, not which one finds more; peers’ prompts ask for more than is listed.',
  'It leaves out what it is shown as known, word for word. A real model also tells other wordings apart: it may add less, or more.',
  'It answers at once in as few words as it can, and calls the reference server’s tool without looking at the graph first. A real ' +
    'one writes and asks more: output is a lower bound for all, and so are the requests of the reference server.',
  'Of the repository’s sessions nocturne keeps fewer: what is quoted from a mail, meant ironically or taken back at once is a fact for ' +
    'whoever sends only words. In the real sessions nobody says anything that is listed: that table tells the cost of finding nothing.',
  'It finds facts in a whole session as well as in one exchange, which favours whoever sends long requests.',
  'Secrets are of forms that stand in nocturne’s own table, injections those of its own tests: both favour nocturne, which was ' +
    'built against them. The others promise nothing about either.',
  'What obeys an injection keeps its words where they stand. A model that rewords it, and rests it on something harmless that a ' +
    'person said, gets past nocturne’s checks too.',
];
const NOT_COMPARABLE = [
  'Tokens are those of the bodies of requests, by one estimate for all (calibrated to Claude’s tokenizer); money is at the list ' +
    'price of Claude Haiku 4.5 (1 and 5 USD per million), without a prompt cache’s discount. Embeddings are neither priced nor slow.',
  'mem0, the reference server and “ask once” are given what the two who speak say; nocturne reads of what tools answered up to a ' +
    'sixth of its excerpt, “ask once, with tools” all of it. What is not shown cannot leak: half of the secrets, and ' +
    'most injections, stand in what tools answered.',
  'Only nocturne has a night; one is counted for all sessions of a set. Only it has an inbox: for the others, somebody must know ' +
    'which session was broken off, which the two rows of lost facts tell apart.',
  'Killed is the process that works, while it waits for the model, at a request that the seed chooses: nearly all of a run’s time ' +
    'passes there. What a kill in the middle of writing does was tested of nocturne alone (“Killed at random”, below).',
  'All work one session at a time; nocturne would work two, and the others’ callers could. Seconds include the start of a process.',
  'Bytes are of different things: nocturne keeps versions, quotes and coverage; mem0 a vector for each fact, and its history.',
  'Which of the systems finds the right thing again when it is asked was not measured.',
];

export function describeComparison({ systems, tables, about }: Compared): string {
  const parts = [
    `Measured on ${about.date} at ${about.commit} (${about.machine}); seed ${about.seed}, ${about.kills} kills.`,
    ...inShort(systems, tables),
    ...tables.map(({ title, columns }) => `**${title}**\n\n${tableOf(systems, columns)}`),
    `**What the loopback model’s rules favour**\n\n${listOf(FAVOURS)}`,
    `**What was not comparable**\n\n${listOf(NOT_COMPARABLE)}`,
  ];
  return `${parts.join('\n\n')}\n`;
}

/** The rows by which one chooses as one table, and who is ahead in which. */
function inShort(systems: string[], tables: Compared['tables']): string[] {
  if (!systems[0]?.startsWith('nocturne') || systems.length === 1) return [];
  const chosen = tables.flatMap(({ title, columns }) => {
    const where = /^Cost: ([^,]*)/.exec(title)?.[1];
    const names = Object.keys(columns[0] ?? {}).filter((name) => TELLING.test(name));
    return names.map((name) => {
      const values = columns.map((column) => column[name] ?? 0);
      return { name: where ? `${name} (${where})` : name, values, best: bestOf(name, values) };
    });
  });
  const telling = chosen.filter(({ values }) => values.some((value) => value !== values[0]));
  const columns = systems.map((_, at) =>
    Object.fromEntries(telling.map(({ name, values }) => [name, values[at] ?? 0])),
  );
  const isAhead = ({ values, best }: (typeof chosen)[number]) => values[0] === best;
  const named = (rows: typeof chosen) => rows.map(({ name }) => name).join('; ') || 'none';
  return [
    `**In a minute**\n\n${tableOf(systems, columns)}`,
    `nocturne is ahead of all, or level with the best, in: ${named(telling.filter(isAhead))}.`,
    `Another is ahead of it in: ${named(telling.filter((row) => !isAhead(row)))}.`,
  ];
}

function bestOf(name: string, values: number[]): number | undefined {
  if (JUDGES_NOBODY.test(name) || values.length < 2) return undefined;
  return MORE_IS_BETTER.test(name) ? Math.max(...values) : Math.min(...values);
}

function tableOf(systems: string[], columns: Column[]): string {
  const names = Object.keys(columns[0] ?? {});
  const row = (name: string) => {
    const values = columns.map((column) => column[name] ?? 0);
    const best = values.every((value) => value === values[0]) ? undefined : bestOf(name, values);
    return `| ${name} | ${values.map((value) => (value === best ? `**${value}**` : value)).join(' | ')} |`;
  };
  return [`| | ${systems.join(' | ')} |`, `|---|${systems.map(() => '---:').join('|')}|`, ...names.map(row)].join('\n');
}

function listOf(lines: string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}
