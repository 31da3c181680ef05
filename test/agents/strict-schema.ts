// Which output schemas a service takes, by its documentation, so that a schema which only a lenient loopback would take is
// refused here as the service refuses it. OpenAI's structured outputs: every property required, no others, a list of
// keywords. Anthropic's: the same of objects, and no bounds of numbers, strings and lists beyond `minItems` of 0 or 1.

import type { Refused } from './loopback.ts';
import type { Protocol } from './protocols.ts';

type Schema = Record<string, unknown>;

/** Of names in a context: properties and what their lists hold. */
const DEEPEST = 20;
const BOTH = ['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf'];
const KEYWORDS = {
  responses: [
    ...[...BOTH, '$ref', '$defs', 'description', 'title', 'pattern', 'format', 'minItems', 'maxItems'],
    ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ],
  messages: [...BOTH, 'allOf', '$ref', '$defs', 'definitions', 'description', 'title', 'default', 'format', 'minItems'],
};

/** The service's refusal of a request whose output schema it does not take; null for one that it answers. */
export function refusedSchema(protocol: Protocol, body: Schema): Refused | null {
  if (protocol === 'messages') {
    const tools = (body.tools ?? []) as { name: string; input_schema: Schema }[];
    const at = tools.findIndex(({ name }) => name === 'StructuredOutput');
    const wrong = at < 0 ? null : wrongIn(tools[at]?.input_schema ?? {}, 'messages', '()');
    if (!wrong) return null;
    const message = `tools.${at}.custom.input_schema: ${wrong}`;
    return { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } };
  }
  const format = (body.text as { format?: { name: string; schema: Schema } } | undefined)?.format;
  if (protocol !== 'responses' || !format) return null;
  const isObject = format.schema.type === 'object' && !format.schema.anyOf;
  const wrong = isObject ? wrongIn(format.schema, 'responses', '()') : 'In context=(), the root must be an object.';
  if (!wrong) return null;
  const message = `Invalid schema for response_format '${format.name}': ${wrong}`;
  const error = { message, type: 'invalid_request_error', param: 'text.format.schema', code: 'invalid_json_schema' };
  return { status: 400, body: { error } };
}

function wrongIn(schema: Schema, service: keyof typeof KEYWORDS, context: string): string | null {
  const stranger = Object.keys(schema).find((key) => !KEYWORDS[service].includes(key));
  if (stranger) return `In context=${context}, '${stranger}' is not permitted.`;
  if (context.split(', ').length > DEEPEST) return `In context=${context}, it is nested too deep.`;
  if (!['type', 'anyOf', 'allOf', '$ref', 'const', 'enum'].some((key) => key in schema))
    return `In context=${context}, neither a type, nor choices, nor a reference.`;
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  if (schema.type === 'object') {
    if (schema.additionalProperties !== false)
      return `In context=${context}, 'additionalProperties' is required to be supplied and to be false.`;
    const required = (schema.required ?? []) as string[];
    const missing = Object.keys(properties).find((name) => !required.includes(name));
    if (missing && service === 'responses')
      return `In context=${context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`;
  }
  if (service === 'messages' && Number(schema.minItems ?? 0) > 1)
    return `In context=${context}, 'minItems' is above 1.`;
  const lists = ['anyOf', 'allOf'].flatMap((key) => (schema[key] ?? []) as Schema[]);
  const inner: [string, Schema][] = [
    ...Object.entries(properties),
    ...Object.entries((schema.$defs ?? schema.definitions ?? {}) as Record<string, Schema>),
    ...lists.map((each, at): [string, Schema] => [String(at), each]),
    ...(schema.items ? [['items', schema.items as Schema] satisfies [string, Schema]] : []),
  ];
  for (const [name, each] of inner) {
    const wrong = wrongIn(each, service, `${context.slice(0, -1)}'${name}', )`);
    if (wrong) return wrong;
  }
  return null;
}
