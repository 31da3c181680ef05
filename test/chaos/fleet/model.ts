// The model of a fleet's chaos run: it records every station that it is shown, once, and puts every entry into a topic. It
// counts what it was asked and what that cost by itself, so that what nocturne counted is compared with somebody else's figures.

import { setTimeout as after } from 'node:timers/promises';
import {
  calls,
  type MessagesRequest,
  type ModelReply,
  says,
  startMessagesServer,
} from '../../support/messages-server.ts';
import { entriesShown, messagesShown, shown } from '../../support/obedient.ts';

const USAGE = { input_tokens: 900, output_tokens: 1_900 };
export const STATION = /station \d+-\d+-\d+ is heron/;

export interface Asked {
  /** The first station that the request is about; null: of a later turn of a run. */
  about: string | null;
  kind: 'extract' | 'dream' | 'after';
  /** By this process's clock. */
  beganAtMs: number;
  endedAtMs: number;
}

export type ChaosModel = Awaited<ReturnType<typeof startModel>>;

/** Answers each request after so long. */
export async function startModel(latencyMs: (kind: Asked['kind']) => number) {
  const asked: Asked[] = [];
  let replies = 0;
  const server = await startMessagesServer(async (request) => {
    const { kind, about, reply } = replyTo(request);
    const noted: Asked = { kind, about, beganAtMs: performance.now(), endedAtMs: Number.POSITIVE_INFINITY };
    asked.push(noted);
    const ms = latencyMs(kind);
    if (ms > 0) await after(ms);
    noted.endedAtMs = performance.now();
    replies += 1;
    // Only what a run is about is looked at again.
    server.requests.length = 0;
    for (const kept of [server.bodies, server.headers, server.ports, server.betas, server.requestBytes])
      kept.length = 0;
    return { ...reply, usage: USAGE };
  });
  return {
    url: server.access.baseURL,
    key: server.access.apiKey,
    asked,
    /** Tokens of all replies that were sent, whoever was there to hear. */
    tokens: () => replies * (USAGE.input_tokens + USAGE.output_tokens),
    close: () => server.close(),
  };
}

function replyTo(request: MessagesRequest): Pick<Asked, 'kind' | 'about'> & { reply: ModelReply } {
  if (request.messages.length > 1) return { kind: 'after', about: null, reply: says('Done.') };
  if (!request.tools.some(({ name }) => name === 'record_entries')) {
    const entries = entriesShown(request);
    const operations = entries.map(({ id, text }) => ({
      kind: 'put',
      ...{ topic: 'stations', type: 'project', description: 'Code words of stations' },
      ...{ in: [{ text, entries: [id] }], reason: 'It was said.' },
    }));
    const about = STATION.exec(entries.map(({ text }) => text).join(' '))?.[0] ?? null;
    return { kind: 'dream', about, reply: calls('propose_operations', { operations }) };
  }
  const known = shown(request, 'known');
  const entries = messagesShown(request).flatMap(({ id: message, speaker, text }) => {
    const station = speaker === 'human' ? STATION.exec(text)?.[0] : undefined;
    if (!station || known.includes(station)) return [];
    const evidence = [{ message, quote: `the code word of ${station}` }];
    return [{ type: 'project', strength: 'stated', text: `The code word of ${station}.`, evidence }];
  });
  const about = STATION.exec(shown(request, 'excerpt'))?.[0] ?? null;
  return { kind: 'extract', about, reply: calls('record_entries', { entries }) };
}
