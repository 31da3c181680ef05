// A model that makes things up within its seed: of an excerpt up to ten entries with exact quotes of both speakers; at night it adds,
// merges, replaces and drops at random, with ids that are right and some that are wrong.

import { linesIn } from '../../src/agent/offline-model.ts';
import { calls, type MessagesRequest, type ModelReply, says } from '../support/messages-server.ts';
import { entriesShown, messagesShown, shown } from '../support/obedient.ts';
import type { Random } from '../support/random.ts';

const MOST_ENTRIES = 10;

export function generatingModel({ share, pick }: Random): (request: MessagesRequest) => ModelReply {
  const record = (request: MessagesRequest): object[] => {
    const messages = messagesShown(request).flatMap(({ id, speaker, text }) =>
      ['human', 'assistant'].includes(speaker)
        ? (text.match(/[A-Z][^.!?\n]{15,200}\./g) ?? []).map((quote) => ({ message: id, quote, speaker }))
        : [],
    );
    const some = messages.filter(() => share() < 0.8).slice(0, MOST_ENTRIES);
    return some.map(({ message, quote, speaker }) => ({
      type: speaker === 'human' ? (share() < 0.5 ? 'feedback' : 'project') : pick(['project', 'reference']),
      ...{ strength: speaker === 'human' && share() < 0.2 ? 'implied' : 'stated', text: quote },
      evidence: [{ message, quote }],
    }));
  };
  const propose = (request: MessagesRequest): object[] => {
    const lines = linesIn(shown(request, 'topics'));
    const entries = entriesShown(request);
    const operations: object[] = [];
    for (let at = 0; at < entries.length; at += 1) {
      const { id, text } = entries[at] as { id: string; text: string };
      const line = lines.length > 0 ? pick(lines) : undefined;
      const dice = share();
      const put = { kind: 'put', reason: 'It was said.', in: [{ text, entries: [id] }] };
      const isWrong = share() < 0.05;
      if (isWrong)
        operations.push({ ...put, topic: 'wrong', in: [{ text: 'Nothing said this.', entries: ['e_000000000000'] }] });
      else if (dice < 0.1) operations.push({ kind: 'drop', entries: [id], because: 'ephemeral' });
      else if (dice < 0.25 && line) operations.push({ ...put, topic: line.topic, out: [line.id], over: [line.text] });
      else if (dice < 0.3 && line) operations.push({ ...put, topic: line.topic, out: ['00000000'] });
      else {
        const subject = /\bpart (\w+)/.exec(text)?.[1] ?? 'facts';
        operations.push({ ...put, topic: `about-${subject}`, type: 'project', description: `About ${subject}` });
      }
    }
    return operations;
  };
  return (request) => {
    if (request.messages.length > 1) return says('Done.');
    return request.tools.some(({ name }) => name === 'record_entries')
      ? calls('record_entries', { entries: record(request) })
      : calls('propose_operations', { operations: propose(request) });
  };
}
