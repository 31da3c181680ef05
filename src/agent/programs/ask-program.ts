// Puts a program in the place of the Messages API, behind the SDK: what would be sent becomes a task for the program,
// its answer a call of the run's one tool, as a model would have made it. The act itself is the parent's.
// An answer that is not of the form asked for is a call all the same: the tool says what is wrong with it, and the
// next turn mends it.

import type { Middleware } from '@anthropic-ai/sdk/core/middleware';
import { asData } from '../../base/prompt.ts';
import { isObject, type JsonObject, objectsOf, parseObject } from '../../base/text/json.ts';
import { type ProgramAnswer, ProgramFailure, type ProgramTask, type programOf } from './programs.ts';

/** Of what is no answer, the tool is shown so much. */
const MOST_CHARACTERS = 2_000;

type Run = (task: ProgramTask) => Promise<ProgramAnswer>;

/** Answers in place of the request's `next`, which is never called. */
export function askProgram(named: NonNullable<ReturnType<typeof programOf>>, requestMs: number, run: Run): Middleware {
  return async (request) => {
    const body = parseObject(String(request.body)) ?? {};
    const [tool] = objectsOf(body.tools);
    const task: ProgramTask = {
      model: named.model,
      system: textsOf(body.system),
      prompt: promptOf(objectsOf(body.messages)),
      schema: tool && isObject(tool.input_schema) ? strictSchema(tool.input_schema) : ANY,
      maxOutputTokens: Number(body.max_tokens),
      requestMs,
    };
    const answer = await run(task);
    if (answer.failure) throw new ProgramFailure(answer.failure, answer.usage);
    return Response.json(messageOf(answer, { model: String(body.model), tool: tool?.name }));
  };
}

/** Where a request has no tool (to try the model), anything is an answer. */
const ANY = {
  type: 'object',
  properties: { answer: { type: 'string' } },
  required: ['answer'],
  additionalProperties: false,
};

function textsOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsOf(content)
    .map(({ text }) => text)
    .join('\n\n');
}

/** The first message, and behind it what was answered and what came back. */
function promptOf([first, ...later]: Record<string, unknown>[]): string {
  const said = later.flatMap(({ role, content }) => {
    const tag = role === 'assistant' ? 'answered' : 'reply';
    const texts = objectsOf(content).map(({ input, content }) =>
      input === undefined ? textsOf(content) : JSON.stringify(input),
    );
    return [`<${tag}>`, asData(texts.join('\n')), `</${tag}>`];
  });
  return [textsOf(first?.content), ...said].join('\n');
}

function messageOf(
  { output, usage, model: answering }: ProgramAnswer,
  { model, tool }: { model: string; tool: unknown },
) {
  const input = withoutNulls(typeof output === 'string' ? output.slice(0, MOST_CHARACTERS) : output);
  const isCall = typeof tool === 'string' && !isEmpty(input);
  return {
    id: 'msg_program',
    type: 'message',
    role: 'assistant',
    model: answering ?? model,
    content: isCall
      ? [{ type: 'tool_use', id: 'toolu_program', name: tool, input }]
      : [{ type: 'text', text: 'Nothing.' }],
    stop_reason: isCall ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    ...(usage && { usage }),
  };
}

/** `{ "entries": [] }`: there is nothing to call the tool with. */
function isEmpty(input: unknown): boolean {
  return isObject(input) && Object.values(input).every((value) => Array.isArray(value) && value.length === 0);
}

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
