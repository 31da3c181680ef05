// Which description a topic may have: words that one searches for; nothing exact that its lines do not say, nor what is gone.

import { hasWrapperTag } from './as-read.ts';
import { type DreamContext, type KnownTopic, linesIn, linesOut, type Operation, type Put } from './dream-context.ts';
import { orderIn } from './languages.ts';
import { containsLiteralTail, literals, missingIn } from './literals.ts';
import { contentWords } from './words.ts';

const putsInto = (name: string | undefined, operations: readonly Operation[]) =>
  operations.flatMap((each) => (each.kind === 'put' && each.topic === name ? [each] : []));

/** A description without what is exact in it and none of its lines says; a line of it where no word is left. */
export function saidDescription(
  { topic, description = '' }: Put,
  operations: readonly Operation[],
  { topics }: DreamContext,
): string {
  const coming = putsInto(topic, operations).flatMap(linesIn);
  const lines = [...coming, ...(topics.get(topic ?? '')?.lines.values() ?? [])].map(({ text }) => text);
  const said = lines.join('\n');
  const exact = literals(description).filter((value) => IS_EXACT.test(value));
  const isSaid = (value: string) => containsLiteralTail(value, said) || isSpelled(value, said);
  const invented = missingIn(exact, [said]).filter((value) => !isSaid(value));
  const left = invented.reduce((text, value) => text.replaceAll(value, ''), description);
  const tidy = left
    .replace(/`\s*`|\(\s*\)/g, '')
    .replace(/\s{2,}/g, ' ')
    .replace(/ (?=[,;:.)]+(?:\s|$))|,(?=,)/g, '');
  return /\p{L}{3}/u.test(tidy) ? tidy.trim() : (lines[0] ?? '');
}

/** Why a topic needs another description: `topic` is it as it stands, `description` as it is to be, where it changes. */
export function* descriptionFaults(
  { name, topic, description }: { name: string; topic?: KnownTopic; description?: string },
  operations: Operation[],
): Generator<string, void> {
  const puts = putsInto(name, operations);
  if (description && (orderIn(description) !== null || hasWrapperTag(description)))
    yield 'the description speaks to an agent.';
  if (description || !topic?.description || puts.some((each) => each.description)) return;
  const out = new Set(puts.flatMap(linesOut));
  const lines = [...topic.lines];
  const textsOf = (isGoing: boolean) => lines.flatMap(([id, { text }]) => (out.has(id) === isGoing ? [text] : []));
  const gone = contentWords(textsOf(true).join('\n'));
  const kept = contentWords([...textsOf(false), ...puts.flatMap(linesIn).map(({ text }) => text)].join('\n'));
  const words = [...contentWords(topic.description)];
  const lost = words.filter((word) => gone.has(word) && !kept.has(word));
  if (lost.length >= 2 && lost.length * 2 >= words.length)
    yield `the description of ${name} (${JSON.stringify(topic.description)}) is about what goes: give another.`;
}

/** Words to search for may be any in a description; what one would act on is none. */
const IS_EXACT = /^[^\p{L}]+$|^-|:\/\/|@|^[~./\\]|\.\p{L}+$|[/\\].*[/\\]|^v?\d+(?:\.\d+)+/u;

/** Whether a text says a file's name as people say it: `contributing md`. */
function isSpelled(value: string, text: string): boolean {
  const words = (some: string) => ` ${some.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ')} `;
  return /^\p{L}[\p{L}_-]*\.\p{L}+$/u.test(value) && words(text).includes(words(value));
}
