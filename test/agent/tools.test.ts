import { describe, expect, it } from 'vitest';
import { memoryViewTool, routeTools } from '../../src/agent/tools.ts';
import { AppError } from '../../src/base/errors.ts';
import type { EvidenceSource } from '../../src/rules/candidate.ts';
import { entry, quoting, recorder, recordOne, SOURCES } from '../support/recorder.ts';

describe('recording an entry', () => {
  it('keeps a checked entry with its speaker, turn and time', async () => {
    const { reply, found } = await recordOne();
    expect(reply).toEqual({ text: '0: recorded', isError: false, endsRun: true });
    expect(found).toEqual([
      {
        type: 'feedback',
        strength: 'stated',
        text: 'Use spaces, never tabs.',
        evidence: [{ message: 'human-0001', quote: 'never use tabs', by: 'human' }],
        by: 'human',
        turn: 'turn-1',
        at: '2026-03-05T10:00:00.000Z',
      },
    ]);
  });

  it('keeps the good entries of a call and says of each other what to mend', async () => {
    const tool = recorder();
    const reply = await tool.call({
      entries: [entry(), entry({ type: 'preference' }), entry(quoting('human-0001', 'always use tabs'))],
    });
    expect(reply).toMatchObject({ isError: false, endsRun: false });
    expect(reply.text).toMatch(
      /^0: recorded\n1: not recorded\. type: .*\n2: not recorded\. evidence\[0\]\.quote: .*human-0001.*\nSend only 1, 2 again/,
    );
    expect([tool.recorded().length, tool.refused().length]).toEqual([1, 2]);
    expect(await tool.call({ entries: [entry({ type: 'user' })] })).toMatchObject({ isError: false, endsRun: true });
    // What was sent again, and passed, counts no more.
    expect(tool.refused()).toEqual([]);
  });

  it('is an error to the model only where nothing of a call was taken', async () => {
    const bad = entry({ type: 'preference' });
    expect(await recorder().call({ entries: [bad] })).toMatchObject({ isError: true, endsRun: false });
    expect(await recorder().call({ entries: [bad, entry()] })).toMatchObject({ isError: false, endsRun: false });
  });

  it('redacts the text before it is kept', async () => {
    const redact = async (text: string) => ({ text: text.replace('hunter2', '[password]') });
    const { found } = await recordOne({ text: 'Never use tabs in hunter2.' }, { redact });
    expect(found[0]?.text).toBe('Never use tabs in [password].');
  });

  it('takes two things of one type that one sentence says, if they are sent together, and each once', async () => {
    const tool = recorder();
    const [one, other] = [entry(), entry({ text: 'Never use mixed indentation.' })];
    expect((await tool.call({ entries: [one, other, one] })).text).toBe(
      '0: recorded\n1: recorded\n2: already recorded',
    );
    expect((await tool.call({ entries: [other] })).text).toBe('0: already recorded');
    expect(tool.recorded().map(({ text }) => text)).toEqual([one.text, other.text]);
  });

  it('answers "already recorded" for the same words of the same type, here or in an earlier run', async () => {
    const tool = recorder();
    await tool.call({ entries: [entry()] });
    const other = { type: 'user', text: 'Kim dislikes mixed indentation.' };
    const again = await tool.call({ entries: [entry({ text: 'Never tabs.' }), entry(other)] });
    expect(again).toEqual({ text: '0: already recorded\n1: recorded', isError: false, endsRun: true });
    const asked: unknown[] = [];
    const { reply, found } = await recordOne({}, { isKnown: (candidate) => asked.push(candidate) > 0 });
    expect(reply).toMatchObject({ text: '0: already recorded', isError: false });
    expect(found).toEqual([]);
    expect(asked).toEqual([{ text: 'Use spaces, never tabs.', message: 'human-0001', quote: 'never use tabs' }]);
  });

  it('finds the line that an entry says again by the number that it was shown under, however that is written', async () => {
    const lineOf = (number: number) => ['0a1b2c3d', '4e5f6a7b'][number - 1];
    for (const again of [2, '2', '[2]', '2.'])
      expect((await recordOne({ again }, { lineOf })).found[0]?.again).toBe('4e5f6a7b');
    for (const again of [0, 3, 'the second', '']) {
      const { reply, found } = await recordOne({ again }, { lineOf });
      expect(reply).toMatchObject({ text: expect.stringContaining('no line of that number'), endsRun: true });
      expect(found.map((each) => each.again)).toEqual([undefined]);
    }
  });

  it('records once what two calls at the same time record', async () => {
    const tool = recorder();
    await Promise.all([tool.call({ entries: [entry()] }), tool.call({ entries: [entry()] })]);
    expect(tool.recorded()).toHaveLength(1);
  });
});

