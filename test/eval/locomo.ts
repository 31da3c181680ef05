// LoCoMo's published file (`locomo10.json`) as a set: two people talk over months, questions are asked about it, each
// with its answer and the lines that it follows from. Its licence forbids shipping it: it is read from where a user has it.
// Both people are human, so every line is a prompt that begins with its speaker's name.

import { subDays } from 'date-fns/subDays';
import { z } from 'zod';
import { AppError } from '../../src/base/errors.ts';
import { dayOf } from '../../src/base/time.ts';
import { type EvalSession, type EvalSet, type Fact, type Sample, sessionId } from './set.ts';

const lineSchema = z.looseObject({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string().default(''),
  blip_caption: z.string().optional(),
});
const fileSchema = z.array(
  z.looseObject({
    sample_id: z.string(),
    conversation: z.looseObject({ speaker_a: z.string(), speaker_b: z.string() }),
    qa: z.array(
      z.looseObject({
        question: z.string(),
        answer: z.union([z.string(), z.number()]).optional(),
        evidence: z.array(z.string()).default([]),
        category: z.int(),
      }),
    ),
  }),
);
type Conversation = z.infer<typeof fileSchema>[number];
type Question = Conversation['qa'][number];

/** What its answer is read from, not concluded: several lines, a date, one line. 3 is inference, 5 has no answer. */
const READ_CATEGORIES = [1, 2, 4];
const MONTHS = 'january february march april may june july august september october november december'.split(' ');
const EMPTY = new Set(
  'a an and are as at by for from had has have her his in is it its of on or she he the their they to was were with'.split(
    ' ',
  ),
);

/** Throws `bad-input` for what is not such a file. */
export function readLocomo(text: string, path: string): EvalSet {
  const remedy = 'Give the locomo10.json of github.com/snap-research/locomo.';
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new AppError('bad-input', `${path} is not JSON: ${(error as Error).message}.`, { remedy, cause: error });
  }
  const file = fileSchema.safeParse(json);
  if (!file.success) {
    throw new AppError('bad-input', `${path} has not the shape of LoCoMo's file: ${z.prettifyError(file.error)}`, {
      remedy,
    });
  }
  const samples = file.data.map((conversation) => sampleFrom(conversation, path));
  const asked = file.data.reduce((count, { qa }) => count + qa.length, 0);
  return {
    name: 'locomo',
    samples,
    notes: [
      `Of ${asked} questions, those are measured whose answer is read from lines (categories 1, 2 and 4); each part of an ` +
        'answer is a fact, recognised by its words beside the name of whom it is about. The set says nothing of changes, ' +
        'look-alikes and what must not be kept, and most entries say what nobody asked: precision is a lower bound.',
    ],
  };
}

function sampleFrom(conversation: Conversation, path: string): Sample {
  const { sample_id, conversation: said, qa } = conversation;
  const sessions: EvalSession[] = [];
  const prompts = new Map<string, { session: string; turn: number; startsAt: string }>();
  for (let number = 1; said[`session_${number}_date_time`] !== undefined; number++) {
    const lines = z.array(lineSchema).safeParse(said[`session_${number}`]).data ?? [];
    if (lines.length === 0) continue;
    const startsAt = instantOf(said[`session_${number}_date_time`], `${path}: ${sample_id}, session ${number}`);
    const id = sessionId(sample_id, sessions.length);
    const turns = lines.map(({ speaker, dia_id, text, blip_caption }, at) => {
      prompts.set(dia_id, { session: id, turn: at + 1, startsAt });
      return { says: `${speaker}: ${text}${blip_caption ? ` [a picture of ${blip_caption}]` : ''}`, steps: [] };
    });
    sessions.push({ id, startsAt, turns });
  }
  const people = [said.speaker_a, said.speaker_b];
  const facts = qa.flatMap((question, at) => factsOf(question, { name: `question-${at + 1}`, people, prompts }));
  const questions = new Set(facts.map(({ id }) => id.split('/')[0])).size;
  return {
    name: sample_id,
    sessions: sessions.toSorted((a, b) => a.startsAt.localeCompare(b.startsAt)),
    facts,
    questions,
  };
}

