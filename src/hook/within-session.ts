// What a hook answers within a session, with a prompt or at a failing call: which memories it looks into, what the session was shown
// already, and that it is noted as shown before it is. It waits for nobody that writes, makes nothing, and says nothing too late.

import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../base/config/config.ts';
import { canonicalPath, isStoreId } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';
import { textOf } from '../base/text/json.ts';
import { databasePath, openDatabase } from '../db/open-database.ts';
import type { Db } from '../db/sql.ts';
import { Memories } from '../memory/memories.ts';
import { enablementFor, scopeDir } from '../memory/places.ts';
import { keepRecalled, recalledTexts } from '../memory/recall/recall.ts';
import { pausesOf } from '../queue/pauses.ts';
import { keeperOf, placesFor, type ScopedPlace } from './recalled-places.ts';

export interface Asked {
  db: Db;
  own: ScopedPlace;
  /** `own`, and those beside it. */
  places: ScopedPlace[];
  cwd: string;
  /** What the session was given and, as far as is known, still has. */
  shown: { request: string; text: string }[];
}

interface Hooked {
  /** What the agent's hook was given. */
  input: Record<string, unknown>;
  /** Whether it is too late for an answer. */
  isOver(): boolean;
  /** What the answer is noted as. */
  kind: string;
}

/** `say`: the text for the session; empty for nothing. */
export async function answerWithin(
  config: Config,
  { input, isOver, kind }: Hooked,
  say: (asked: Asked) => Promise<string>,
): Promise<string> {
  const [hookEventName, session] = [textOf(input.hook_event_name), textOf(input.session_id)];
  if (!hookEventName || !session || textOf(input.agent_id)) return '';
  const cwd = textOf(input.cwd) ?? process.cwd();
  const answer = await lookAround(config, cwd, async (at, keeper) => {
    if (isOver()) return '';
    const shown = await recalledTexts(at.db, { session, memory: keeper });
    const text = await say({ ...at, shown });
    if (text === '' || isOver()) return '';
    const request = kind + hash('sha256', text).slice(0, 16);
    const given = { session, memory: keeper, request, text, at: config.clock.now().toISOString() };
    // A job may just be writing.
    let isNoted: boolean | undefined;
    const noted = keepRecalled(at.db, given).then(
      () => (isNoted = true),
      () => (isNoted = false),
    );
    while (isNoted === undefined && !isOver()) await Promise.race([noted, wait(10)]);
    if (!isNoted) return '';
    return JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext: text } });
  });
  return answer ?? '';
}

/** Undefined where nothing may be told there. `keeper`: the memory with which recall at the beginning of a session notes it, too. */
export async function lookAround<T>(
  config: Config,
  cwd: string,
  work: (at: Omit<Asked, 'shown'>, keeper: string) => Promise<T>,
): Promise<T | undefined> {
  const { home, databaseUrl: url, clock } = config;
  if (url === undefined && statNow(databasePath(home)) === null) return undefined;
  const db = await openDatabase({ home, url });
  const memories = new Memories({ db, home, clock });
  try {
    const pauses = await pausesOf(db, clock.now());
    if (!(await enablementFor(config, { pauses, cwd })).enabled) return undefined;
    const place = scopeDir(config, { memory: 'project', cwd });
    const memory = isStoreId(place, config) ? place : canonicalPath(place);
    const { own, beside } = await placesFor({ config, opened: { db, memories } }, memory, { cwd });
    const keeper = keeperOf(own, beside);
    return keeper === undefined ? keeper : await work({ db, own, places: [own, ...beside], cwd }, keeper);
  } finally {
    await memories.close();
    // What still waits for others to write ends with the process.
    void db.close();
  }
}
