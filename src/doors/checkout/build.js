// `npm run build`: what is installed is built, because Node refuses TypeScript under node_modules.
// tsc emits JavaScript and declarations for the library. The forked child and the hook become one file each, and the
// command line one file per command and what they share, with the small packages in them: all start in a fraction of
// the time.

import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'rolldown';

rmSync('dist', { recursive: true, force: true });
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '--project', 'tsconfig.json', '--noEmit', 'false'], {
  stdio: 'inherit',
});
// The tests, and the demonstration that needs their example sessions, stay in the checkout.
for (const path of ['dist/test', 'dist/src/doors/checkout', 'dist/src/doors/cli/commands']) {
  rmSync(path, { recursive: true, force: true });
}
// Compiled with the child, and evaluated anew for each of its runs (fresh-run.ts).
const runs = await build({
  input: 'src/agent/child/agent-run.ts',
  platform: 'node',
  output: { format: 'cjs', codeSplitting: false },
  write: false,
  logLevel: 'warn',
});
writeFileSync(
  'dist/src/agent/child/fresh-run.js',
  `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
export const isFreshEachTime = true;
export function loadRun() {
  const module = { exports: {} };
  evaluate(require, module, module.exports);
  return module.exports.answerRun;
}
function evaluate(require, module, exports) {
${runs.output[0].code}
}
`,
);
await build({
  input: 'src/agent/child/child.ts',
  platform: 'node',
  plugins: [
    {
      name: 'fresh-run',
      resolveId: (id) => (id === './fresh-run.ts' ? { id: './fresh-run.js', external: true } : null),
    },
  ],
  output: { file: 'dist/src/agent/child/child.js', format: 'esm', codeSplitting: false },
  logLevel: 'warn',
});
// Packages of hundreds of files of which little is needed; all others are loaded from where they are installed.
const bundled = ['@bomb.sh/tab', '@date-fns/tz', 'cli-table3', 'commander', 'date-fns', 'gray-matter', 'yaml', 'zod'];
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const external = Object.keys(dependencies).filter((name) => !bundled.includes(name));
await build({
  input: { cli: 'src/doors/cli/cli.ts', wings: 'src/wings/index.ts' },
  platform: 'node',
  external: external.flatMap((name) => [name, new RegExp(`^${name}/`)]),
  // gray-matter can run frontmatter as a program; nobody here lets it (memory/text/frontmatter.ts).
  checks: { eval: false },
  output: { dir: 'dist/src/doors/cli', format: 'esm', chunkFileNames: 'cli-[name].js' },
  logLevel: 'warn',
});

await build({
  input: 'src/doors/hook/hook.ts',
  platform: 'node',
  output: { file: 'dist/hook.js', format: 'esm', codeSplitting: false },
  logLevel: 'warn',
});
chmodSync('dist/hook.js', 0o755);
cpSync('src/doors/cli/small-heap.js', 'dist/src/doors/cli/small-heap.js');
cpSync('src/doors/setup/agents/opencode-module.js', 'dist/opencode-module.js');
// What settings and schedules of earlier versions name.
mkdirSync('dist/src/entry', { recursive: true });
writeFileSync('dist/src/entry/nocturne.js', "#!/usr/bin/env node\nimport '../../nocturne.js';\n", { mode: 0o755 });
const door = readFileSync('src/doors/cli/nocturne.js', 'utf8')
  .replace('./small-heap.js', './src/doors/cli/small-heap.js')
  .replace('./cli.ts', './src/doors/cli/cli.js')
  .replace('../../wings/index.ts', './src/doors/cli/wings.js');
writeFileSync('dist/nocturne.js', door, { mode: 0o755 });
