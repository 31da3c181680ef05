// How each service words an answer as a stream of events: as little of it as the programs need. Usage is always the same,
// so that a test knows what a request is counted as.

import type { Said } from './loopback.ts';

export type Protocol = 'messages' | 'responses' | 'gemini';

/** What every answer is said to have taken. */
export const USAGE = { input: 1_000, cacheRead: 200, cacheCreation: 30, output: 50 };

interface Answer {
  said: Said;
  /** The request's. */
  body: Record<string, unknown>;
  call: number;
}

/** Which protocol a POST to this address is of; null for what is no request for an answer. */
export function protocolOf(url: string): Protocol | null {
  const path = url.split('?')[0] ?? '';
  if (path.endsWith('/v1/messages')) return 'messages';
  if (path.endsWith('/responses')) return 'responses';
  return /:(?:streamGenerateContent|generateContent)$/.test(path) ? 'gemini' : null;
}

export function eventsOf(protocol: Protocol, answer: Answer): string[] {
  const events = EVENTS[protocol](answer);
  return events.map(eventText);
}

type Event = { type: string; [key: string]: unknown } | { candidates: object[] };

export const eventText = (event: Event): string =>
  `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;

interface MessageReply {
  id: string;
  model: unknown;
  content: { type: string; [key: string]: unknown }[];
  stop_reason: string;
  usage: object;
}

/** A reply of the Messages API, event by event. */
export function messageEvents({ id, model, content, stop_reason, usage }: MessageReply): Event[] {
  const message = { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null };
  return [
    { type: 'message_start', message: { ...message, usage: { ...usage, output_tokens: 1 } } },
    ...content.flatMap((block, index) => {
      const isCall = block.type === 'tool_use';
      const json = { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
      return [
        { type: 'content_block_start', index, content_block: { ...block, ...(isCall ? { input: {} } : { text: '' }) } },
        { type: 'content_block_delta', index, delta: isCall ? json : { type: 'text_delta', text: block.text } },
        { type: 'content_block_stop', index },
      ];
    }),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
}

const EVENTS: Record<Protocol, (answer: Answer) => Event[]> = {
  messages({ said, body, call }) {
    const { input: input_tokens, cacheRead, cacheCreation, output: output_tokens } = USAGE;
    const usage = { input_tokens, cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheCreation };
    const hasTool = JSON.stringify(body.tools ?? []).includes('"StructuredOutput"');
    const { output } = said;
    const words = said.text ?? (output !== undefined && !hasTool ? JSON.stringify(output) : undefined);
    const called = said.call ?? (output !== undefined && hasTool ? { name: 'StructuredOutput', input: output } : null);
    return messageEvents({
      ...{ id: `msg_${call}`, model: body.model, stop_reason: said.stop ?? (called ? 'tool_use' : 'end_turn') },
      usage: { ...usage, output_tokens },
      content: [
        ...(words === undefined ? [] : [{ type: 'text', text: words }]),
        ...(called ? [{ type: 'tool_use', id: `toolu_${call}`, ...called }] : []),
      ],
    });
  },
  responses({ said, call }) {
    const text = said.text ?? JSON.stringify(said.output);
    const [id, item_id] = [`resp_${call}`, `item_${call}`];
    const at = { item_id, output_index: 0, content_index: 0 };
    const part = (said: string) => ({ type: 'output_text', text: said, annotations: [] });
    const item = { type: 'message', id: item_id, role: 'assistant', status: 'completed', content: [part(text)] };
    const usage = {
      input_tokens: USAGE.input + USAGE.cacheRead,
      input_tokens_details: { cached_tokens: USAGE.cacheRead },
      output_tokens: USAGE.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: USAGE.input + USAGE.cacheRead + USAGE.output,
    };
    if (said.call) {
      const { name, input } = said.call;
      const item = {
        type: 'function_call',
        id: item_id,
        call_id: `call_${call}`,
        name,
        arguments: JSON.stringify(input),
      };
      return [
        { type: 'response.created', response: { id } },
        { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { id, status: 'completed', output: [item], usage } },
      ];
    }
    if (said.stop) {
      const response = { id, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, usage };
      return [
        { type: 'response.created', response: { id } },
        { type: 'response.incomplete', response },
      ];
    }
    return [
      { type: 'response.created', response: { id } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...at, part: part('') },
      { type: 'response.output_text.delta', ...at, delta: text },
      { type: 'response.output_text.done', ...at, text },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id, status: 'completed', output: [item], usage } },
    ];
  },
  gemini({ said }) {
    const words = { text: said.text ?? JSON.stringify(said.output) };
    const parts = [said.call ? { functionCall: { name: said.call.name, args: said.call.input } } : words];
    const usageMetadata = { promptTokenCount: USAGE.input, candidatesTokenCount: USAGE.output, totalTokenCount: 1_050 };
    const candidates = [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }];
    return [{ candidates, usageMetadata }];
  },
};
