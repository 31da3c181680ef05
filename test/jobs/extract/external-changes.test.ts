// Which calls wrote into a memory: told by what stands in its files, whatever the tool, not by understanding the tool.

import { appendFileSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { finishedCalls } from '../../../src/transcript/own-writes.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { testApp } from '../../support/app.ts';
import { type Step, sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { collect, hasReal, lines, real, realFiles, transcriptOf } from '../../support/transcripts.ts';

const DANA = '- Dana reviews every schema change.';
const OLD = '- We ship with Helm on Mondays.';
/** Lines that stood there before, too. */
const MORE = '- Kim leads the press room.\n- Ink is ordered on Fridays.\n';
/** Session files make their first call then. */
const CALLED = new Date('2026-11-20T09:00:20Z');

/** A memory with a file that nocturne knew the day before. */
async function memoryBefore() {
  const { dir, home, store, app } = await testApp({ now: '2026-11-19T02:00:00Z' });
  const file = join(dir, 'rules.md');
  writeFileSync(file, `# Rules\n\n${OLD}\n${MORE}`);
  utimesSync(file, new Date('2026-11-18T09:00:00Z'), new Date('2026-11-18T09:00:00Z'));
  await store.commit({ actor: 'person' }, () => ({ files: [] }));
  await app.close();
  return { dir, home, file };
}

interface Changed {
  change?(file: string): void;
  at?: Date;
}

const PROMPT = 'Remember who reviews.';

/** What became of the one turn of a session, after a change of the memory as told. DIR stands for its directory. */
async function turnOf(step: Step, { change, at = CALLED, transcript }: Changed & { transcript?: Transcript } = {}) {
  const { dir, home, file } = await memoryBefore();
  change?.(file);
  if (change) utimesSync(file, at, at);
  const here: Step = JSON.parse(JSON.stringify(step).replaceAll('DIR', dir));
  const session = sessionFile(tempDir());
  if (!transcript) session.add(PROMPT, [here, { says: 'Done.' }]);
  const { app } = await testApp({ dir, home });
  const path = transcript ? transcript(here as Called) : session.path;
  const { coverage } = await app.extract({ transcript: path, ended: true });
  return coverage.map(({ became }) => became).join();
}

type Called = Extract<Step, { calls: string }>;
/** Writes a session of one turn with one call, and answers its path. */
type Transcript = (step: Called) => string;

const called = (calls: string, input: unknown, more = {}): Step => ({
  calls,
  input: input as object,
  result: 'ok',
  ...more,
});
const bash = (command: string): Step => called('Bash', { command });
const adds = (file: string) => appendFileSync(file, `${DANA}\n`);
/** Long after, so that only what was added tells. */
const LATER = new Date('2026-11-20T15:00:00Z');

describe('a turn is left to the main agent where a call names a file and holds what was added there', () => {
  test.each([
    called('Edit', { file_path: 'DIR/rules.md', old_string: OLD, new_string: `${OLD}\n${DANA}` }),
    called('MultiEdit', { file_path: 'DIR/rules.md', edits: [{ old_string: OLD, new_string: `${OLD}\n${DANA}` }] }),
    called('write', { filePath: '../memory/rules.md', content: `# Rules\n\n${OLD}\n${MORE}${DANA}\n` }),
    called('edit', { path: '~/memory/rules.md', oldText: OLD, newText: `${OLD}\n${DANA}` }),
    called('create', { path: 'C:\\Users\\Ada\\memory\\rules.md', file_text: DANA }),
    called('mcp__files__write_file', { path: 'DIR/rules.md', contents: DANA }),
    called('patch', { patchText: `*** Begin Patch\n*** Update File: rules.md\n@@\n ${OLD}\n+${DANA}\n*** End Patch` }),
    called('apply_patch', `*** Begin Patch\n*** Update File: DIR/rules.md\n@@\n+${DANA}\n*** End Patch`),
    called('apply_patch', { type: 'update_file', path: 'DIR/rules.md', diff: `+${DANA}` }),
    bash(`echo "${DANA}" >> DIR/rules.md`),
    bash(`cat >> DIR/rules.md <<'EOF'\n${DANA}\nEOF`),
    bash(`D='DIR'; cd "$D" && printf '%s\\n' '${DANA}' | tee -a rules.md`),
    bash(`python3 -c "open('DIR/rules.md', 'a').write('${DANA}\\n')"`),
    called('PowerShell', { command: `Add-Content $HOME/memory/rules.md '${DANA}'` }),
    called('shell', { command: ['bash', '-lc', `echo '${DANA}' >> DIR/rules.md`] }),
    called('exec_command', { cmd: `echo '${DANA}' >> rules.md`, workdir: 'DIR' }),
    called('exec', `await tools.exec_command({cmd:"cat >> rules.md <<E\\n${DANA}\\nE","workdir":"DIR"})`),
  ])('by $calls $input', async (step) => {
    expect(await turnOf(step, { change: adds, at: LATER })).toBe('main-agent');
  });

  test.each([
    ['sed -i "s/Mondays/Tuesdays/" DIR/rules.md', 'Mondays', 'Tuesdays'],
    ['cp draft.md DIR/rules.md', OLD, DANA],
    ['echo tabs>>DIR/rules.md', OLD, `${OLD}\n- tabs`],
  ])('or while which the file was written: %s', async (command, from, to) => {
    const change = (file: string) => writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
    expect(await turnOf(bash(command), { change })).toBe('main-agent');
    expect(await turnOf(bash(command), { change, at: LATER })).not.toContain('main-agent');
  });
});

const ms = CALLED.getTime();
const id = 'c1';
const times = (record: object, second: number) => ({
  ...record,
  timestamp: new Date(ms + second * 1000).toISOString(),
});
const timed = (...records: object[]) => transcriptOf(lines(...records.map(times)));
const json = (value: unknown) => transcriptOf(JSON.stringify(value), 'session.json');
const said = (role: string, content: unknown) => ({ role, content });
const geminiMessages = ({ calls, input }: Called) =>
  [
    { id: 'g1', type: 'user', content: [{ text: PROMPT }] },
    { id: 'g2', type: 'gemini', content: '', toolCalls: [{ id, name: calls, args: input, status: 'success' }] },
    { id: 'g3', type: 'gemini', content: 'Done.' },
  ].map(times);

/** One turn in the records of each format that `openSession` knows. */
const FORMATS: Record<string, Transcript> = {
  'claude-code': (step) => {
    const session = sessionFile(tempDir(), { isTold: true });
    session.add(PROMPT, [step, { says: 'Done.' }]);
    return session.path;
  },
  codex: ({ calls, input }) => {
    const item = (payload: object) => ({ type: 'response_item', payload });
    return timed(
      { type: 'session_meta', payload: { id: 'codex-1', cwd: '/home/ada/acme' } },
      item({ type: 'message', ...said('user', [{ type: 'input_text', text: PROMPT }]) }),
      { type: 'event_msg', payload: { type: 'user_message', message: PROMPT } },
      typeof input === 'string'
        ? item({ type: 'custom_tool_call', call_id: id, name: calls, input })
        : item({ type: 'function_call', call_id: id, name: calls, arguments: JSON.stringify(input) }),
      item({ type: 'function_call_output', call_id: id, output: 'Process exited with code 0\nOutput:\n' }),
      item({ type: 'message', ...said('assistant', [{ type: 'output_text', text: 'Done.' }]) }),
    );
  },
  gemini: (step) => timed({ sessionId: 'gemini-1', projectHash: 'x', kind: 'main' }, ...geminiMessages(step)),
  'gemini-legacy': (step) =>
    json({ sessionId: 'gemini-2', projectHash: 'x', startTime: CALLED, messages: geminiMessages(step) }),
  opencode: ({ calls, input }) => {
    const message = (role: string, ...parts: object[]) => ({
      info: { id: `msg_${role}_${parts.length}`, sessionID: 'ses_1', role, time: { created: ms } },
      parts: parts.map((part, at) => ({ id: `prt_${role}_${at}`, ...part })),
    });
    const state = { status: 'completed', input, output: 'ok', time: { start: ms, end: ms + 1000 } };
    return json({
      info: { id: 'ses_1', directory: '/home/ada/acme', version: '1.14.30', time: { created: ms, updated: ms } },
      messages: [
        message('user', { type: 'text', text: PROMPT }),
        message('assistant', { type: 'tool', callID: id, tool: calls, state }, { type: 'text', text: 'Done.' }),
      ],
    });
  },
  copilot: ({ calls, input }) =>
    timed(
      ...[
        { type: 'session.start', data: { sessionId: 'copilot-1', version: 1, producer: 'copilot-agent' } },
        { type: 'user.message', data: { content: PROMPT } },
        {
          type: 'assistant.message',
          data: { messageId: 'm1', content: '', toolRequests: [{ toolCallId: id, name: calls, arguments: input }] },
        },
        { type: 'tool.execution_complete', data: { toolCallId: id, success: true, result: { content: 'ok' } } },
        { type: 'assistant.message', data: { messageId: 'm2', content: 'Done.' } },
      ].map((record, at) => ({ ...record, id: `event-${at}`, parentId: null })),
    ),
  pi: ({ calls, input }) =>
    timed(
      { type: 'session', version: 3, id: 'pi-1', cwd: '/home/ada/acme' },
      ...[
        said('user', PROMPT),
        said('assistant', [{ type: 'toolCall', id, name: calls, arguments: input }]),
        { ...said('toolResult', [{ type: 'text', text: 'ok' }]), toolCallId: id, toolName: calls, isError: false },
        said('assistant', [{ type: 'text', text: 'Done.' }]),
      ].map((message, at) => ({ type: 'message', id: `a${at}`, parentId: at > 0 ? `a${at - 1}` : null, message })),
    ),
  entire: ({ calls, input }) => {
    const record = (type: string, second: number, content: unknown) => {
      const ts = new Date(ms + second * 1000).toISOString();
      return { v: 1, agent: 'Claude Code', cli_version: '0.5.6', type, ts, content };
    };
    const result = { output: 'ok', status: 'success' };
    return transcriptOf(
      lines(
        record('user', 0, [{ id: 'u1', text: PROMPT }]),
        record('assistant', 1, [{ type: 'tool_use', id, name: calls, input, result }]),
        record('assistant', 2, 'Done.'),
      ),
    );
  },
  atif: ({ calls, input }) =>
    json({
      schema_version: 'ATIF-v1.7',
      session_id: 'atif-1',
      agent: { name: 'harbor-agent', version: '1.0.0' },
      steps: [
        { source: 'user', message: PROMPT },
        {
          source: 'agent',
          message: '',
          tool_calls: [{ tool_call_id: id, function_name: calls, arguments: input }],
          observation: { results: [{ source_call_id: id, content: 'ok' }] },
        },
        { source: 'agent', message: 'Done.' },
      ].map((step, at) => times({ ...step, step_id: at + 1 }, at)),
    }),
  messages: ({ calls, input }) =>
    json([
      said('user', PROMPT),
      said('assistant', [{ type: 'tool_use', id, name: calls, input }]),
      said('user', [{ type: 'tool_result', tool_use_id: id, content: 'ok' }]),
      said('assistant', 'Done.'),
    ]),
  'openai-chat': ({ calls, input }) => {
    const call = { id, type: 'function', function: { name: calls, arguments: JSON.stringify(input) } };
    return json([
      said('user', PROMPT),
      { ...said('assistant', null), tool_calls: [call] },
      { ...said('tool', 'ok'), tool_call_id: id },
      said('assistant', 'Done.'),
    ]);
  },
  'openai-responses': ({ calls, input }) =>
    json([
      { type: 'message', ...said('user', [{ type: 'input_text', text: PROMPT }]) },
      typeof input === 'string'
        ? { type: 'custom_tool_call', call_id: id, name: calls, input }
        : { type: 'function_call', call_id: id, name: calls, arguments: JSON.stringify(input) },
      { type: 'function_call_output', call_id: id, output: 'ok' },
      { type: 'message', ...said('assistant', [{ type: 'output_text', text: 'Done.' }]) },
    ]),
};

describe.each(Object.entries(FORMATS))('in %s the agent’s own write is not extracted again', (_, transcript) => {
  test.each([
    called('Write', { file_path: 'DIR/rules.md', content: `# Rules\n\n${DANA}\n` }),
    called('Edit', { file_path: 'DIR/rules.md', old_string: OLD, new_string: `${OLD}\n${DANA}` }),
    called('apply_patch', `*** Begin Patch\n*** Update File: DIR/rules.md\n@@\n+${DANA}\n*** End Patch`),
    bash(`cat >> DIR/rules.md <<'EOF'\n${DANA}\nEOF`),
  ])('by $calls', async (step) => {
    expect(await turnOf(step, { change: adds, at: LATER, transcript })).toBe('main-agent');
    expect(await turnOf(step, { transcript })).not.toContain('main-agent');
  });
});

describe('a turn is extracted', () => {
  test.each([
    ['that reads a file that a person changes later', called('Read', { file_path: 'DIR/rules.md' })],
    ['that reads it by a command', bash('cat DIR/rules.md')],
    ['that looks for what stood there before', bash(`grep -n "${OLD}" DIR/rules.md`)],
    ['whose write failed', called('Write', { file_path: 'DIR/rules.md', content: DANA }, { fails: true })],
    ['that wrote something else into a file of that name', bash("echo 'Use tabs here.' >> /tmp/rules.md")],
    ['whose call holds the line and names no file', bash(`echo "${DANA}"`)],
    ['that writes by a script which does not tell what', bash('./remember.sh')],
    ['that wrote the same into a file of that name elsewhere', bash(`echo "${DANA}" >> /home/ada/other/rules.md`)],
  ])('%s', async (_, step) => {
    expect(await turnOf(step, { change: adds, at: LATER })).toMatch(/^(recorded|nothing)$/);
  });

  test('in part: what a person says after a write stays open, also where a later call looks for what was written', async () => {
    const { dir, home, file } = await memoryBefore();
    const change = (line: string, at: string) => {
      appendFileSync(file, `${line}\n`);
      utimesSync(file, new Date(at), new Date(at));
    };
    const steps = [
      called('Bash', { command: `echo "${DANA}" >> ${file}` }),
      { types: 'Never deploy on a Friday.' },
      called('Bash', { command: `grep -c "${DANA}" ${file}` }),
      called('Read', { file_path: file }),
    ];
    const session = sessionFile(tempDir());
    session.add(PROMPT, steps);
    change(DANA, '2026-11-20T09:00:20Z');
    const { app, store } = await testApp({ dir, home });
    for (const line of ['- Sam orders the ink.', '- Press days are Mondays.']) {
      change(line, '2026-11-20T15:00:00Z');
      await store.commit({ actor: 'person' }, () => ({ files: [] }));
    }
    const { coverage } = await app.extract({ transcript: session.path, ended: true });
    expect(coverage.map(({ became }) => became)).toEqual(['main-agent', 'recorded']);
  });

  test('where nothing was written, though the call says so', async () => {
    expect(await turnOf(bash(`echo "${DANA}" >> DIR/rules.md`))).toMatch(/^(recorded|nothing)$/);
  });
});

describe.skipIf(!hasReal)('real sessions (../shared/transcripts; skipped where they are not there)', () => {
  test('wrote to the memory of their own machines in exactly these turns', async () => {
    const found = new Set<string>();
    for (const path of await realFiles(/^claude-code\/.*\.jsonl$/)) {
      const session = await openSession(join(real, path));
      const turns = await collect(readTurns(session.messages()));
      turns.forEach((turn, at) => {
        if (finishedCalls(turn).some(({ memory }) => memory)) found.add(`${session.id.slice(0, 8)} ${at + 1}`);
      });
    }
    // All that INDEX.md marks as auto-memory-write or memory-write.
    expect([...found].sort()).toEqual(['1cd4e81e 6', '415c4d06 4', '4f8f5e9b 4', '5834c1ee 5', '76731dd6 2']);
  });
});
