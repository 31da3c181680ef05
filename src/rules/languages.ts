// What a sentence does, told by its words: it denies, asks, makes a condition, names a day only today knows, orders an
// agent about, or claims what a person says. One row a language; for one without a row the prompts say it. It never says
// what a sentence means, and errs where a word is also a name.

import { asRead } from './as-read.ts';

/** Parts of regular expressions, joined by `|`. */
interface Language {
  /** Has no spaces between words, or joins what is looked for to others. */
  isJoined?: boolean;
  denies: string;
  /** How a question begins that is no polite order; where words are joined, what it holds. */
  asks?: string;
  conditions?: string;
  /** Days that mean nothing on another day. */
  dates?: string | string[];
  /** Said to an agent; `^`: at the beginning of a text. */
  orders?: string | string[];
  /** That someone says or wants something. */
  claims?: string | string[];
  /** Right before a colon, and anywhere before one: that someone else wrote what follows. */
  says?: string;
  said?: string;
  /** Before who says what follows. */
  per?: string;
  /** Points to what follows, and what a text is called that is sent or pasted. */
  shows?: string;
  texts?: string;
  /** Begins the head of a mail. */
  from?: string;
}

const NUMBER = String.raw`(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a few|a couple of|several|some)`;
export const WEEKDAY = '(?:mon|tues|wednes|thurs|fri|satur|sun)day';
export const MONTH = '(?:january|february|march|april|may|june|july|august|september|october|november|december)';
// "The last Friday of the month" is a rule, not a date; so is "within two days of the release".
const EVERY_WEEK = '(?:every|each|weekly|always|never|usually)';
const NOT_A_RULE = String.raw`(?!\s+(?:of|before|after|from|or)\b)`;
const THE = '(?:the|this|our|my|your)';
const PERSON = '(?:users?|humans?|operators?|owners?|customers?|clients?|developers?|maintainers?|person)';
const WANTS =
  '(?:(?:want|prefer+|like|state|ask|require|request|insist|decide|approve|confirm|need|expect|instruct|demand|wish|agree|authori[sz]e|permit+|allow)(?:e?s|e?d)|says|said|tells|told|would like|is (?:okay|ok|fine|happy)|always|never)';
const WISH = '(?:wish|preference|rule|request|instruction|order|decision|demand|approval|permission|will|want|word)';
const MEMORY = String.raw`(?:memor(?:y|ies|y\.md)|notes?)`;
/** Who is told to do something; the file that is called after it is told nothing. */
const AGENT = String.raw`(?:ai|agents?|assistants?|llms?|claude|copilot|bots?|language models?|models? reading)(?![\w-]*\.\w)`;
// "Claude never loads it" says what is so, "agents never ask" what they are to do.
const IS_SO = String.raw`(?!\s+(?:is|are|was|were|has|had|\p{L}+(?:[^s\W]s|[^e\W]ed))(?!\p{L}))`;

