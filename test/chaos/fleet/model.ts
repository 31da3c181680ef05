// The model of a fleet's chaos run: it records every station that it is shown, once, and puts every entry into a topic. It
// counts what it was asked and what that cost by itself, so that what nocturne counted is compared with somebody else's figures.

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

export async function startModel() {
  let replies = 0;
  const server = await startMessagesServer((request) => {
    replies += 1;
    // Only what a run is about is looked at again.
    server.requests.length = 0;
    for (const kept of [server.bodies, server.headers, server.ports, server.betas, server.requestBytes])
      kept.length = 0;
    return { ...replyTo(request), usage: USAGE };
  });
  return {
    url: server.access.baseURL,
    key: server.access.apiKey,
    /** How many replies were sent, and the tokens of all, whoever was there to hear. */
    replies: () => replies,
    tokens: () => replies * (USAGE.input_tokens + USAGE.output_tokens),
    close: () => server.close(),
  };
}

function replyTo(request: MessagesRequest): ModelReply {
  if (request.messages.length > 1) return says('Done.');
  if (!request.tools.some(({ name }) => name === 'record_entries')) {
    const operations = entriesShown(request).map(({ id, text }) => ({
      kind: 'put',
      ...{ topic: 'stations', type: 'project', description: 'Code words of stations' },
      ...{ in: [{ text, entries: [id] }], reason: 'It was said.' },
    }));
    return calls('propose_operations', { operations });
  }
  const known = shown(request, 'known');
  const entries = messagesShown(request).flatMap(({ id: message, speaker, text }) => {
    const station = speaker === 'human' ? STATION.exec(text)?.[0] : undefined;
    if (!station || known.includes(station)) return [];
    const evidence = [{ message, quote: `the code word of ${station}` }];
    return [{ type: 'project', strength: 'stated', text: `The code word of ${station}.`, evidence }];
  });
  return calls('record_entries', { entries });
}
