// An extractor that misses nothing and invents nothing: the facts that a sample's prompts say, as it words them, so that what
// is lost is lost by code. At night it sorts as the scripted model. Behind the Messages API, so that its
// entries go through the same checks as a model's.

import { foldSpace } from '../../../src/rules/quotes.ts';
import {
  calls,
  type MessagesRequest,
  type MessagesServer,
  says,
  startMessagesServer,
  toolResults,
} from '../../support/messages-server.ts';
import { messagesShown, type Shown } from '../../support/obedient.ts';
import { answer } from '../../support/scripted-model.ts';
import { type EvalSession, type EvalTurn, type Fact, type Sample, saidInStep } from './sample.ts';

const ENTRIES_PER_CALL = 20;
/** What no model did has no price. */
const FREE = { input_tokens: 0, output_tokens: 0 };
/** So much of a prompt tells it from the others of its sample. */
const BEGINNING_CHARS = 40;

/** The caller closes it. */
export function perfectExtractor(sample: Sample): Promise<MessagesServer> {
  const sent = new Map<string, string>();
  return startMessagesServer((request) => {
    if (!request.tools?.some(({ name }) => name === 'record_entries')) return answer(request);
    const proposed = offeredPrompts(request).flatMap((prompt) => entriesOf(prompt, sample));
    const session = JSON.stringify(request.messages[0]);
    // What an earlier session had recorded needs no second wording.
    for (const { text } of proposed) if (!sent.has(text)) sent.set(text, session);
    const fresh = ({ text }: Proposed) => [session, MENDED].includes(sent.get(text) ?? '');
    const again = request.messages.length > 1 ? refused(request, proposed).filter(fresh) : [];
    for (const { text } of again) sent.set(text, MENDED);
    const entries = request.messages.length > 1 ? again.map(mended) : proposed;
    if (entries.length === 0) return { ...says('Nothing worth keeping.'), usage: FREE };
    const parts = Array.from({ length: Math.ceil(entries.length / ENTRIES_PER_CALL) }, (_, part) =>
      entries.slice(part * ENTRIES_PER_CALL, (part + 1) * ENTRIES_PER_CALL),
    );
    return { usage: FREE, tools: parts.flatMap((part) => calls('record_entries', { entries: part }).tools ?? []) };
  });
}

interface Proposed {
  type: Fact['type'];
  strength: string;
  text: string;
  evidence: { message: string; quote: string }[];
}

/** What was refused because too few of its words are the quote's. */
function refused(request: MessagesRequest, proposed: Proposed[]): Proposed[] {
  if (request.messages.length > 3 || proposed.length > ENTRIES_PER_CALL) return [];
  const reply = JSON.stringify(toolResults(request).map(({ content }) => content));
  return [...reply.matchAll(/(\d+): not recorded\. text: fewer than/g)].flatMap(([, at]) => proposed[Number(at)] ?? []);
}

function mended(entry: Proposed): Proposed {
  return {
    ...entry,
    text: `${entry.text} (${entry.evidence.map(({ quote }) => quote.slice(-MENDED_CHARS)).join(' ')})`,
  };
}

/** In place of the session that said it first: it was never recorded as the set words it. */
const MENDED = 'mended';
/** Of a quote, so much is enough of its own words. */
const MENDED_CHARS = 150;

interface Prompt {
  id: string;
  text: string;
  /** What an agent said right before it. */
  before?: Shown;
}

function offeredPrompts(request: MessagesRequest): Prompt[] {
  const shown = messagesShown(request);
  return shown.flatMap(({ id, speaker, isContext, text }, at) => {
    const before = shown[at - 1]?.speaker === 'assistant' ? shown[at - 1] : undefined;
    return speaker === 'human' && !isContext ? [{ id, text, before }] : [];
  });
}

function entriesOf({ id, text, before }: Prompt, { sessions, facts }: Sample): Proposed[] {
  const shown = foldSpace(text);
  const beginning = (shown.split('[redacted:')[0] ?? '').slice(0, BEGINNING_CHARS);
  const prompts = sessions.flatMap((session) =>
    session.turns.flatMap((said, at) => utterances(said, { session, turn: at + 1 })),
  );
  const prompt = prompts.find(({ said }) => beginning !== '' && foldSpace(said).startsWith(beginning));
  const isSaid = (fact: Fact) =>
    fact.said.some(
      ({ session, turn, step }) => session === prompt?.session.id && turn === prompt.turn && step === prompt.step,
    );
  const evidence = [{ message: id, quote: quoteFrom(shown) }];
  // What a short answer means is in the question.
  if (/[?？]$/.test(before?.text.trim() ?? '') && before)
    evidence.push({ message: before.id, quote: quoteFrom(foldSpace(before.text)) });
  return facts.filter(isSaid).map((fact) => ({ type: fact.type, strength: 'stated', text: fact.text, evidence }));
}

interface Utterance {
  session: EvalSession;
  turn: number;
  /** Absent for the prompt. */
  step?: number;
  said: string;
}

/** What a person says in a turn, as it is shown. */
function utterances({ says, command, steps }: EvalTurn, where: Pick<Utterance, 'session' | 'turn'>): Utterance[] {
  const inSteps = steps.flatMap((step, at) => {
    const said = saidInStep(step);
    if (said === null) return [];
    return [{ ...where, step: at, said: 'asks' in step ? `${step.asks}\n${said}` : said }];
  });
  return [{ ...where, said: command ? `${command} ${says}` : says }, ...inSteps];
}

/** The longest part of a message in which nothing was redacted or pasted. */
function quoteFrom(shown: string): string {
  const parts = shown.split(/\[redacted:[^\]]*\]|```.*?```/).toSorted((a, b) => b.length - a.length);
  return (parts[0] ?? '').slice(0, 900).trim();
}
