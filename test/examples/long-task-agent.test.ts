// The example agent as a person runs it: killed in the middle, and started again with nothing but its memory.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { testApp, testModel } from '../support/app.ts';
import { sized } from '../support/depth.ts';
import { type ContentBlock, calls, type MessagesRequest, type ModelReply, says } from '../support/messages-server.ts';
import { dirWith } from '../support/temp.ts';

const EXAMPLE = join(import.meta.dirname, 'long-task-agent.ts');
const CHECKLIST = '/memories/feature-checklist.md';
const FILES = Array.from({ length: 12 }, (_, n) => `chapter-${String(n + 1).padStart(2, '0')}.txt`);
const TASK = 'Note for each file how it begins.';

interface SeenCall {
  tool: string;
  input: Record<string, unknown>;
  result: string;
}

/** Calls of a conversation, with what they came to. */
function callsIn({ messages }: MessagesRequest): SeenCall[] {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const results = new Map(blocks.map((block) => [block.tool_use_id, textOf(block)]));
  const used = blocks.filter(({ type }) => type === 'tool_use') as (ContentBlock & { name: string; input: object })[];
  return used.map(({ id, name, input }) => ({ tool: name, input: { ...input }, result: results.get(id) ?? '' }));
}

function textOf({ content }: ContentBlock): string {
  return Array.isArray(content) ? content.map(({ text = '' }) => text).join('') : String(content ?? '');
}

/** A model that knows nothing but what it sees: it goes by the checklist, and looks it up where it does not see it. */
function nextStep(seen: SeenCall[]): ModelReply {
  const looked = seen.findLastIndex(({ tool, input }) => tool === 'memory' && input.command === 'view');
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
  const [inHand] = open.filter((name) => last?.tool === 'read_file' && last.input.name === name);
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

const reads = (requests: MessagesRequest[]) =>
  requests.flatMap((request) => {
    const last = callsIn(request).at(-1);
    return last?.tool === 'read_file' ? [last.input.name] : [];
  });

test.skipIf(sized({ quick: true, deep: false }))(
  'the agent asks for its context to be edited, and after a kill goes on from memory',
  async () => {
    const diesAt = 20;
    const applied_edits = [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 3, cleared_input_tokens: 20_000 }];
    const server = await testModel((request, call) => {
      if (call === diesAt) return 'hang';
      return { ...nextStep(callsIn(request)), ...(call === 5 && { contextManagement: { applied_edits } }) };
    });
    const testing = await testApp({ server });
    const directory = dirWith(Object.fromEntries(FILES.map((name) => [name, `This is ${name}.\nWords.`])));
    const checklist = () => readFileSync(join(testing.dir, 'feature-checklist.md'), 'utf8');

    const first = startAgent(testing, directory);
    await server.received(diesAt);
    first.kill();
    const killed = await first.ended;
    expect(killed).toMatchObject({
      signal: 'SIGKILL',
      stderr: 'The context was cleared of 3 tool results: 20000 tokens.\n',
    });
    const done = FILES.filter((name) => checklist().includes(`- [x] ${name}: This is ${name}.`));
    expect(done.length).toBeGreaterThan(5);
    expect(done.length).toBeLessThan(FILES.length);

    const second = await startAgent(testing, directory).ended;
    expect(second).toMatchObject({ code: 0, stdout: 'All files are gone through.\n' });
    for (const name of FILES)
      expect(checklist().match(new RegExp(`- \\[.\\] ${name}.*`, 'g'))).toEqual([`- [x] ${name}: This is ${name}.`]);

    // Each request asks for both edits, and never for memory to be cleared.
    for (const [at, request] of server.requests.entries()) {
      expect(server.betas[at]).toEqual(expect.arrayContaining(['context-management-2025-06-27', 'compact-2026-01-12']));
      expect(request.context_management).toMatchObject({
        edits: [{ type: 'clear_tool_uses_20250919', exclude_tools: ['memory'] }, { type: 'compact_20260112' }],
      });
    }

    // The second session begins with an empty conversation, is told how the memory is kept, and repeats nothing.
    const begun = server.requests[diesAt] as MessagesRequest;
    expect(begun.messages).toEqual([{ role: 'user', content: TASK }]);
    expect(begun.system[0]?.text).toContain('Take one feature at a time');
    expect(done.filter((name) => reads(server.requests.slice(diesAt)).includes(name))).toEqual([]);
  },
);
