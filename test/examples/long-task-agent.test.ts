// The example agent as a person runs it, against a server that edits its context: cleared and compacted in the middle,
// killed, and started again with nothing but its memory.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { testApp, testModel } from '../support/app.ts';
import { contextOf, type SeenCall, type SeenContext } from '../support/context-editing.ts';
import { sized } from '../support/depth.ts';
import { calls, type MessagesRequest, type ModelReply, says } from '../support/messages-server.ts';
import { tempDir } from '../support/temp.ts';

const EXAMPLE = join(import.meta.dirname, 'long-task-agent.ts');
const CHECKLIST = '/memories/feature-checklist.md';
const FILES = Array.from({ length: 12 }, (_, n) => `chapter-${String(n + 1).padStart(2, '0')}.txt`);
const TASK = 'Note for each file how it begins.';

/** A model that knows nothing but what it sees: it goes by the checklist, and looks it up where it does not see it. */
function nextStep({ calls: seen }: SeenContext): ModelReply {
  const looked = seen.findLastIndex(
    ({ tool, input, result }) => tool === 'memory' && input.command === 'view' && result,
  );
  if (looked < 0) return calls('memory', { command: 'view', path: CHECKLIST });
  const since = seen.slice(looked + 1);
  if (/does not exist/.test(seen[looked]?.result ?? '')) {
    const names = since.find(({ tool }) => tool === 'list_files')?.result;
    if (!names) return calls('list_files', {});
    const made = since.some(({ input }) => input.command === 'create');
    if (!made) return calls('memory', { command: 'create', path: CHECKLIST, file_text: checklistOf(names) });
    return calls('memory', { command: 'view', path: CHECKLIST });
  }
  const checklist = since
    .filter(({ input }) => input.command === 'str_replace')
    .reduce((now, { input }) => now.replace(String(input.old_str), String(input.new_str)), seen[looked]?.result ?? '');
  const open = [...checklist.matchAll(/- \[ \] (\S+)/g)].map((match) => match[1] as string);
  const last = seen.at(-1);
  const [inHand] = open.filter((name) => last?.tool === 'read_file' && last.input.name === name && last.result);
  if (inHand) return replace(`- [ ] ${inHand}`, `- [x] ${inHand}: ${last?.result?.split('\n')[0]}`);
  return open[0] ? calls('read_file', { name: open[0] }) : says('All files are gone through.');
}

function checklistOf(names: string): string {
  const about = 'name: feature-checklist\ndescription: The files to go through\ntype: project\npinned: true';
  return `---\n${about}\n---\n\n${names.replace(/^/gm, '- [ ] ')}\n`;
}

function replace(old_str: string, new_str: string): ModelReply {
  return calls('memory', { command: 'str_replace', path: CHECKLIST, old_str, new_str });
}

function startAgent({ environment }: { environment: NodeJS.ProcessEnv }, directory: string) {
  const child = spawn(process.execPath, [EXAMPLE, directory, TASK], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const ended = Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]).then(
    ([[code, signal], stdout, stderr]) => ({ code, signal, stdout, stderr }),
  );
  return { ended, kill: () => child.kill('SIGKILL') };
}

const reads = (contexts: SeenContext[]) => contexts.flatMap(({ calls: seen }) => named(seen.at(-1)));
const named = (call: SeenCall | undefined) => (call?.tool === 'read_file' ? [String(call.input.name)] : []);

test.skipIf(sized({ quick: true, deep: false }))(
  'the agent works with an edited context, and after a kill goes on from memory',
  async () => {
    const [compactsAt, diesAt] = [20, 26];
    const contexts: SeenContext[] = [];
    const server = await testModel((request, call) => {
      const context = contextOf(request, call === compactsAt ? 4 : 1);
      contexts.push(context);
      if (call === diesAt) return 'hang';
      return {
        ...nextStep(context),
        first: context.compaction ? [context.compaction] : [],
        contextManagement: { applied_edits: context.appliedEdits },
      };
    });
    const testing = await testApp({ server });
    const directory = join(tempDir(), 'chapters');
    mkdirSync(directory);
    for (const name of FILES) writeFileSync(join(directory, name), `This is ${name}.\n${'Words. '.repeat(2_200)}`);
    const checklist = () => readFileSync(join(testing.dir, 'feature-checklist.md'), 'utf8');

    const first = startAgent(testing, directory);
    await server.received(diesAt);
    first.kill();
    const killed = await first.ended;
    expect(killed.signal).toBe('SIGKILL');
    expect(killed.stderr).toMatch(/cleared of \d+ tool results: \d{5,} tokens[\s\S]*The context was compacted/);
    const done = FILES.filter((name) => checklist().includes(`- [x] ${name}: This is ${name}.`));
    expect(done.length).toBeGreaterThan(7);
    expect(done.length).toBeLessThan(FILES.length);

    const second = await startAgent(testing, directory).ended;
    expect(second).toMatchObject({ code: 0, stdout: 'All files are gone through.\n' });
    for (const name of FILES)
      expect(checklist().match(new RegExp(`- \\[.\\] ${name}.*`, 'g'))).toEqual([`- [x] ${name}: This is ${name}.`]);

    // Each request asks for both edits, and never for memory to be cleared; nor was it.
    for (const [at, request] of server.requests.entries()) {
      expect(server.betas[at]).toEqual(expect.arrayContaining(['context-management-2025-06-27', 'compact-2026-01-12']));
      expect(request.context_management).toMatchObject({
        edits: [{ type: 'clear_tool_uses_20250919', exclude_tools: ['memory'] }, { type: 'compact_20260112' }],
      });
    }
    const all = contexts.flatMap(({ calls: seen }) => seen);
    expect(all.filter(({ tool, result }) => tool === 'read_file' && result === null)).not.toEqual([]);
    expect(all.filter(({ tool, result }) => tool === 'memory' && result === null)).toEqual([]);

    // The compaction block goes back as it came, and what it stood for is looked up in memory.
    const [compacted, next] = [contexts[compactsAt - 1], server.requests[compactsAt]];
    expect(compacted?.compaction).toMatchObject({ type: 'compaction' });
    const sentBack = next?.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    expect(sentBack?.filter(({ type }) => type === 'compaction')).toEqual([compacted?.compaction]);
    expect(contexts[compactsAt]?.calls).toMatchObject([
      { tool: 'memory', input: { command: 'view', path: CHECKLIST } },
    ]);

    // The second session begins with an empty conversation, is told how the memory is kept, and repeats nothing.
    const [begun, then] = server.requests.slice(diesAt) as [MessagesRequest, MessagesRequest];
    expect(begun.messages).toEqual([{ role: 'user', content: TASK }]);
    expect(begun.system[0]?.text).toContain('Take one feature at a time');
    expect(JSON.stringify(then.messages)).toContain(`[x] ${done[0]}`);
    expect(reads(contexts.slice(diesAt)).filter((name) => done.includes(name))).toEqual([]);
    expect(new Set(reads(contexts))).toEqual(new Set(FILES));
  },
);

test('without a directory and a task it says how it is called', async () => {
  const child = spawn(process.execPath, [EXAMPLE], { stdio: ['ignore', 'ignore', 'pipe'] });
  const [[code], stderr] = await Promise.all([once(child, 'close'), text(child.stderr)]);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('DIRECTORY TASK') });
});
