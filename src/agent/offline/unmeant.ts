// What a person writes and does not state, in six languages: irony, what is taken back, what was said before, what
// somebody else said. And the sentence that only says of the one beside it that it holds.

import { countShared } from '../../base/text/wording.ts';

/** Delight over something that comes again: "Great, another flaky test." */
const IRONY = [
  /^(?:oh,? )?(?:great|lovely|wonderful|fantastic|brilliant|perfect|nice|awesome|super)\b,[^.!?]*\b(?:another|again|even more|yet another)\b/iu,
  /^sure,? because\b/iu,
  /^(?:na |ach )?(?:toll|super|klasse|wunderbar|prima|herrlich),[^.!?]*(?<!\p{L})(?:wieder|schon|noch)(?!\p{L})/iu,
  /^(?:génial|super|formidable|parfait|merveilleux|chouette) ?[,!][^.!?]*(?<!\p{L})encore(?!\p{L})/iu,
  /^¡?qué (?:maravilla|alegría|bien|ilusión|suerte),[^.!?]*(?<!\p{L})(?:otr[ao]s?|de nuevo)(?!\p{L})/iu,
  /^(?:fantastico|perfetto|che bello|bello|wow)[,!][^.!?]*(?<!\p{L})(?:un altr[oa]|un['’]altra|ancora|di nuovo)(?!\p{L})/iu,
  /^はいはい/u,
];

/** Whether a message that begins so means the contrary of what it says. */
export function isIronic(sentence: string): boolean {
  return IRONY.some((pattern) => pattern.test(sentence));
}

const REPEATED =
  /^(?:(?:and|oh|e|y|et|und)[ ,]+)?(?:(?:as|like) I (?:said|told|mentioned)|once (?:more|again)|I (?:already )?(?:said|told you)|wie gesagt|noch(?: ein)?mal|nicht vergessen|encore une fois|comme (?:je l['’]ai )?dit|como (?:ya )?(?:te )?dije|otra vez|una vez más|come (?:ho )?(?:già )?detto|ancora una volta|何度も言|さっきも言)/iu;

/** Whether it says again what was said before, and is no news. */
export function isRepeated(sentence: string): boolean {
  return REPEATED.test(sentence);
}

const TAKES_BACK =
  /^(?:(?:no|oh|wait|actually|ok|sorry|nein|non|ああ|いや)[,.!、]?\s*)*(?:(?:scratch|forget|strike|disregard|ignore) (?!to\b|about it\b)|never ?mind|I take (?:that|it) back|vergiss (?!nicht)|vergesst (?!nicht)|streich |oublie[zs]? (?!pas)|laisse[zs]? tomber|olvida(?:d|te)? |dimentica |lascia(?:te)? (?:perdere|stare)|.{0,12}(?:忘れて(?:ください|下さい|$)|取り消し))/iu;
/** Beyond these words it names what is taken back. */
const BARE_WORDS = 5;

/** Whether the sentence takes back a statement: one that it names, or the last one where it names none. */
export function takesBack(sentence: string, statement: { text: string; isLast: boolean }): boolean {
  if (!TAKES_BACK.test(sentence)) return false;
  const isBare = sentence.split(/\s+/).length <= BARE_WORDS;
  return countShared(sentence, statement.text) > 0 || (isBare && statement.isLast);
}

const POINTS_BACK =
  /^(?:(?:please|bitte|yes|always|and|so)[, ]+)*(?:(?:keep|bear|have) (?:that|this|these|it) in mind|mind that (?:whenever|when|with|in)|remember (?:that|this|it)|keep (?:doing|it) (?:that|this|like that|that way)|always do (?:it|that) (?:that way|like that|so)|that['’]s (?:always (?:so|like that|how)|a rule|how we)|merk(?:e|t)? (?:dir|euch) das|das ist (?:bei uns )?immer so|c['’]est toujours comme ça|retiens(?: bien)?(?: ça| cela)|recuérdalo|tenlo en cuenta|es siempre así|ricordatelo|tienilo presente|è sempre così|覚えておいて)/iu;
const POINTS_BACK_WORDS = 10;

/** Whether a sentence only says of the one beside it that it is to be kept. */
export function pointsBack(sentence: string): boolean {
  return POINTS_BACK.test(sentence) && sentence.split(/\s+/).length <= POINTS_BACK_WORDS;
}

const QUOTES_TO_THE_END = [
  /(?<!\p{L})(?:said|says|wrote|writes|told (?:me|us)|commented|replied|schrieb|schreibt|sagt|sagte|meint|meinte|écrit|dit|répond|escribe|escribió|dice|dijo|scrive|ha scritto)(?!\p{L})[^.!?]*:\s*$/iu,
  /^\s*(?:\*\*)?(?:user|human|agent|assistant|system)(?:\*\*)?\s*:/iu,
];

/** Whether from this line on somebody else speaks, to the end of the message. */
export function beginsQuoting(line: string): boolean {
  return QUOTES_TO_THE_END.some((pattern) => pattern.test(line));
}
