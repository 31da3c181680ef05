// The loopback takes the forms that the services take, and no others: what it lets through proves something.

import { expect, test } from 'vitest';
import { strictSchema } from '../../src/agent/programs/strict-schema.ts';
import { refusedSchema } from './strict-schema.ts';

const TEXT = { type: 'string' };
const object = (properties: object, more: object = {}) => ({
  ...{ type: 'object', properties, required: Object.keys(properties), additionalProperties: false },
  ...more,
});

function asked(schema: object) {
  const format = { type: 'json_schema', strict: true, name: 'codex_output_schema', schema };
  const tools = [{ name: 'StructuredOutput', input_schema: schema }];
  return {
    responses: refusedSchema('responses', { text: { format } })?.body,
    messages: refusedSchema('messages', { tools })?.body,
  };
}

test('a form that a service does not take is refused in its words', () => {
  const open = object({ a: TEXT }, { additionalProperties: undefined });
  expect(JSON.stringify(asked(open).responses)).toMatch(/'additionalProperties' is required .*"invalid_json_schema"/);
  expect(JSON.stringify(asked(open).messages)).toMatch(/input_schema: .*'additionalProperties' is required/);
  const optional = asked(object({ list: { type: 'array', items: object({ a: TEXT }, { required: [] }) } }));
  expect(JSON.stringify(optional.responses)).toContain("Missing 'a'");
  expect(optional.messages).toBeUndefined();
  const bounded = asked(object({ a: { ...TEXT, maxLength: 9 } }));
  expect(JSON.stringify(bounded.responses)).toContain("'maxLength' is not permitted");
  expect(JSON.stringify(bounded.messages)).toContain("'maxLength' is not permitted");
  expect(JSON.stringify(asked({ anyOf: [object({}), object({})] }).responses)).toContain('the root must be an object');
});

test('what nocturne makes of such forms is taken', () => {
  const entry = object({ a: { ...TEXT, maxLength: 9 }, b: TEXT }, { required: ['a'], additionalProperties: undefined });
  const made = strictSchema(object({ entries: { type: 'array', maxItems: 20, items: entry } }));
  expect(asked(made)).toEqual({ responses: undefined, messages: undefined });
});