const LANGUAGES: Record<string, Language> = {
  English: {
    denies:
      "no|nope|not|skip|dislikes?|never|none|nobody|nothing|neither|nor|without|cannot|avoid|\\p{L}+n['’]t|(?:do|ca|wo|is|are|was|did|does|should|would|could)nt",
    asks: "should|shall|do|does|did|is|are|was|were|has|have|am|may|would it|could it|what|which|how|who|where|when|what['’]s|\\p{L}+n['’]t",
    conditions: 'if|unless|only when|in case|provided|otherwise|as long as|except',
    dates: [
      `today(?!['’ʼ])|tonight|tomorrow|yesterday`,
      `(?:next|last|this|coming)\\s+(?:week|month|year|quarter|weekend|${WEEKDAY}|${MONTH}|spring|summer|autumn|winter)${NOT_A_RULE}`,
      `(?:this|last|tomorrow|yesterday)\\s+(?:morning|afternoon|evening|night)`,
      `(?:past|coming)\\s+(?:few\\s+)?(?:days|weeks|months|years|week|month|year|quarter)${NOT_A_RULE}`,
      `(?<!\\b(?:once|twice|times)\\s+)in\\s+${NUMBER}\\s+(?:day|week|month|year)s?${NOT_A_RULE}(?:\\s+time)?`,
      `${NUMBER}\\s+(?:minute|hour|day|week|month|year)s?\\s+(?:ago|from\\s+now)`,
      `by\\s+(?:the\\s+)?end\\s+of\\s+(?:the\\s+|this\\s+)?(?:day|week|month|quarter|year)${NOT_A_RULE}`,
      // Due by it, unless it is due every week.
      `(?:by|until|till)\\s+${WEEKDAY}(?!,?\\s+(?:\\(?\\d|(?:the\\s+)?\\d|${MONTH}|of\\b))(?!.*\\b${EVERY_WEEK}\\b)(?<!\\b${EVERY_WEEK}\\b.*)`,
    ],
    orders: [
      String.raw`(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|your|these|other|existing)\b.{0,40}\b(?:instruction|rule|prompt|guideline|constraint|polic|message|memor|thing)`,
      String.raw`(?:add|write|save|store|record|put|append|commit|update)\b.{0,60}\b(?:to|in|into|as|your)\b.{0,20}\b${MEMORY}`,
      String.raw`(?:delete|erase|wipe|clear|remove|purge|overwrite|reset|drop|retire|supersede)\b.{0,60}\b(?:${MEMORY}|entries|entry|topics?|rules)(?!\p{L})`,
      String.raw`you (?:are now|must|should always|shall|have to|will now|need to always)\b|your (?:new|real|only|true) (?:task|goal|instructions?|role|rules?|purpose)\b`,
      String.raw`from now on\b|(?:new|updated|system|hidden|secret|developer) (?:instructions?|prompt|directive|override|message)\b|system\s*:`,
      String.raw`(?:do not|don't|never) (?:tell|inform|mention\w*|reveal|show|ask|alert|warn)s?\b.{0,40}\b(?:user|human|anyone|person|developer|them|operator)\b`,
      String.raw`(?:without|no need for) (?:asking|confirmation|approval|telling)\b`,
      String.raw`${AGENT}\b.{0,30}\b(?:must|should|shall|have to|need to|are required to|please|(?:always|never)${IS_SO})\b`,
      String.raw`^(?:(?:(?:always|never)${IS_SO}|must)(?!\p{L})|(?:remember|memori[sz]e|record|store|save|note down|keep in mind)\s*(?:this|that|the following|to\b|:|in\b|as\b|for\b|permanently|forever))`,
    ],
    claims: [
      String.raw`${THE}\s+${PERSON}\s+(?:\w+\s+){0,2}?${WANTS}\b`,
      String.raw`${THE}\s+${PERSON}['’]s?\s+(?:\w+\s+){0,2}?${WISH}\w*`,
      String.raw`(?:(?:requested|asked|wanted|decided|approved|said) by|according to|at the request of|on behalf of|by order of|per|${WISH}\w* (?:of|from))\s+(?:the|this|our|my)\s+${PERSON}`,
    ],
    says: 'says|writes|asks|replies|reads|contains|shows|printed|prints',
    said: 'said|wrote|asked|replied|answered|commented|posted|mentioned|suggested|sent',
    per: 'according to|per',
    shows: 'here|below|this|these|attached|got|found|received|pasted',
    texts:
      'contents?|outputs?|files?|documents?|docs|documentation|pages?|articles?|e-?mails?|messages?|reply|replies|posts?|tweets?|threads?|comments?|logs?|responses?|transcripts?|excerpts?|snippets?|text|readme|wiki|manual|guide|error message',
    from: 'from',
  },
  German: {
    denies: 'nein|nicht|nichts|kein|keine|keinen|keinem|keiner|keines|nie|niemals|ohne',
    asks: 'soll|sollen|sollte|sollten|ist|sind|war|hat|haben|was|welche[nrs]?|wie|wer|wo|wann|warum|gibt es',
    conditions: 'wenn|falls|sofern|außer|solange',
    dates:
      'heute|gestern|vorgestern|übermorgen|(?:nächste|letzte|vorige|kommende|diese)[nrsm]?\\s+(?:woche|monat|jahr|quartal|wochenende|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)|(?:in|vor)\\s+(?:\\d+|einem|einer|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|ein\\s+paar)\\s+(?:tag|tagen|woche|wochen|monat|monaten|jahr|jahren)',
    orders: 'merke? dir|ab (?:jetzt|sofort)|^(?:immer|niemals)(?!\\p{L})',
    claims: '(?:der|die) (?:be)?nutzer\\p{L}* (?:will|möchte|wünscht|bevorzugt|sagt|verlangt)',
    says: 'sagt|schreibt|steht|enthält|zeigt',
    said: 'sagte|schrieb|fragte|antwortete|meinte',
    per: 'laut|gemäß',
    from: 'von',
  },
  French: {
    denies: 'ne|pas|non|jamais|sans|aucun|aucune',
    asks: 'est-ce|faut-il|doit-on|que|quel|quelle|comment|qui|où|quand|pourquoi|y a-t-il',
    conditions: 'si|sauf|lorsque|à moins',
    dates: `aujourd['’]hui|avant-hier|demain|après-demain|(?:semaine|année)\\s+(?:prochaine|dernière|passée)|(?:mois|an|trimestre|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\\s+(?:prochain|dernier|passé)|(?:il\\s+y\\s+a|dans)\\s+(?:\\d+|un|une|deux|trois|quatre|cinq|six|quelques)\\s+(?:jours?|semaines?|mois|ans?)`,
    orders: 'ignorez .{0,60}consignes|^toujours(?!\\p{L})',
    claims: "l['’]utilisateur (?:veut|préfère|demande|dit|exige)",
    says: 'dit|écrit|contient|affiche',
    said: 'a dit|a écrit|a demandé|a répondu',
    per: 'selon',
    from: 'de',
  },
  Spanish: {
    denies: 'no|nunca|jamás|sin|ningún|ninguna',
    asks: 'qué|cuál|cómo|quién|dónde|cuándo|por qué|es|hay|debemos|debería',
    conditions: 'si|salvo|a menos|cuando',
    dates:
      'hoy|ayer|anteayer|pasado\\s+mañana|(?:próxim[ao]|pasad[ao])\\s+(?:semana|mes|año|lunes|martes|miércoles|jueves|viernes|sábado|domingo)|(?:semana|mes|año|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\\s+(?:pasad[ao]|próxim[ao]|que\\s+viene)|(?:hace|dentro\\s+de)\\s+(?:\\d+|un|una|dos|tres|cuatro|cinco|seis|unos|unas)\\s+(?:días?|semanas?|mes|meses|años?)',
    orders: 'olvida .{0,60}reglas|^nunca(?!\\p{L})',
    claims: 'el usuario (?:quiere|prefiere|pide|dice|exige)',
    says: 'dice|contiene|muestra',
    said: 'dijo|escribió|preguntó|respondió',
    per: 'según',
  },
  Italian: {
    denies: 'non|no|mai|senza',
    asks: "dobbiamo|che|quale|come|chi|dove|quando|perché|è|c['’]è",
    conditions: 'se non|a meno|quando',
    orders: 'dimentica .{0,60}istruzioni',
    claims: "l['’]utente (?:vuole|preferisce|chiede|dice)",
    says: 'scrive|dice|mostra',
    said: 'ha scritto|ha detto',
    per: 'secondo',
    from: 'da',
  },
  Portuguese: {
    denies: 'não|nunca|sem|nenhum',
    asks: 'devemos|que|qual|como|quem|onde|quando|por que|é|há',
    conditions: 'a menos|quando',
    claims: 'o (?:usuário|utilizador) (?:quer|prefere|pede|diz)',
    says: 'diz|contém|mostra',
    said: 'escreveu|disse',
  },
  Dutch: {
    denies: 'nee|niet|geen|nooit|zonder',
    conditions: 'indien|tenzij',
    said: 'schreef|zei',
    from: 'van',
  },
  Polish: {
    denies: 'nie|nigdy|bez',
    conditions: 'jeśli|jeżeli|chyba że',
    orders: 'zignoruj .{0,60}instrukcje',
    from: 'od',
  },
  Swedish: { denies: 'inte|aldrig' },
  Norwegian: { denies: 'ikke|aldri', conditions: 'hvis' },
  Russian: {
    denies: 'не|нет|никогда|без|нельзя',
    conditions: 'если|когда',
    orders: 'забудь .{0,60}инструкции',
    said: 'сказала?|написала?',
    from: 'от',
  },
  Ukrainian: { denies: 'не|ні|ніколи', conditions: 'якщо' },
  Turkish: { denies: 'değil|asla', conditions: 'eğer', orders: 'tüm .{0,40}talimatları yok say' },
  Arabic: { denies: 'لا|ليس|لن', conditions: 'إذا|لو', orders: 'تجاهل .{0,40}التعليمات' },
  Chinese: {
    isJoined: true,
    denies: '不|没|沒|别|勿|未|無|无|禁止',
    asks: '吗|嗎|是不是|要不要|该不该',
    conditions: '如果|假如|除非|的话',
    orders: '忽略.{0,30}指令',
    from: '发件人|寄件者',
  },
  Japanese: {
    isJoined: true,
    denies: 'ない|ません|禁止',
    asks: 'ですか|ますか|べきか|でしょうか',
    conditions: 'なら|場合|たら|もし',
    // Not in words that only begin so: 今日的, the names 今日子 and 明日香, and "three days before the deadline".
    dates:
      '今日(?![的子])|明日(?!香)|昨日|明後日|一昨日|本日|今夜|今晩|昨夜|[先今来]週|[先今来]月|[来去昨今]年|(?<![の\\d])\\d+\\s*(?:日|週間|[かヶヵ]月|年)[前後](?!の)',
    orders: '指示.{0,20}無視|必ず',
    says: '言う|書く',
    from: '差出人',
  },
  Korean: {
    isJoined: true,
    denies: '않|말고|마세요|(?<!\\p{L})안(?!\\p{L})',
    asks: '할까요|인가요|나요',
    conditions: '만약|경우',
    dates: '\\d+일 전',
    orders: '지시.{0,20}무시',
    from: '보낸 ?사람',
  },
};

