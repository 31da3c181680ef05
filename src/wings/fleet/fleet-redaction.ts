// A text that should never have been kept goes from what the database keeps of a store beside its files and its ledger, too: from
// rows of work, where words that a person or a model gave stand in what waits and in what failed, and from sessions, from every
// piece of them, also from those that have only begun to arrive.
// Promises: it is in no row once this is done; each session is rewritten at once, its ids and places stay; what was redacted
// in a message is not told again when its session is sent again. The agent's own file on its machine is not reached.

import { linesIn } from '../../base/files/file-pieces.ts';
import { isObject, parseJson } from '../../base/text/json.ts';
import type { RedactElsewhere } from '../../memory/history/redact/redaction.ts';
import { REDACTED, type Scrub } from '../../memory/history/redact/scrub.ts';
import type { Ask } from './postgres.ts';
import { scrubRecalled } from './stores/recalls.ts';
import { sumOf, type Transcripts } from './transcripts/fleet-transcripts.ts';
import {
  dropArriving,
  fenceSenders,
  NAMED,
  piecesOf,
  type TranscriptRow,
  takeOver,
  transcriptRow,
  transcriptsOf,
} from './transcripts/transcript-rows.ts';

export function redactingElsewhere(transcripts: Transcripts): RedactElsewhere {
  return async ({ store: { id: store }, scrub, isDry }) => ({
    rows:
      (await scrubWork(transcripts.deps.database.ask, { store, scrub, isDry })) +
      (await scrubRecalled(transcripts.deps.database.ask, { store, scrub, isDry })),
    sessions: await redactTranscripts(scrub, { transcripts, store, isDry }),
  });
}

/** Columns in which words can stand, by table; all others are ids, kinds, times and numbers. */
const WORDS = {
  work_inbox: { payload: 'json', failure: 'text' },
  failure: { payload: 'json', message: 'text' },
} as const;

type Row = { kind: string; key: string } & Record<string, string | null>;

/**
 * Takes every match out of the rows of a store; answers how many were changed, or would be. A row that changes while it is
 * scrubbed is looked at again.
 */
export async function scrubWork(
  ask: Ask,
  { store, scrub, isDry = false }: { store: string; scrub: Scrub; isDry?: boolean },
): Promise<number> {
  let changed = 0;
  for (const [table, columns] of Object.entries(WORDS)) {
    const forms = Object.entries(columns) as [string, 'json' | 'text'][];
    const names = forms.map(([name]) => name);
    const rows = `select kind, key, ${names} from ${table} where store = $1`;
    const waiting = await ask<Row>(rows, [store]);
    for (let row = waiting.pop(); row; row = waiting.pop()) {
      const { kind, key } = row;
      const had = names.map((name) => row?.[name] ?? null);
      const has = forms.map(([, form], at) => (had[at] == null ? null : scrub[form](had[at])));
      if (has.every((text, at) => text === had[at])) continue;
      const done =
        isDry ||
        (
          await ask(
            `update ${table} set (${names}) = ($4, $5) where store = $1 and kind = $2 and key = $3
               and (${names}) is not distinct from ($6, $7) returning 1 as one`,
            [store, kind, key, ...has, ...had],
          )
        ).length === 1;
      if (done) changed += 1;
      else waiting.push(...(await ask<Row>(`${rows} and kind = $2 and key = $3`, [store, kind, key])));
    }
  }
  return changed;
}

/** No line of a session is longer. */
const MOST_LINE_BYTES = 64 * 2 ** 20;
const LEASE_MS = 60_000;

/** Redacts every match; answers the names of the sessions that held one. With `isDry` nothing is changed. */
export async function redactTranscripts(
  scrub: Scrub,
  { transcripts, store, isDry = false }: { transcripts: Transcripts; store: string; isDry?: boolean },
): Promise<string[]> {
  const { ask } = transcripts.deps.database;
  const found: string[] = [];
  if (!isDry) {
    // Apart: who waits for a piece that is being put sees it only in the next statement.
    await fenceSenders(ask, store);
    await dropArriving(ask, store);
  }
  for (const { id } of await transcriptsOf(ask, store)) {
    if (await redactOne(scrub, { transcripts, id, isDry })) found.push(`${NAMED}${id}`);
  }
  return found;
}

async function redactOne(
  scrub: Scrub,
  { transcripts, id, isDry }: { transcripts: Transcripts; id: string; isDry: boolean },
): Promise<boolean> {
  const { ask, readAtOnce } = transcripts.deps.database;
  const isHit = await readAtOnce(async (asking) => {
    const row = await transcriptRow(asking, id);
    if (!row) return false;
    if (scrubLine(scrub, row.head) !== row.head) return true;
    for await (const { text } of linesOf(asking, row))
      if (text === null || scrubLine(scrub, text) !== text) return true;
    return false;
  });
  if (!isHit || isDry) return isHit;
  const lease = await takeOver(ask, { id, leaseMs: LEASE_MS });
  const row = lease && (await transcriptRow(ask, id));
  if (!row) return false;
  const redacted = new Set(row.redacted);
  const note = (told: unknown) => redacted.add(sumOf(told));
  async function* lines() {
    for await (const { bytes, text } of linesOf(ask, row as TranscriptRow)) {
      const after = text === null ? REDACTED : scrubLine(scrub, text, note);
      yield after === text ? bytes : after;
    }
  }
  await transcripts.underLease(lease, async (put) => {
    const head = scrubLine(scrub, row.head, note);
    return { ...(await put(lines())), head, tail: row.tail, redacted: [...redacted] };
  });
  return true;
}

/** The lines of a session; `text` of one that is too long to be looked through is null. */
async function* linesOf(ask: Ask, row: TranscriptRow): AsyncGenerator<{ bytes: Buffer; text: string | null }> {
  for await (const { bytes, isWhole } of linesIn(piecesOf(ask, row), MOST_LINE_BYTES)) {
    yield { bytes, text: isWhole ? bytes.toString('utf8') : null };
  }
}

/**
 * What is said in a line without the matches; the same line where there is none. Names of fields, ids and times stay. `note` is
 * told the ids of messages that said one, and the directories and branches that did.
 */
function scrubLine(scrub: Scrub, line: string, note: (told: unknown) => void = () => {}): string {
  const record = parseJson(line);
  if (!isObject(record)) return scrub.text(scrub.json(line));
  const told = record.session ?? record.message;
  if (!isObject(told)) return line;
  let isChanged = false;
  const scrubbed = (said: string, noted: unknown) => {
    const after = scrub.text(/^\s*[[{]/.test(said) ? scrub.json(said) : said);
    if (after === said) return said;
    isChanged = true;
    note(noted);
    return after;
  };
  for (const field of ['cwd', 'branch']) {
    if (typeof told[field] === 'string') told[field] = scrubbed(told[field], told[field]);
  }
  for (const part of Array.isArray(told.parts) ? told.parts : []) {
    for (const field of ['text', 'label', 'tool']) {
      if (typeof part[field] === 'string') part[field] = scrubbed(part[field], told.id);
    }
    if (part.kind === 'call') part.input = scrubInput(part.input);
  }
  return isChanged ? `${JSON.stringify(record)}\n` : line;

  function scrubInput(input: unknown): unknown {
    const said = JSON.stringify(input ?? null);
    const inStrings = scrub.json(said);
    // What only shows where all of it is seen at once costs the call its form.
    const after = scrub.text(inStrings);
    if (after === said) return input;
    isChanged = true;
    note(Object(told).id);
    return after === inStrings ? JSON.parse(after) : after;
  }
}
