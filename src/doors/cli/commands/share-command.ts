// share: topics of one's own memory into the team's, which is committed with the repository; and what the option
// --share of remember does. snapshot: topics that lie in the repository for everybody who works there; made, looked at, taken in.

import { join } from 'node:path';
import type { ShareReport } from '../../../../jobs/share.ts';
import type { ApplyReport, CreateReport, SnapshotCheck, SnapshotTopic } from '../../../../jobs/snapshot.ts';
import type { Config } from '../../../base/config/config.ts';
import { readTextNow } from '../../../base/files/files.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { unifiedDiff } from '../../../memory/history/line-diff.ts';
import { checkoutRoot } from '../../../memory/home/paths.ts';
import type { Store } from '../../../memory/store/store.ts';
import { fold } from '../../../memory/text/blocks.ts';
import { memorySnapshotDir } from '../../../memory/text/memory-snapshot.ts';
import type { ShareSource } from '../../../memory/text/team-topic.ts';
import type { MemoryType } from '../../../memory/types.ts';
import type { App } from '../../compose.ts';
import { orFailed } from '../../team.ts';
import { refuseInDatabase, teamDirFor } from '../../team-place.ts';
import type { CommandSpec } from '../spec.ts';
import { shortIdIn, topicFile, withLooking } from '../terminal/looking.ts';
import { type CommonOptions, inApp, MEMORY, printDone, requirePerson } from '../terminal/options.ts';
import { EXIT, exitFor, note, print, printRaw } from '../terminal/output.ts';
import { sayTime } from '../terminal/phrases.ts';

interface ShareOptions extends CommonOptions {
  redacted?: boolean;
  email?: boolean;
  dryRun?: boolean;
}

const share: CommandSpec<ShareOptions, [string[]]> = {
  name: 'share',
  about: "put topics into the team's memory, which git carries",
  group: 'Every day',
  args: [['<topic...>', 'names or files of topics']],
  options: [
    ['--redacted', 'share secrets as placeholders; without it, a secret keeps all of it from being shared'],
    ['--email', "write the address of git's user.email after your name"],
    ['--dry-run', 'say what would be shared; change nothing'],
    ...MEMORY,
  ],
  json: '{ outcome, memory, author, topics: [{ path, isNew, lines, replaced }], secrets: [{ path, line, rule }], personalPaths: [{ path, line }], job, isIgnored }',
  more: "They are copied into .claude/memory of the working tree. What stands in the team's memory already stays as it is. Commit it with git as you do with other files.",
  examples: ['share project-facts'],
  run: inApp(async (app, { options, args }) => {
    const { redacted, dryRun, email, json } = options;
    if (!dryRun) requirePerson(app.config, 'share');
    const cwd = process.cwd();
    refuseInDatabase(app.config);
    const paths = new Set(args[0].map((name) => topicFile(app.memoryDirOf({ cwd }), name)));
    const own = await app.storeFor({ cwd });
    const sources = await Array.fromAsync(paths, async (path) => ({ path, text: (await own.read(path)) ?? '' }));
    const request = { sources, isRedacted: redacted, isDryRun: dryRun };
    const report = await app.share(own, request, { cwd, withEmail: email });
    print(json ? report : sayShare(report, { dryRun }).join('\n'));
    process.exitCode = exitFor([report.outcome]);
  }),
};

/** What was shared with the team, or why nothing was. */
export function sayShare(report: ShareReport, { dryRun = false } = {}): string[] {
  const { outcome, memory, author, topics, secrets, personalPaths, job, isIgnored, error } = report;
  const warnings = personalPaths.map(({ path, line }) => `  note: ${path}:${line} names a directory of a person`);
  if (isIgnored) warnings.push('  note: git ignores it; take .claude out of .gitignore, or nobody else gets it');
  if (outcome === 'failed') return [`share: failed; ${error?.message ?? ''}`];
  if (outcome === 'known') return [`share: nothing new for ${memory}`, ...warnings];
  if (outcome === 'refused') {
    const where = secrets.map(({ path, line, rule }) => `  ${path}:${line} holds a secret (${rule})`);
    return ['share: refused, nothing was shared; take the secrets out, or give --redacted', ...where, ...warnings];
  }
  const lines = topics.flatMap((topic) => [
    `  ${topic.path}${topic.isNew ? ' (new)' : ''}`,
    ...topic.lines.map((line) => `    ${line.replaceAll('\n', '\n    ')}`),
    ...topic.replaced.map((line) => `    no longer: ${line}`),
  ]);
  const verb = dryRun ? 'would share' : 'shared';
  const undo = job ? [`nocturne undo ${shortIdIn(memory, 'job', job)} --scope local takes it back.`] : [];
  return [`share: ${verb} with the team in ${memory}, as ${author}`, ...lines, ...warnings, ...undo];
}

