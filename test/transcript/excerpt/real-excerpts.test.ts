// What the excerpts of real sessions hold: every word a person said, once and whole, within the budget. Counted by the
// tokenizer itself; of Claude Code and Codex the words are taken from the raw file, not from what nocturne reads in it.

import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, describe, expect, test } from 'vitest';
import { sortTurns } from '../../../jobs/extract/pending-turns.ts';
import { isAppError } from '../../../src/base/errors.ts';
import { redact } from '../../../src/base/secrets/redact-text.ts';
import { buildExcerpts, type Excerpt } from '../../../src/transcript/excerpt/excerpt.ts';
import type { ExcerptTurn } from '../../../src/transcript/excerpt/segments.ts';
import { countO200k } from '../../../src/transcript/excerpt/tokens.ts';
import type { Message } from '../../../src/transcript/messages.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { SEED, sized } from '../../support/depth.ts';
import { openWorld } from '../../support/memory-world.ts';
import { collect, hasReal, real, realFiles } from '../../support/transcripts.ts';

const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
const counted = new Map<string, number>();
/** By the encoder itself. */
function o200kOf(text: string): number {
  const tokens = counted.get(text) ?? countTokens(text, { disallowedSpecial: new Set() });
  counted.set(text, tokens);
  return tokens;
}
const tokensOf = (text: string) => Math.ceil(Math.max(text.length / 3, o200kOf(text) * 1.53));
const plain = (text: string) => text.replace(/\s+/g, ' ').trim();

interface Shown {
  file: string;
  excerpts: Excerpt[];
  /** The human messages of the turns that are offered. */
  humans: Message[];
}

const BUDGETS = [12_000, 3_000] as const;
/** The small size looks at every third file, and with the smaller budget at every sixth. */
const EVERY = sized({ quick: { 12000: 6, 3000: 12 }, deep: { 12000: 1, 3000: 1 } });

async function filesFor(budget: (typeof BUDGETS)[number], pattern = /\.jsonl?$/): Promise<string[]> {
  const files = await realFiles(pattern);
  return files.filter((_, at) => (at + SEED) % EVERY[budget] === 0);
}

const { world, close } = await openWorld('sqlite');
afterAll(close);

const shownBefore = new Map<string, Promise<Shown | null>>();

/** What a first extraction of the file would show; null for what is no session. */
function shownOf(file: string, excerptTokens: number): Promise<Shown | null> {
  const key = `${excerptTokens} ${file}`;
  const shown = shownBefore.get(key) ?? readTurnsToShow(file, excerptTokens);
  shownBefore.set(key, shown);
  return shown;
}

async function readTurnsToShow(file: string, excerptTokens: number): Promise<Shown | null> {
  try {
    const session = await openSession(join(real, file));
    const sorted = await sortTurns(session, {
      ...{ memories: world.memories, memory: 'mem_none', row: undefined, writable: [], job: null },
      ...{ ended: true, quietMs: 0, reopened: new Set(), takeUp: [] },
    });
    const offered = new Set(sorted.shown.flatMap(offeredIds));
    const humans = (await collect(session.messages())).filter(
      (message) => offered.has(message.id) && message.speaker === 'human' && !message.isSidechain,
    );
    return {
      file,
      humans,
      excerpts: await collect(buildExcerpts(sorted.shown, { budgetTokens: excerptTokens, redact, zone: 'UTC' })),
    };
  } catch (error) {
    if (isAppError(error, 'unknown-format')) return null;
    throw error;
  }
}

function offeredIds({ turn, offeredFrom }: ExcerptTurn): string[] {
  const ids = turn.messages.map(({ id }) => id);
  return offeredFrom === null ? [] : ids.slice(ids.indexOf(offeredFrom));
}

