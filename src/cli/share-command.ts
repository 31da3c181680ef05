// What leaves a memory for others, or comes from them. share: topics into the team's memory, which is committed with the repository, and
// what dream --share says. snapshot: a memory that the repository hands to everybody who works there: made, taken in, looked at.
// export, import: the Markdown of a memory as plain files in a directory, and back. adopt: the checkout one stands in is of a project
// that is remembered under another path, and uses that memory from now on.

import { join, resolve } from 'node:path';
import { adopt as adoptMemory, exportMemory, importMemory, previewAdoption } from '../../jobs/carry.ts';
import type { ShareReport } from '../../jobs/share.ts';
import {
  type ApplyReport,
  applyMemorySnapshot,
  type CreateReport,
  checkMemorySnapshot,
  createMemorySnapshot,
  type SnapshotCheck,
  type SnapshotTopic,
} from '../../jobs/snapshot.ts';
import { AppError } from '../base/errors.ts';
import { canonicalPath } from '../base/files/directories.ts';
import { readTextNow } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { unifiedDiff } from '../memory/edit-text.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { checkoutRoot } from '../memory/paths.ts';
import { isByProject } from '../memory/places.ts';
import { keepApart, type SameProject, saySame } from '../memory/projects.ts';
import { explainLines } from '../memory/rests.ts';
import { shortId } from '../memory/short-ids.ts';
import { memorySnapshotDir } from '../memory/snapshot-files.ts';
import { EXIT, exitFor, note, print, printRaw } from '../terminal/output.ts';
import { fromHome } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { refuseInDatabase, shareWithTeam } from '../worker/sharing.ts';
import { memoriesHere, placeOf, sameHere } from '../worker/whose-memory.ts';
import {
  agreed,
  BUSY,
  type CommonOptions,
  MEMORY,
  memoryHere,
  memoryKept,
  printDone,
  requirePerson,
} from './cli-options.ts';
import { LINE, topicFile } from './history-command.ts';
import type { CommandSpec } from './spec.ts';

interface ShareOptions extends CommonOptions {
  dryRun?: boolean;
}

const share: CommandSpec<ShareOptions, [string[]]> = {
  name: 'share',
  about: "copy topics, or lines of them, into the team's memory, in the repository",
  args: [['<topic...>', 'names or files of topics; TOPIC:LINE: that line alone']],
  options: [['--dry-run', 'say what would be shared; change nothing'], ...MEMORY],
  json: '{ outcome, memory, author, topics: [{ path, isNew, lines, replaced }], secrets: [{ path, line, rule }], job, isIgnored }',
  more: 'They are copied into .claude/memory of the working tree; lines that are there already stay. Commit the files with git.',
  examples: ['share project-facts', 'share project-facts:7'],
  async inApp(app, call) {
    const { dryRun, json } = call.options;
    if (!dryRun) requirePerson(app.config, 'share');
    const cwd = process.cwd();
    refuseInDatabase(app.config);
    const found = await app.findMemory({ cwd });
    const named = await Array.fromAsync(call.args[0], async (name) => {
      const [, topic = name, line] = LINE.exec(name) ?? [];
      return { path: await topicFile(app, found, topic), line };
    });
    const own = found ?? (await app.memoryFor({ cwd }));
    const read = async (path: string) => (await app.files(own).read({ path }))?.text ?? '';
    const sources = await Array.fromAsync(
      Map.groupBy(named, ({ path }) => path),
      async ([path, of]) => {
        const lines = of.flatMap(({ line }) => line ?? []);
        const meant = lines.map((line) => explainLines(app.db, { memory: own.id, path, line }));
        const ids = (await Promise.all(meant)).flat().map(({ id }) => id);
        return { path, text: await read(path), ...(lines.length === of.length && { only: new Set(ids) }) };
      },
    );
    const request = { sources, isDryRun: dryRun };
    const report = await shareWithTeam(app, own, request, { cwd });
    print(json ? report : (await sayShare(app, report, { dryRun })).join('\n'));
    process.exitCode = exitFor([report.outcome]);
  },
};

/** What was shared with the team, or why nothing was. */
export async function sayShare({ db }: App, report: ShareReport, { dryRun = false } = {}): Promise<string[]> {
  const { outcome, memory, author, topics, secrets, job, isIgnored, error } = report;
  const ignored = '  note: git ignores it; take .claude out of .gitignore, or nobody else gets it';
  const warnings = isIgnored ? [ignored] : [];
  if (outcome === 'failed') return [`share: failed; ${error?.message ?? ''}`];
  if (outcome === 'known') return [`share: nothing new for ${memory}`, ...warnings];
  if (outcome === 'refused') {
    const where = secrets.map(({ path, line, rule }) => `  ${path}:${line} holds a secret (${rule})`);
    return ['share: refused, nothing was shared; nocturne redact takes secrets out', ...where, ...warnings];
  }
  const lines = topics.flatMap((topic) => [
    `  ${topic.path}${topic.isNew ? ' (new)' : ''}`,
    ...topic.lines.map((line) => `    ${line.replaceAll('\n', '\n    ')}`),
    ...topic.replaced.map((line) => `    no longer: ${line}`),
  ]);
  const verb = dryRun ? 'would share' : 'shared';
  const undo = job
    ? [`nocturne undo ${await shortId(db, 'job', job)} --scope local takes it out of the team's memory again.`]
    : [];
  return [`share: ${verb} with the team in ${memory}, as ${author}`, ...lines, ...warnings, ...undo];
}

