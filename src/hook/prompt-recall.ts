// Recall for one prompt, where `recallPrompts` is on: what is near to it and the session was not shown yet, of the project's memory
// and of those beside it. Promises: at most 1,000 tokens; a session is shown nothing twice, also not what its beginning showed; what
// cannot be noted as shown is not shown; nothing after the time is over. It waits for nobody that writes, and makes nothing.

import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../base/config/config.ts';
import { canonicalPath, isStoreId } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';
import { textOf } from '../base/text/json.ts';
import { databasePath, openDatabase } from '../db/open-database.ts';
import { Memories } from '../memory/memories.ts';
import { enablementFor, scopeDir, scopesBeside } from '../memory/places.ts';
import { keepRecalled, recalledTexts } from '../memory/recall/recall.ts';
import { type NearLine, nearTo } from '../memory/recall/recall-prompt.ts';
import { asContent, frameOf } from '../memory/recall/recall-words.ts';
import { pausesOf } from '../queue/pauses.ts';
import { passagesOf } from '../rules/spoken-text.ts';
import { isWithinTokens } from '../transcript/excerpt/tokens.ts';
import { type FoundPlace, findPlace, type Opened } from './recalled-places.ts';

const MOST_TOKENS = 1_000;
/** For a job that is just writing. */
const WAIT_MS = 100;
/** What a person types is shorter; of more the beginning and the end tell what it is about. */
const MOST_CHARACTERS = 4_000;

interface PromptRequest {
  /** What the agent's hook was given. */
  input: Record<string, unknown>;
  /** Whether it is too late for an answer. */
  isOver(): boolean;
}

/** What the hook answers, as the agents read it; empty for nothing. Throws like anything else: the hook is silent then. */
export async function answerPrompt(config: Config, { input, isOver }: PromptRequest): Promise<string> {
  const [hookEventName, session, prompt] = ['hook_event_name', 'session_id', 'prompt'].map((key) => textOf(input[key]));
  if (!config.recallPrompts || !hookEventName || !session || !prompt || textOf(input.agent_id)) return '';
  const { home, databaseUrl: url, clock } = config;
  if (url === undefined && statNow(databasePath(home)) === null) return '';
  const db = await openDatabase({ home, url });
  const memories = new Memories({ db, home, clock });
  try {
    const asked = { session, prompt, cwd: textOf(input.cwd) ?? process.cwd(), isOver };
    const text = await recallPromptFor(config, { db, memories }, asked);
    return text === '' ? '' : JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext: text } });
  } finally {
    await memories.close();
    // What still waits for others to write ends with the process.
    void db.close();
  }
}

async function recallPromptFor(
  config: Config,
  opened: Opened,
  { session, prompt, cwd, isOver }: { session: string; prompt: string; cwd: string; isOver(): boolean },
): Promise<string> {
  const now = config.clock.now();
  const { db } = opened;
  if (!(await enablementFor(config, { pauses: await pausesOf(db, now), cwd })).enabled) return '';
  const place = scopeDir(config, { memory: 'project', cwd });
  const memory = isStoreId(place, config) ? place : canonicalPath(place);
  const isElsewhere = config.databaseUrl !== undefined;
  const own = { ...(await findPlace({ config, opened }, memory, { cwd })), scope: 'project' };
  const places = [own];
  for (const { scope, dir } of scopesBeside(config, { cwd, memory, isElsewhere }))
    places.push({ ...(await findPlace({ config, opened }, dir, { isForeign: scope === 'local' })), scope });
  // Where recall at the beginning of a session notes it, too.
  const keeper = (own.isThere ? own : places.find(({ scope }) => scope === 'user'))?.row?.id;
  if (keeper === undefined || isOver()) return '';
  const shown = await recalledTexts(db, { session, memory: keeper });
  const words = typedOf(prompt);
  const found: Placed[] = [];
  for (const place of places) {
    if (!place.row) continue;
    const isShown = (said: string) => shown.some((text) => text.includes(asContent(said, place.isForeign)));
    const near = await nearTo(place.source, { prompt: words, isShown });
    found.push(...near.map((line) => ({ ...line, place })));
    if (isOver()) return '';
  }
  const text = await layOut(found, { own, isOver });
  if (text === '' || isOver()) return '';
  const request = hash('sha256', text).slice(0, 16);
  const noted = keepRecalled(db, { session, memory: keeper, request, text, at: now.toISOString() }).then(() => true);
  const isNoted = await Promise.race([noted, wait(WAIT_MS, false)]);
  return isOver() || !isNoted ? '' : text;
}

/** Of a prompt what the person typed, where that is enough to search by. */
function typedOf(prompt: string): string {
  const half = MOST_CHARACTERS / 2;
  const some = prompt.length <= MOST_CHARACTERS ? prompt : `${prompt.slice(0, half)}\n${prompt.slice(-half)}`;
  const typed = passagesOf(some).flatMap(({ text, isPasted }) => (isPasted ? [] : [text]));
  return typed.join('\n').trim() === '' ? some : typed.join('\n');
}

type Place = FoundPlace & { scope: string };
interface Placed extends NearLine {
  place: Place;
}

/** The section with the nearest of the lines, as many as it has room for, each place's and topic's together. */
async function layOut(found: Placed[], { own, isOver }: { own: Place; isOver(): boolean }): Promise<string> {
  if (found.length === 0) return '';
  const section = await frameOf('recall-prompt', own.called);
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
    if (isOver()) return '';
    // A line that a person wrote a secret into is told by no prompt.
    if ((await redact(line.heading + line.text)).found.length > 0) continue;
    said.add(line.said);
    shown = more;
  }
  return textOfAll(shown);
}
