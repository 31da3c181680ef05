// Recall: the prompt section made of a memory directory, and of its extra scopes: the user's own, the repository's; and what
// is said there in nocturne's own words, of which nothing comes from a file.
// Promises: the section is never longer than it may be; an extra scope takes no more than its share; each part says whose
// it is and says nothing that one before it says; nothing in one can pass for another, end the section, pass for
// instructions or for someone's words to the model; the section begins and ends with the tag that
// src/transcript/session.ts takes out, so that no recall is ever taken for something that was said. It changes nothing.

import { join } from 'node:path';
import { listNames } from '../../base/files/directories.ts';
import { readTextNow } from '../../base/files/files.ts';
import { renderPrompt } from '../../base/prompt.ts';
import { isCheckedInDir } from '../home/paths.ts';
import { reportDay, reportLine, reportPath } from '../text/dream-report.ts';
import {
  foundIn,
  type LaidPart,
  type RecalledPart,
  type RecallPlace,
  recallPart,
  statementsIn,
  bodyOf as textOf,
  withoutSaid,
} from './recall-part.ts';

export type { RecalledPart, RecalledTopic, RecallPlace } from './recall-part.ts';

/** Whose memory is recalled with a project's: the user's in all projects, or what comes with the working tree. */
export type ExtraScope = 'user' | 'local';

export interface BesidePlace extends RecallPlace {
  scope: ExtraScope;
}

export interface RecallRequest extends RecallPlace {
  /** Shown after the directory's own, in this order. */
  beside?: BesidePlace[];
  /** What the user is to be told. */
  notices?: string[];
  /** Paragraphs in nocturne's own words, for the agent. */
  notes?: string[];
  /** What the session is about; topics that match come first. */
  query?: string;
  limits: { characters: number; tokens: number; isWithinTokens(text: string, tokens: number): boolean };
  now: Date;
}

export interface Recall extends RecalledPart {
  /** Empty where nothing is remembered. */
  text: string;
  /** What of the text comes from beside; each with its directory. */
  beside: (RecalledPart & { scope: ExtraScope; memory: string })[];
}

/** How much of the section an extra scope may take, with its heading. */
const SHARES: Record<ExtraScope, number> = { user: 0.25, local: 0.2 };
/** And what nocturne itself says, else it says nothing. */
const NOTES_SHARE = 0.25;

export async function recall(request: RecallRequest): Promise<Recall> {
  const { dir, ledger, hasIndex, tree, query, limits, now } = request;
  const isWithin = (text: string, share: number) =>
    text.length <= limits.characters * share && limits.isWithinTokens(text, Math.floor(limits.tokens * share));
  const ownWords = recallNotes(request);
  const notes = isWithin(ownWords, NOTES_SHARE) ? ownWords : '';
  const section = await frameOf('recall', request.called ?? dir, notes);
  const laid: { scope: ExtraScope; memory: string; part: LaidPart; framed(body: string): string }[] = [];
  let besideText = '';
  // First, so that the directory's own part knows what room is left.
  for (const { scope, ...place } of request.beside ?? []) {
    const framed = await frameOf(`recall-${scope}`, place.called ?? place.dir);
    const besides = (body: string) => `${besideText}\n${framed(asContent(body, scope === 'local'))}\n`;
    const part = await recallPart({
      ...place,
      query,
      now,
      isWithin: (text, share) => isWithin(text, share * SHARES[scope]),
      fits: (text) =>
        isWithin(framed(asContent(text, scope === 'local')), SHARES[scope]) && isWithin(section(besides(text)), 1),
    });
    if (textOf(part) === '') continue;
    laid.push({ scope, memory: place.dir, part, framed });
    besideText = besides(textOf(part));
  }
  const isCheckedIn = isCheckedInDir(dir);
  const bodyOf = (own: string) => {
    if (besideText === '') return asContent(own, isCheckedIn);
    return own === '' ? besideText : `# Of this project\n\n${asContent(own, isCheckedIn)}\n${besideText}`;
  };
  const fits = (own: string) => isWithin(section(bodyOf(own)), 1);
  const own = await recallPart({ dir, ledger, hasIndex, tree, query, now, isWithin, fits });
  const body = textOf(own);
  // What a part says need not be said again in one behind it.
  const said = new Set(statementsIn(own));
  const beside: Recall['beside'] = [];
  besideText = '';
  for (const { scope, memory, part, framed } of laid) {
    const rest = withoutSaid(part, said);
    const restBody = textOf(rest);
    if (restBody === '') continue;
    for (const id of statementsIn(rest)) said.add(id);
    beside.push({ scope, memory, ...foundIn(rest) });
    besideText += `\n${framed(asContent(restBody, scope === 'local'))}\n`;
  }
  const text = section(bodyOf(body));
  // Nothing but the frame, or not even room for that.
  if (body + besideText + notes === '' || !isWithin(text, 1)) {
    return { text: '', index: null, topics: [], entries: [], beside: [] };
  }
  const dreamed = body + besideText === '' ? null : lastDream(request);
  const whole = dreamed && section(`${bodyOf(body).trimEnd()}\n\n${dreamed}`);
  return { ...foundIn(own), beside, text: whole && isWithin(whole, 1) ? whole : text };
}

