// The words around what is recalled, and what keeps the two apart: nothing that is remembered can end the section, pass
// for another part of it, or pass for somebody's words to the model. The tag by which a section is known is the one that
// src/transcript/session.ts takes out, so that no recall is ever taken for something that was said.

import { renderPrompt } from '../../base/prompt.ts';

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
