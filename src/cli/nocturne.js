#!/usr/bin/env node
// The command's first door, in words that old Node versions read too: it says which Node is needed before anything
// is imported, because a native module may end an older one without a word.

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`nocturne needs Node 22.18 or newer; this is ${process.version}. Get one from https://nodejs.org.`);
  process.exit(1);
}
// A reader that has seen enough (`nocturne … | head`) is no error.
process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 1));
void import('node:v8')
  .then(({ setFlagsFromString }) => {
    // Before everything else: keeps V8 from growing the young generation, which loading the modules would blow up to some
    // 90 MB for good. Reading gigabytes is no slower without.
    setFlagsFromString('--semi-space-growth-factor=1');
    // Else garbage of several times what is in use is left until it is collected, because the machine has the memory.
    setFlagsFromString('--heap-growing-percent=10');
    // Nothing that waits is worth optimizing, and the compilers' own code is 8 MB: the first work takes this back (worker.ts).
    // A worker that works and ends does not wait, and what Node compiled for a command is its own only by the same flags.
    const isWaiting = process.argv[2] === 'worker' && !process.argv.includes('--once');
    if (isWaiting)
      for (const flag of ['--no-opt', '--no-maglev', '--no-sparkplug', '--optimize-for-size']) setFlagsFromString(flag);
    return import('./cli.ts');
  })
  .then(({ main }) => main(process.argv));
