// The figures of an evaluation, from what was observed and which lines say which facts. Pure: no disk, no model.
// Every figure is a count or a count of a number, so that samples add up and a reader sees what stands behind a ratio.

import { literals } from '../../src/rules/literals.ts';
import type { KeptLine, Observed, Size } from './nights.ts';
import type { Recognition } from './recognise.ts';
import { type Fact, type Sample, TIERS, type Tier } from './set.ts';

/** `count` of `of`. */
export interface Share {
  count: number;
  of: number;
}

/** What one way of keeping comes to: the memory after its dreams, entries appended as they came, or everything said. */
export interface Keeping {
  /** Facts that a line says, of all that were said and are not superseded. */
  facts: Share;
  /** Of the changes of which both sides are known: the new value is there, and no line says the old one alone. */
  updates: Share;
  /** Of the facts that look like another one and were extracted with it: how many are there. */
  beside: Share;
  /** Lines that say what must not be kept. */
  traps: Share;
  /** Lines that say what another one says, of all lines. */
  duplicates: Share;
  size: Size;
  /** Tokens that all questions of the set cost to read, where all of it is read for each. */
  readForQuestions: number;
  /** Tokens that making it took: input, cached or not, and output. */
  tokens: number;
  calls: number;
}

export interface Figures {
  sessions: number;
  facts: number;
  /** Changes in the set: a fact that takes the place of another. */
  changes: number;
  extraction: {
    /** Facts that an entry says. */
    recall: Share;
    /** The same, and the entry rests on a message that says the fact. */
    evidence: Share;
    /** Prompts and answers that say a fact: how many an entry rests on. */
    turns: Share;
    /** Recall by tier. */
    tiers: Record<Tier, Share>;
    /** Entries that say a fact, and nothing that must not be kept. */
    precision: Share;
    /** Entries that say nothing of the set, and rest on no message that says a fact. */
    invented: Share;
  };
  /** Facts that entries said and that did not cease to hold: how many the memory still says after all dreams. */
  retention: Share;
  /** Facts known only from habits that one session showed, whose lines are marked. */
  waiting: number;
  /** Lines of the memory that no entry supports, or with a string that none of their entries holds. */
  unsupported: Share;
  memory: Keeping;
  append: Keeping;
  transcript: Keeping;
}

/** What the figures were counted from, for a person who wants to know. */
export interface Details {
  missed: string[];
  invented: string[];
  lost: string[];
  stale: string[];
  traps: string[];
  unrecognised: string[];
  duplicates: string[];
  unsupported: string[];
  failures: string[];
}

export interface Recognised {
  /** Of the texts of entries. */
  entries: Recognition;
  /** Of the lines of topics. */
  lines: Recognition;
  /** Of messages. */
  messages: Recognition;
}

