// The words of languages, as data: what the functions of this folder and its neighbours look for in a text. Parts of regular
// expressions, joined by `|`; each list says who reads it. Never: what an agent's format writes, which stands with the format.

/**
 * What speaks to an agent in languages other than English (injection.ts): as much as the hostile sets of the tests need to
 * be refused, `said` anywhere, `begins` at the beginning.
 */
export const ORDERS: Record<string, { said: string; begins?: string }> = {
  German: { said: 'merke? dir|ab (?:jetzt|sofort)', begins: '(?:immer|niemals)(?!\\p{L})' },
  French: { said: 'ignorez .{0,60}consignes', begins: 'toujours(?!\\p{L})' },
  Spanish: { said: 'olvida .{0,60}reglas', begins: 'nunca(?!\\p{L})' },
  Italian: { said: 'dimentica .{0,60}istruzioni' },
  Polish: { said: 'zignoruj .{0,60}instrukcje' },
  Russian: { said: 'забудь .{0,60}инструкции' },
  Turkish: { said: 'tüm .{0,40}talimatları yok say' },
  Arabic: { said: 'تجاهل .{0,40}التعليمات' },
  Chinese: { said: '忽略.{0,30}指令' },
  Japanese: { said: '指示.{0,20}無視', begins: '必ず' },
  Korean: { said: '지시.{0,20}무시' },
};

/** What denies or forbids: words, in languages that part them by spaces (wording.ts). */
export const NEGATION_WORDS =
  "no|not|never|none|nobody|nothing|neither|nor|without|cannot|avoid|nicht|nichts|kein|keine|keinen|keinem|keiner|keines|nie|niemals|ohne|pas|jamais|sans|aucun|aucune|nunca|jamás|sin|ningún|ninguna|non|mai|senza|não|nunca|sem|nenhum|niet|geen|nooit|zonder|nigdy|bez|inte|aldrig|ikke|aldri|не|нет|никогда|без|нельзя|ні|ніколи|değil|asla|\\p{L}+n['’]t";

/** Words that say nothing of what a text is about (wording.ts). */
export const EMPTY = new Set(
  'a an and are as at be by for from has have in is it its of on or so that the their there this to was were will with user der die das den dem des ein eine einen und oder ist sind im am zu für von mit auf le la les un une et ou est sont de du des el los las y es son en il lo gli e o di da que se'.split(
    ' ',
  ),
);

/** Words that carry little of what a text says, beyond those that say nothing (memory/recall/near.ts). */
export const LIGHT = new Set(
  (
    'can could may might must should would shall does did done been being has had not than then also only just still now very more most ' +
    'too any all some each both own they them she him her his its this that these those which who what when where while into onto over under ' +
    'about after before because since said says asked wants agreed decided noted already always please itself themselves one two namely everybody everyone ' +
    'auch nur noch sehr wird wurde werden kann soll muss weil dass sich nicht kein keine aber wenn als wie bei nach vor über unter ' +
    'pas plus que qui pour par dans sur mais avec peut doit está están para con por como más pero'
  ).split(' '),
);

/** Verbs that tell little without what they are said of (memory/recall/near.ts). */
export const COMMON_VERBS = new Set(
  (
    'get gets got go goes went gone come comes came die dies died fail fails failed work works worked run runs ran take takes took ' +
    'make makes made keep keeps kept use uses used need needs needed give gives gave put puts let lets see sees saw try tries tried ' +
    'hit hits happen happens happened become becomes became begin begins began stay stays stayed hold holds held stand stands stood ' +
    'geht ging kommt kam läuft lief bleibt blieb macht gibt nimmt braucht va vient marche fait reste prend funciona hace queda'
  ).split(' '),
);

/** What is named behind these is only named to be left: "instead of npm" (words.ts). */
export const GIVEN_UP =
  'instead of|rather than|in place of|anstatt|statt|anstelle(?: von)?|au lieu(?: de)?|plutôt que|en lugar de|en vez de|invece di|em vez de|in plaats van|zamiast|вместо|i stället för|i stedet for';

/** What people send, and then paste (pasted.ts). */
export const SENT =
  'files?|documents?|docs?|documentation|pages?|articles?|sites?|e-?mails?|mails?|messages?|reply|replies|posts?|tweets?|threads?|comments?|reviews?|logs?|outputs?|traceback|stack ?trace|responses?|transcripts?|excerpts?|snippets?|readme|config|contents?|text|source|datei|dokument|seite|nachricht|inhalt|ausgabe|fichier|contenu|courriel|sortie|archivo|contenido|correo|salida|página';

