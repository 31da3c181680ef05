// Recall for one prompt, where `recallPrompts` is on: what is near to it and the session was not shown yet, of the project's memory
// and of those beside it. Promises: at most 1,000 tokens; a session is shown nothing twice, also not what its beginning showed; what
// cannot be noted as shown is not shown; nothing after the time is over. It waits for nobody that writes, and makes nothing.

import type { Config } from '../base/config/config.ts';
import { textOf } from '../base/text/json.ts';
import { type NearLine, nearTo } from '../memory/recall/recall-prompt.ts';
import { asContent, frameOf } from '../memory/recall/recall-words.ts';
import { passagesOf } from '../rules/spoken-text.ts';
import { isWithinTokens } from '../transcript/excerpt/tokens.ts';
import type { ScopedPlace } from './recalled-places.ts';
import { type Asked, answerWithin, lookAround } from './within-session.ts';

const MOST_TOKENS = 1_000;
/** What a person types is shorter; of more the beginning and the end tell what it is about. */
const MOST_CHARACTERS = 4_000;

/** What the hook answers, as the agents read it; empty for nothing. Throws like anything else: the hook is silent then. */
export async function answerPrompt(
  config: Config,
  { input, isOver }: { input: Record<string, unknown>; isOver(): boolean },
): Promise<string> {
  const words = typedOf(textOf(input.prompt) ?? '');
  if (!config.recallPrompts || words === '') return '';
  return answerWithin(config, { input, isOver, kind: 'prompt:' }, async (asked) => {
    return (await nearWords(words, asked, isOver)).text;
  });
}

/** What a session is told with its first prompt, when it began with the text `told`; null for nothing. Nothing is noted. */
export async function promptNext(config: Config, { cwd, prompt, told }: Record<'cwd' | 'prompt' | 'told', string>) {
  const words = typedOf(prompt);
  if (!config.recallPrompts || words === '') return null;
  const shown = told === '' ? [] : [{ request: '', text: told }];
  return (await lookAround(config, cwd, (at) => nearWords(words, { ...at, shown }, () => false))) ?? null;
}

async function nearWords(words: string, { own, places, shown }: Asked, isOver: () => boolean): Promise<Near> {
  const found: Placed[] = [];
  const known: string[] = [];
  const isShown = (place: Place) => (said: string) => {
    const is = shown.some(({ text }) => text.includes(asContent(said, place.isForeign)));
    if (is) known.push(said);
    return is;
  };
  for (const place of places) {
    if (!place.row) continue;
    const near = await nearTo(place.source, { prompt: words, isShown: isShown(place) });
    found.push(...near.map((line) => ({ ...line, place })));
    if (isOver()) return { text: '', lines: [], known, leftOut: [] };
  }
  const { text, lines } = await layOut(found, { own, isTold: shown.length > 0, isOver });
  return { text, lines, known, leftOut: found.filter((line) => !lines.some(({ said }) => said === line.said)) };
}

/** Of a prompt what the person typed, where that is enough to search by. */
function typedOf(given: string): string {
  // Of a command its arguments: the rest is the agent's own.
  const said = /<command-args>([\s\S]*?)<\/command-args>/.exec(given)?.[1] ?? given;
  const prompt = said.replace(/^\s*\/[\w:.-]+(?=\s|$)/, '').trim();
  const half = MOST_CHARACTERS / 2;
  const some = prompt.length <= MOST_CHARACTERS ? prompt : `${prompt.slice(0, half)}\n${prompt.slice(-half)}`;
  const typed = passagesOf(some).flatMap(({ text, isPasted }) => (isPasted ? [] : [text]));
  return typed.join('\n').trim() === '' ? some : typed.join('\n');
}

type Place = ScopedPlace;
interface Placed extends NearLine {
  place: Place;
}
interface Near {
  text: string;
  lines: NearLine[];
  /** What is as near, and was told before. */
  known: string[];
  /** What found no room, or holds a secret. */
  leftOut: NearLine[];
}

/** The section with the nearest of the lines, as many as it has room for, each place's and topic's together. */
async function layOut(found: Placed[], { own, isTold, isOver }: { own: Place; isTold: boolean; isOver(): boolean }) {
  const nothing = { text: '', lines: [] as Placed[] };
  if (found.length === 0) return nothing;
  // How to take it a session is told once.
  const section = await frameOf('recall-prompt', isTold ? '' : own.called);
  const frames = new Map<Place, (body: string) => string>();
  for (const { place } of found)
    if (place !== own) frames.set(place, await frameOf(`recall-${place.scope}`, place.called));
  const textOfAll = (lines: Placed[]) => {
    // The project's own first, as where a session begins.
    const inOrder = lines.toSorted((a, b) => Number(b.place === own) - Number(a.place === own));
    const places = [...Map.groupBy(inOrder, ({ place }) => place)].map(([place, ofPlace]) => {
      const parts = [...Map.groupBy(ofPlace, ({ heading }) => heading)].map(
        ([heading, ofTopic]) => `${heading}${ofTopic.map(({ text }) => text).join('')}`,
      );
      const body = asContent(parts.join('\n'), place.isForeign);
      return frames.get(place)?.(body) ?? body;
    });
    return lines.length === 0 ? '' : section(places.join('\n\n'));
  };
  // Loaded where there is something to look at: the rules for secrets take longer than all else.
  const { redact } = await import('../base/secrets/redact-text.ts');
  let shown: Placed[] = [];
  const said = new Set<string>();
  for (const line of found.sort((a, b) => b.score - a.score)) {
    if (said.has(line.said)) continue;
    const more = [...shown, line];
    if (!isWithinTokens(textOfAll(more), MOST_TOKENS)) break;
    if (isOver()) return nothing;
    // A line that a person wrote a secret into is told by no prompt.
    if ((await redact(line.heading + line.text)).found.length > 0) continue;
    said.add(line.said);
    shown = more;
  }
  return { text: textOfAll(shown), lines: shown };
}
