// Finds what only means something on the day it was said: "tomorrow", "next Friday", "in two weeks", and the
// unambiguous German, French, Spanish and Japanese words for such. An entry that holds one must be mended first.
// It would rather miss a rare one than refuse a good text: names, paths, code, quoted words and dated ones are left be.

const ENGLISH_NUMBER = String.raw`(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a few|a couple of|several|some)`;
const WEEKDAY = '(?:mon|tues|wednes|thurs|fri|satur|sun)day';
const MONTH = '(?:january|february|march|april|may|june|july|august|september|october|november|december)';
const SEASON = '(?:spring|summer|autumn|winter)';
const SPAN = '(?:week|month|year|quarter|weekend)';
const PART_OF_DAY = '(?:morning|afternoon|evening|night)';
// "The last Friday of the month" is a rule, not a date; so is "within two days of the release".
const NOT_A_RULE = String.raw`(?!\s+(?:of|before|after|from|or)\b)`;

const ENGLISH = [
  `today(?!['’ʼ])|tonight|tomorrow|yesterday`,
  `(?:next|last|this|coming)\\s+(?:${SPAN}|${WEEKDAY}|${MONTH}|${SEASON})${NOT_A_RULE}`,
  `(?:this|last|tomorrow|yesterday)\\s+${PART_OF_DAY}`,
  `(?:past|coming)\\s+(?:few\\s+)?(?:days|weeks|months|years|week|month|year|quarter)${NOT_A_RULE}`,
  `(?<!\\b(?:once|twice|times)\\s+)in\\s+${ENGLISH_NUMBER}\\s+(?:day|week|month|year)s?${NOT_A_RULE}(?:\\s+time)?`,
  `${ENGLISH_NUMBER}\\s+(?:minute|hour|day|week|month|year)s?\\s+(?:ago|from\\s+now)`,
  `by\\s+(?:the\\s+)?end\\s+of\\s+(?:the\\s+|this\\s+)?(?:day|week|month|quarter|year)${NOT_A_RULE}`,
];

// A day of the week alone is a date where something is due by it, unless it is due every week.
const DUE_DAY = new RegExp(
  String.raw`\b(?:by|until|till)\s+${WEEKDAY}\b(?!,?\s+(?:\(?\d|(?:the\s+)?\d|${MONTH}|of\b))`,
  'i',
);
const EVERY_WEEK = /\b(?:every|each|weekly|always|never|usually)\b/i;

const GERMAN = [
  'heute|gestern|vorgestern|übermorgen',
  `(?:nächste|letzte|vorige|kommende|diese)[nrsm]?\\s+(?:woche|monat|jahr|quartal|wochenende|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)`,
  `(?:in|vor)\\s+(?:\\d+|einem|einer|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|ein\\s+paar)\\s+(?:tag|tagen|woche|wochen|monat|monaten|jahr|jahren)`,
];

const FRENCH = [
  `aujourd['’]hui|avant-hier|demain|après-demain`,
  '(?:semaine|année)\\s+(?:prochaine|dernière|passée)|(?:mois|an|trimestre|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\\s+(?:prochain|dernier|passé)',
  `il\\s+y\\s+a\\s+(?:\\d+|un|une|deux|trois|quatre|cinq|six|quelques)\\s+(?:jours?|semaines?|mois|ans?)`,
  'dans\\s+(?:\\d+|un|une|deux|trois|quatre|cinq|six|quelques)\\s+(?:jours?|semaines?|mois|ans?)',
];

const SPANISH = [
  'hoy|ayer|anteayer|pasado\\s+mañana',
  '(?:próxim[ao]|pasad[ao])\\s+(?:semana|mes|año|lunes|martes|miércoles|jueves|viernes|sábado|domingo)',
  '(?:semana|mes|año|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\\s+(?:pasad[ao]|próxim[ao]|que\\s+viene)',
  '(?:hace|dentro\\s+de)\\s+(?:\\d+|un|una|dos|tres|cuatro|cinco|seis|unos|unas)\\s+(?:días?|semanas?|mes|meses|años?)',
];

// Not in words that only begin so: 今日的, the names 今日子 and 明日香, and "three days before the deadline" (の3日前).
const JAPANESE = [
  '今日(?![的子])|明日(?!香)|昨日|明後日|一昨日|本日|今夜|今晩|昨夜',
  '[先今来]週|[先今来]月|[来去昨今]年',
  '(?<![の\\d])\\d+\\s*(?:日|週間|[かヶヵ]月|年)[前後](?!の)',
];

// A word that a person says, not a part of a name, a path or a flag: `today.ts`, `--since-yesterday`, `due_today`.
const BEGINS = String.raw`(?<![\p{L}\p{M}\p{N}_@#$%/\\.=<'’ʼ-])`;
const ENDS = String.raw`(?![\p{L}\p{M}\p{N}_@#$%/\\=>(-])(?!\.[\p{L}\p{N}_])`;
// "Friday (2026-03-06)" was made absolute already.
const NOT_DATED = String.raw`(?!,?\s{0,20}(?:\(\s{0,20})?(?:=\s{0,20})?\d{4}-\d{2}-\d{2})`;

const SPACED = [...ENGLISH, ...GERMAN, ...FRENCH, ...SPANISH].map((words) => `(?:${words})`).join('|');
const RELATIVE_DATE = new RegExp(
  `(?:${BEGINS}(?:${SPACED})${ENDS}|(?:${JAPANESE.map((words) => `(?:${words})`).join('|')}))${NOT_DATED}`,
  'giu',
);

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
  const due = EVERY_WEEK.test(prose) ? null : DUE_DAY.exec(prose);
  return due?.[0] ?? null;
}