/** The bodies of the human messages that an excerpt offers, read from its text. */
function humanBodies(text: string): string[] {
  return text
    .split(/^(?=\[)/m)
    .filter((block) => /^\[\S+ human( [\d: -]+)?\]\n/.test(block))
    .map((block) => block.split('\n').flatMap((line) => (line.startsWith('| ') ? [line.slice(2)] : [])))
    .map((lines) => plain(lines.filter((line) => !line.startsWith('[attachment: ')).join('\n')));
}

/** Of which files how many texts that stand in a person's place are shown to nobody as a person's, and why. */
const EXPLAINED: Record<string, [number, string]> = {
  '540a8f92-9d04-4794-9d44-a53d78eedef2': [1, 'a plan that was approved: shown as the words of the assistant'],
  '76731dd6-65de-4d92-be87-716b3e380099': [1, 'a prompt that was taken back: an edited one was sent in its place'],
  'short-conversation': [1, 'a talk that was pasted, in parts: what each speaker says stands apart'],
  'images-in-user-messages': [2, 'prompts that were taken back: sent again after the same message'],
};

/** What a person sent, as the raw records of Claude Code and Codex have it; what a program put there is left out. */
function rawWords(file: string): string[] {
  const records = readFileSync(join(real, file), 'utf8').split('\n').flatMap(parsed);
  // A session that another agent began.
  if (records[0]?.payload?.source?.subagent) return [];
  const words = file.startsWith('codex')
    ? records.map(({ type, payload }) =>
        type === 'event_msg' && payload?.type === 'user_message' ? payload.message : '',
      )
    : records.map(({ type, message, isMeta, isSidechain, isCompactSummary, isVisibleInTranscriptOnly }) => {
        if (type !== 'user' || isMeta || isSidechain || isCompactSummary || isVisibleInTranscriptOnly) return '';
        const { content } = message ?? {};
        if (typeof content === 'string') return content;
        if (!Array.isArray(content) || content.some((block) => block.type === 'tool_result')) return '';
        return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
      });
  return words
    .map((text: string) => text.replace(/<(system-reminder|ide_\w+)>[\s\S]*?<\/\1>/g, ''))
    .map((text) => (text.split('\n## My request for Codex:\n').at(-1) ?? '').trim())
    .filter(
      (text) => text !== '' && !/^<|^\[Request interrupted|^Caveat: |^This session is being continued/.test(text),
    );
}

// biome-ignore lint/suspicious/noExplicitAny: raw records of any shape.
function parsed(line: string): any[] {
  try {
    return [JSON.parse(line)];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

if (!hasReal) console.log('No shared sessions next to the checkout: excerpts of real sessions are not tested.');

describe.skipIf(!hasReal)('excerpts of real sessions', () => {
  test.each(BUDGETS)('keep a budget of %i, and every human message whole in exactly one', async (budget) => {
    let checked = 0;
    for (const file of await filesFor(budget)) {
      const shown = await shownOf(file, budget);
      for (const { text } of shown?.excerpts ?? []) expect(tokensOf(text), file).toBeLessThanOrEqual(budget);
      for (const message of shown?.humans ?? []) {
        const place = `${message.id} of ${file}`;
        const offering = shown?.excerpts.filter((excerpt) => excerpt.sources.get(message.id)?.offered) ?? [];
        expect(offering, place).toHaveLength(1);
        checked += 1;
        const texts = message.parts.filter((part) => part.kind === 'text');
        const said = (await redact(texts.map(({ text }) => text).join('\n'))).text;
        const lines = said.split(LINE_END).map((line) => `| ${line}`);
        // Its header and the gap lines around it need room too.
        if (tokensOf(lines.join('\n')) > budget - 80) continue;
        const isCut = texts.some(({ untyped, text }) => untyped === 'pasted' && text.length > 3_000);
        const typed = isCut ? texts.filter(({ untyped }) => untyped !== 'pasted').map(({ text }) => text) : [said];
        for (const line of typed.flatMap((text) => text.split(LINE_END)))
          expect(offering[0]?.text.includes(`| ${line}`), place).toBe(true);
      }
    }
    expect(checked).toBeGreaterThan(sized({ quick: 150, deep: 300 }) / EVERY[budget]);
  });

  test('are estimated within 5 % of what the encoder counts, each session and each excerpt', async () => {
    const errors: number[] = [];
    for (const budget of BUDGETS) {
      for (const file of await filesFor(budget)) {
        const texts = ((await shownOf(file, budget))?.excerpts ?? [])
          .map(({ text }) => text)
          .filter((text) => text !== '');
        if (texts.length === 0) continue;
        const sum = (count: (text: string) => number) => texts.reduce((tokens, text) => tokens + count(text), 0);
        const ofSession = sum(countO200k) / sum(o200kOf) - 1;
        for (const error of [ofSession, ...texts.map((text) => countO200k(text) / o200kOf(text) - 1)]) {
          expect(Math.abs(error), file).toBeLessThanOrEqual(0.05);
          errors.push(error);
        }
      }
    }
    expect(errors.length).toBeGreaterThan(sized({ quick: 30, deep: 300 }));
  });

  test('hold what a person sent, as the raw file has it, as often as it was sent', async () => {
    const missing: string[] = [];
    const counts: Record<string, number> = {};
    let checked = 0;
    const files = await filesFor(12_000, /^(claude-code|codex)\/.*\.jsonl$/);
    for (const file of files) {
      const shown = await shownOf(file, 12_000);
      if (!shown) continue;
      const bodies = shown.excerpts.flatMap(({ text }) => humanBodies(text));
      for (const [words, times] of Map.groupBy(rawWords(file), (text) => text)) {
        const wanted = plain((await redact(words)).text);
        const found = bodies.filter((body) => body === wanted).length;
        checked += times.length;
        if (found === times.length) continue;
        const name = basename(file, '.jsonl');
        counts[name] = (counts[name] ?? 0) + times.length - found;
        missing.push(`${file}: ${found} of ${times.length}, ${wanted.slice(0, 120)}`);
      }
    }
    const names = files.map((file) => basename(file, '.jsonl'));
    const known = Object.entries(EXPLAINED).filter(([name]) => names.includes(name));
    const explained = Object.fromEntries(known.map(([name, [count]]) => [name, count]));
    expect(counts, missing.join('\n')).toEqual(explained);
    expect(checked).toBeGreaterThan(sized({ quick: 30, deep: 200 }));
  });
});