const wordList = ([words = '']: TemplateStringsArray): Set<string> => new Set(words.split(' '));

/** Words that say nothing of what a text is about. */
export const EMPTY = wordList`a an and are as at be by for from has have in is it its of on or so that the their there this to was were will with user der die das den dem des ein eine einen und oder ist sind im am zu für von mit auf le la les un une et ou est sont de du des el los las y es son en il lo gli e o di da que se`;
/** Words that carry little of what a text says, beyond those that say nothing. */
export const LIGHT = wordList`can could may might must should would shall does did done been being has had not than then also only just still now very more most too any all some each both own they them she him her his its this that these those which who what when where while into onto over under about after before because since said says asked wants agreed decided noted already always please itself themselves one two namely everybody everyone auch nur noch sehr wird wurde werden kann soll muss weil dass sich nicht kein keine aber wenn als wie bei nach vor über unter pas plus que qui pour par dans sur mais avec peut doit está están para con por como más pero`;
/** Verbs that tell little without what they are said of. */
export const COMMON_VERBS = wordList`get gets got go goes went gone come comes came die dies died fail fails failed work works worked run runs ran take takes took make makes made keep keeps kept use uses used need needs needed give gives gave put puts let lets see sees saw try tries tried hit hits happen happens happened become becomes became begin begins began stay stays stayed hold holds held stand stands stood geht ging kommt kam läuft lief bleibt blieb macht gibt nimmt braucht va vient marche fait reste prend funciona hace queda`;
/** What is named behind these is only named to be left: "instead of npm". */
export const GIVEN_UP =
  'instead of|rather than|in place of|anstatt|statt|anstelle(?: von)?|au lieu(?: de)?|plutôt que|en lugar de|en vez de|invece di|em vez de|in plaats van|zamiast|вместо|i stället för|i stedet for';