/** A habit is carried by no share of words. */
const shown = { strength: 'implied', text: 'Spaces rather than tabs.' };

describe('evidence', () => {
  it('lets a short answer stand beside the question that makes it understandable', async () => {
    const { found } = await recordOne({
      text: 'Deploy local, not to staging.',
      evidence: [
        { message: 'human-0002', quote: 'no, local' },
        { message: 'assist-001', quote: 'deploy to staging or keep it local?' },
      ],
    });
    expect(found[0]?.evidence).toHaveLength(2);
  });

  it('stores the full id of a message, however it was named', async () => {
    const find = (id: string) => SOURCES.find((source) => source.id.startsWith(id));
    const { found } = await recordOne(quoting('human-00', 'never use tabs'), { find });
    expect(found[0]?.evidence[0]?.message).toBe('human-0001');
  });

  it('says of words that another message says which one it is', async () => {
    const { reply } = await recordOne(quoting('human-0002', 'never use tabs'));
    expect(reply.text).toContain('these words do not stand in human-0002, but in human-0001. Name that message.');
  });

  it("stores the source's own words, whatever quotes, dashes, spaces or accents the model typed", async () => {
    const typed = `never use tabs - I don't like "mixed" indentation in ${'cafés'.normalize('NFD')}.`;
    const { found } = await recordOne(quoting('human-0001', typed));
    expect(found[0]?.evidence[0]?.quote).toBe('never use tabs — I don’t like “mixed” indentation in cafés.');
  });

  it('forgives the line marks of the excerpt, also before a line that begins with one itself', async () => {
    const { found } = await recordOne(quoting('human-0001', '| never use tabs —\n| I don’t like'));
    expect(found[0]?.evidence[0]?.quote).toBe('never use tabs — I don’t like');
    const table: EvidenceSource = { id: 't', turn: 't', speaker: 'human', text: '| a | b |\n| c | d |', offered: true };
    const inTable = await recordOne({ ...shown, ...quoting('t', '| | a | b |\n| | c | d |') }, { find: () => table });
    expect(inTable.found[0]?.evidence[0]?.quote).toBe('| a | b | | c | d |');
  });

  it.each([
    ['words that were not said', 'human-0001', 'never use spaces'],
    ['words with a gap', 'human-0001', 'Please never … mixed indentation'],
    ['a part of a word', 'human-0001', 'ever use tabs'],
    ['a word without its accent', 'human-0001', 'indentation in cafe'],
    ['a word without its negation', 'human-0001', 'I don'],
    ['a single word of many', 'human-0001', 'tabs'],
    ['only punctuation', 'human-0001', '“'],
    ["another message's words", 'human-0002', 'never use tabs'],
  ])('refuses %s', async (_, message, quote) => {
    const { reply, found } = await recordOne(quoting(message, quote));
    expect(reply.text).toMatch(/^0: not recorded\. evidence\[0\]\.quote: /);
    expect(found).toEqual([]);
  });

  it('accepts a single word that a message begins with as its answer, and no other', async () => {
    const source: EvidenceSource = {
      ...{ id: 'right-01', turn: 't', speaker: 'human', offered: true },
      text: 'Right. no, wait: spaces, what else?',
    };
    const beside = async (quote: string) => {
      const evidence = [{ message: 'human-0001', quote: 'never use tabs' }];
      const find = (id: string) => (id === 'right-01' ? source : SOURCES.find((each) => each.id === id));
      const { found } = await recordOne({ evidence: [...evidence, { message: 'right-01', quote }] }, { find });
      return found[0]?.evidence[1]?.quote;
    };
    expect(await beside('Right')).toBe('Right');
    expect(await beside('Right.')).toBe('Right.');
    // What the other quote carries by itself is kept without this one.
    for (const quote of ['no', 'spaces', 'R']) expect(await beside(quote)).toBeUndefined();
    source.text = 'right.ts goes';
    expect(await beside('right')).toBeUndefined();
    source.text = '... spaces it is';
    expect(await beside('...')).toBeUndefined();
  });

  it('accepts a single word that is the whole message, and Japanese without spaces', async () => {
    expect((await recordOne({ ...shown, ...quoting('human-0003', 'Yes') })).reply.isError).toBe(false);
    const source: EvidenceSource = {
      id: 'j',
      turn: 't',
      speaker: 'human',
      text: 'APIは常にローカルで実行してください。',
      offered: true,
    };
    const { found } = await recordOne({ ...shown, ...quoting('j', '常にローカルで実行') }, { find: () => source });
    expect(found[0]?.evidence[0]?.quote).toBe('常にローカルで実行');
  });

  it('finds a later occurrence when the first is only a part of a word', async () => {
    const source: EvidenceSource = {
      id: 'x',
      turn: 't',
      speaker: 'human',
      text: 'unlikely to work, likely to fail',
      offered: true,
    };
    expect(
      (await recordOne({ ...shown, ...quoting('x', 'likely to fail') }, { find: () => source })).reply.isError,
    ).toBe(false);
    expect((await recordOne(quoting('x', 'likely to work'), { find: () => source })).reply.isError).toBe(true);
  });

  it('refuses an unknown message, and context as what an entry rests on but not as its support', async () => {
    expect((await recordOne(quoting('nowhere-1', 'never use tabs'))).reply.text).toContain(
      'evidence[0].message: no message nowhere-1',
    );
    expect((await recordOne(quoting('context-01', 'We ship every Friday'))).reply.text).toContain('is context');
    const supported = [
      { message: 'human-0002', quote: 'no, local' },
      { message: 'context-01', quote: 'We ship every Friday' },
    ];
    expect((await recordOne({ ...shown, evidence: supported })).reply.isError).toBe(false);
  });

  it('lets user and feedback rest on a human only, project and reference on anybody', async () => {
    const evidence = [{ message: 'assist-001', quote: 'deploy to staging' }];
    for (const type of ['user', 'feedback']) {
      expect((await recordOne({ type, evidence })).reply.text).toContain(
        `a ${type} entry rests on a human message, assist-001 is by assistant`,
      );
    }
    for (const type of ['project', 'reference'])
      expect((await recordOne({ type, evidence, text: 'Deploy to staging.' })).found[0]?.by).toBe('assistant');
  });
});

