// Every command that the help and the plugin's skill name, run in a fresh home by a person at a terminal of 80 columns: none
// falls over, and nothing that one may want to copy is cut.

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test, vi } from 'vitest';
import { packagePath } from '../../src/base/files/files.ts';
import { parseJson } from '../../src/base/text/json.ts';
import { allCommands } from '../docs/generate.ts';
import { environmentIn } from '../support/app.ts';
import { type EndedHere, runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const SESSION = '0d8c1a52-5d1b-4c58-9a64-1f2e3d4c5b6a';
const TOPIC = 'working-agreements';
const SAID =
  'Always use pnpm instead of npm in this repository, because the lockfile is pnpm’s and CI reads nothing else.';

/** How each is called, in this order. A code that is not 0 says what is to be expected of a home so new. */
const CALLS: Record<string, (string | number)[][]> = {
  doctor: [['doctor', '--no-online', 3]],
  config: [['config'], ['config', 'recallPrompts'], ['config', 'concurrency', '3']],
  '': [[]],
  dream: [['dream', '--dry-run'], ['dream'], ['dream', '--later']],
  learn: [
    ['learn', 'SESSION'],
    ['learn'],
    ['learn', '--again', SESSION.slice(0, 8)],
    ['learn', '--again', '--all'],
    ['learn', '--later'],
  ],
  list: [['list'], ['list', '--all'], ['list', '--day'], ['list', '--sessions'], ['list', '--sessions', '--all']],
  search: [
    ['search', 'pnpm'],
    ['search', 'pnpm', '--all'],
  ],
  show: [
    ['show'],
    ['show', TOPIC, '--history'],
    ['show', TOPIC, '--diff'],
    ['show', TOPIC, '--edit'],
    ['show', TOPIC, '--pin'],
    ['show', TOPIC, '--unpin'],
  ],
  // That it is pinned no more stands in a line of its own.
  why: [['why', `${TOPIC}:8`], ['why', 'pnpm'], ['why', SESSION], ['why', 'SESSION'], ['why', 'today'], ['why']],
  remember: [['remember', 'Deploys happen on Tuesdays.']],
  forget: [['forget', 'Deploys happen', '--yes']],
  undo: [
    ['undo', '--last'],
    ['undo', '--file', TOPIC, '--version', 'memver_00000000', 1],
  ],
  review: [['review']],
  pause: [
    ['pause', '--for', '2h'],
    ['pause', '--off'],
  ],
  share: [['share', TOPIC, 1]],
  setup: [['setup', '--dry-run']],
  cost: [['cost']],
  worker: [['worker', '--once']],
  redact: [['redact', '--match', 'correct horse', '--dry-run']],
  retry: [['retry', '--failed']],
  next: [['next', '--prompt', 'pnpm']],
  mcp: [['mcp', '--json']],
  export: [['export', 'CARRIED']],
  import: [['import', 'CARRIED']],
  adopt: [
    ['adopt', 1],
    ['adopt', '--apart'],
  ],
  'snapshot create': [['snapshot', 'create', TOPIC]],
  'snapshot check': [['snapshot', 'check']],
  'snapshot apply': [['snapshot', 'apply']],
  check: [['check']],
  // Without a database each says that there is none.
};

/** They wait for clients until they are ended; their wings' own tests run them. */
const SERVE = /^(serve|open|stores|keys|move)\b/;

/** Files, differences and what a program reads are printed as they are. */
const AS_IT_IS = /^(show( (?!.*--history).*)?|setup|mcp|dream --dry-run|next)\b/;

function freshHome() {
  const [home, project] = [tempDir(), tempDir()];
  const dir = join(home, '.claude/projects', project.replace(/[^A-Za-z0-9]/g, '-'));
  mkdirSync(dir, { recursive: true });
  const session = aSession([SAID, 'Thanks, that is all.'], { dir, id: SESSION, cwd: project });
  const environment = environmentIn(home);
  const words: Record<string, string> = { SESSION: session.path, CARRIED: join(home, 'carried') };
  const run = (args: string[]): Promise<EndedHere> => {
    vi.spyOn(process, 'cwd').mockReturnValue(project);
    return runHere(
      args.map((each) => words[each] ?? each),
      environment,
      { isTerminal: true },
    );
  };
  return { run };
}

/** Lines that are too long although they could have been broken, and names that only a program reads. */
function flawsOf({ stdout, stderr }: EndedHere): string[] {
  // What shows progress is written over.
  const plain = stripVTControlCharacters(`${stdout}\n${stderr}`.replace(/[^\n]*\u001b\[[012][GK]/g, ''));
  const wide = plain.split('\n').filter((line) => line.length > 80 && / \S/.test(line.trim()) && !isWhole(line.trim()));
  const uuids = plain.match(/(?<![\w/.-])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f-]{17}(?![\w.])/g) ?? [];
  const instants = plain.match(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g) ?? [];
  const isCut = plain.includes('Always use') && !plain.replace(/\s+/g, ' ').includes(SAID);
  return [...wide, ...uuids, ...instants, ...(isCut ? ['what was said is cut'] : [])];
}

/** A label or two, and then one word that cannot be broken. */
function isWhole(line: string): boolean {
  return line.length - line.lastIndexOf(' ') > 40;
}

test('every command of the help runs in a fresh home, and what it prints fits 80 columns', async () => {
  const names = (await allCommands()).map(([name]) => name).filter((name) => !SERVE.test(name));
  expect(Object.keys(CALLS).toSorted()).toEqual(names.toSorted());
  const { run } = freshHome();
  const wrong: unknown[] = [];
  for (const call of [[], ...Object.values(CALLS).flat()] as (string | number)[][]) {
    const args = call.filter((word): word is string => typeof word === 'string');
    const code = call.find((word) => typeof word === 'number') ?? 0;
    const ended = await run(args);
    const flaws = AS_IT_IS.test(args.join(' ')) ? [] : flawsOf(ended);
    if (
      ended.code !== code ||
      flaws.length > 0 ||
      /Nobody planned|undefined|\[object/.test(ended.stdout + ended.stderr)
    ) {
      wrong.push({ args, flaws, ...ended });
    }
  }
  expect(wrong).toEqual([]);
});

test('with --json every command prints JSON and nothing else on stdout, one value a line', async () => {
  const { run } = freshHome();
  const wrong: unknown[] = [];
  for (const call of Object.values(CALLS).flat()) {
    const args = call.filter((word): word is string => typeof word === 'string');
    const { code, stdout } = await run([...args, '--json']);
    const isJson = stdout
      .split('\n')
      .filter(Boolean)
      .every((line) => parseJson(line) !== undefined);
    if (!isJson || code !== (call.find((word) => typeof word === 'number') ?? 0)) wrong.push({ args, code, stdout });
  }
  expect(wrong).toEqual([]);
});

test('every command that the plugin’s skill names is run as it is written there', async () => {
  const skill = readFileSync(packagePath('.claude-plugin', 'skills', 'memory', 'SKILL.md'), 'utf8');
  const calls = [...skill.matchAll(/`nocturne ([^`]+)`/g)].map(([, call = '']) => call);
  expect(calls.length).toBeGreaterThan(4);
  const { run } = freshHome();
  await run(['learn']);
  for (const call of calls) {
    const args = [
      ...call
        .replace(/TEXT/, 'Deploys happen on Tuesdays.')
        .replace(/WORDS/, 'pnpm')
        .matchAll(/"([^"]+)"|(\S+)/g),
    ];
    const { code, stdout } = await run(args.map(([, quoted, word]) => quoted ?? word ?? ''));
    expect({ call, code }).toEqual({ call, code: 0 });
    expect(stdout.trim(), call).not.toBe('');
    expect(skill).toContain(`Bash(nocturne ${call.split(' ')[0]}:*)`);
  }
});
