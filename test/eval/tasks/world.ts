// A task from its file, and a world of its own: a HOME with a small repository, and the transcript of the session that came
// before, whose commands are really run there.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { sessionFile } from '../../support/session-file.ts';
import { dirWith } from '../../support/temp.ts';

/** A part of a task's file: `=== title`, and what stands below it. */
interface Section {
  title: string;
  text: string;
}

export interface Task {
  name: string;
  sections: Section[];
  need: string;
  /** `person`: said in the session before; `agent`: found out there by trying. */
  by: string;
  prompt: string;
}

export type World = ReturnType<typeof worldOf>;

const PERSON = '[user]\n name = Kim Doe\n email = kim@example.org\n[init]\n defaultBranch = main\n';

export const TASKS: Task[] = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.txt'))
  .map((file) => {
    const parts = readFileSync(join(import.meta.dirname, file), 'utf8').split(/^=== (.+)\n/m);
    const sections = parts.flatMap((title, at) => (at % 2 === 1 ? { title, text: parts[at + 1] ?? '' } : []));
    const of = (title: string) => textOf(sections, title).trim();
    return { name: basename(file, '.txt'), sections, need: of('need'), by: of('known by'), prompt: of('task') };
  });

/** The repository as it stands before the task; `sessions` holds the transcript. */
export function worldOf({ name, sections }: Task) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'run-')));
  const home = join(dir, 'home');
  const [repository, sessions] = [join(home, name), join(dir, 'sessions')];
  for (const each of [repository, sessions]) mkdirSync(each, { recursive: true });
  const files = sections.filter(({ title }) => title.startsWith('file '));
  dirWith(Object.fromEntries(files.map(({ title, text }) => [title.slice(5), text])), repository);
  dirWith({ '.gitconfig': PERSON }, home);
  const environment = { HOME: home, PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, LANG: 'C.UTF-8', TZ: 'UTC' };
  const [GIT_AUTHOR_DATE, GIT_COMMITTER_DATE] = ['2026-11-20T09:00:00Z', '2026-11-20T09:00:00Z'];
  const run = (command: string, more = {}) => {
    const env = { ...environment, GIT_AUTHOR_DATE, GIT_COMMITTER_DATE, NO_COLOR: '1', ...more };
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { cwd: repository, env, encoding: 'utf8' });
    return { status, said: `${stdout}${stderr}`.trim() };
  };
  const must = (command: string) => {
    const { status, said } = run(command);
    if (status !== 0) throw new Error(`${name}: ${command}: ${said}`);
    return said;
  };
  must('git init -q && git add -A && git commit -qm "first"');
  must(textOf(sections, 'set up') || 'true');
  const session = sessionFile(sessions, { cwd: repository });
  for (const { title, text } of sections) {
    const words = text.trim();
    if (title === 'a person says') session.add(words, []);
    if (title === 'the agent says') session.goOn([{ says: words }]);
    if (title !== 'the agent runs') continue;
    const { status, said } = run(words);
    const result = status === 0 ? said : `Exit code ${status}\n${said}`;
    session.goOn([{ calls: 'Bash', input: { command: words }, result, fails: status !== 0 }]);
  }
  must(textOf(sections, 'since then') || 'true');
  const BASE = must('git rev-parse HEAD');
  /** What is wrong with the tree: the first check that fails, with what it said; empty: nothing. */
  const fault = () => {
    for (const { text } of sections.filter(({ title }) => title === 'check')) {
      const { status, said } = run(text, { BASE });
      if (status !== 0) return `${text.trim()}: ${said}`.slice(0, 400);
    }
    return '';
  };
  return { dir, home, repository, sessions, environment, must, base: BASE, fault };
}

export function textOf(sections: Section[], title: string): string {
  return sections.find((each) => each.title === title)?.text ?? '';
}
