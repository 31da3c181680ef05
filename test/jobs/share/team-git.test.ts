// A team's memory in two clones of a repository, changed at once and merged by plain git.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { share } from '../../../jobs/share.ts';
import { walkNow } from '../../../src/base/files/directories.ts';
import { fixedClock } from '../../../src/base/time.ts';
import { findFaults } from '../../../src/memory/history/check.ts';
import { openStore } from '../../../src/memory/open.ts';
import type { Store } from '../../../src/memory/store/store.ts';
import { isTopicPath, parseTopic } from '../../../src/memory/text/topic.ts';
import { sized, waysTaken } from '../../support/depth.ts';
import { type GitTree, gitIn } from '../../support/git.ts';
import { tempDir } from '../../support/temp.ts';

const CHANGES = sized({ quick: 26, deep: 100 });
const clock = fixedClock('2026-11-21T02:00:00Z');
const TOPICS = ['deploys', 'hosts', 'people', 'tests'];

interface Clone {
  git: GitTree;
  author: string;
  /** The team's memory. */
  memory: string;
}

interface Change {
  by: 0 | 1;
  kind:
    | 'share'
    | 'add'
    | 'add first'
    | 'edit'
    | 'describe'
    | 'remove line'
    | 'remove topic'
    | 'edit by store'
    | 'index line';
  topic: number;
  /** Which line of it. */
  at: number;
}

const changes = fc.array(
  fc.record({
    by: fc.constantFrom(0, 1),
    kind: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('share', 'add', 'edit') },
      { weight: 2, arbitrary: fc.constantFrom('add first', 'describe', 'remove line', 'edit by store', 'index line') },
      { weight: 1, arbitrary: fc.constant('remove topic') },
    ),
    topic: fc.nat({ max: TOPICS.length - 1 }),
    at: fc.nat({ max: 3 }),
  }) as fc.Arbitrary<Change>,
  { minLength: CHANGES, maxLength: CHANGES },
);

/** What should be there: every line that somebody wrote and nobody took away, with who shared it. */
class Expected {
  readonly #lines = new Map<string, string | undefined>();
  #count = 0;

  write(what: string, author?: string): string {
    this.#count += 1;
    const line = `Fact ${String((this.#count * 7_919) % 1_000).padStart(3, '0')} of ${what}, the ${this.#count}th.`;
    this.#lines.set(line, author);
    return line;
  }

  /** Who shared a line stays with what others make of it. */
  edit(line: string, what: string): string {
    const author = this.#lines.get(line);
    this.takeAway(line);
    return this.write(what, author);
  }

  takeAway(line: string): void {
    this.#lines.delete(line);
  }

  missingIn(dir: string): string[] {
    const all = filesOf(dir).map((path) => readFileSync(join(dir, path), 'utf8'));
    const whole = [...this.#lines].map(([line, author]) =>
      author ? `- ${line} <!-- shared by ${author} -->\n` : line,
    );
    return whole.filter((line) => !all.some((text) => text.includes(line)));
  }
}

function filesOf(dir: string): string[] {
  return walkNow(dir).sort();
}

function bytesOf(dir: string): Record<string, string> {
  return Object.fromEntries(filesOf(dir).map((path) => [path, readFileSync(join(dir, path), 'utf8')]));
}