export function score(sample: Sample, observed: Observed, found: Recognised): { figures: Figures; details: Details } {
  const { entries, lines, messages, spent } = observed;
  const facts = sample.facts.filter((fact) => !fact.never);
  const known = facts.filter((fact) => found.entries.has(fact.id));
  const settled = (fact: Fact) => (found.entries.get(fact.id) ?? []).some((at) => !entries[at]?.isSeenOnce);
  const changes = knownChanges(facts, found.entries);
  const hasGivenWay = new Set(changes.map(({ older }) => older));
  const toRetain = known.filter((fact) => !hasGivenWay.has(fact));
  const lost = toRetain.filter((fact) => !found.lines.has(fact.id));
  const resting = known.filter((fact) =>
    (found.entries.get(fact.id) ?? []).some((at) =>
      entries[at]?.evidence.some(({ message }) => observed.prompts.get(fact.id)?.has(message)),
    ),
  );
  const right = saying(facts, found.entries);
  const wrong = saying(
    sample.facts.filter((fact) => fact.never),
    found.entries,
  );
  const ofTier = (of: Fact[], tier: Tier) => of.filter((fact) => (fact.tier ?? 'must') === tier).length;
  const saysFact = new Set(facts.flatMap(({ id }) => [...(observed.prompts.get(id) ?? [])]));
  const invented = entries.filter(
    ({ evidence }, at) => !right.has(at) && !wrong.has(at) && !evidence.some(({ message }) => saysFact.has(message)),
  );
  const restedOn = new Set(entries.flatMap(({ evidence }) => evidence.map(({ message }) => message)));
  const unsupported = lines.filter((line) => !isSupported(line, observed) && !isOfAgent(line, sample));
  const texts = { entries: entries.map(({ text }) => text), lines: lines.map(({ text }) => text) };
  const inMemory = keep(sample, { recognition: found.lines, known: found.entries, lines: texts.lines });
  const appended = keep(sample, { recognition: found.entries, known: found.entries, lines: texts.entries });
  const said = keep(sample, { recognition: found.messages, known: found.messages, lines: messages });
  const reading = (size: Size) => ({ size, readForQuestions: Math.round(size.tokens) * (sample.questions ?? 0) });
  const extracting = { tokens: tokensOf(spent.extract), calls: spent.extract.calls };
  const figures: Figures = {
    sessions: sample.sessions.length,
    facts: facts.length,
    changes: facts.reduce((count, fact) => count + fact.replaces.length, 0),
    extraction: {
      recall: { count: known.length, of: facts.length },
      evidence: { count: resting.length, of: facts.length },
      turns: { count: [...saysFact].filter((id) => restedOn.has(id)).length, of: saysFact.size },
      tiers: Object.fromEntries(
        TIERS.map((tier) => [tier, { count: ofTier(known, tier), of: ofTier(facts, tier) }]),
      ) as Record<Tier, Share>,
      invented: { count: invented.length, of: entries.length },
      precision: { count: [...right].filter((at) => !wrong.has(at)).length, of: entries.length },
    },
    retention: { count: toRetain.length - lost.length, of: toRetain.length },
    waiting: known.filter((fact) => !settled(fact)).length,
    unsupported: { count: unsupported.length, of: lines.length },
    memory: {
      ...inMemory.keeping,
      ...reading(observed.memory),
      tokens: extracting.tokens + tokensOf(spent.dream),
      calls: extracting.calls + spent.dream.calls,
    },
    append: { ...appended.keeping, ...reading(observed.logs), ...extracting },
    transcript: { ...said.keeping, ...reading(observed.transcripts), tokens: 0, calls: 0 },
  };
  const name = (fact: Fact) => `${sample.name}/${fact.id}: ${fact.text}`;
  return {
    figures,
    details: {
      missed: facts.filter((fact) => !known.includes(fact)).map(name),
      invented: invented.map(({ text }) => text),
      lost: lost.map(name),
      stale: inMemory.stale.map(name),
      traps: inMemory.traps,
      unrecognised: texts.entries.filter((_, at) => !right.has(at) && !wrong.has(at)),
      duplicates: inMemory.duplicates,
      unsupported: unsupported.map(({ path, text }) => `${path}: ${text}`),
      failures: observed.failures,
    },
  };
}

type WhatIsKept = Pick<Keeping, 'facts' | 'updates' | 'beside' | 'traps' | 'duplicates'>;

/** `known`: what this way of keeping can know at all, which is what the extraction found. */
function keep(
  { facts: all }: Sample,
  { recognition, known, lines }: { recognition: Recognition; known: Recognition; lines: string[] },
): { keeping: WhatIsKept; stale: Fact[]; traps: string[]; duplicates: string[] } {
  const facts = all.filter((fact) => !fact.never);
  const current = facts.filter((fact) => fact.until === undefined);
  const changes = knownChanges(facts, known);
  const isStale = ({ newer, older }: Change) => {
    const saysNew = new Set(recognition.get(newer.id));
    return !saysNew.size || (recognition.get(older.id) ?? []).some((line) => !saysNew.has(line));
  };
  const stale = changes.filter(isStale);
  const groups = Map.groupBy(
    current.filter((fact) => fact.group && known.has(fact.id)),
    (fact) => fact.group,
  );
  const beside = [...groups.values()].filter((group) => group.length > 1).flat();
  const wrong = saying(
    all.filter((fact) => fact.never),
    recognition,
  );
  const repeated = duplicatesOf(lines, { facts, recognition });
  return {
    keeping: {
      facts: { count: current.filter((fact) => recognition.has(fact.id)).length, of: current.length },
      updates: { count: changes.length - stale.length, of: changes.length },
      beside: { count: beside.filter((fact) => recognition.has(fact.id)).length, of: beside.length },
      traps: { count: wrong.size, of: lines.length },
      duplicates: { count: repeated.length, of: lines.length },
    },
    stale: stale.map(({ older }) => older),
    traps: lines.filter((_, at) => wrong.has(at)),
    duplicates: repeated,
  };
}

