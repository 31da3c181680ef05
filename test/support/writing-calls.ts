// Calls by which an agent writes into a memory, whatever its tools are called, and sessions of one turn with such a call in the
// records of each format.

import { type Step, sessionFile } from './session-file.ts';
import { tempDir } from './temp.ts';
import { lines, transcriptOf } from './transcripts.ts';

export const DANA = '- Dana reviews every schema change.';
export const OLD = '- We ship with Helm on Mondays.';
/** Lines that stood there before, too. */
export const MORE = '- Kim leads the press room.\n- Ink is ordered on Fridays.\n';
/** Session files make their first call then. */
export const CALLED = new Date('2026-11-20T09:00:20Z');

export const PROMPT = 'Remember who reviews.';

export type Called = Extract<Step, { calls: string }>;
/** Writes a session of one turn with one call, and answers its path. */
export type Transcript = (step: Called) => string;

export const called = (calls: string, input: unknown, more = {}): Step => ({
  calls,
  input: input as object,
  result: 'ok',
  ...more,
});
export const bash = (command: string): Step => called('Bash', { command });

/** DIR stands for the directory of the memory. */
export const WRITES: Step[] = [
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
];

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
export const FORMATS: Record<string, Transcript> = {
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