/**
 * `nocturne remember --share`: what a person says, into one topic for each type. Throws at once what forbids it; what is answered shares
 * the words, once they are kept.
 */
export function beginSharing(
  app: App,
  { own, words, type, redacted = false }: { own: Store; words: string; type: MemoryType; redacted?: boolean },
): () => Promise<{ shared: ShareReport; lines: string[] }> {
  const cwd = process.cwd();
  teamDirFor(app.config, { own: own.dir, cwd });
  return async () => {
    const request = { sources: [sourceFor(type, words)], isRedacted: redacted };
    const shared = await orFailed(app.share(own, request, { cwd }));
    return { shared, lines: sayShared(shared) };
  };
}

/** The topics of a team for what no dream has sorted yet. */
const TEAM_TOPICS: Record<MemoryType, { name: string; description: string }> = {
  user: { name: 'people', description: 'Who is in the team' },
  feedback: { name: 'working-agreements', description: 'How the team works' },
  project: { name: 'project-facts', description: 'What holds for the project' },
  reference: { name: 'references', description: 'Where things are' },
};

function sourceFor(type: MemoryType, words: string): ShareSource {
  const { name, description } = TEAM_TOPICS[type];
  return { path: `${name}.md`, text: `- ${fold(words)}\n`, described: { description, type } };
}

function sayShared(shared: ShareReport): string[] {
  if (shared.outcome === 'failed') return [...sayShare(shared), 'The words were kept; say it again to share them.'];
  if (shared.outcome !== 'refused') return sayShare(shared);
  const rules = [...new Set(shared.secrets.map(({ rule }) => rule))].join(', ');
  return [`share: refused; the words hold a secret (${rules}). They were kept without it; --redacted shares them so.`];
}

const snapshot: CommandSpec = {
  name: 'snapshot',
  about: 'a memory that the repository hands to everybody who works there',
  group: 'Under the hood',
};

const create: CommandSpec<CommonOptions & { redacted?: boolean; replace?: boolean }, [string[]]> = {
  name: 'snapshot create',
  about: 'lay topics into .claude/memory-snapshot of the working tree, to be committed',
  group: 'Under the hood',
  args: [['[topics...]', 'which (default: all of type project and reference)']],
  options: [
    ['--redacted', 'take secrets out instead of refusing'],
    ['--replace', 'replace a snapshot that is broken, or that was never applied here'],
    ...MEMORY,
  ],
  json: '{ outcome, dir, id, topics, redacted, commanding: [{ path, line, text }] }',
  more: 'The same topics give the same bytes. Logs and the ledger stay with you.',
  examples: ['snapshot create deploys.md staging.md && git add .claude/memory-snapshot'],
  run: inApp(async (app, { options, args }) => {
    const { createMemorySnapshot } = await import('../../../../jobs/snapshot.ts');
    const report = await createMemorySnapshot(
      {
        tree: treeTop(),
        topics: args[0].map((topic) => topic.replace(/(?:\.md)?$/i, '.md')),
        isRedacted: options.redacted ?? false,
        isReplacing: options.replace ?? false,
      },
      { store: await app.storeFor(), clock: app.config.clock },
    );
    print(options.json ? report : describeCreated(report));
    if (report.commanding.length === 0) return;
    note('These lines tell an agent what to do; who applies the snapshot gets their topics only with --trusted:');
    for (const { path, line, text } of report.commanding) note(`  ${path}:${line}: ${text}`);
  }),
};

const apply: CommandSpec<CommonOptions & { trusted?: boolean }> = {
  name: 'snapshot apply',
  about: "take the repository's topics into the memory; what is there is never overwritten",
  group: 'Under the hood',
  options: [['--trusted', 'also topics that tell an agent what to do: you have read them'], ...MEMORY],
  json: '{ outcome, snapshot, topics: [{ path, step, lines }], job }',
  more: 'Adds what is missing, updates what was not changed here since the last time, merges where lines do not collide.',
  examples: ['snapshot apply'],
  run: inApp(async (app, call) => {
    const { applyMemorySnapshot } = await import('../../../../jobs/snapshot.ts');
    const openStore = () => app.storeFor();
    const report = await applyMemorySnapshot(
      { tree: treeTop(), isTrusted: call.options.trusted ?? false },
      { openStore, clock: app.config.clock, withLease: app.withLease },
    );
    await printDone(app, call, { report, lines: describeApplied(report) });
  }),
};

