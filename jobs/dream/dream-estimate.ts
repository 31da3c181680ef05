// What a dream would send now, and about what it would cost: nothing is asked and nothing changed. Later requests are shown the
// memory as it is now, before the earlier ones changed it.

import { costMicroUsd, type Price } from '../../src/base/config/prices.ts';
import { editedLogs } from '../../src/memory/edited-logs.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { type ProposeDeps, requestFor } from './dream-proposal.ts';
import { select, slicesOf } from './dream-slices.ts';
import { entriesHolding, type NightEntry, waitingEntries } from './night-entries.ts';
import { contextOf, standingFiles } from './topic-draft.ts';

export interface DreamEstimate {
  model: string;
  /** New entries, and those that are gone although lines rest on them. */
  entries: number;
  withdrawn: number;
  requests: { system: string; input: string; inputTokens: number; outputTokens: number }[];
  inputTokens: number;
  outputTokens: number;
  /** Null for a model without a price. */
  microUsd: number | null;
}

type EstimateDeps = Pick<ProposeDeps, 'memories' | 'memory' | 'clock' | 'zone'> & {
  requestTokens: number;
  model: string;
  price?: Price;
};

/** Tokens of an operation around the words of its line. */
const OPERATION_TOKENS = 120;

export async function estimateDream(
  { instructions }: { instructions?: string },
  deps: EstimateDeps,
): Promise<DreamEstimate> {
  const { memories, memory, model, price, requestTokens: mostTokens } = deps;
  const { db: sql } = memories;
  const files = await standingFiles(sql, memory.id);
  const lines = new Map([...files.values()].map(({ id, topic }) => [id, new Set(topic.lines.map((line) => line.id))]));
  const isStanding = ({ file, line }: { file: string; line: string }) => lines.get(file)?.has(line) === true;
  const { fresh, edited } = await waitingNow(deps);
  const withdrawn = await entriesHolding(sql, memory.id, { state: 'gone', isStanding });
  const requests: DreamEstimate['requests'] = [];
  for (const slice of slicesOf({ fresh: [...fresh, ...edited], withdrawn }, mostTokens)) {
    const place = { sql, memory: memory.id, files, context: await contextOf(slice, files) };
    const shown = await select(slice, place, { mostTokens, usedAt: new Map() });
    const asked = await requestFor({ slice, place, shown, before: [], instructions }, deps);
    const said = slice.fresh.reduce((sum, entry) => sum + estimateTokens(entry.text) + OPERATION_TOKENS, 0);
    const inputTokens = estimateTokens(asked.system) + estimateTokens(asked.input);
    requests.push({ ...asked, inputTokens, outputTokens: said + slice.withdrawn.length * OPERATION_TOKENS });
  }
  const sum = (what: 'inputTokens' | 'outputTokens') => requests.reduce((total, each) => total + each[what], 0);
  const [inputTokens, outputTokens] = [sum('inputTokens'), sum('outputTokens')];
  // One request for each slice: the prompt is written to the cache, and read from it only where something is refused.
  const used = {
    calls: requests.length,
    inputTokens,
    cacheWriteTokens: inputTokens,
    cachedInputTokens: 0,
    outputTokens,
  };
  return {
    ...{ model, entries: fresh.length + edited.length, withdrawn: withdrawn.length, requests },
    ...{ inputTokens, outputTokens, microUsd: price ? costMicroUsd(used, price) : null },
  };
}

/** What waits, and what people wrote into logs since. */
async function waitingNow({ memories, memory }: EstimateDeps): Promise<{ fresh: NightEntry[]; edited: NightEntry[] }> {
  const { changed } = await editedLogs(memories.db, memory);
  const ids = new Set(changed.map(({ id }) => id));
  const fresh = (await waitingEntries(memories.db, memory.id)).filter(({ id }) => !ids.has(id));
  const edited = changed.filter(({ state }) => state === 'new');
  return { fresh, edited: edited.map((row) => ({ ...row, session: '', cwd: null, learnedAt: row.at })) };
}
