// `npm run build`: what is installed is built, because Node refuses TypeScript under node_modules.
// The library, the command line and the forked child are a few files that share their parts, one for each command; the
// hook is one file. Packages that only our own code uses are in them: all start in a fraction of the time, and are
// not installed beside them. Declarations are those of the library; types are checked by `npm run types`, not here.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'rolldown';

/** Without comments and blanks; names stay, so that what failed can be told. */
const SMALL = { compress: false, mangle: false, codegen: { removeWhitespace: true } };
/** What is made for browsers too may offer require() files that no bundler finds. */
const ES_MODULES = { mainFields: ['module', 'main'] };
/** gray-matter's own YAML engine, which nobody here lets it use (memory/text/frontmatter.ts): 300 kB in each of two files. */
const withoutItsYaml = {
  name: 'without-its-yaml',
  resolveId: (id) => (id === 'js-yaml' ? { id: '\0no-yaml.cjs' } : null),
  load: (id) => (id === '\0no-yaml.cjs' ? 'exports.safeLoad = exports.safeDump = () => {};' : null),
};
/** zod's messages in other languages, which nobody here asks for: 300 kB. */
const withoutOtherLanguages = {
  name: 'without-other-languages',
  resolveId: (id, from) =>
    id === '../locales/index.js' && /[\\/]zod[\\/]v4[\\/]/.test(from ?? '') ? { id: '\0no-locales.js' } : null,
  load: (id) => (id === '\0no-locales.js' ? 'export {};' : null),
};
/** What starts programs is loaded by the first that starts one: most commands and a worker that waits start none, and it is a tenth of a start. */
const LATE = {
  'node:process': 'export default process;',
  'node:child_process': ['execFile', 'fork', 'spawn', 'spawnSync']
    .map((name) => `export const ${name} = (...of) => process.getBuiltinModule('node:child_process').${name}(...of);`)
    .concat('export default { spawn };')
    .join(''),
};
const programsLate = {
  name: 'programs-late',
  // `promisify` asks more of execFile than a call.
  resolveId: (id, from) => (LATE[id] && !from?.endsWith('schedules.ts') ? `\0late-${id}` : null),
  load: (id) => LATE[id.replace('\0late-', '')] ?? null,
};
/** An agent's memory tool answers by the SDK of whoever calls it; all else is of the copy that is built in. */
const SDK = '@anthropic-ai/sdk';
const sdkOfTheCaller = {
  name: 'sdk-of-the-caller',
  resolveId: (id, _from, { kind }) =>
    kind === 'dynamic-import' && id.startsWith(`${SDK}/`) ? { id, external: true } : null,
};

rmSync('dist', { recursive: true, force: true });
const declarations = once(
  spawn(process.execPath, ['node_modules/typescript/bin/tsc', '--project', 'src/checkout/declarations.json'], {
    stdio: 'inherit',
  }),
  'exit',
);

const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const library = await build({
  input: {
    cli: 'src/cli/cli.ts',
    index: 'src/index.ts',
    'forked-child': 'src/agent/forked-child.ts',
  },
  platform: 'node',
  external: Object.keys({ ...dependencies, ...peerDependencies })
    .filter((name) => name !== SDK)
    .flatMap((name) => [name, new RegExp(`^${name}/`)]),
  plugins: [sdkOfTheCaller, withoutItsYaml, withoutOtherLanguages, programsLate],
  resolve: ES_MODULES,
  // gray-matter can run frontmatter as a program; nobody here lets it (memory/text/frontmatter.ts).
  checks: { eval: false },
  output: { dir: 'dist/lib', format: 'esm', chunkFileNames: 'part-[name].js', minify: SMALL },
  logLevel: 'warn',
});

const hook = await build({
  input: 'src/hook/hook.ts',
  platform: 'node',
  output: { file: 'dist/hook.js', format: 'esm', codeSplitting: false },
  logLevel: 'warn',
});
// What the hook loads to answer within a session, for which a person waits: all in one file, without what a database needs.
const prompt = await build({
  input: 'src/hook/recall-door.js',
  platform: 'node',
  external: ['better-sqlite3', 'pg', 'bullmq', 'ioredis'],
  plugins: [withoutItsYaml],
  resolve: ES_MODULES,
  checks: { eval: false },
  output: { file: 'dist/recall-door.js', format: 'esm', codeSplitting: false, minify: true },
  logLevel: 'warn',
});
chmodSync('dist/hook.js', 0o755);
cpSync('src/setup/agents/opencode-module.js', 'dist/opencode-module.js');
cpSync('src/agent/programs/group-leader.js', 'dist/lib/group-leader.js');
cpSync('src/db/schema.sql', 'dist/lib/schema.sql');
// What the page sends to a browser.
cpSync('src/page/assets', 'dist/page', { recursive: true });
const door = readFileSync('src/cli/nocturne.js', 'utf8').replace('./cli.ts', './lib/cli.js');
const [failed] = await declarations;
if (failed !== 0) process.exit(1);
keepDeclarationsOf('dist/src/index.d.ts');
writeThirdParties([library, hook, prompt].flatMap(({ output }) => output.flatMap((each) => each.moduleIds ?? [])));
writeFileSync('dist/nocturne.js', door, { mode: 0o755 });

/** Removes all declarations but this one and those that it is made of. */
function keepDeclarationsOf(entry) {
  const kept = new Set([entry]);
  for (const path of kept) {
    for (const [, name] of readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)) {
      kept.add(join(dirname(path), name.replace(/\.[jt]s$/, '.d.ts')));
    }
  }
  for (const name of readdirSync('dist', { recursive: true })) {
    const path = join('dist', name);
    if (path.endsWith('.d.ts') && !kept.has(path)) rmSync(path);
  }
}

/**
 * What of others is published with nocturne: the licences of the packages whose code the build took in, as their authors ask
 * (dist/licences.txt).
 * @param {Iterable<string>} modules the paths of all modules that were built in
 */
function writeThirdParties(modules) {
  const builtIn = new Map();
  for (const path of modules) {
    const dir = /.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path.replace(/^\0/, '').replaceAll('\\', '/'))?.[0];
    if (dir && existsSync(join(dir, 'package.json'))) builtIn.set(dir, packageAt(dir));
  }
  const sorted = [...builtIn].sort(([, a], [, b]) => a.name.localeCompare(b.name));
  writeFileSync(
    'dist/licences.txt',
    sorted
      .map(([dir, each]) => `${each.name} ${each.version} (${each.licence})\n\n${licenceTextIn(dir)}\n`)
      .join('\n---\n\n'),
  );
  const mit = readFileSync('LICENSE', 'utf8').replace(/^[\s\S]*?(?=Permission is hereby)/, '');
  for (const name of ['gitleaks', 'seed-words']) {
    const { from } = JSON.parse(readFileSync(`src/base/secrets/${name}.json`, 'utf8'));
    appendFileSync('dist/licences.txt', `\n---\n\n${from}\n\n${mit}`);
  }
}

function packageAt(dir) {
  const { name, version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
  return { name, version, licence: license };
}

function licenceTextIn(dir) {
  const file = readdirSync(dir).find((name) => /^(licen[cs]e|copying)/i.test(name));
  return file ? readFileSync(join(dir, file), 'utf8').trim() : 'The package carries no licence file.';
}