describe('the text of an entry', () => {
  it.each([
    ['is empty', ' \t '],
    ['has two lines', 'One.\nTwo.'],
    ['has a hidden line end', 'One.\u2028Two.'],
    ['has control characters', 'Use \u001b[31mred'],
    ['turns the reading direction', 'Use \u202espaces'],
    ['holds half a character', 'Use \ud83d spaces'],
    ['is too long', 'x'.repeat(1_001)],
  ])('is refused when it %s', async (_, text) => {
    const { reply, found } = await recordOne({ text });
    expect(reply.text).toMatch(/^0: not recorded\. text: /);
    expect(found).toEqual([]);
  });

  it('is refused for a relative date', async () => {
    const { reply } = await recordOne({ text: 'The release is tomorrow.' });
    expect(reply.text).toContain(
      '0: not recorded. text: "tomorrow" means nothing on another day. Write the date as YYYY-MM-DD.',
    );
  });
});

describe('the memory tool', () => {
  it('shows what stands at a path, with the range of lines that was asked for', async () => {
    const asked: unknown[] = [];
    const tool = memoryViewTool(async (...request) => {
      asked.push(request);
      return 'lines';
    });
    expect(tool.definition).toEqual({ kind: 'memory', name: 'memory' });
    expect(await tool.call({ command: 'view', path: '/memories' })).toEqual({ text: 'lines', isError: false });
    await tool.call({ command: 'view', path: '/memories/a.md', view_range: [2, -1] });
    expect(asked).toEqual([
      ['/memories', undefined],
      ['/memories/a.md', [2, -1]],
    ]);
  });

  it.each([
    [{ command: 'create', path: '/memories/a.md', file_text: 'x' }],
    [null],
    [{ command: 'view', path: ['/memories'] }],
    [{ command: 'view', path: '/memories', view_range: [1] }],
  ])('refuses %j', async (input) => {
    const reply = await memoryViewTool(() => Promise.reject(new Error('not asked'))).call(input);
    expect(reply.isError).toBe(true);
    expect(reply.text).toContain('read-only');
  });
});

describe('calling tools by name', () => {
  it('answers for unknown names and for tools that throw, and never throws', async () => {
    const failing = memoryViewTool(() => {
      throw new AppError('bad-input', 'No such file.', { remedy: 'View /memories first.' });
    });
    const callTool = routeTools([recorder(), failing]);
    expect(await callTool('memory', { command: 'view', path: '/x' })).toEqual({
      text: 'No such file. View /memories first.',
      isError: true,
    });
    for (const name of ['toString', '__proto__', 'Bash'])
      expect((await callTool(name, {})).text).toBe('There is no tool of that name. Tools: record_entries, memory.');
    expect((await callTool('record_entries', { entries: [entry()] })).isError).toBe(false);
  });
});
