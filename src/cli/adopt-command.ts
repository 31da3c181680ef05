// adopt: the checkout one stands in is of a project that is remembered under another path, and uses that memory from now on. What both
// have is shown first, and nothing is done before a person says so.

import { dirname } from 'node:path';
import { adopt as adoptMemory, previewAdoption } from '../../jobs/carry.ts';
import { AppError } from '../base/errors.ts';
import { canonicalPath, isDirectory } from '../base/files/directories.ts';
import { sayCount } from '../base/text/wording.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { isByProject } from '../memory/places.ts';
import { keepApart, type SameProject, saySame } from '../memory/same-project.ts';
import { canAsk, confirm } from '../terminal/ask.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import { fromHome, shellPath } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { memoriesHere, placeOf, sameHere } from '../worker/whose-memory.ts';
import { printDone, requirePerson } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

interface AdoptOptions {
  yes?: boolean;
  apart?: boolean;
  json?: boolean;
}

const adopt: CommandSpec<AdoptOptions, [string | undefined]> = {
  name: 'adopt',
  about: 'use a memory of this project from another path, after a move or in a clone',
  args: [['[memory]', 'its id, name or directory (default: the one that looks like this project)']],
  options: [
    ['--yes', 'do it without asking'],
    ['--apart', 'this is a project of its own: it is not asked again', { conflicts: 'yes' }],
  ],
  json: '{ outcome, added, changed, differing, skipped, job }; with --apart { outcome }',
  more: 'What this checkout remembers itself comes in, too. Files stay where they are: sessions here are told of that memory and learned into it.',
  examples: ['adopt', 'adopt --apart'],
  async inApp(app, call) {
    const { config, db, machine, memories } = app;
    requirePerson(config, 'adopt');
    if (!isByProject(config))
      throw new AppError('bad-input', 'The memory here is named by a setting, whatever the project.', {
        remedy: `It is ${app.memoryDirOf()}; nocturne import takes files of another in.`,
      });
    const place = canonicalPath(app.memoryDirOf());
    const { options } = call;
    if (options.apart) {
      await keepApart(db, { machine, place });
      return print(options.json ? { outcome: 'apart' } : 'This is a project of its own; it is not asked again.');
    }
    const here = await app.findMemory();
    const chosen = await chosenOf(app, { given: call.args[0], here });
    const isOwn = here !== null && (here.dir === place || (await leadingTo(app, here)) === 1);
    const deps = { memories, memory: chosen.memory, place, own: isOwn ? here : null };
    if (!options.yes && !(await isMeant(app, chosen, await previewAdoption(deps)))) {
      if (options.json) print({ outcome: 'unconfirmed', job: null });
      process.exitCode = EXIT.usage;
      return;
    }
    const report = await adoptMemory(deps);
    const came = report.added.length + report.changed.length;
    const more = came > 0 ? `; ${sayCount(came, 'file')} of this checkout came in` : '';
    const done = `Sessions here use the memory of ${chosen.memory.name} from now on${more}.`;
    const isBusy = report.outcome === 'busy';
    const lines = [isBusy ? 'busy; a dream works on that memory. Try again when it is done.' : done];
    const { root, memory } = chosen;
    if (!isBusy && root !== null && !isDirectory(root) && memory.dir !== null && !isDirectory(place)) {
      const [from, to] = [memory.dir, dirname(place)].map((path) => shellPath(path, config));
      lines.push(`Its files stay in ${from}. To take them along: mkdir -p ${to} && mv ${from} ${to}`);
    }
    await printDone(app, options, { report, lines });
  },
};

/** How many directories lead to a memory that has none. */
async function leadingTo({ db }: App, { id, dir }: MemoryRow): Promise<number> {
  const count = await db.get<{ n: number }>('select count(*) as n from place where memory = ?', id);
  return dir === null ? (count?.n ?? 0) : 0;
}

/** The memory that is named, else the one that looks like this project. */
async function chosenOf(
  app: App,
  { given, here }: { given: string | undefined; here: MemoryRow | null },
): Promise<SameProject> {
  const found = await sameHere(app, { isAsked: true });
  const all = (await memoriesHere(app)).filter(
    ({ scope, id, tenant }) => scope === 'project' && tenant === '' && id !== here?.id,
  );
  const isNamed = (memory: MemoryRow) => [memory.id, memory.name, memory.dir].includes(given ?? '');
  const named = given === undefined ? found : all.filter(isNamed).map((memory) => asked(memory, found));
  const [first, ...others] = named;
  if (first && others.length === 0) return first;
  const [looks, is] = first ? ['look', 'are'] : ['looks', 'is'];
  const what = given === undefined ? `${looks} like this project` : `${is} called ${JSON.stringify(given)}`;
  const list = (named.length > 0 ? named : all.map((memory) => asked(memory, found))).map(
    ({ memory, why }) =>
      `  ${memory.id}  ${memory.name}, ${fromHome(placeOf(memory), app.config)}${why ? ` (${why})` : ''}`,
  );
  throw new AppError('bad-input', `${first ? `${named.length} memories` : 'No memory'} ${what}; nothing was changed.`, {
    remedy:
      list.length === 0 ? 'Nothing else is remembered here.' : `Name one: nocturne adopt ID, of\n${list.join('\n')}`,
  });
}

function asked(memory: MemoryRow, found: SameProject[]): SameProject {
  return found.find((same) => same.memory.id === memory.id) ?? { memory, root: null, why: '' };
}

/** Shows what both have, and asks where someone is there to answer. */
async function isMeant(
  { config }: App,
  chosen: SameProject,
  { topics, unsorted, comes }: Awaited<ReturnType<typeof previewAdoption>>,
): Promise<boolean> {
  const doubt = chosen.why === '' ? `nothing shows that this is ${chosen.memory.name}` : saySame([chosen], config);
  const waits = unsorted > 0 ? ` and ${sayCount(unsorted, 'entry')} not sorted yet` : '';
  const news = comes.map(({ path, lines }) => [
    `  ${path}: ${lines.length === 0 ? 'nothing that it lacks' : ''}`.trimEnd(),
    ...lines.map((line) => `    - ${line}`),
  ]);
  note(
    [
      `${doubt.replace(/^./, (letter) => letter.toUpperCase())}.`,
      `It has ${sayCount(topics, 'topic')}${waits} in ${fromHome(placeOf(chosen.memory), config)}.`,
      ...(news.length === 0
        ? ['This checkout has nothing of its own.']
        : ['From this checkout would come:', ...news.flat()]),
    ].join('\n'),
  );
  if (canAsk()) return confirm('Use that memory here?');
  note('There is no terminal to ask at: --yes does it.');
  return false;
}

export const commands = [adopt] as CommandSpec[];
