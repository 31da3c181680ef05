// The forms in which programs are asked for an answer, by a checker of what their services document of the schemas that they
// take (test/agents/strict-schema.ts).

import { expect, test } from 'vitest';
import { PROPOSAL_TOOL } from '../../../jobs/dream/dream-proposal.ts';
import type { ToolDefinition } from '../../../src/agent/agent-types.ts';
import { strictSchema, withoutNulls } from '../../../src/agent/programs/ask-program.ts';
import { recordEntriesTool } from '../../../src/agent/tools.ts';
import { refusedSchema } from '../../agents/strict-schema.ts';

type Schema = Record<string, unknown>;

const inputOf = (tool: ToolDefinition) => (tool as Extract<ToolDefinition, { kind: 'custom' }>).inputSchema as Schema;

test.each([
  ['record_entries', inputOf(recordEntriesTool({} as Parameters<typeof recordEntriesTool>[0]).definition)],
  ['propose_operations', inputOf(PROPOSAL_TOOL)],
])('the form of %s is in the strict subset, which the tool’s own schema is not', (name, schema) => {
  const refusals = (given: Schema) => [
    refusedSchema('responses', { text: { format: { name, schema: given } } }),
    refusedSchema('messages', { tools: [{ name: 'StructuredOutput', input_schema: given }] }),
  ];
  expect(refusals(schema)[0]).toMatchObject({ status: 400 });
  expect(refusals(strictSchema(schema))).toEqual([null, null]);
  expect(JSON.stringify(strictSchema(schema)).length).toBeLessThan(120_000);
});

test('choices of the operations are told apart by their first property', () => {
  const { properties } = strictSchema(inputOf(PROPOSAL_TOOL)) as { properties: { operations: Schema } };
  const { anyOf } = (properties.operations as { items: { anyOf: { properties: Schema }[] } }).items;
  const firsts = anyOf.map((each) => JSON.stringify(Object.entries(each.properties)[0]));
  expect(new Set(firsts).size).toBe(anyOf.length);
  for (const first of firsts) expect(first).toMatch(/^\["kind",\{.*"const":/);
});

test('what may be left out is null in the answer, and is left out again of what the tool is given', () => {
  const strict = strictSchema({
    type: 'object',
    properties: { a: { type: 'string', maxLength: 3 }, b: { type: 'array', items: { type: 'number' }, minItems: 1 } },
    required: ['a'],
  });
  expect(strict).toEqual({
    type: 'object',
    properties: {
      a: { type: 'string' },
      b: { anyOf: [{ type: 'array', items: { type: 'number' } }, { type: 'null' }] },
    },
    required: ['a', 'b'],
    additionalProperties: false,
  });
  expect(withoutNulls({ a: 'x', b: null, c: [{ d: null, e: 0 }, ''], f: false })).toEqual({
    ...{ a: 'x', c: [{ e: 0 }, ''], f: false },
  });
});
