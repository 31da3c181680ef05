// LoCoMo's published file (`locomo10.json`): two people talk over months, questions are asked about it, each with its answer.
// Its licence forbids shipping it: it is read from where a user has it.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../../../src/base/errors.ts';

const lineSchema = z.looseObject({
  speaker: z.string(),
  text: z.string().default(''),
  blip_caption: z.string().optional(),
});
const questionSchema = z.looseObject({
  question: z.string(),
  answer: z.union([z.string(), z.number()]).optional(),
  category: z.int().min(1).max(5),
});
const fileSchema = z.array(
  z.looseObject({ sample_id: z.string(), conversation: z.looseObject({}), qa: z.array(questionSchema) }),
);

export interface Conversation {
  name: string;
  /** By their beginning. Both people are human, so every line is a prompt that begins with its speaker's name. */
  sessions: { id: string; startsAt: string; lines: string[] }[];
  questions: Question[];
}

export interface Question {
  question: string;
  /** Empty for category 5: nobody said anything of it. */
  answer: string;
  category: number;
}

const MONTHS = 'january february march april may june july august september october november december'.split(' ');

/** Throws `bad-input` for what is not such a file. */
export function readLocomo(text: string, path: string): Conversation[] {
  const remedy = 'Give the locomo10.json of github.com/snap-research/locomo.';
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new AppError('bad-input', `${path} is not JSON: ${(error as Error).message}.`, { remedy, cause: error });
  }
  const file = fileSchema.safeParse(json);
  if (file.success) return file.data.map((each) => conversationOf(each, path));
  const found = z.prettifyError(file.error);
  throw new AppError('bad-input', `${path} has not the shape of LoCoMo's file: ${found}`, { remedy });
}

function conversationOf({ sample_id: name, conversation, qa }: z.infer<typeof fileSchema>[number], path: string) {
  const sessions: Conversation['sessions'] = [];
  for (let number = 1; conversation[`session_${number}_date_time`] !== undefined; number++) {
    const said = z.array(lineSchema).safeParse(conversation[`session_${number}`]).data ?? [];
    if (said.length === 0) continue;
    const at = instantOf(conversation[`session_${number}_date_time`], `${path}: ${name}, session ${number}`);
    const lines = said.map(({ speaker, text, blip_caption }) => {
      return `${speaker}: ${text}${blip_caption ? ` [a picture of ${blip_caption}]` : ''}`;
    });
    sessions.push({ id: idOf(name, sessions.length), startsAt: at, lines });
  }
  const questions = qa.map(({ question, answer = '', category }) => {
    return { question, category, answer: category === 5 ? '' : String(answer) };
  });
  return { name, sessions: sessions.toSorted((a, b) => a.startsAt.localeCompare(b.startsAt)), questions };
}

/** A session id of the form agents use, the same in every run. */
export function idOf(name: string, at: number): string {
  const tail = createHash('sha256').update(name).digest('hex').slice(0, 12);
  return `${at.toString(16).padStart(4, '0')}0000-2222-4333-8444-${tail}`;
}

/** `1:56 pm on 8 May, 2023`. */
function instantOf(written: unknown, what: string): string {
  const found = /^(\d{1,2}):(\d{2}) ([ap])m on (\d{1,2}) ([A-Za-z]+), (\d{4})$/i.exec(String(written).trim());
  const month = MONTHS.indexOf(found?.[5]?.toLowerCase() ?? '');
  if (!found || month < 0) {
    const shape = `begins at ${JSON.stringify(written)}, which is not like "1:56 pm on 8 May, 2023"`;
    throw new AppError('bad-input', `${what} ${shape}.`);
  }
  const [, hour, minute, half, day, , year] = found;
  const hours = (Number(hour) % 12) + (half?.toLowerCase() === 'p' ? 12 : 0);
  return new Date(Date.UTC(Number(year), month, Number(day), hours, Number(minute))).toISOString();
}
