// A model that makes things up within its seed: of an excerpt up to ten entries with exact quotes of both speakers; at night it adds,
// merges, replaces and drops at random, with ids that are right and some that are wrong.

import { linesIn } from '../../src/agent/offline-model.ts';
import { calls, type MessagesRequest, type ModelReply, says } from '../support/messages-server.ts';
import { entriesShown, shown } from '../support/obedient.ts';

/** Between 0 and 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const MOST_ENTRIES = 10;

export function generatingModel(random: () => number): (request: MessagesRequest) => ModelReply {
  const pick = <T>(of: readonly T[]): T | undefined => of[Math.floor(random() * of.length)];
  const record = (request: MessagesRequest): object[] => {
    const excerpt = shown(request, 'excerpt');
    const messages = excerpt.split(/^(?=\[\S+ (?:human|assistant)\b)/m).flatMap((part) => {
      const [, id = '', speaker = ''] = /^\[(\S+) (human|assistant)\b/.exec(part) ?? [];
      const lines = part
        .split('\n')
        .slice(1)
        .map((line) => line.replace(/^\| ?/, '').trim());
      const sentences = lines.flatMap((line) => line.match(/[A-Z][^.!?]{15,200}\./g) ?? []);
      return id ? sentences.map((quote) => ({ message: id, quote, speaker })) : [];
    });
    const some = messages.filter(() => random() < 0.8).slice(0, MOST_ENTRIES);
    return some.map(({ message, quote, speaker }) => ({
      type: speaker === 'human' ? (random() < 0.5 ? 'feedback' : 'project') : pick(['project', 'reference']),
      ...{ strength: speaker === 'human' && random() < 0.2 ? 'implied' : 'stated', text: quote },
      evidence: [{ message, quote }],
    }));
  };
  const propose = (request: MessagesRequest): object[] => {
    const lines = linesIn(shown(request, 'topics'));
    const entries = entriesShown(request);
    const operations: object[] = [];
    for (let at = 0; at < entries.length; at += 1) {
      const { id, text } = entries[at] as { id: string; text: string };
      const line = pick(lines);
      const dice = random();
      const put = { kind: 'put', reason: 'It was said.', in: [{ text, entries: [id] }] };
      const isWrong = random() < 0.05;
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
