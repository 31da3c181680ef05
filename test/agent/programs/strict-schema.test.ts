// The forms in which programs are asked for an answer, by a checker of its own of what OpenAI documents of its strict
// subset (platform.openai.com/docs/guides/structured-outputs, "Supported schemas").

import { expect, test } from 'vitest';
import { PROPOSAL_TOOL } from '../../../jobs/dream/propose.ts';
import { strictSchema, withoutNulls } from '../../../src/agent/programs/ask-program.ts';
import { recordEntriesTool } from '../../../src/agent/tools.ts';
import type { ToolDefinition } from '../../../src/agent/types.ts';

type Schema = Record<string, unknown>;

const ALLOWED = new Set(
  'type enum const description $ref $defs anyOf items properties required additionalProperties'.split(' '),
);
const DEEPEST = 10;

/** What is wrong with a schema, by its place. */
function problemsOf(root: Schema): string[] {
  const found: string[] = [];
  const names = { properties: 0, enums: 0, characters: 0 };
  const look = (schema: Schema, at: string, depth: number): void => {
    const say = (problem: string) => found.push(`${at || 'root'}: ${problem}`);
    for (const key of Object.keys(schema)) if (!ALLOWED.has(key)) say(`${key} is not in the subset`);
    if (depth > DEEPEST) say('nested too deep');
    const { type, properties, required, additionalProperties, items, anyOf } = schema;
    names.enums += Array.isArray(schema.enum) ? schema.enum.length : 0;
    if (properties || type === 'object') {
      if (additionalProperties !== false) say('properties may be added');
      const own = Object.keys((properties ?? {}) as Schema);
      if (JSON.stringify([...own].sort()) !== JSON.stringify([...((required ?? []) as string[])].sort()))
        say('a property may be left out');
      names.properties += own.length;
      names.characters += own.join('').length;
      for (const [name, each] of Object.entries((properties ?? {}) as Record<string, Schema>))
        look(each, `${at}.${name}`, depth + 1);
    }
    if (type === 'array') look((items ?? { no: 'items' }) as Schema, `${at}[]`, depth + 1);
    if (!type && !anyOf && !schema.$ref) say('neither a type, nor choices, nor a reference');
    for (const [index, each] of ((anyOf ?? []) as Schema[]).entries()) look(each, `${at}|${index}`, depth);
    for (const [name, each] of Object.entries((schema.$defs ?? {}) as Record<string, Schema>))
      look(each, `$defs.${name}`, 1);
  };
  look(root, '', 1);
  if (root.type !== 'object' || root.anyOf) found.push('root: it is no object');
  if (names.properties > 5_000 || names.enums > 1_000 || names.characters > 120_000) found.push('root: too large');
  return found;
}

const inputOf = (tool: ToolDefinition) => (tool as Extract<ToolDefinition, { kind: 'custom' }>).inputSchema as Schema;

test.each([
  ['record_entries', inputOf(recordEntriesTool({} as Parameters<typeof recordEntriesTool>[0]).definition)],
  ['propose_operations', inputOf(PROPOSAL_TOOL)],
])('the form of %s is in the strict subset, which the tool’s own schema is not', (_, schema) => {
  expect(problemsOf(schema)).not.toEqual([]);
  expect(problemsOf(strictSchema(schema))).toEqual([]);
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
