// A model behind an agent's program, as loopback plays it: what the scripted model would answer to the same words, in the
// form that was asked for. It looks for its words where each protocol carries them.

import { answer } from '../support/scripted-model.ts';
import type { Asked, Said } from './loopback.ts';

interface Schema {
  type?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
}
type Content = string | { text?: string }[];
type Block = { type?: string; role?: string; content?: Content };

/** What the program was given on stdin, without what it says before. */
export function promptOf({ body }: Asked): string {
  const { messages, input } = JSON.parse(body) as { messages?: Block[]; input?: Block[] };
  const [last] = (messages ?? input ?? []).filter(({ role }) => role === 'user').slice(messages ? 0 : -1);
  const content = last?.content ?? '';
  return typeof content === 'string' ? content : (content.at(-1)?.text ?? '');
}

/** The form of the answer. */
export function schemaOf({ body }: Asked): Schema {
  const { tools = [], text } = JSON.parse(body) as {
    tools?: { name?: string; input_schema?: Schema }[];
    text?: { format?: { schema: Schema } };
  };
  return text?.format?.schema ?? tools.find(({ name }) => name === 'StructuredOutput')?.input_schema ?? {};
}

/** What the scripted model makes of the first message. */
export function asScripted(asked: Asked): Said & { output: { [list: string]: unknown[] } } {
  const schema = schemaOf(asked);
  const [list = ''] = Object.keys(schema.properties ?? {});
  const name = list === 'operations' ? 'propose_operations' : 'record_entries';
  const content = promptOf(asked).split('\n<answered>\n')[0] ?? '';
  const [call] = answer({ tools: [{ name }], messages: [{ content }] }).tools ?? [];
  return { output: filled(call?.input ?? { [list]: [] }, schema) as { [list: string]: unknown[] } };
}

/** With null for what is left out: in strict forms everything is there. */
function filled(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) {
    const { items = {} } = schema.anyOf?.find((each) => each.items) ?? schema;
    return value.map((each) => filled(each, items));
  }
  if (typeof value !== 'object' || value === null) return value;
  const object = value as Record<string, unknown>;
  const isOf = ({ properties = {} }: Schema) =>
    Object.entries(properties).every(([name, { const: one, enum: some }]) => {
      return (one === undefined || one === object[name]) && (!some || some.includes(object[name]));
    });
  const of = schema.anyOf ? (schema.anyOf.find((each) => each.properties && isOf(each)) ?? {}) : schema;
  const names = Object.keys(of.properties ?? {});
  return Object.fromEntries(names.map((name) => [name, filled(object[name] ?? null, of.properties?.[name] ?? {})]));
}