const ROWS = Object.values(LANGUAGES);
const BEFORE_WORD = String.raw`(?<![\p{L}\p{N}_])`;
const BEHIND_WORD = String.raw`(?![\p{L}\p{N}_])`;

/** What one column says in all languages; `around`: of those whose words have spaces between them. */
function column(of: keyof Language, around = [BEFORE_WORD, BEHIND_WORD]): string {
  const parts = (isJoined: boolean) =>
    ROWS.filter((row) => Boolean(row.isJoined) === isJoined).flatMap((row) => (row[of] as string | string[]) ?? []);
  return [`${around[0]}(?:${parts(false).join('|')})${around[1]}`, ...parts(true)].join('|');
}

/** What says that something is so each time. */
export const ALWAYS = 'always|immer|toujours|siempre|sempre|必须|总是';
const RULES = new RegExp(
  `${BEFORE_WORD}(?:${ALWAYS}|never|every(?!\\s+(?:\\d|few|second|minute|hour|day|night|week|month|year)))${BEHIND_WORD}`,
  'iu',
);
const LIKE_A_RULE = new RegExp(
  `${BEFORE_WORD}(?:${ALWAYS}|n?ever|each|all|must|only|(?:any|every|when)\\p{L}*)${BEHIND_WORD}`,
  'iu',
);

/** The word by which a text speaks of all times, where nothing that is said does, nor denies what it says "never" of; else null. */
export function widened(text: string, said: readonly string[]): string | null {
  const [word] = RULES.exec(text.replace(CODE_OR_URL, ' ')) ?? [];
  const isSaid = (each: string) => LIKE_A_RULE.test(each) || (/never/i.test(word ?? '') && isDenied(each));
  return word === undefined || said.some(isSaid) ? null : word;
}

/** What parts a sentence into what it says. */
export const CLAUSE = /[,;:()–—，；：、。！？\n]|[.!?]\s|\s-\s/;