const snapshot: CommandSpec = {
  name: 'snapshot',
  about: 'a copy of topics in the repository, for everybody who works there',
};

const create: CommandSpec<CommonOptions, [string[]]> = {
  name: 'snapshot create',
  about: 'copy topics into .claude/memory-snapshot of the working tree, to be committed',
  args: [['[topics...]', 'which (default: all of type project and reference)']],
  options: MEMORY,
  json: '{ dir, id, topics, commanding: [{ path, line, text }] }',
  more: 'Logs and evidence stay with you.',
  examples: ['snapshot create deploys.md staging.md && git add .claude/memory-snapshot'],
  async inApp(app, call) {
    const { json } = call.options;
    const topics = call.args[0].map((topic) => topic.replace(/(?:\.md)?$/i, '.md'));
    const at = { memories: app.memories, memory: await app.memoryFor() };
    const report = await createMemorySnapshot({ tree: treeTop(), topics }, at);
    print(json ? report : describeCreated(report));
    if (report.commanding.length === 0) return;
    note('These lines tell an agent what to do; who applies the snapshot gets their topics only with --trusted:');
    for (const { path, line, text } of report.commanding) note(`  ${path}:${line}: ${text}`);
  },
};

const apply: CommandSpec<CommonOptions & { trusted?: boolean }> = {
  name: 'snapshot apply',
  about: "add the repository's topics to your memory; nothing is overwritten",
  options: [['--trusted', 'also topics that tell an agent what to do: you have read them'], ...MEMORY],
  json: '{ outcome, snapshot, topics: [{ path, step, lines }], job }',
  more: 'Adds what is missing, updates what you did not change since, merges if lines do not collide.',
  examples: ['snapshot apply'],
  async inApp(app, call) {
    const { memories, memoryFor: openMemory } = app;
    const request = { tree: treeTop(), isTrusted: call.options.trusted ?? false };
    const report = await applyMemorySnapshot(request, { memories, openMemory });
    await printDone(app, call.options, { report, lines: describeApplied(report) });
  },
};

const check: CommandSpec<CommonOptions & { diff?: boolean }> = {
  name: 'snapshot check',
  about: 'whether there is a snapshot, or a newer one, and what applying it would do',
  options: [['--diff', 'show how each topic differs from the one here'], ...MEMORY],
  json: '{ state, snapshot, topics: [{ path, step, lines }] }',
  more: 'Exit code: 0 nothing to apply, 3 a snapshot waits to be applied, 1 it is broken.',
  examples: ['snapshot check --diff'],
  async inApp(app, call) {
    const memory = await memoryHere(app);
    const { diff, json } = call.options;
    const tree = treeTop();
    const found = await checkMemorySnapshot(tree, { memories: app.memories, memory });
    print(json ? found : describeCheck(found));
    for (const { path } of diff && !json ? found.topics : []) {
      const theirs = readTextNow(join(memorySnapshotDir(tree), path)) ?? '';
      const ours = (memory && (await app.files(memory).read({ path }))?.text) ?? '';
      printRaw(unifiedDiff({ name: `here/${path}`, text: ours }, { name: `snapshot/${path}`, text: theirs }));
    }
    process.exitCode = isOffered(found) ? EXIT.attention : EXIT.fine;
  },
};

/** Where the snapshot of the project lies that one stands in. */
function treeTop(): string {
  return checkoutRoot(process.cwd()) ?? process.cwd();
}

function isOffered({ state }: SnapshotCheck): boolean {
  return state === 'not-applied' || state === 'newer';
}

function describeCreated({ dir, id, topics }: CreateReport): string {
  return [`${id} made: ${sayCount(topics.length, 'topic')} in ${dir}`, ...topics.map((path) => `  ${path}`)].join('\n');
}

function describeApplied({ outcome, snapshot, topics }: ApplyReport): string[] {
  const lines = topics.filter(({ step }) => step !== 'same' && step !== 'own').map(describeTopic);
  if (outcome === 'none')
    return ['There is no memory snapshot in this working tree. nocturne snapshot create makes one.'];
  if (outcome === 'busy') return [BUSY];
  const head = outcome === 'applied' ? `${snapshot} applied` : `${snapshot}: nothing to change`;
  return [head, ...lines];
}

