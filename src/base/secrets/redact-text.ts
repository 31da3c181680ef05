// Takes secrets out of text, before a model sees it and again before the disk does.
// secretlint's recommended preset knows the vendors, secrets/ what it misses; what is surest is tried first. Text must be
// decoded first; escapes left inside it are understood.
// Promises: what is around a secret stays; redacting twice changes nothing more; values are never reported; the time
// is linear in the text, whatever the text.

import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { rules as presetRules } from '@secretlint/secretlint-rule-preset-recommend';
import { blankEscapes, type Found, findByRule, PLACEHOLDER, type SecretRule } from './rule.ts';
import { ASSIGNMENTS, findKubernetesSecrets, findNamedTokens, IN_PLACES, JWT, PRIVATE_KEY } from './rules.ts';
import { findTokens } from './token-forms.ts';

export interface Redaction {
  text: string;
  /** How many secrets each rule found, by rule id; sorted by id. */
  found: { rule: string; count: number }[];
}

/** Replaces every secret in `text` by `[redacted:<rule>]`. */
export async function redact(text: string): Promise<Redaction> {
  const counts = new Map<string, number>();
  let current = text;
  // A replacement can lay bare what it hid (a token glued to another). The bound is for texts that were built to be
  // peeled one layer at a time.
  for (let round = 1, before = ''; current !== before && round <= MAX_ROUNDS; round++) {
    before = current;
    for (const find of FINDERS) current = replaceSecrets(current, find(current), counts);
    current = replaceSecrets(current, await findByPreset(current), counts);
  }
  const found = [...counts].map(([rule, count]) => ({ rule, count })).sort((a, b) => (a.rule < b.rule ? -1 : 1));
  return { text: current, found };
}

/** Where the secrets of a text are: the line, from 1, that shows one alone, else the first of those that do together. */
export async function locateSecrets(text: string): Promise<{ line: number; rule: string }[]> {
  const whole = await redact(text);
  if (whole.found.length === 0) return [];
  const lines = text.split('\n');
  const found: { line: number; rule: string }[] = [];
  for (const [at, line] of lines.entries()) {
    for (const { rule } of (await redact(line)).found) found.push({ line: at + 1, rule });
  }
  if (found.length > 0) return found;
  const clean = whole.text.split('\n');
  const first = lines.findIndex((line, at) => line !== clean[at]);
  return whole.found.map(({ rule }) => ({ line: first + 1, rule }));
}

const MAX_ROUNDS = 10;

function replaceSecrets(text: string, spans: Found[], counts: Map<string, number>): string {
  if (spans.length === 0) return text;
  let out = '';
  let end = 0;
  for (const span of spans.sort((a, b) => a.start - b.start || b.end - a.end)) {
    if (span.start >= end) {
      out += `${text.slice(end, span.start)}${PLACEHOLDER}${span.rule}]`;
      counts.set(span.rule, (counts.get(span.rule) ?? 0) + 1);
    }
    end = Math.max(end, span.end);
  }
  return out + text.slice(end);
}

// Two of the preset's rules are not for text of others: `filter-comments` lets the text switch the search off
// (`secretlint-disable`), `gcp` opens files by name. npm's `_authToken=` takes the rest of the line; ours does not.
const PRESET = presetRules
  .filter((rule) => !/-(?:filter-comments|gcp)$/.test(rule.meta.id))
  .map((rule) => ({ id: rule.meta.id, rule, options: {}, allowMessageIds: ['Npmrc_authToken'] }));
// The profiler is on by default and keeps a mark per rule and call for ever.
secretLintProfiler.setEnabled(false);

// Every vendor's token is a long run of token characters with a digit, or sits in a URL or a block with a heading;
// text without one is not worth the set-up of 26 rules.
const WORTH_LINTING = /(?<![\w.-])[\w.-]{20}|:\/\/[^\s@/]{1,300}@|access_?key|hooks\.slack/i;
// secretlint compares all its findings with each other: in pieces, the time stays linear. No token is longer than
// the overlap, save private keys, which have a rule of their own.
const PIECE_CHARACTERS = 1 << 16;
const OVERLAP_CHARACTERS = 1 << 11;

async function findByPreset(text: string): Promise<Found[]> {
  const spans: Found[] = [];
  // Its words begin at a word's edge, which the letter of an escape is not.
  const plain = blankEscapes(text);
  for (let from = 0; from < text.length; from += PIECE_CHARACTERS) {
    const content = plain.slice(from, from + PIECE_CHARACTERS + OVERLAP_CHARACTERS);
    if (!WORTH_LINTING.test(content)) continue;
    const result = await lintSource({
      source: { content, filePath: 'text', contentType: 'text' },
      options: { config: { rules: PRESET }, noPhysicFilePath: true },
    });
    for (const { range, ruleId } of result.messages) {
      if (content.slice(...range).includes(PLACEHOLDER)) continue;
      const rule = ruleId.replace(/^.*secretlint-rule-/, '');
      spans.push({ rule, start: from + range[0], end: from + range[1] });
    }
  }
  return widenToRuns(text, spans);
}

/** Takes the rest of a run with its token: what is glued to a secret is hardly harmless, and could be the next one. */
function widenToRuns(text: string, spans: Found[]): Found[] {
  const isOfRun = (at: number) => /[\w+/=-]/.test(text[at] ?? '');
  const widened: Found[] = [];
  let taken = 0;
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    if (span.end <= taken) continue;
    let { start, end } = span;
    while (start > taken && isOfRun(start - 1)) start--;
    while (isOfRun(end)) end++;
    widened.push({ rule: span.rule, start: Math.max(start, taken), end });
    taken = end;
  }
  return widened;
}

type Find = (text: string) => Found[];

const byRule =
  (rule: SecretRule): Find =>
  (text) =>
    findByRule(text, rule);

// Found by what it says once it is decoded.
const BASE64: SecretRule = {
  id: 'base64',
  pattern: /(?<![\w+/-])[\w+/-]{24,8000}={0,2}(?![\w+/=-])/g,
  isSecret(value) {
    const said = Buffer.from(value, 'base64').toString('latin1');
    return (
      /^[\x20-\x7e\s]{16,}$/.test(said) &&
      (findTokens(said).length > 0 || said.search(JWT.pattern) >= 0 || said.search(PRIVATE_KEY.pattern) >= 0)
    );
  },
};

const FINDERS: Find[] = [
  byRule(PRIVATE_KEY),
  byRule(JWT),
  findTokens,
  ...IN_PLACES.map(byRule),
  findKubernetesSecrets,
  ...ASSIGNMENTS.map(byRule),
  findNamedTokens,
  byRule(BASE64),
];
