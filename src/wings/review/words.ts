// A proposal in a person's own words. The line keeps what it rests on where code finds support for the words in the
// entries; else it is the person's, and rests on none. What a dream would leave out can be kept this way.

import { type DraftTopic, readNamed } from '../../../jobs/dream/draft.ts';
import { AppError } from '../../base/errors.ts';
import { checkOperations } from '../../memory/dream/operation-checks.ts';
import {
  type DreamContext,
  type Operation,
  proposalSchema,
  topicOfLine,
  type Writing,
} from '../../memory/dream/operations.ts';
import type { Proposal } from '../../memory/dream/proposals.ts';
import type { Store } from '../../memory/store/store.ts';
import { lineId } from '../../memory/text/topic.ts';
import { checkProposal } from './checks.ts';

export interface Wording {
  operations: Operation[];
  /** Where the line rests on no entry. */
  note: string | null;
}

/** Throws `refused` for what cannot be a line there. */
export async function inWords(
  proposal: Proposal,
  { text, topic }: { text: string; topic?: string },
  { context, store }: { context: DreamContext<DraftTopic>; store: Store },
): Promise<Wording> {
  const [head, ...rest] = proposal.operations;
  if (!head) throw new AppError('refused', 'It has no words to edit.');
  const texts = text.split(/\r?\n/).flatMap((line) => line.trim() || []);
  if (texts.length === 0) throw new AppError('refused', 'There are no words. To leave it out, reject it.');
  const written = await writingOf(head, { texts, topic, context, store });
  const parsed = proposalSchema.safeParse({ operations: [written] });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const what = issue?.path.includes('topic') ? `${JSON.stringify(topic)} cannot be a topic` : 'That cannot be a line';
    throw new AppError('refused', `${what}: it ${issue?.message ?? 'is not one'}.`);
  }
  const operations = [written, ...rest];
  const problems = checkOperations(operations, context, store.limits);
  if (problems.length === 0) return { operations, note: null };
  refuseWhatIsNotAboutWords(written, { proposal, head, context, store });
  // A merge would hand on what the replaced lines rest on.
  const kind = written.kind === 'merge' ? 'supersede' : written.kind;
  const lines = written.lines.map((line) => ({ ...line, entries: [] }));
  const persons = { ...written, kind, lines } as Writing;
  return { operations: [persons, ...rest], note: 'The line is yours: no entry supports it in these words.' };
}

async function writingOf(
  head: Operation,
  {
    texts,
    topic,
    context,
    store,
  }: { texts: string[]; topic?: string; context: DreamContext<DraftTopic>; store: Store },
): Promise<Writing> {
  const { entries } = head;
  if ('lines' in head) {
    const isSameCount = texts.length === head.lines.length;
    const lines = texts.map((text, at) => ({ text, entries: (isSameCount && head.lines[at]?.entries) || entries }));
    return { ...head, lines };
  }
  if (head.kind !== 'drop') throw new AppError('refused', 'It takes lines out and has no words to edit.');
  const name = topic ?? (head.of === undefined ? undefined : topicOfLine(head.of, context)?.name);
  if (name === undefined) {
    throw new AppError('refused', 'It would be left out. To keep it, name the topic that it goes into: --topic NAME.');
  }
  await readNamed(store, [name], context.topics);
  const type = context.entries.get(entries[0] ?? '')?.type ?? 'project';
  const begin = context.topics.has(name) ? {} : { description: name.replaceAll('-', ' '), type };
  const lines = texts.map((text) => ({ text, entries }));
  return { kind: 'add', entries, reason: head.reason, topic: name, ...begin, lines };
}

/** What a person's words cannot mend: the proposal itself, a pinned topic, a line that stands there already. */
function refuseWhatIsNotAboutWords(
  written: Writing,
  at: { proposal: Proposal; head: Operation; context: DreamContext<DraftTopic>; store: Store },
): void {
  const { proposal, head, context, store } = at;
  const before = 'lines' in head ? checkProposal(proposal, context, store) : [];
  const topic = context.topics.get(written.topic);
  if (topic?.isPinned) before.push(`The topic ${topic.name} is pinned.`);
  const replaced = new Set(written.kind === 'add' ? [] : written.replaces);
  for (const { text } of written.lines) {
    const id = lineId(text);
    if (topic?.lines.has(id) && !replaced.has(id)) before.push(`${topic.name} says that already.`);
  }
  if (before.length > 0) throw new AppError('refused', before.join('\n'));
}
