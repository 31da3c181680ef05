// snapshot: a memory that the repository hands to everybody who works there: made, taken in, looked at.

import { join } from 'node:path';
import {
  type ApplyReport,
  applyMemorySnapshot,
  type CreateReport,
  checkMemorySnapshot,
  createMemorySnapshot,
  type SnapshotCheck,
  type SnapshotTopic,
} from '../../jobs/snapshot.ts';
import type { Config } from '../base/config/config.ts';
import { readTextNow } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { unifiedDiff } from '../memory/line-diff.ts';
import { checkoutRoot } from '../memory/paths.ts';
import { memorySnapshotDir } from '../memory/text/memory-snapshot.ts';
import { EXIT, note, print, printRaw } from '../terminal/output.ts';
import { sayTime } from '../terminal/phrases.ts';
import { type CommonOptions, MEMORY, printDone, withApp, withMemory } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

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
  more: 'The same topics give the same bytes. Logs, and what is known of them, stay with you.',
  examples: ['snapshot create deploys.md staging.md && git add .claude/memory-snapshot'],
  run: (call) =>
    withApp(call, async (app) => {
      const { redacted: isRedacted = false, replace: isReplacing = false, json } = call.options;
      const topics = call.args[0].map((topic) => topic.replace(/(?:\.md)?$/i, '.md'));
      const at = { memories: app.memories, memory: await app.memoryFor() };
      const report = await createMemorySnapshot({ tree: treeTop(), topics, isRedacted, isReplacing }, at);
      print(json ? report : describeCreated(report));
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
  run: (call) =>
    withApp(call, async (app) => {
      const { memories, memoryFor: openMemory } = app;
      const request = { tree: treeTop(), isTrusted: call.options.trusted ?? false };
      const report = await applyMemorySnapshot(request, { memories, openMemory });
      await printDone(app, call.options, { report, lines: describeApplied(report) });
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
    withMemory(call, async (app, memory) => {
      const { diff, json } = call.options;
      const tree = treeTop();
      const found = await checkMemorySnapshot(tree, { memories: app.memories, memory });
      print(json ? found : describeCheck(found, app.config));
      for (const { path } of diff && !json ? found.topics : []) {
        const theirs = readTextNow(join(memorySnapshotDir(tree), path)) ?? '';
        const ours = (memory && (await app.files(memory).read({ path }))?.text) ?? '';
        printRaw(unifiedDiff({ name: `here/${path}`, text: ours }, { name: `snapshot/${path}`, text: theirs }));
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

export const commands: CommandSpec[] = [snapshot, create, apply, check] as CommandSpec[];