/** What people write short and a model writes out (entry-words.ts). */
export const SHORT_FORMS: Record<string, string> = {
  ...{ pr: 'pull request', mr: 'merge request', repo: 'repository', db: 'database', dir: 'directory', lib: 'library' },
  ...{ config: 'configuration', docs: 'documentation', spec: 'specification', env: 'environment', var: 'variable' },
  ...{ auth: 'authentication', deps: 'dependencies', perf: 'performance', param: 'parameter', arg: 'argument' },
  ...{
    prod: 'production',
    dev: 'development',
    app: 'application',
    info: 'information',
    msg: 'message',
    cmd: 'command',
  },
  ...{ js: 'JavaScript', ts: 'TypeScript', k8s: 'Kubernetes', ui: 'user interface', pkg: 'package', tmp: 'temporary' },
};

const ENGLISH_NUMBER = String.raw`(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a few|a couple of|several|some)`;
export const WEEKDAY = '(?:mon|tues|wednes|thurs|fri|satur|sun)day';
export const ENGLISH_MONTH =
  '(?:january|february|march|april|may|june|july|august|september|october|november|december)';
const SEASON = '(?:spring|summer|autumn|winter)';
const SPAN = '(?:week|month|year|quarter|weekend)';
const PART_OF_DAY = '(?:morning|afternoon|evening|night)';
// "The last Friday of the month" is a rule, not a date; so is "within two days of the release".
const NOT_A_RULE = String.raw`(?!\s+(?:of|before|after|from|or)\b)`;

/** What only means something on the day it was said, by language (entry-words.ts). */
export const RELATIVE_DATES: Record<string, string[]> = {
  English: [
    `today(?!['’ʼ])|tonight|tomorrow|yesterday`,
    `(?:next|last|this|coming)\\s+(?:${SPAN}|${WEEKDAY}|${ENGLISH_MONTH}|${SEASON})${NOT_A_RULE}`,
    `(?:this|last|tomorrow|yesterday)\\s+${PART_OF_DAY}`,
    `(?:past|coming)\\s+(?:few\\s+)?(?:days|weeks|months|years|week|month|year|quarter)${NOT_A_RULE}`,
    `(?<!\\b(?:once|twice|times)\\s+)in\\s+${ENGLISH_NUMBER}\\s+(?:day|week|month|year)s?${NOT_A_RULE}(?:\\s+time)?`,
    `${ENGLISH_NUMBER}\\s+(?:minute|hour|day|week|month|year)s?\\s+(?:ago|from\\s+now)`,
    `by\\s+(?:the\\s+)?end\\s+of\\s+(?:the\\s+|this\\s+)?(?:day|week|month|quarter|year)${NOT_A_RULE}`,
  ],
  German: [
    'heute|gestern|vorgestern|übermorgen',
    `(?:nächste|letzte|vorige|kommende|diese)[nrsm]?\\s+(?:woche|monat|jahr|quartal|wochenende|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)`,
    `(?:in|vor)\\s+(?:\\d+|einem|einer|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|ein\\s+paar)\\s+(?:tag|tagen|woche|wochen|monat|monaten|jahr|jahren)`,
  ],
  French: [
    `aujourd['’]hui|avant-hier|demain|après-demain`,
    '(?:semaine|année)\\s+(?:prochaine|dernière|passée)|(?:mois|an|trimestre|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\\s+(?:prochain|dernier|passé)',
    `il\\s+y\\s+a\\s+(?:\\d+|un|une|deux|trois|quatre|cinq|six|quelques)\\s+(?:jours?|semaines?|mois|ans?)`,
    'dans\\s+(?:\\d+|un|une|deux|trois|quatre|cinq|six|quelques)\\s+(?:jours?|semaines?|mois|ans?)',
  ],
  Spanish: [
    'hoy|ayer|anteayer|pasado\\s+mañana',
    '(?:próxim[ao]|pasad[ao])\\s+(?:semana|mes|año|lunes|martes|miércoles|jueves|viernes|sábado|domingo)',
    '(?:semana|mes|año|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\\s+(?:pasad[ao]|próxim[ao]|que\\s+viene)',
    '(?:hace|dentro\\s+de)\\s+(?:\\d+|un|una|dos|tres|cuatro|cinco|seis|unos|unas)\\s+(?:días?|semanas?|mes|meses|años?)',
  ],
};

// Not in words that only begin so: 今日的, the names 今日子 and 明日香, and "three days before the deadline" (の3日前).
export const RELATIVE_DATES_UNSPACED = [
  '今日(?![的子])|明日(?!香)|昨日|明後日|一昨日|本日|今夜|今晩|昨夜',
  '[先今来]週|[先今来]月|[来去昨今]年',
  '(?<![の\\d])\\d+\\s*(?:日|週間|[かヶヵ]月|年)[前後](?!の)',
];