/** A dream is told of for so long. */
const LAST_DREAM_MS = 3 * 86_400_000;

/** Paragraphs to be said before what is remembered; empty where there is nothing to say. */
function recallNotes({ notices = [], notes = [] }: { notices?: string[]; notes?: string[] }): string {
  const said = [...notices.map((notice) => `nocturne: ${notice.replace(/\.$/, '')}. Tell the user.`), ...notes];
  return said.length > 0 ? `${said.join('\n\n')}\n\n` : '';
}

/** What the last dream did, in one line, where it was within the last days; else null. */
function lastDream({ dir, now }: { dir: string; now: Date }): string | null {
  const days = listNames(join(dir, '.nocturne', 'dreams')).flatMap((name) => reportDay(name) ?? []);
  const day = days.sort().at(-1);
  if (!day || now.getTime() - Date.parse(day) > LAST_DREAM_MS) return null;
  return reportLine(day, readTextNow(join(dir, reportPath(day, 'json'))) ?? '');
}

/** The words around a body. */
export async function frameOf(name: string, dir: string, notes?: string): Promise<(body: string) => string> {
  const place = '\u0000';
  const { text } = await renderPrompt(name, {
    directory: disarmed(dir),
    body: place,
    ...(notes !== undefined && { notes }),
  });
  const [before = '', after = ''] = text.trimEnd().split(place);
  return (body) => before + body.trim() + after;
}

/** A body that can hold none of the tags that mean something to nocturne or to an agent. */
export function asContent(text: string, isFromRepository: boolean): string {
  const safe = disarmed(text);
  return (isFromRepository ? withoutStructure(safe) : safe).trimEnd();
}

function disarmed(text: string): string {
  return text.replaceAll('\u0000', '').replace(/<(?=\s*\/?\s*(?:nocturne-|private|system-reminder))/gi, '&lt;');
}

const TAG = String.raw`[<＜﹤](?=[ \t]{0,9}[/\\!?|]?[ \t]{0,9}`;
/** Tags between which models are told who speaks, and what is data, in one or another prompt. */
const STRUCTURE = new RegExp(
  String.raw`${TAG}(?:/|\||!\[CDATA|(?:anthropic|antml|system|transcript|human|user|assistant|developer|operator|person|tool|function|invoke|parameter|instructions?|prompt|context|documents?|memor(?:y|ies)|thinking|reasoning|messages?|conversation|excerpt|session|recalled|reminder|rules?|important|answer|results?|outputs?|inputs?|examples?|im_(?:start|end)|s|inst)(?![a-z])))`,
  'gi',
);
const BEGINS_WITH_TAG = new RegExp(String.raw`^[ \t>*+#|•–-]{0,40}(?:\d{1,3}[.)][ \t]{0,9})?${TAG}[\p{L}_])`, 'u');
const ANY_TAG = new RegExp(`${TAG}[\\p{L}_])`, 'gu');

/** The same where nobody here wrote it: no tag that a model could take for structure, and none at a line's start. */
function withoutStructure(text: string): string {
  const lines = text.split('\n').map((line) => (BEGINS_WITH_TAG.test(line) ? line.replace(ANY_TAG, '&lt;') : line));
  return lines.join('\n').replace(STRUCTURE, '&lt;');
}
