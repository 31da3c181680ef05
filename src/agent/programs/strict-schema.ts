// A tool's JSON schema in the strict subset that services take as the form of an answer: every property is required and
// none may be added, what may be left out may be null, and bounds of lengths are left out. Code checks those afterwards.

import { isObject, type JsonObject } from '../../base/text/json.ts';

/** What the subset keeps as it stands. */
const KEPT = ['type', 'enum', 'const', 'description', '$ref'];

export function strictSchema(schema: JsonObject): JsonObject {
  const strict: JsonObject = Object.fromEntries(KEPT.flatMap((name) => (name in schema ? [[name, schema[name]]] : [])));
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) strict.anyOf = choices.map(strictSchema);
  if (isObject(schema.items)) strict.items = strictSchema(schema.items);
  if (isObject(schema.$defs)) strict.$defs = strictEach(schema.$defs);
  if (!isObject(schema.properties)) return strict;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = Object.entries(strictEach(schema.properties)).map(([name, value]) => [
    name,
    required.includes(name) ? value : { anyOf: [value, { type: 'null' }] },
  ]);
  return {
    ...strict,
    properties: Object.fromEntries(properties),
    required: properties.map(([name]) => name),
    additionalProperties: false,
  };
}

function strictEach(schemas: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, value]) => [name, isObject(value) ? strictSchema(value) : value]),
  );
}

/** An answer by the subset without what was left out by saying null. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (each === null ? [] : [[name, withoutNulls(each)]])),
  );
}
