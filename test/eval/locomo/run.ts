// `npm run eval -- --locomo FILE --model ID`: all of LoCoMo through nocturne, each question then answered with what nocturne
// tells, with the whole conversation, and with nothing. What was asked once is kept: the same command goes on.

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { estimateTokens } from '../../../src/transcript/excerpt/tokens.ts';
import { sessionFile } from '../../support/session-file.ts';
import { toldLines } from '../chain/lines.ts';
import { nocturne } from '../chain/nocturne.ts';
import { type Play, playChain } from '../chain/play.ts';
import { recordedModel } from '../chain/recorded-model.ts';
import { asker, saidIn } from '../chain/system.ts';
import { type Cell, mean, share } from '../chain/table.ts';
import { type Conversation, idOf, type Question } from './file.ts';
import { ADVERSARIAL, ANSWER, CATEGORIES, f1, JUDGE, saysNotSaid } from './rules.ts';

const WITH = ['nocturne', 'the whole conversation', 'nothing'] as const;
type With = (typeof WITH)[number];

export interface Answered {
  category: number;
  with: With;
  f1: number;
  isRight: boolean;
  /** Of what the question was answered from. */
  tokens: number;
}

type How = Pick<Play, 'model' | 'environment' | 'parts' | 'out'> & { say(text: string): void };

export async function answerAll(conversations: Conversation[], how: How): Promise<Answered[]> {
  const all: Answered[] = [];
  for (const conversation of conversations) {
    const dir = join(how.out, conversation.name);
    const sessions = join(dir, 'sessions');
    if (!existsSync(sessions)) writeSessions(conversation, sessions);
    const out = join(dir, 'play');
    await playChain(sessions, { ...how, out, say: (text) => how.say(`${conversation.name}: ${text}`) });
    const answers = await recordedModel(join(dir, 'answers.jsonl'), how.environment.ANTHROPIC_BASE_URL);
    try {
      const environment = { ...how.environment, ANTHROPIC_BASE_URL: answers.url };
      const at = { out, model: how.model, parts: how.parts, environment };
      for (const [number, question] of conversation.questions.entries()) {
        how.say(`${conversation.name}: question ${number + 1} of ${conversation.questions.length}`);
        const told = await toldOf(conversation, { question, number, at });
        const given: Record<With, string> = {
          ...{ nocturne: told, 'the whole conversation': wholeOf(conversation), nothing: '' },
        };
        for (const as of WITH) {
          answers.begin(`${number} ${as}`);
          all.push({ with: as, ...(await answerOne(question, given[as], await asker(at))) });
        }
      }
    } finally {
      await answers.close();
    }
  }
  return all;
}

function writeSessions({ sessions }: Conversation, dir: string): void {
  mkdirSync(dir, { recursive: true });
  for (const { id, startsAt, lines } of sessions) {
    const file = sessionFile(dir, { id, startsAt });
    for (const line of lines) file.add(line, []);
  }
}

const wholeOf = ({ sessions }: Conversation) =>
  sessions.map(({ startsAt, lines }) => `## ${startsAt.slice(0, 10)}\n\n${lines.join('\n')}`).join('\n\n');

/** What a session is told that begins a day after the last one, and asks this. */
async function toldOf(
  { name, sessions }: Conversation,
  { question, number, at }: { question: Question; number: number; at: Parameters<typeof nocturne>[0] },
): Promise<string> {
  const startsAt = new Date(Date.parse(sessions.at(-1)?.startsAt ?? '') + 2 * 86_400_000).toISOString();
  const parts = [{ kind: 'text' as const, text: question.question }];
  const message = {
    id: 'question',
    speaker: 'human' as const,
    parts,
    beginsTurn: true,
    isSidechain: false,
    at: startsAt,
  };
  const link = { id: idOf(`${name} asked`, number), path: '', messages: [message], startsAt, endsAt: startsAt };
  const lines: string[] = [];
  await nocturne(at).tell(link, (told) => void lines.push(...toldLines(told)));
  return lines.join('\n');
}

async function answerOne(
  { question, answer: right, category }: Question,
  given: string,
  ask: Awaited<ReturnType<typeof asker>>,
): Promise<Omit<Answered, 'with'>> {
  const input = `${given ? `<given>\n${given}\n</given>\n\n` : ''}Question: ${question}`;
  const answer = saidIn(await ask({ system: ANSWER, messages: [{ role: 'user', content: input }] }));
  const about = { category, tokens: estimateTokens(input) };
  if (category === ADVERSARIAL) {
    const isRight = saysNotSaid(answer);
    return { ...about, f1: isRight ? 1 : 0, isRight };
  }
  const judged = `Question: ${question}\nRight answer: ${right}\nTheir answer: ${answer}`;
  const said = saidIn(await ask({ system: JUDGE, messages: [{ role: 'user', content: judged }] }));
  return { ...about, f1: f1(answer, right, category), isRight: /^\W*yes\b/i.test(said) };
}

/** A row a category: judged right, and F1; what was never said stands apart from the sum. */
export function locomoTable(all: Answered[]): string {
  const rows = Object.entries({ ...CATEGORIES, all: 'all but never said' }).flatMap(([category, name]) => {
    const of = all.filter((each) =>
      category === 'all' ? each.category !== ADVERSARIAL : each.category === Number(category),
    );
    const cells = WITH.map((as) => of.filter((each) => each.with === as));
    const judged = cells.map((each) => say(share(each.filter(({ isRight }) => isRight).length, each.length)));
    const words = cells.map((each) => say(mean(each.map((answer) => answer.f1))));
    return [
      `| ${[`${name}: right`, ...judged].join(' | ')} |`,
      ...(Number(category) === ADVERSARIAL ? [] : [`| ${[`${name}: F1`, ...words].join(' | ')} |`]),
    ];
  });
  const tokens = WITH.map((as) => say(mean(all.filter((each) => each.with === as).map((each) => each.tokens))));
  const head = [`| Answered with | ${WITH.join(' | ')} |`, '|---|---:|---:|---:|'];
  return [...head, ...rows, `| ${['tokens a question', ...tokens].join(' | ')} |`].join('\n');
}

const say = (cell: Cell | null) =>
  cell ? `${round(cell.value)} (n ${cell.n}; ${round(cell.low)}–${round(cell.high)})` : 'not run';
const round = (value: number) => (value >= 100 ? Math.round(value) : Number(value.toPrecision(2)));
