import { describe, expect, test } from 'vitest';
import { messagesAt, transcriptOf } from '../support/transcripts.ts';

async function read(...said: [role: 'user' | 'assistant', content: unknown][]) {
  const array = said.map(([role, content]) => ({ role, content }));
  return messagesAt(transcriptOf(JSON.stringify(array)));
}
const text = (...texts: string[]) => texts.map((each) => ({ type: 'text', text: each }));

describe('what a person marks as private', () => {
  test.each([
    ['in a line', 'before <private>hunter2</private> after'],
    ['over lines', 'before\n<private>\nhunter2\n\n</private>\nafter'],
    ['without an end', 'before <private> hunter2 and more'],
    ['in another', 'a <private>b <private>c</private> hunter2</private> d'],
    ['in capitals, with more in the tag', '<PRIVATE reason="mine">hunter2</PRIVATE>'],
  ])('%s is nowhere in the message', async (_, said) => {
    const [message] = await read(['user', said]);
    expect(message).toMatchObject({ speaker: 'human', beginsTurn: true, parts: [], isPrivate: true });
  });

  test('reaches from one part into the next', async () => {
    const [message] = await read(['user', text('<private> one', 'hunter2')]);
    expect(message?.parts).toEqual([]);
  });

  test('is not what a tool or an agent writes', async () => {
    const messages = await read(
      ['user', 'look at it'],
      ['assistant', 'The tag <private> is in the page.'],
      ['user', [{ type: 'tool_result', tool_use_id: 't', content: '<private>x</private>' }]],
    );
    expect(messages.filter((message) => message.isPrivate)).toEqual([]);
  });
});

describe('memory that nocturne recalled', () => {
  const recalled = '<nocturne-memory v="1">\n- Use pnpm [a.md]\n</nocturne-memory>';

  test('is taken out of what a person said, and of what a tool answered', async () => {
    const messages = await read(
      ['user', `${recalled}\nhello ${recalled}`],
      ['user', [{ type: 'tool_result', tool_use_id: 't', content: `ok ${recalled}` }]],
    );
    expect(messages.map(({ speaker, parts }) => [speaker, parts])).toEqual([
      ['human', [{ kind: 'text', text: 'hello' }]],
      ['tool', [{ kind: 'result', callId: 't', text: 'ok', isError: false }]],
    ]);
  });

  test('that stands alone was not said by a person, nor does it begin a turn; unclosed it reaches to the end', async () => {
    for (const said of [recalled, '<nocturne-memory>\n- Use pnpm'])
      expect(await read(['user', said])).toMatchObject([{ speaker: 'harness', beginsTurn: false, parts: [] }]);
  });
});