/** The first words by which a text denies or forbids something. */
export const DENIES = column('denies');
const DENIAL = new RegExp(DENIES, 'iu');
const CONDITION = new RegExp(column('conditions'), 'iu');
const ASKS = new RegExp(
  column('asks', [String.raw`^(?:[\p{P}\s]|so|and|but|und|et|y|hm+|wait|ok|oh)*`, BEHIND_WORD]),
  'iu',
);
const ORDERS = new RegExp(column('orders', [BEFORE_WORD, '']), 'iu');
/** Before what a text is begun with. */
const ADDRESS = /^(?:\W|please|agent|assistant|claude|ai|hey|note|important|system)*/i;
const CLAIMS = new RegExp(column('claims', [BEFORE_WORD, '']), 'iu');
/** The names of tables and prompts for who speaks, whatever the language. */
const SPEAKER =
  /(?:^|[\s|>*#"'([])(?:Human|User|HUMAN|USER|Assistant|ASSISTANT|System|SYSTEM|Developer|DEVELOPER)\s*(?:\([^)]*\)|\[[^\]]*\])?\s*[\]*_]*\s*[:：]|^[^\S\n]*(?:human|user|assistant|system|developer)\s*[:：]|<\s*\/?\s*(?:human|user|assistant|system|developer|person)(?:[-_ ]?(?:message|turn|prompt|input|says))?\b[^<>]*>|[[<]\|?(?:human|user|system|inst|assistant|im_start|start_header_id)(?:\]|\|)/imu;

export const isDenied = (text: string) => DENIAL.test(text);
export const hasCondition = (text: string) => CONDITION.test(text);

export const ENDS_ASKING = /[?？؟]\s*["'”’)\]*_`]*\s*$/;

/** Whether a sentence asks what is so; a polite order does not. */
export const isQuestion = (sentence: string) => ENDS_ASKING.test(sentence) && ASKS.test(sentence.trim());

/** The words by which a text, as it is or decoded, tells an agent what to do, to keep or to forget; null where it tells nothing. */
export function orderIn(text: string): string | null {
  for (const seen of asRead(text))
    for (const each of [seen, seen.replace(/["'“”‘’«»*_`]/g, ''), seen.replace(ADDRESS, '')]) {
      const [found] = ORDERS.exec(each) ?? [];
      if (found !== undefined) return found.trim();
    }
  return null;
}

export const speaksToAgent = (text: string) => orderIn(text) !== null;

/** The words by which a text claims that a person says or wants something; null where it claims nothing. */
export function claimsSpeaker(text: string): string | null {
  for (const seen of asRead(text)) {
    const [found] = CLAIMS.exec(seen) ?? SPEAKER.exec(seen) ?? [];
    if (found !== undefined) return found.trim();
  }
  return null;
}

// A date is rather missed than a good text refused: names, paths, code, quoted words and dated ones are left be.

// A word that a person says, not a part of a name, a path or a flag: `today.ts`, `--since-yesterday`, `due_today`.
const DATE_BEGINS = String.raw`(?<![\p{L}\p{M}\p{N}_@#$%/\\.=<'’ʼ-])`;
const DATE_ENDS = String.raw`(?![\p{L}\p{M}\p{N}_@#$%/\\=>(-])(?!\.[\p{L}\p{N}_])`;
// "Friday (2026-03-06)" was made absolute already.
const NOT_DATED = String.raw`(?!,?\s{0,20}(?:\(\s{0,20})?(?:=\s{0,20})?\d{4}-\d{2}-\d{2})`;
const RELATIVE_DATE = new RegExp(`(?:${column('dates', [DATE_BEGINS, DATE_ENDS])})${NOT_DATED}`, 'giu');

const CODE_OR_URL = /```[\s\S]*?```|`[^`]*`|(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,40}:\/\/\S+/gi;
const OPENING_QUOTES = '"“„«‘「『';
const CLOSING_QUOTES = '"”“»’」』';

/** The first relative date in `text`, as it stands there; null where there is none. */
export function findRelativeDate(text: string): string | null {
  const prose = text.normalize('NFC').replace(CODE_OR_URL, ' ');
  for (const match of prose.matchAll(RELATIVE_DATE)) {
    // Not slices of all that stands before and after: with many such words that would take the square of their number.
    const before = prose[match.index - 1];
    const after = prose[match.index + match[0].length];
    // A quoted word is named, not used: the button "Today".
    const isQuoted = before && after && OPENING_QUOTES.includes(before) && CLOSING_QUOTES.includes(after);
    if (!isQuoted) return match[0];
  }
  return null;
}

/** Of the rows, what marks in a message that someone else wrote what follows (spoken-text.ts). */
export const SAYS = column('says');
export const SAID = column('said');
export const PER = column('per');
export const SHOWS = column('shows');
export const TEXTS = column('texts');
export const MAIL_FROM = column('from', ['', '']);
