// Sessions as people know them: each by its name, with its day, agent and length; ids stand behind. The name is made of the transcript
// where that is there; else it is the first of the words that were kept of it. Of what was forgotten or redacted nothing is named.

import { onAppError } from '../base/errors.ts';
import { formatIn } from '../base/time.ts';
import { allOf } from '../db/sql.ts';
import { entriesAmong } from '../memory/entries.ts';
import { REDACTED } from '../memory/redaction.ts';
import type { SessionRow } from '../memory/session-rows.ts';
import { shortId } from '../memory/short-ids.ts';
import { openSession } from '../transcript/session.ts';
import { nameIn, oneLine } from '../transcript/session-name.ts';
import type { App } from './compose.ts';

const AGENTS: Record<string, string> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  copilot: 'Copilot CLI',
};

type Looking = Pick<App, 'db' | 'machine' | 'config'>;

export interface NamedSession {
  /** Null where nothing can be told. */
  name: string | null;
  /** `Tue 3 Nov, Codex, 273 kB` */
  about: string;
}

/** By the ids of their rows. Of two with one name each has its time. */
export async function namesOf(app: Looking, ids: readonly string[]): Promise<Map<string, NamedSession>> {
  const { db, config } = app;
  const rows = await allOf<SessionRow>(db, 'select * from session where id in (#)', [...new Set(ids)]);
  const found = await Promise.all(rows.map(async (row) => ({ row, name: await nameOf(app, row) })));
  const alike = Map.groupBy(found, ({ name }) => name);
  return new Map(
    found.map(({ row, name }) => {
      const at = row.modified_at ?? row.created_at;
      const isAlone = name === null || alike.get(name)?.length === 1;
      const about = [
        formatIn(at, config.zone, 'EEE d MMM yyyy'),
        AGENTS[row.format ?? ''] ?? row.format ?? 'sent here',
        ...(row.size === null ? [] : [`${Math.max(1, Math.round(row.size / 1_000))} kB`]),
      ].join(', ');
      return [row.id, { name: isAlone ? name : `${name} (${formatIn(at, config.zone, 'HH:mm')})`, about }];
    }),
  );
}

/** `session “Water the trees” (0d8c1a52)`. `id`: as its agent calls it. */
export async function saySession(app: Looking, id: string): Promise<string> {
  const row = await app.db.get<{ id: string }>('select id from session where name = ? order by created_at limit 1', id);
  const named = row && (await namesOf(app, [row.id])).get(row.id);
  const short = await shortId(app.db, 'session', id);
  return named?.name ? `session “${named.name}” (${short})` : `session ${short}`;
}

async function nameOf({ db, machine }: Looking, row: SessionRow): Promise<string | null> {
  const entries = await entriesAmong(db, row.memory, { column: 'session', of: [row.id] });
  const isWhole =
    row.redacted === null && !entries.some(({ reason, text }) => reason === 'forgotten' || text === REDACTED);
  if (isWhole && row.path !== null && row.machine === machine) {
    const name = await openSession(row.path, { id: row.name })
      .then(nameIn)
      .catch(onAppError(() => null));
    if (name !== null) return name;
  }
  const kept = entries.filter(({ state }) => state !== 'gone').sort((a, b) => a.at.localeCompare(b.at));
  const [first] = kept.flatMap(({ evidence }) => evidence.filter(({ by }) => by === undefined || by === 'human'));
  return oneLine(first?.quote ?? '');
}