async function opened<T>({ memory }: Clone, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(memory, { clock });
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

async function twoClones(): Promise<[Clone, Clone]> {
  const root = tempDir();
  gitIn(root).run('init', '-q', '--bare', '-b', 'main', 'origin.git');
  const clones = ['Ann Bo', 'Kim Lee'].map((author, at): Clone => {
    gitIn(root).run('clone', '-q', join(root, 'origin.git'), `clone-${at}`);
    const dir = join(root, `clone-${at}`);
    return { git: gitIn(dir, author), author, memory: join(dir, '.claude', 'memory') };
  }) as [Clone, Clone];
  await shareLine(clones[0], { topic: 'hosts', line: 'Staging is alpha.' });
  commitAll(clones[0]);
  clones[0].git.run('push', '-q', 'origin', 'HEAD:main');
  clones[1].git.run('pull', '-q', 'origin', 'main');
  return clones;
}

async function shareLine(clone: Clone, { topic, line }: { topic: string; line: string }): Promise<void> {
  const text = `---\nname: ${topic}\ndescription: What is known of ${topic}\ntype: project\n---\n\n- ${line}\n`;
  await opened(clone, async (store) => {
    const deps = { dir: clone.memory, openTeam: async () => store, author: clone.author, clock };
    await share({ sources: [{ path: `${topic}.md`, text }] }, deps);
  });
}

function commitAll({ git }: Clone): void {
  git.run('add', '-A');
  git.tries('commit', '-q', '-m', 'memory');
}

async function make(clone: Clone, change: Change, expected: Expected): Promise<void> {
  const topic = TOPICS[change.topic] as string;
  const path = join(clone.memory, `${topic}.md`);
  const paths = filesOf(clone.memory);
  if (change.kind === 'share') return shareLine(clone, { topic, line: expected.write(topic, clone.author) });
  if (change.kind === 'index line') {
    const index = join(clone.memory, 'MEMORY.md');
    writeFileSync(index, `${readFileSync(index, 'utf8')}${expected.write('the index')}\n`);
    return;
  }
  if (!paths.includes(`${topic}.md`)) {
    const head = `---\nname: ${topic}\ndescription: ${clone.author} on ${topic}\ntype: reference\n---\n\n`;
    writeFileSync(path, `${head}- ${expected.write(topic)}\n`);
    return;
  }
  const text = readFileSync(path, 'utf8');
  const { lines } = parseTopic(`${topic}.md`, text);
  const line = lines[change.at % Math.max(lines.length, 1)]?.text;
  if (change.kind === 'add') writeFileSync(path, `${text}- ${expected.write(topic)}\n`);
  else if (change.kind === 'add first') {
    writeFileSync(
      path,
      text.replace('---\n\n', () => `---\n\n- ${expected.write(topic)}\n`),
    );
  } else if (change.kind === 'describe') {
    // Of two descriptions one stays: none is to be expected.
    writeFileSync(
      path,
      text.replace(/^description: .*$/m, `description: ${'very '.repeat(change.at)}much of ${topic}`),
    );
  } else if (change.kind === 'remove topic') {
    for (const each of lines) expected.takeAway(each.text);
    rmSync(path);
  } else if (line !== undefined) {
    if (change.kind === 'remove line') {
      expected.takeAway(line);
      const others = text.split('\n').filter((each) => !each.includes(line));
      writeFileSync(path, others.join('\n'));
      return;
    }
    const now = expected.edit(line, topic);
    if (change.kind === 'edit by store') {
      await opened(clone, (store) =>
        store.edit({ actor: 'person' }, { path: `${topic}.md`, old: line, new: now }).then(() => {}),
      );
    } else writeFileSync(path, text.replace(line, now));
  }
}

/** Takes in what the other pushed, opens the store as the next session does, and commits what is to be committed. */
async function pull(clone: Clone): Promise<void> {
  commitAll(clone);
  clone.git.tries('pull', '-q', '--no-rebase', '--no-edit', 'origin', 'main');
  await opened(clone, async (store) => {
    for (const [path, text] of Object.entries(bytesOf(clone.memory))) expect(`${path}: ${text}`).not.toMatch(MARKER);
    expect(await findFaults(store)).toEqual([]);
  });
  commitAll(clone);
}

const MARKER = /^(?:<{7}|\|{7}|={7}|>{7})/m;

const ATTRIBUTES = ['with merge=union', 'without git attributes'];

test.for(ATTRIBUTES)(
  `two clones, ${CHANGES} changes at once, merged by plain git: nothing is lost, the index is right, no marker is left (%s)`,
  async (attributes, { skip }) => {
    skip(!waysTaken(ATTRIBUTES).includes(attributes));
    await fc.assert(
      fc.asyncProperty(changes, async (list) => {
        const clones = await twoClones();
        const expected = new Expected();
        if (attributes === 'without git attributes') {
          rmSync(join(clones[0].memory, '.gitattributes'));
          rmSync(join(clones[1].memory, '.gitattributes'));
        }
        for (let from = 0; from < list.length; from += 6) {
          for (const change of list.slice(from, from + 6)) await make(clones[change.by], change, expected);
          const [first, second] = from % 12 === 0 ? clones : [clones[1], clones[0]];
          await pull(first);
          first.git.run('push', '-q', 'origin', 'HEAD:main');
          await pull(second);
          second.git.run('push', '-q', 'origin', 'HEAD:main');
        }
        await pull(clones[0]);
        await pull(clones[1]);
        expect(clones[0].git.run('status', '--porcelain')).toBe('');
        clones[0].git.run('push', '-q', 'origin', 'HEAD:main');
        await pull(clones[1]);
        for (const { memory } of clones) expect(expected.missingIn(memory)).toEqual([]);
        expect(bytesOf(clones[0].memory)).toEqual(bytesOf(clones[1].memory));
        const index = readFileSync(join(clones[0].memory, 'MEMORY.md'), 'utf8');
        for (const path of filesOf(clones[0].memory).filter(isTopicPath)) expect(index).toContain(`[${path}]`);
      }),
      { numRuns: 1, endOnFailure: true },
    );
  },
);
