// What README.md and docs/ say, held against the code: generated pages, links, commands with their options, settings;
// and what users were promised: it is kept, or gone with a reason (inventory.md).

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Command } from 'commander';
import { beforeAll, expect, test } from 'vitest';
import { settingsSchema } from '../../src/base/config/settings.ts';
import { allCommands, generatedDocs } from './generate.ts';
import { namesInDocs, readList } from './inventory.ts';

const root = join(import.meta.dirname, '../..');
const PAGES = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

let commands: Map<string, Command>;
beforeAll(async () => {
  commands = new Map((await allCommands()).map(([name, command]) => [name, command]));
});

function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

/** What stands between backticks or in a block of code, line by line. */
function codeIn(page: string): string[] {
  const text = textOf(page);
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) => block.split('\n'));
  const rest = text.replace(/^```\w*\n[\s\S]*?^```/gm, '');
  return [...blocks, ...[...rest.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replace(/\s+/g, ' '))];
}

/** Calls of nocturne in shell code, without what a shell does with them. */
function callsIn(page: string): string[] {
  return codeIn(page).flatMap((line) =>
    line
      .split(/ # |&&|\|/)
      .flatMap(
        (part) =>
          /^\s*(?:claude mcp add nocturne -- |[A-Z_]+=.* )?(?:npm run -s )?nocturne (?:-- )?(.*\S)/.exec(part)?.[1] ??
          [],
      ),
  );
}

/** What GitHub makes of a heading. */
function anchorsIn(page: string): string[] {
  const headings = [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function linksIn(page: string): string[] {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return links.filter((target) => !/^https?:/.test(target));
}

test('commands and settings are what the code says: npm run docs writes them', async () => {
  const made = await generatedDocs();
  expect(Object.keys(made)).toEqual(['docs/commands.md', 'docs/settings.md']);
  for (const [page, text] of Object.entries(made)) expect(textOf(page), page).toBe(text);
});

test('README installs what npm pack makes of a fresh clone', () => {
  const { version, scripts } = JSON.parse(textOf('package.json'));
  expect(textOf('README.md')).toContain(`npm install --global ./nocturne-${version}.tgz`);
  // Without a build npm installs no command, and says nothing.
  expect(scripts.prepack).toBe('npm run -s build');
  expect(scripts.prebuild).toBe(scripts.prestart);
});

test('every command has a section, with all its options and the JSON that it prints', () => {
  const sections = textOf('docs/commands.md').split(/^### /m).slice(1);
  expect(sections).toHaveLength(commands.size);
  const shared = textOf('docs/commands.md').split(/^## /m)[0] ?? '';
  for (const [name, command] of commands) {
    const section =
      sections.find((each) => new RegExp(`^${`nocturne ${name}`.trim()}(?: [\\\\[]|\n)`).test(each)) ?? '';
    const missing = command.options
      .filter(({ hidden, long }) => !hidden && long !== '--help' && !(name === '' && long === '--version'))
      .filter(({ flags, long }) => !section.includes(`\`${flags}\``) && !section.includes(`\`${long}\``));
    expect(
      missing.map(({ flags }) => flags),
      name,
    ).toEqual([]);
    expect(section, name).toContain('\nExample');
  }
  for (const option of ['--memory', '--scope']) expect(shared).toContain(`\`${option} `);
});

test('every setting is explained in words', () => {
  const rows = textOf('docs/settings.md').split('\n');
  const unexplained = Object.keys(settingsSchema.shape).filter(
    (name) => !rows.some((row) => row.startsWith(`| \`${name}\` |`) && /\| [^|]*\w{3}[^|]*\w{3}.* \|$/.test(row)),
  );
  expect(unexplained).toEqual([]);
});

test('every link leads to a file that is there, and to a heading of it', () => {
  const broken: string[] = [];
  let count = 0;
  for (const page of [...PAGES, 'AGENTS.md', 'CHANGELOG.md']) {
    for (const link of linksIn(page)) {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : relative(root, join(root, dirname(page), path));
      if (!existsSync(join(root, target))) broken.push(`${page}: ${link}`);
      else if (anchor !== undefined && !anchorsIn(target).includes(anchor)) broken.push(`${page}: ${link}`);
      count += 1;
    }
  }
  expect(broken).toEqual([]);
  expect(count).toBeGreaterThan(15);
});

test('the README links to every page of docs/, and all it links to is published', () => {
  const links = linksIn('README.md');
  expect(PAGES.filter((page) => page !== 'README.md' && !links.includes(page))).toEqual([]);
  const { files } = JSON.parse(textOf('package.json')) as { files: string[] };
  // For those who work on nocturne, in a checkout.
  const published = links.filter((link) => link !== 'AGENTS.md');
  expect(published.filter((link) => !files.includes(link.split('/')[0] ?? ''))).toEqual([]);
});

/** What the code tells a person to run: of words behind the name alone those that are a command, or are said to be run. */
function callsSaidIn(file: string): string[] {
  const code = textOf(file).replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '');
  const said = [...code.matchAll(/\b(Run |Use )?nocturne ((?:\$\{[^}]*\}|[^.,;:)'"`<\\\n$])+)/g)];
  const calls = said.map(([, isRun, call = '']) => [isRun, call.replace(/\$\{[^}]*\}/g, ' COMMAND ').trim()] as const);
  return calls.flatMap(([isRun, call]) => (isRun || commands.has(/^\w*/.exec(call)?.[0] || '?') ? call : []));
}

test('every command that is named, in the docs and by the code, is one, and is called with options that it has', () => {
  const wrong: string[] = [];
  let count = 0;
  const files = ['src', 'jobs'].flatMap((dir) =>
    readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' }).map((name) => `${dir}/${name}`),
  );
  const code = files.filter((name) => /\.(?:ts|js)$/.test(name)).map((name) => [name, callsSaidIn(name)] as const);
  expect(code.flatMap(([, calls]) => calls).length).toBeGreaterThan(150);
  for (const [page, calls] of [...PAGES.map((name) => [name, callsIn(name)] as const), ...code]) {
    for (const call of calls) {
      if (/^(?:COMMAND|help|--(?:help|version))\b/.test(call)) continue;
      count += 1;
      const words = call.split(' ');
      const command = commands.get(words.slice(0, 2).join(' ')) ?? commands.get(/^(?!-)\S*/.exec(call)?.[0] ?? '');
      const isGroup = [...commands.keys()].some((name) => name.startsWith(`${words[0]} `));
      if (!command && !(isGroup && words.length === 1)) wrong.push(`${page}: nocturne ${call}`);
      const known = new Set(command?.options.flatMap(({ long, short }) => [long, short]));
      for (const option of call.match(/(?<= )--?[a-z][\w-]*/g) ?? [])
        if (option !== '--help' && !known.has(option)) wrong.push(`${page}: nocturne ${call}: ${option}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

test('the README is short, and names the two commands that begin everything', () => {
  const readme = textOf('README.md');
  expect(readme.split('\n').filter((line, n) => n > 110 || line.length > 120)).toEqual([]);
  for (const command of ['start', 'test']) expect(readme).toContain(`\`\`\`sh\nnpm ${command}\n\`\`\``);
  expect(
    PAGES.flatMap((page) => textOf(page).split('\n')).filter((line) => line.length > 150 && !line.startsWith('|')),
  ).toEqual([]);
});

const list = readList();
const today = new Set(namesInDocs());

test('each command, option, setting, format, endpoint, tool, export and promise of the list is in the docs', () => {
  expect(list.filter(({ name, gone }) => gone === undefined && !today.has(name))).toEqual([]);
});

test('what came since is in the list', () => {
  const listed = new Set(list.flatMap(({ name, gone }) => (gone === undefined ? [name] : [])));
  expect([...today].filter((name) => !listed.has(name))).toEqual([]);
});

test('what is gone has a reason', () => {
  expect(list.filter(({ name, gone }) => gone !== undefined && (gone === '' || today.has(name)))).toEqual([]);
  expect(list.length).toBeGreaterThan(400);
});