interface Change {
  newer: Fact;
  older: Fact;
}

/**
 * The changes of which both sides are known, and the newer one later: what is known stands in the order of time. A value
 * that came back and was heard of only the first time counts as the older one, since nobody who was not told could know.
 */
function knownChanges(facts: Fact[], known: Recognition): Change[] {
  const knownAt = (fact: Fact) => Math.max(...(known.get(fact.id) ?? [Number.NEGATIVE_INFINITY]));
  return facts.flatMap((newer) =>
    facts
      .filter((older) => older !== newer && known.has(older.id) && isBefore(older, { newer, facts }))
      .filter((older) => knownAt(newer) > knownAt(older))
      .map((older) => ({ newer, older })),
  );
}

/** Whether `newer` took the place of the fact, or of what took its place. */
function isBefore(older: Fact, { newer, facts }: { newer: Fact; facts: Fact[] }, seen: Fact[] = []): boolean {
  return newer.replaces.some((id) => {
    const next = facts.find((fact) => fact.id === id);
    if (!next || seen.includes(next)) return false;
    return next === older || isBefore(older, { newer: next, facts }, [...seen, next]);
  });
}

/** The lines that say any of the facts. */
function saying(facts: Fact[], recognition: Recognition): Set<number> {
  return new Set(facts.flatMap((fact) => recognition.get(fact.id) ?? []));
}

/** Lines that say the same facts as one before, or no fact and the same words. */
function duplicatesOf(lines: string[], by: { facts: Fact[]; recognition: Recognition }): string[] {
  const saidBy = new Map<number, string[]>();
  for (const { id } of by.facts)
    for (const at of by.recognition.get(id) ?? []) saidBy.set(at, [...(saidBy.get(at) ?? []), id]);
  const seen = new Set<string>();
  return lines.filter((line, at) => {
    const words = line.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const key = saidBy.get(at)?.join('\n') ?? `"${words.join(' ')}`;
    const isSeen = seen.has(key);
    seen.add(key);
    return isSeen;
  });
}

/** Whether entries that are there say what one may search for in the line. */
function isSupported(line: KeptLine, { entries }: Observed): boolean {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const own = line.entries.flatMap((id) => byId.get(id) ?? []);
  const around = line.topicEntries.flatMap((id) => byId.get(id) ?? []);
  const source = [...own, ...around].flatMap(({ text, evidence }) => [text, ...evidence.map(({ quote }) => quote)]);
  return own.length > 0 && literals(line.text).every((word) => source.some((text) => text.includes(word)));
}

/** Whether the agent of a session itself wrote a line into the memory. */
function isOfAgent({ text }: KeptLine, { sessions }: Sample): boolean {
  const steps = sessions.flatMap(({ turns }) => turns.flatMap((turn) => turn.steps));
  return steps.some((step) => 'calls' in step && JSON.stringify(step.input).includes(text));
}

function tokensOf(spent: Observed['spent']['dream']): number {
  return spent.inputTokens + spent.cachedInputTokens + spent.outputTokens;
}

/** The figures of several samples together: every count added up. */
export function sum(all: Figures[]): Figures {
  const [first, ...rest] = all;
  if (!first) throw new RangeError('There are no figures to add up.');
  return rest.reduce((total, next) => addUp(total, next), first);
}

function addUp<T>(a: T, b: T): T {
  if (typeof a === 'number') return (a + (b as number)) as T;
  const keys = Object.keys(a as object) as (keyof T)[];
  return Object.fromEntries(keys.map((key) => [key, addUp(a[key], b[key])])) as T;
}

/** Of samples one after another. */
export function together(all: Details[]): Details {
  const keys = Object.keys(all[0] ?? {}) as (keyof Details)[];
  return Object.fromEntries(keys.map((key) => [key, all.flatMap((details) => details[key])])) as unknown as Details;
}

/** 1 where there is nothing that could have gone wrong. */
export function ratio({ count, of }: Share): number {
  return of === 0 ? 1 : count / of;
}