function describeCheck(check: SnapshotCheck): string {
  const { state, snapshot, topics } = check;
  const said = {
    none: 'no memory snapshot in this working tree',
    'not-applied': `${snapshot} was not applied yet`,
    newer: `${snapshot} is another than what was applied`,
    'up-to-date': `${snapshot}: up to date`,
  }[state];
  return [
    said,
    ...topics.filter(({ step }) => step !== 'own').map(describeTopic),
    ...(isOffered(check) ? ['To use it: nocturne snapshot apply. To see it: nocturne snapshot check --diff'] : []),
  ].join('\n');
}

function describeTopic({ path, step, lines }: SnapshotTopic): string {
  const why: Partial<Record<SnapshotTopic['step'], string>> = {
    collides: ' (changed on both sides: yours stays; nocturne snapshot check --diff shows the difference)',
    removed: ' (you removed it: it stays out)',
    withheld: ' (it tells an agent what to do; read it, then use --trusted)',
  };
  const quoted = lines.map(({ line, text }) => `\n    line ${line}: ${text}`).join('');
  return `  ${step.padEnd(10)}  ${path}${why[step] ?? ''}${quoted}`;
}

const exportCommand: CommandSpec<CommonOptions, [string]> = {
  name: 'export',
  about: 'topics, index, logs and archive as plain files',
  args: [['<directory>', 'a new directory']],
  options: MEMORY,
  json: '{ outcome, files, skipped, job }',
  examples: ['export my-memory && tar czf my-memory.tar.gz my-memory'],
  async inApp(app, call) {
    const memory = await memoryKept(app);
    const report = await exportMemory(resolve(call.args[0]), { memories: app.memories, memory });
    const lines = [`Exported ${sayCount(report.files.length, 'file')}.`, ...saySkipped(report.skipped)];
    await printDone(app, call.options, { report, lines });
  },
};

const importCommand: CommandSpec<CommonOptions & { theirs?: boolean }, [string]> = {
  name: 'import',
  about: 'add what nocturne export wrote to this memory; your lines stay',
  args: [['<directory>', 'where it was exported to']],
  options: [['--theirs', 'if a file differs, take theirs; yours stays in show --history'], ...MEMORY],
  json: '{ outcome, added, changed, differing, skipped, job }',
  examples: ['import my-memory', 'import my-memory --json   # names the files'],
  async inApp(app, call) {
    requirePerson(app.config, 'import');
    const { memories, memoryFor: openMemory } = app;
    const request = { directory: resolve(call.args[0]), isTheirs: call.options.theirs ?? false };
    const report = await importMemory(request, { memories, openMemory });
    const { outcome, added, changed, differing, skipped } = report;
    const done = `Imported: ${sayCount(added.length, 'file')} added, ${changed.length} changed.`;
    const nothing = outcome === 'busy' ? BUSY : 'Nothing new.';
    const differs = differing.map((path) => `  ${path} differs and stays as it is here; --theirs takes theirs.`);
    const lines = [outcome === 'imported' ? done : nothing, ...differs, ...saySkipped(skipped)];
    await printDone(app, call.options, { report, lines });
  },
};

function saySkipped(paths: string[]): string[] {
  return paths.map((path) => `  left out, because it is no Markdown of a memory: ${path}`);
}

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
    const lines = [report.outcome === 'busy' ? BUSY : done];
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
  const alike = await sameHere(app, { isAsked: true });
  const others = (await memoriesHere(app)).filter(
    ({ scope, id, tenant }) => scope === 'project' && tenant === '' && id !== here?.id,
  );
  const isCalled = ({ id, name, dir }: MemoryRow) => [id, name, dir].includes(given ?? '');
  const asOffered = (memory: MemoryRow) =>
    alike.find((same) => same.memory.id === memory.id) ?? { memory, root: null, why: '' };
  const meant = given === undefined ? alike : others.filter(isCalled).map(asOffered);
  const [first, ...more] = meant;
  if (first && more.length === 0) return first;
  const what = given === undefined ? 'looks like this project' : `is called ${JSON.stringify(given)}`;
  const list = meant.map(({ memory, why }) => {
    return `  ${memory.id}  ${memory.name}, ${fromHome(placeOf(memory), app.config)}${why ? ` (${why})` : ''}`;
  });
  throw new AppError('bad-input', `${first ? 'More than one' : 'No'} memory ${what}; nothing was changed.`, {
    remedy: first ? `Name one: nocturne adopt ID, of\n${list.join('\n')}` : 'nocturne stores list names them all.',
  });
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
  return agreed('Use that memory here?');
}

export const commands = [exportCommand, importCommand, share, snapshot, create, apply, check, adopt] as CommandSpec[];