const check: CommandSpec<CommonOptions & { diff?: boolean }> = {
  name: 'snapshot check',
  about: 'whether there is a snapshot, or a newer one, and what applying it would do',
  group: 'Under the hood',
  options: [['--diff', 'show how each topic differs from the one here'], ...MEMORY],
  json: '{ state, snapshot, applied, topics: [{ path, step, lines }], ownChanges }',
  more: 'Exit code: 0 nothing to apply, 3 a snapshot waits to be applied, 1 it is broken.',
  examples: ['snapshot check --diff'],
  run: (call) =>
    withLooking(call, async ({ config, dir, ledger }) => {
      const { checkMemorySnapshot } = await import('../../../../jobs/snapshot.ts');
      const { diff, json } = call.options;
      const tree = treeTop();
      const read = (path: string) => readTextNow(join(dir, path));
      const found = checkMemorySnapshot(tree, { ledger, read });
      print(json ? found : describeCheck(found, config));
      for (const { path } of diff && !json ? found.topics : []) {
        const theirs = readTextNow(join(memorySnapshotDir(tree), path)) ?? '';
        const from = { name: `here/${path}`, text: read(path) ?? '' };
        printRaw(unifiedDiff(from, { name: `snapshot/${path}`, text: theirs }));
      }
      process.exitCode = isOffered(found) ? EXIT.attention : EXIT.fine;
    }),
};

/** Where the snapshot of the project lies that one stands in. */
function treeTop(): string {
  return checkoutRoot(process.cwd()) ?? process.cwd();
}

function isOffered({ state }: SnapshotCheck): boolean {
  return state === 'not-applied' || state === 'newer';
}

function describeCreated({ outcome, dir, id, topics, redacted }: CreateReport): string {
  return [
    `${id} ${outcome === 'created' ? 'made' : 'is there already'}: ${sayCount(topics.length, 'topic')} in ${dir}`,
    ...topics.map((path) => `  ${path}${redacted.includes(path) ? ' (secrets taken out)' : ''}`),
  ].join('\n');
}

function describeApplied({ outcome, snapshot, topics }: ApplyReport): string[] {
  const lines = topics.filter(({ step }) => step !== 'same' && step !== 'own').map(describeTopic);
  if (outcome === 'none') return ['There is no memory snapshot in this working tree.'];
  if (outcome === 'busy') return [`${snapshot}: busy; a dream works on this memory. Try again when it is done.`];
  if (outcome === 'older') return [`${snapshot} was applied once, and a newer one since; nothing was changed.`];
  const head = outcome === 'applied' ? `${snapshot} applied` : `${snapshot}: nothing was to be changed`;
  return [head, ...lines];
}

function describeCheck(check: SnapshotCheck, config: Config): string {
  const { state, snapshot, applied, topics, ownChanges } = check;
  const made = snapshot ? ` of ${sayTime(snapshot.createdAt, config)}` : '';
  const said = {
    none: 'no memory snapshot in this working tree',
    'not-applied': `${snapshot?.id}${made} was not applied yet`,
    newer: `${snapshot?.id}${made} is newer than ${applied?.id}, which was applied`,
    'up-to-date': `${snapshot?.id}: up to date`,
    older: `${snapshot?.id} is older than ${applied?.id}, which was applied`,
  }[state];
  return [
    said,
    ...(state === 'older' ? [] : topics.filter(({ step }) => step !== 'own').map(describeTopic)),
    ...ownChanges.map((path) => `  own change  ${path}`),
    ...(isOffered(check) ? ['nocturne snapshot apply takes it in; check --diff shows it.'] : []),
  ].join('\n');
}

function describeTopic({ path, step, lines }: SnapshotTopic): string {
  const why: Partial<Record<SnapshotTopic['step'], string>> = {
    collides: ' (changed here and there: yours stays; nocturne snapshot check --diff shows the difference)',
    removed: ' (removed here: it stays away)',
    withheld: ' (it tells an agent what to do; read it, then --trusted takes it)',
    dropped: ' (no longer in the snapshot: yours stays)',
  };
  const quoted = lines.map(({ line, text }) => `\n    line ${line}: ${text}`).join('');
  return `  ${step.padEnd(10)}  ${path}${why[step] ?? ''}${quoted}`;
}

export const commands: CommandSpec[] = [share, snapshot, create, apply, check];
