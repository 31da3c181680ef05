// Damages lines and values of JSON in the ways that crashes, editors, redactors and hostile programs do: the same ones
// for the same seed.

import { type Random, seeded } from './random.ts';

/** `count` lines, without their ends, each made of some of `lines` and damaged. Some stay readable JSON. */
export function mutatedLines(lines: readonly string[], count: number, seed = 1): Buffer[] {
  const random = seeded(seed);
  const pick = () => random.pick(lines);
  return Array.from({ length: count }, (_, at) => {
    const mutate = MUTATIONS[at % MUTATIONS.length] as Mutation;
    return withoutLineEnds(mutate(pick(), random, pick));
  });
}

/** How many of the lines hold no object that `isRecord` takes, nor several objects one after the other. */
export function countUnreadable(lines: readonly Buffer[], isRecord: IsRecord = () => true): number {
  return lines.filter((line) => {
    const text = line.toString('utf8').trim();
    return text !== '' && !isObjectText(text, isRecord) && !text.split(GLUE).every((part) => isObjectText(part));
  }).length;
}

/** Whether the text is one JSON object, and one that `isRecord` takes. */
export function isObjectText(text: string, isRecord: IsRecord = () => true): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) && isRecord({ ...value });
  } catch {
    return false;
  }
}

/** A copy of a JSON value in which some value, however deep, is another one of it, one of another kind, or gone. */
export function mutatedValue(value: unknown, random: Random, whole = value): unknown {
  if (typeof value !== 'object' || value === null || random.below(5) === 0)
    return random.below(4) === 0 ? structuredClone(placeIn(whole, random)) : random.pick(ODD_VALUES);
  const keys = Object.keys(value);
  if (keys.length === 0) return null;
  const key = random.pick(keys);
  const copy: Record<string, unknown> = Array.isArray(value) ? ([...value] as never) : { ...value };
  if (random.below(6) === 0) delete copy[key];
  else copy[key] = mutatedValue(copy[key], random, whole);
  return copy;
}

type IsRecord = (value: Record<string, unknown>) => boolean;
type Mutation = (line: string, random: Random, pick: () => string) => string | Buffer;

/** Stands between glued lines; white space, so that each stays whole. */
const GLUE = '\t \t';

/** The last but one is no text, and nothing that can be made one. */
const ODD_VALUES: unknown[] = [
  ...[null, true, -1, 42, 1e308, -1e308, 1e21, 2 ** 53, '', 'x', '\ud800'],
  ...[[], {}, [[]], [null], [[null]], { type: 7 }, { toString: 1, valueOf: 1 }, [{ type: 'text' }]],
];

const MUTATIONS: Mutation[] = [
  flipBytes,
  (line, random) => line.slice(0, random.below(line.length)),
  (line, random) => line.slice(random.below(line.length)),
  (line, random) => {
    const start = random.below(line.length);
    return line.slice(0, start) + line.slice(start + random.below(line.length - start));
  },
  (line, _, pick) => line + GLUE + pick(),
  (line, random, pick) => line.slice(0, random.below(line.length)) + pick(),
  (line, random) => insertValue(line, random, nested(random)),
  (line, random) => {
    const digits = '9'.repeat(1 + random.below(400));
    return insertValue(line, random, `${random.below(2) ? '-' : ''}${digits}e${random.below(9999)}`);
  },
  (line, random) => insertValue(line, random, '"\\ud800 \\udfff \ud83d"'),
  (line, random) => JSON.stringify(mutatedValue(JSON.parse(line), random)),
];

/** A value somewhere in another. */
function placeIn(value: unknown, random: Random): unknown {
  const inner = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return inner.length === 0 || random.below(3) === 0 ? value : placeIn(random.pick(inner), random);
}

function flipBytes(line: string, random: Random): Buffer {
  const bytes = Buffer.from(line);
  for (let flips = 1 + random.below(5); flips > 0; flips--) {
    const at = random.below(bytes.length);
    bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
  }
  return bytes;
}

function nested(random: Random): string {
  const depth = random.below(10) === 0 ? 20_000 : 1 + random.below(50);
  const [open, close] = random.below(2) ? ['[', ']'] : ['{"text":', '}'];
  return `${open.repeat(depth)}0${random.below(4) === 0 ? '' : close.repeat(depth)}`;
}

/** Puts `value` where some value of the line begins. */
function insertValue(line: string, random: Random, value: string): string {
  const places = [...line.matchAll(/":(?:"(?:[^"\\]|\\.){0,200}"|[\d.]+|null|true|false)/g)];
  if (places.length === 0) return value;
  const place = random.pick(places);
  return `${line.slice(0, place.index + 2)}${value}${line.slice(place.index + place[0].length)}`;
}

function withoutLineEnds(line: string | Buffer): Buffer {
  const bytes = Buffer.from(line);
  return bytes.map((byte) => (byte === 0x0a ? 0x20 : byte)) as Buffer;
}
