// export, import: the Markdown of a memory as plain files in a directory, which tar, git or a disk carries further.
// Promises: only Markdown, logs and dream reports go out and come in, and nothing through a link; secrets are taken out both ways;
// an import is one commit, which undo takes back. What is there stays, unless --theirs; a log keeps the entries of both, what was
// forgotten stays so, and what was extracted or distilled elsewhere is not done again.

import { join, resolve } from 'node:path';
import { AppError } from '../../../base/errors.ts';
import { isDirectory, listFiles } from '../../../base/files/directories.ts';
import { readMemoryBytesNow, statNow, writeWhole } from '../../../base/files/files.ts';
import { redact } from '../../../base/text/redact.ts';
import { indexChange } from '../../../memory/dream/index-change.ts';
import { historyPaths } from '../../../memory/history/log-items.ts';
import { takeInHistory } from '../../../memory/history/rebuild.ts';
import { entriesIn } from '../../../memory/ledger/entries.ts';
import { enterPersonsJob } from '../../../memory/ledger/job-rows.ts';
import { joinLogs, logDay } from '../../../memory/text/daily-log.ts';
import { isReportPath } from '../../../memory/text/dream-report.ts';
import type { CommandSpec } from '../spec.ts';
import { type CommonOptions, inApp, MEMORY, printDone, requirePerson } from '../terminal/options.ts';

/** What may be carried of these files, without secrets; all else is skipped. */
async function fitting(files: { path: string; bytes: Buffer | null }[]) {
  const texts = new Map<string, string>();
  for (const { path, bytes } of files.filter(({ path }) => isReportPath(path) || /^[^.].*\.md$/s.test(path))) {
    const text = bytes?.toString() ?? '';
    if (bytes?.equals(Buffer.from(text))) texts.set(path, (await redact(text)).text);
  }
  return { texts, skipped: files.map(({ path }) => path).filter((path) => !texts.has(path)) };
}

const exportCommand: CommandSpec<CommonOptions, [string]> = {
  name: 'export',
  about: 'topics, index, logs, archive and dream reports as plain files',
  group: 'Under the hood',
  args: [['<directory>', 'one that is not there yet']],
  options: MEMORY,
  json: '{ outcome, files, skipped, job }',
  examples: ['export my-memory && tar czf my-memory.tar.gz my-memory'],
  run: inApp(async (app, call) => {
    const directory = resolve(call.args[0]);
    if (statNow(directory)) throw new AppError('bad-input', `${directory} is there already; nothing was written.`);
    if (!(await app.hasMemory())) throw new AppError('bad-input', `There is no memory in ${app.memoryDirOf()}.`);
    const store = await app.storeFor();
    await store.missing();
    const { texts, skipped } = await fitting(
      store.ledger.all(`select memory.path, content as bytes from memory join version on version.id = head
        where memory.path is not null and content is not null order by memory.path`),
    );
    for (const [path, text] of texts) writeWhole(join(directory, path), text);
    const report = { outcome: 'exported', files: [...texts.keys()], skipped, job: null };
    await printDone(app, call, { report, lines: [`exported: ${texts.size} files, ${skipped.length} skipped`] });
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
  run: inApp(async (app, call) => {
    requirePerson(app.config, 'import');
    const from = resolve(call.args[0]);
    if (!isDirectory(from)) throw new AppError('bad-input', `There is no directory ${from}.`);
    const found = (await listFiles(from)).map((path) => ({ path, bytes: readMemoryBytesNow(join(from, path)) }));
    const { texts, skipped } = await fitting(found);
    const store = await app.storeFor();
    const lists = { added: [] as string[], changed: [] as string[], differing: [] as string[], skipped };
    const report = { outcome: 'busy', ...lists, job: null as string | null };
    const here = [...(await store.list()), ...(await historyPaths(store))];
    // The index is rebuilt from the topics.
    const paths = [...new Set([...here, ...texts.keys()])].filter((path) => !/^(?:MEMORY\.md$|index\/)/.test(path));
    await app.withLease(store, 'dream', () =>
      store.commit({ actor: 'person' }, () => {
        const leftOut = new Set(entriesIn(store.ledger, 'forgotten').map(({ id }) => id));
        const index = indexChange(store);
        const isChanged = () => lists.added.length + lists.changed.length > 0;
        const change = (path: string) => (current: string | null) => {
          const [day, text] = [logDay(path), texts.get(path) ?? current];
          const joined = day && text && current !== null ? joinLogs(current, text, { day, leftOut }) : text;
          const taken = current === null || day || call.options.theirs ? joined : current;
          if (current === null && text !== null) lists.added.push(path);
          else if (taken !== current) lists.changed.push(path);
          else if (text !== current && !day) lists.differing.push(path);
          texts.set(path, taken ?? '');
          return taken;
        };
        const build = (current: string | null) => {
          if (isChanged()) texts.set('MEMORY.md', index.memory.change(current ?? texts.get('MEMORY.md') ?? null) ?? '');
          return isChanged() ? (texts.get('MEMORY.md') ?? null) : current;
        };
        const files = paths.map((path) => ({ path, change: change(path) }));
        return {
          files: [...files, { path: 'MEMORY.md', change: build }, ...index.overflow()],
          rows(to) {
            report.outcome = isChanged() ? 'imported' : 'unchanged';
            if (!isChanged()) return;
            index.finish(to);
            takeInHistory(to, { texts, topics: texts, index: texts.get('MEMORY.md') ?? '', isAnew: here.length === 0 });
            report.job = enterPersonsJob(to, { kind: 'import', outcome: 'imported', now: app.config.clock.now() });
          },
        };
      }),
    );
    const said = Object.entries(lists).map(([what, { length }]) => `${length} ${what}`);
    await printDone(app, call, { report, lines: [`${report.outcome}: ${said.join(', ')}`] });
  }),
};

export const commands: CommandSpec[] = [exportCommand, importCommand];
