// What of a memory's lines agents found out, in the order in which a session is told them: what is near to it by turns with the
// newest, those too that no night has sorted yet. What of them holds is decided in recall-current.ts.
// Promises: no secret. How many there is room for is not decided here.

import { redact } from '../../base/secrets/redact-text.ts';
import { foundOn, locateLines, mayBeOver, withoutMark } from '../text/topic.ts';
import type { UnsortedEntry } from './recall-source.ts';
import { countMatches, type RankedTopic } from './recall-topics.ts';

/** What an agent found out, as it is told; `path`: empty for what no night has sorted. */
interface Lesson {
  path: string;
  line: string;
}

/** What agents found out, each with its topic: what is near first, by turns with the newest. */
export async function lessonsIn({
  ranked,
  unsorted,
  about,
}: {
  ranked: readonly RankedTopic[];
  unsorted: readonly UnsortedEntry[];
  /** Words that tell what the session is about. */
  about: string[];
}): Promise<Lesson[]> {
  const sorted = ranked.flatMap(({ path, text }) =>
    (text.includes('Found by the agent, ') ? locateLines(text) : []).flatMap((line) => {
      const day = foundOn(line.text);
      const over = mayBeOver(line.text) ? ', may be over' : '';
      return day === undefined ? [] : { path, day, over, text: withoutMark(line.text) };
    }),
  );
  const fresh = unsorted.flatMap(({ found, day, text }) => (found ? { path: '', day, over: '', text } : []));
  const newest = [...fresh, ...sorted].sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
  const scores = new Map(newest.map((each) => [each, countMatches(`${each.path} ${each.text}`, about)]));
  const scoreOf = (each: (typeof newest)[number]) => scores.get(each) ?? 0;
  const near = newest.filter((each) => scoreOf(each) > 0).sort((a, b) => scoreOf(b) - scoreOf(a));
  const inTurn = new Set(newest.flatMap((each, at) => [...near.slice(at, at + 1), each]));
  const said = [...inTurn].map(async ({ path, day, over, text }) => {
    const { text: clean } = await redact(text);
    return { path, line: `- ${clean} (${path === '' ? '' : `${path}; `}found by the agent, ${day}${over})\n` };
  });
  return Promise.all(said);
}
