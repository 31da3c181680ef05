// An example: an agent whose task is longer than its context, and than its process. It goes through the files of a
// directory with the official SDK's tool runner, and what it must not lose is in nocturne's memory, not in the
// conversation (docs/dev/library.md, "A task longer than one session"):
//
//   ANTHROPIC_API_KEY=… node test/examples/long-task-agent.ts DIRECTORY "Note for each file what is outdated in it."
//
// Started again, after its end or a crash, it begins with an empty conversation and goes on from memory.
// In a project of your own import from 'nocturne' instead of '../../src/index.ts'.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import type { BetaContextManagementConfig, BetaMessage } from '@anthropic-ai/sdk/resources/beta';
import { z } from 'zod';
import { agentMemory, loadConfig } from '../../src/index.ts';

const BETAS = ['context-management-2025-06-27', 'compact-2026-01-12'];

/**
 * Both are applied by the server, request by request. Old results of tools go first, since they can be had again. Calls
 * of the memory tool are kept: the agent works by what it has read and written there. What is still too long is then
 * summarized. (`compactBeforeNextTurn()` of the runner is the other way, at a moment of your choice, with the beta
 * `compact-2026-09-04`; the API refuses it beside a `compact_20260112`.)
 */
const CONTEXT: BetaContextManagementConfig = {
  edits: [
    {
      type: 'clear_tool_uses_20250919',
      trigger: { type: 'input_tokens', value: 100_000 },
      keep: { type: 'tool_uses', value: 3 },
      // Each clearing costs the prompt cache from there on, so it should be worth it.
      clear_at_least: { type: 'input_tokens', value: 20_000 },
      exclude_tools: ['memory'],
    },
    { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 150_000 } },
  ],
};

/** How the topics are kept that carry the task from one conversation to the next. */
const NOTES = `This task runs over many conversations, and three topics of your memory carry it from one to the next:
startup-notes, feature-checklist and progress-log. Make what is missing, with "type: project" and "pinned: true".

- Before anything else read startup-notes, then the end of progress-log, then feature-checklist.
- Take one feature at a time, the first open one. Tick it only once it is done and tested.
- Before you end, and before the context grows long, add a few dated lines to progress-log: what was done, what was
  found, what is next. Correct startup-notes where they turned out wrong.`;

const LONGEST_FILE_CHARACTERS = 40_000;
const MOST_REQUESTS = 500;

/** Works on the task until the model has done; answers its last words. */
async function work(directory: string, task: string): Promise<string> {
  const config = await loadConfig();
  const memory = await agentMemory({ memory: 'project', cwd: directory, query: task, config });
  try {
    const runner = new Anthropic().beta.messages.toolRunner({
      model: config.model,
      max_tokens: config.maxOutputTokens,
      max_iterations: MOST_REQUESTS,
      betas: BETAS,
      context_management: CONTEXT,
      // Context editing is about the whole conversation, so the whole conversation goes out.
      thread: false,
      system: [{ type: 'text', text: `${memory.systemPrompt}\n\n${NOTES}`, cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: task }],
      tools: [...memory.tools, ...filesOf(directory)],
    });
    let last: BetaMessage | undefined;
    for await (const reply of runner) {
      last = reply;
      report(reply);
    }
    return (last?.content ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');
  } finally {
    // Every call of the memory tool was a commit of its own: whatever ended this, nothing of it waits to be written.
    await memory.close();
  }
}

/**
 * Says what became of the context. A compaction block comes first in a reply and stays there in the history, as it is:
 * the runner sends it back with the reply, and the server drops all that stands before it. Whoever keeps the
 * conversation must keep the block, and may forget the messages before it. Its summary is no memory: another
 * conversation knows nothing of it.
 */
function report({ content, context_management: edited }: BetaMessage): void {
  for (const edit of edited?.applied_edits ?? []) {
    const count = edit.type === 'clear_tool_uses_20250919' ? `${edit.cleared_tool_uses} tool results` : 'old thinking';
    process.stderr.write(`The context was cleared of ${count}: ${edit.cleared_input_tokens} tokens.\n`);
  }
  if (content.some((block) => block.type === 'compaction')) process.stderr.write('The context was compacted.\n');
}

/** The tools of the task itself; their results may be cleared. */
function filesOf(directory: string) {
  const names = () =>
    readdirSync(directory, { withFileTypes: true })
      .filter((item) => item.isFile())
      .map((item) => item.name);
  return [
    betaZodTool({
      name: 'list_files',
      description: 'Lists the files there are to go through.',
      inputSchema: z.object({}),
      run: () => names().join('\n'),
    }),
    betaZodTool({
      name: 'read_file',
      description: 'Reads one of the files that list_files names.',
      inputSchema: z.object({ name: z.string() }),
      run: ({ name }) => {
        if (!names().includes(name)) throw new Error(`There is no file ${name}.`);
        return readFileSync(join(directory, name), 'utf8').slice(0, LONGEST_FILE_CHARACTERS);
      },
    }),
  ];
}

const [directory, task] = process.argv.slice(2);
if (!directory || !task) {
  process.stderr.write('Usage: node test/examples/long-task-agent.ts DIRECTORY TASK\n');
  process.exitCode = 2;
} else {
  process.stdout.write(`${await work(directory, task)}\n`);
}
