import { describe, expect, it } from 'vitest';
import type { EvidenceSource } from '../../src/rules/candidate.ts';
import { sized } from '../support/depth.ts';
import { entry, quoting, recorder, recordOne } from '../support/recorder.ts';

describe('what models send', () => {
  it.each([
    ['a bare array', [entry()]],
    ['entries as JSON text', { entries: JSON.stringify([entry()]) }],
    ['a single evidence', { entries: [entry({ evidence: { message: 'human-0001', quote: 'never use tabs' } })] }],
  ])('reads %s as meant', async (_, input) => {
    const tool = recorder();
    expect(await tool.call(input)).toEqual({ text: '0: recorded', isError: false, endsRun: true });
  });

  it.each([
    ['nothing', undefined, 'entries: must be an array, nothing was found'],
    ['null', null, 'nothing was found'],
    ['a number', 7, 'a number was found'],
    ['a single entry', { entries: entry() }, 'an object was found'],
    ['an entry in place of the input', entry(), 'type: not known here'],
    ['text that is no JSON', { entries: '[{' }, 'a string was found'],
    ['no entries', { entries: [] }, 'entries: is empty'],
    ['too many entries', { entries: Array(21).fill(entry()) }, 'at most 20 in one call, 21 were found'],
    ['no evidence', { entries: [entry({ evidence: [] })] }, '0: not recorded. evidence: '],
    [
      'eleven evidences',
      { entries: [entry({ evidence: Array(11).fill(entry().evidence[0]) })] },
      '0: not recorded. evidence: ',
    ],
    ['an unknown field', { entries: [entry({ confidence: 1 })] }, 'confidence'],
    ['a nested array', { entries: [[entry()]] }, '0: not recorded. entry: '],
    ['a wrong quote', { entries: [entry({ evidence: [{ message: 'human-0001', quote: 7 }] })] }, 'evidence[0].quote: '],
    ['prototype keys', JSON.parse('{"__proto__":{"entries":[]},"constructor":1}'), '__proto__: not known here'],
    [
      'a prototype key in an entry',
      { entries: [JSON.parse('{"__proto__":{"type":"user"}}')] },
      '0: not recorded. type: ',
    ],
  ])('refuses %s and says where and what was expected', async (_, input, expected) => {
    const tool = recorder();
    const reply = await tool.call(input);
    expect(reply.isError).toBe(true);
    expect(reply.text).toContain(expected);
    expect(tool.recorded()).toEqual([]);
  });

  it('answers shortly and soon to megabytes', async () => {
    const huge = 'a '.repeat(sized({ quick: 300_000, deep: 3_000_000 }));
    const tool = recorder();
    for (const input of [
      { entries: huge },
      { [huge]: 1 },
      {
        entries: [
          entry({ text: huge }),
          entry({ type: huge }),
          entry({ [huge]: 1 }),
          entry(quoting('human-0001', huge)),
        ],
      },
      { entries: [entry(quoting(huge, 'never use tabs'))] },
      { entries: `${'['.repeat(90_000)}${']'.repeat(90_000)}` },
    ]) {
      const reply = await tool.call(input);
      expect(reply.isError).toBe(true);
      expect(reply.text.length).toBeLessThan(3_000);
    }
    const source: EvidenceSource = {
      id: 'b',
      turn: 't',
      speaker: 'human',
      text: `${huge}é never  use tabs`,
      offered: true,
    };
    const { found } = await recordOne(quoting('b', 'é never use tabs'.normalize('NFD')), { find: () => source });
    expect(found[0]?.evidence[0]?.quote).toBe('é never use tabs');
  });

  it('tells the model a closed schema', () => {
    const { definition } = recorder();
    expect(definition).toMatchObject({
      kind: 'custom',
      name: 'record_entries',
      inputSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['entries'],
        properties: {
          entries: {
            items: {
              additionalProperties: false,
              properties: {
                type: { enum: ['user', 'feedback', 'project', 'reference'] },
                evidence: { minItems: 1, maxItems: 6, items: { additionalProperties: false } },
              },
            },
          },
        },
      },
    });
  });
});