function factsOf(
  { question, answer, evidence, category }: Question,
  {
    name,
    people,
    prompts,
  }: { name: string; people: string[]; prompts: Map<string, { session: string; turn: number; startsAt: string }> },
): Fact[] {
  if (!READ_CATEGORIES.includes(category) || answer === undefined) return [];
  const where = [...new Set(evidence.flatMap(lineIds))].flatMap((id) => prompts.get(id) ?? []);
  const [first] = where;
  if (!first) return [];
  const about = people.filter((person) => question.includes(person));
  const parts = category === 1 ? String(answer).split(/,| and /) : [String(answer)];
  return parts.flatMap((part, at): Fact[] => {
    const clauses = [...(about.length > 0 ? [about.join('|')] : []), ...clausesOf(part)];
    if (clausesOf(part).length === 0) return [];
    return [
      {
        id: parts.length > 1 ? `${name}/${at + 1}` : name,
        type: 'user',
        text: `${question} ${part.trim()}`,
        match: clauses.join(' & '),
        said: where.map(({ session, turn }) => ({ session, turn })),
        from: first.startsAt,
        replaces: [],
      },
    ];
  });
}

/** The ids of lines in a piece of evidence, which may hold several, as in `D8:6; D9:17`, or be mistyped: `D:11:26`, `D30:05`. */
function lineIds(evidence: string): string[] {
  return [...evidence.matchAll(/D:?(\d+):0*(\d+)/g)].map(([, session, line]) => `D${session}:${line}`);
}

/** A date as it may be written, or the words that say something. */
function clausesOf(answer: string): string[] {
  const [, span, day = '', name = '', year = ''] =
    /^\s*(?:(?:the )?(week|weekend|\w+day) before )?(?:(\d{1,2}) )?([a-z]+),? (\d{4})\s*$/i.exec(answer) ?? [];
  const month = MONTHS.indexOf(name.toLowerCase()) + 1;
  if (month > 0 && (day || !span)) {
    const iso = `${year}-${String(month).padStart(2, '0')}`;
    if (!day) return [`${iso}*|${name} ${year}|${name}, ${year}`];
    const last = new Date(`${iso}-${day.padStart(2, '0')}T12:00:00Z`);
    const written = `${dayOf(last, 'UTC')}|${day} ${name} ${year}|${name} ${day}, ${year}`;
    if (!span) return [written];
    // "The Friday before 15 July" is a day or a phrase; both are right.
    const days = Array.from({ length: 7 }, (_, at) => subDays(last, at + 1)).filter((date) => isOf(span, date));
    return [
      [...days.map((date) => dayOf(date, 'UTC')), ...written.split('|').map((date) => `before ${date}`)].join('|'),
    ];
  }
  const words = answer.match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.map((word) => word.toLowerCase()).filter((word) => !EMPTY.has(word)))].map(stem);
}

/** Whether a date of the week before is of the span: a day of the week, a weekend, the whole week. */
function isOf(span: string, date: Date): boolean {
  const name = date.toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' }).toLowerCase();
  return (
    span.toLowerCase() === 'week' ||
    (span.toLowerCase() === 'weekend' ? name.startsWith('s') : name === span.toLowerCase())
  );
}

/** "hiking" is found in "hikes" and "hike". */
function stem(word: string): string {
  return word.length < 5 ? word : `${word.replace(/(?:ing|ed|es|s|e|y)$/, '')}*`;
}

/** `1:56 pm on 8 May, 2023`. */
function instantOf(written: unknown, what: string): string {
  const found = /^(\d{1,2}):(\d{2}) ([ap])m on (\d{1,2}) ([A-Za-z]+), (\d{4})$/i.exec(String(written).trim());
  const month = MONTHS.indexOf(found?.[5]?.toLowerCase() ?? '');
  if (!found || month < 0) {
    throw new AppError(
      'bad-input',
      `${what} begins at ${JSON.stringify(written)}, which is not like "1:56 pm on 8 May, 2023".`,
    );
  }
  const [, hour, minute, half, day, , year] = found;
  const hours = (Number(hour) % 12) + (half?.toLowerCase() === 'p' ? 12 : 0);
  return new Date(Date.UTC(Number(year), month, Number(day), hours, Number(minute))).toISOString();
}
