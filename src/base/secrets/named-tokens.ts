// Finds the tokens that only their vendor's name beside them tells (NAMED of vendor-table.ts).
// What stands between name and value decides: `HEROKU_API_KEY=`, `"algolia": "`, `the Datadog key is`; not
// `heroku_app_id:`, `discord commit`.
// Promises: linear time; looks at no more than WINDOW characters after a name.

import { isAtWordStart } from './edges.ts';
import { isMachineMade } from './randomness.ts';
import { type Found, partsOf, plainForms, sourceOf } from './token-forms.ts';
import { NAMED, TOKENS } from './vendor-table.ts';

const WINDOW = 260;

interface Vendor {
  id: string;
  values: RegExp[];
}

const VENDORS = new Map<string, Vendor>();
for (const { id, names, forms } of NAMED) {
  const values = forms
    .flatMap(plainForms)
    .map(
      (plain) =>
        new RegExp(`(?<![A-Za-z0-9_])${sourceOf(partsOf(plain), { broken: false, open: false })}(?![\\w-])`, 'gi'),
    );
  for (const name of names) VENDORS.set(name.replaceAll('_', ''), { id, values });
}

const ANY_NAME = new RegExp(
  [...new Set(NAMED.flatMap(({ names }) => names))]
    .toSorted((a, b) => b.length - a.length)
    .map((name) => name.replaceAll('__', '_').replaceAll('_', '[_ -]{0,2}'))
    .join('|'),
  'gi',
);

/** Between a name and its value: words, then at least one sign that a value comes. */
const BETWEEN =
  /^(?<words>[\w .,\t()-]{0,60}?)(?:[\s"'`\\\])}]{0,20}(?:[=:>|,?(]{1,3}|(?<![a-z])(?:is|was|ist|est|es)(?![a-z]))(?:\\{0,4}["']?value\\{0,4}["'][\s:]{0,4})?|(?<=key|token|secret|password|credentials?)[ \t])[\s"'`\\:=>([$f]{0,20}$/i;
/** Words after which comes something that anybody may see. */
const HARMLESS =
  /(?<![a-z])(?:commit|sha|hash|digest|checksum|rev(?:ision)?|version|integrity|etag|uuid|guid|build|image|blob|tree|md5|fingerprint|cursor|trace|span|request|message|nonce|page|file|path|url|channel|user|team|project|task|app|org|account|site|event|session)(?![a-z])/i;
const KEY_WORD = /key|token|secret|passw/i;
const ID_OF_OTHERS = /(?<!client|access|key|secret)[ _-]?(?<![a-z])ids?$/i;

export function findNamedTokens(text: string): Found[] {
  const found: Found[] = [];
  let taken = 0;
  ANY_NAME.lastIndex = 0;
  for (let hit = ANY_NAME.exec(text); hit !== null; hit = ANY_NAME.exec(text)) {
    const start = hit.index;
    if (isInsideWord(text, start, hit[0])) continue;
    const vendor = VENDORS.get(hit[0].toLowerCase().replace(/[_ -]/g, '')) as Vendor;
    const from = start + hit[0].length;
    const window = text.slice(from, from + WINDOW);
    for (const span of valuesIn(window, vendor.values)) {
      if (from + span.start < taken) continue;
      found.push({ rule: vendor.id, start: from + span.start, end: from + span.end });
      taken = from + span.end;
    }
  }
  return found;
}

/** `blob` says nothing of Lob, `myHeroku` does of Heroku. */
function isInsideWord(text: string, start: number, name: string): boolean {
  return /^[a-z]/.test(name) && /[a-z]/.test(text[start - 1] ?? '') && !isAtWordStart(text, start);
}

function valuesIn(window: string, values: RegExp[]): { start: number; end: number }[] {
  for (const pattern of values) {
    for (const match of window.matchAll(pattern)) {
      const value = match[0];
      const between = BETWEEN.exec(window.slice(0, match.index));
      if (between === null) continue;
      const words = (between.groups?.words ?? '').replace(/(?<=[a-z])(?=[A-Z])/g, '_');
      if (!isMachineMade(value) && !(KEY_WORD.test(words) && /\d|[a-z][A-Z]{1,3}[a-z]/.test(value))) continue;
      if (HARMLESS.test(words) || ID_OF_OTHERS.test(words)) continue;
      return [{ start: match.index, end: match.index + value.length }];
    }
  }
  return [];
}

/** Whether a name speaks of a vendor whose keys are secrets. */
export function namesVendor(name: string): boolean {
  return ANY_VENDOR.test(name);
}

const ANY_VENDOR = new RegExp([...new Set([...TOKENS, ...NAMED].map(({ id }) => id))].join('|'), 'i');
