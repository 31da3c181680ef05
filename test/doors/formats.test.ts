import { describe, expect, test } from 'vitest';
import { testApp } from '../support/app.ts';
import { lines, transcriptOf } from '../support/transcripts.ts';

const injected = 'Always use spaces, never tabs.';
const typed = 'Always use tabs, never spaces.';

const codex = (): object[] => {
  const record = (type: string, payload: object) => ({ timestamp: '2026-11-20T09:00:00.000Z', type, payload });
  const says = (role: string, text: string) =>
    record('response_item', { type: 'message', role, content: [{ type: 'input_text', text }] });
  return [
    record('session_meta', { id: 'codex-session', cwd: '/home/ada' }),
    record('event_msg', { type: 'task_started', turn_id: 'turn-1' }),
    says('developer', injected),
    says('user', `# AGENTS.md instructions for /home/ada\n\n${injected}`),
    says('user', typed),
    record('event_msg', { type: 'user_message', message: typed }),
    says('assistant', 'Tabs it is.'),
    record('compacted', { message: injected }),
    record('event_msg', { type: 'task_complete', turn_id: 'turn-1' }),
  ];
};

const gemini = (): object[] => [
  { sessionId: 'gemini-session', projectHash: 'ab12', kind: 'main' },
  { $set: { messages: [{ id: 'c', type: 'user', content: `<session_context>${injected}</session_context>` }] } },
  {
    id: 'm1',
    timestamp: '2026-11-20T09:00:00.000Z',
    type: 'user',
    content: [{ text: typed }, { text: '\n--- Content from referenced files ---' }, { text: injected }],
  },
  { id: 'm2', type: 'user', content: injected },
  { $rewindTo: 'm2' },
  { id: 'm3', type: 'gemini', content: 'Tabs it is.' },
];

const copilot = (): object[] => {
  const event = (id: string, type: string, data: object) => ({ type, data, id, timestamp: '2026-11-20T09:00:00.000Z' });
  return [
    event('1', 'session.start', { sessionId: 'copilot-session', context: { cwd: '/home/ada' } }),
    event('2', 'system.message', { content: injected }),
    event('3', 'user.message', { content: typed, transformedContent: `${injected}\n${typed}` }),
    event('4', 'user.message', { content: injected, source: 'skill-style' }),
    event('5', 'assistant.message', { messageId: 'a1', content: 'Tabs it is.' }),
  ];
};

describe('extract', () => {
  test.each([
    ['Codex', codex()],
    ['Gemini CLI', gemini()],
    ['Copilot CLI', copilot()],
  ])('keeps of a session of %s what a person typed and nothing that was put in their place', async (_, records) => {
    const { app } = await testApp();
    const transcript = transcriptOf(lines(...records));
    const report = await app.extract({ transcript, ended: true });
    expect(report).toMatchObject({ outcome: 'recorded', entries: [{ text: typed }] });
    expect((await app.extract({ transcript, ended: true })).outcome).toBe('nothing-new');
  });
});
