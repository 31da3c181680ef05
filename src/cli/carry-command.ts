// export, import: the Markdown of a memory as plain files in a directory, and back.

import { resolve } from 'node:path';
import { exportMemory, importMemory } from '../../jobs/carry.ts';
import { AppError } from '../base/errors.ts';
import { type CommonOptions, MEMORY, printDone, requirePerson, withApp } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

const exportCommand: CommandSpec<CommonOptions, [string]> = {
  name: 'export',
  about: 'topics, index, logs and archive as plain files',
  group: 'Under the hood',
  args: [['<directory>', 'one that is not there yet']],
  options: MEMORY,
  json: '{ outcome, files, skipped, job }',
  examples: ['export my-memory && tar czf my-memory.tar.gz my-memory'],
  run: (call) =>
    withApp(call, async (app) => {
      const memory = await app.findMemory();
      if (!memory) throw new AppError('bad-input', `There is no memory in ${app.memoryDirOf()}.`);
      const report = await exportMemory(resolve(call.args[0]), { memories: app.memories, memory });
      const lines = [`exported: ${report.files.length} files, ${report.skipped.length} skipped`];
      await printDone(app, call.options, { report, lines });
    }),
};

const importCommand: CommandSpec<CommonOptions & { theirs?: boolean }, [string]> = {
  name: 'import',
  about: 'what nocturne export wrote, into this memory; what is there stays',
  group: 'Under the hood',
  args: [['<directory>', 'where it was exported to']],
  options: [['--theirs', 'where a file differs, take theirs; show --history has yours'], ...MEMORY],
  json: '{ outcome, added, changed, differing, skipped, job }',
  examples: ['import my-memory', 'import my-memory --json   # names the files'],
  run: (call) =>
    withApp(call, async (app) => {
      requirePerson(app.config, 'import');
      const { memories, memoryFor: openMemory } = app;
      const request = { directory: resolve(call.args[0]), isTheirs: call.options.theirs ?? false };
      const report = await importMemory(request, { memories, openMemory });
      const { added, changed, differing, skipped } = report;
      const said = Object.entries({ added, changed, differing, skipped }).map(([what, of]) => `${of.length} ${what}`);
      await printDone(app, call.options, { report, lines: [`${report.outcome}: ${said.join(', ')}`] });
    }),
};

export const commands: CommandSpec[] = [exportCommand, importCommand] as CommandSpec[];
