// Texts typed while Claude Code works, in whatever order they are queued, given, sent or taken back.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Message } from '../../../src/transcript/messages.ts';
import { sized } from '../../support/depth.ts';
import { messagesOf } from '../../support/transcripts.ts';

/** What happens to what is queued. Versions of early 2026 write no record of what they give to the agent. */
type Step = 'text' | 'notice' | 'give' | 'attach' | 'send' | 'take back' | 'prompt' | 'work';
const steps: Step[] = ['text', 'notice', 'give', 'attach', 'send', 'take back', 'prompt', 'work'];

function play(plan: readonly Step[]) {
  const records: object[] = [];
  /** What people said and did not take back. */
  const said: string[] = [];
  let waiting: string[] = [];
  const at = () => ({ sessionId: 's', timestamp: new Date(1_790_000_000_000 + records.length * 1_001).toISOString() });
  const add = (record: object) => records.push({ ...at(), ...record });
  const queue = (operation: string, content?: string) => add({ type: 'queue-operation', operation, content });
  const uuid = () => ({ parentUuid: null, uuid: `u${records.length}` });
  const user = (content: string) => add({ ...uuid(), type: 'user', message: { role: 'user', content } });
  const isNotice = (text: string) => text.startsWith('<');
  const speak = (text: string) => {
    said.push(text);
    return text;
  };
  user(speak('go'));
  for (const [index, step] of plan.entries()) {
    const text = `text ${index}`;
    if (step === 'work') {
      const message = { role: 'assistant', id: `msg_${index}`, content: [{ type: 'text', text: `work ${index}` }] };
      add({ ...uuid(), type: 'assistant', message });
    } else if (step === 'text' || step === 'notice') {
      const queued = step === 'text' ? speak(text) : `<task-notification>${index}</task-notification>`;
      waiting.push(queued);
      queue('enqueue', queued);
    } else if (step === 'prompt' && waiting.length === 0) {
      user(speak(text));
    } else if (step === 'take back') {
      for (const queued of waiting) {
        queue('popAll', queued);
        if (!isNotice(queued)) said.splice(said.indexOf(queued), 1);
      }
      waiting = [];
    } else if (step === 'give' || step === 'attach') {
      const given = waiting.splice(0);
      for (const _ of given) queue('remove');
      for (const prompt of step === 'attach' ? given : []) {
        const commandMode = isNotice(prompt) ? 'task-notification' : 'prompt';
        add({ ...uuid(), type: 'attachment', attachment: { type: 'queued_command', prompt, commandMode } });
      }
    } else if (step === 'send') {
      const [sent] = waiting.splice(0, 1);
      if (sent === undefined) continue;
      queue('dequeue');
      user(sent);
    }
  }
  return { records, said };
}

const wordsOf = ({ parts }: Message) => parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');

test('each is said once, at every length of the file, and no other message changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...steps), { maxLength: 24 }), fc.nat(), async (plan, cut) => {
      const { records, said } = play(plan);
      const messages = await messagesOf(...records);
      const human = messages.filter(({ speaker }) => speaker === 'human').map(wordsOf);
      expect(human.toSorted()).toEqual(said.toSorted());
      const others = (all: Message[]) => all.filter(({ id }) => !id.startsWith('queued-'));
      expect(others(messages)).toEqual(
        others(await messagesOf(...records.filter((record) => !('operation' in record)))),
      );
      const part = await messagesOf(...records.slice(0, 1 + (cut % records.length)));
      expect(new Set(part.map(wordsOf)).size).toBe(part.length);
      expect(others(messages).slice(0, others(part).length)).toEqual(others(part));
    }),
    { numRuns: sized({ quick: 40, deep: 300 }) },
  );
});

test('each stands where it was given: before the work that knew it, after the work that did not', async () => {
  const messages = await messagesOf(...play(['work', 'text', 'work', 'give', 'work', 'prompt', 'work']).records);
  expect(messages.map(wordsOf)).toEqual(['go', 'work 0', 'work 2', 'text 1', 'work 4', 'text 5', 'work 6']);
});
