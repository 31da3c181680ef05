// What a session is called, for people: its agent's own title, else the first thing that a person typed in it. One line of at most 80
// characters, without secrets, controls and marks of direction. It is read from the session's file whenever it is shown; nothing is kept.

import { redact } from '../base/secrets/redact-text.ts';
import { isObject, type JsonObject, parseObject, textOf } from '../base/text/json.ts';
import { asSeen } from '../base/text/wording.ts';
import type { Session } from './messages.ts';
import { readEnds } from './records.ts';

const MOST_CHARACTERS = 80;
/** A secret is told by what stands around it. */
const MOST_LOOKED_AT = 2_000;
/** A person who has said nothing by then says nothing. */
const MOST_MESSAGES = 500;

/** Null where it has no title and nobody typed anything. */
export async function nameIn(session: Session): Promise<string | null> {
  return oneLine(titleIn(session) ?? (await firstTyped(session)) ?? '');
}

/** A text as a name; null where nothing is left of it. */
export async function oneLine(text: string): Promise<string | null> {
  const letters = [...asSeen((await redact(text.slice(0, MOST_LOOKED_AT))).text)];
  const cut =
    letters.length > MOST_CHARACTERS
      ? `${letters
          .slice(0, MOST_CHARACTERS - 1)
          .join('')
          .trimEnd()}…`
      : letters.join('');
  return cut === '' ? null : cut;
}

/** The one that a person gave wins over the agent's. */
function titleIn({ path, sizeBytes, format }: Session): string | undefined {
  if (format !== 'claude-code' && format !== 'codex' && format !== 'opencode') return undefined;
  const ends = readEnds({ path, sizeBytes });
  if (format === 'opencode') {
    const said = /^[^[]*?"title":\s*("(?:[^"\\]|\\.)*")/.exec(ends)?.[1] ?? '""';
    return /^"(?:New|Child) session/.test(said) ? undefined : textOf(JSON.parse(said));
  }
  const lines = ends.split('\n').filter((line) => /"(?:custom-title|ai-title|thread_name_updated)"/.test(line));
  const records = lines.map((line): JsonObject => parseObject(line) ?? {});
  const last = (key: string) => {
    const said = records.map((record) => textOf((isObject(record.payload) ? record.payload : record)[key]));
    return said.findLast((each) => each);
  };
  return last('customTitle') ?? last('thread_name') ?? last('aiTitle') ?? undefined;
}

async function firstTyped(session: Session): Promise<string | undefined> {
  let count = 0;
  for await (const { speaker, isPrivate, isOwn, isAbandoned, isSidechain, parts } of session.messages()) {
    count += 1;
    if (count > MOST_MESSAGES) break;
    if (speaker !== 'human' || isPrivate || isOwn || isAbandoned || isSidechain) continue;
    const typed = parts.find((part) => part.kind === 'text' && part.untyped === undefined && part.text.trim() !== '');
    if (typed?.kind === 'text') return typed.text;
  }
  return undefined;
}
