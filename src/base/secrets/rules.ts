// What a secret looks like where it is no token of a vendor's form: by its place (keys in a block, JWTs, cookies, headers,
// logins in URLs and on command lines, secrets of Kubernetes), by the name it is given to (`API_KEY=`, `"password": "`,
// `my password is`, `--token`), and by its vendor's name next to it (NAMED of vendor-table.ts), where what stands between
// decides: `the Datadog key is`, not `discord commit`. Names of variables, types, expressions, placeholders, paths and
// places in a list of pages are no secrets.
// Every pattern is linear: what it repeats is bounded or can be split in one way only, so no text can make it slow.

import {
  BREAK,
  type Found,
  isAtWordStart,
  isCode,
  isMachineMade,
  isMixed,
  isPath,
  isPlaceholder,
  isShuffled,
  type SecretRule,
  TYPE_WORD,
  WORD_START,
} from './rule.ts';
import { partsOf, plainForms, sourceOf } from './token-forms.ts';
import { NAMED, TOKENS } from './vendor-table.ts';

export const PRIVATE_KEY: SecretRule = {
  id: 'private-key',
  pattern:
    /-----BEGIN[ \w-]{0,60}PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-(?!----)){0,20000}-----END[ \w-]{0,60}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\{1,4}[rn]|["'+,]){1,80}[A-Za-z0-9+/=]{16,200})*)/g,
  isSecret: (value) => /[A-Za-z0-9+/=]{16}/.test(value),
};

const JWT_RUN = `(?:[\\w-](?:${BREAK}(?=[\\w.-]))?)`;
export const JWT: SecretRule = {
  id: 'jwt',
  pattern: new RegExp(
    `${WORD_START}ey[JAo]${JWT_RUN}{8,1000}\\.${JWT_RUN}{8,8000}\\.(?:(?:[\\w-](?:${BREAK}(?=[\\w-]))?){42}[\\w-]+|[\\w-]*)`,
    'g',
  ),
};

/** Cookies that say what someone likes, not who they are. */
const HARMLESS_COOKIE =
  /consent|gdpr|theme|lang|locale|timezone|^tz$|currency|^_g[ai]|^_fbp$|^utm|^ajs_|optanon|banner|color|layout|sidebar/i;

export const IN_PLACES: SecretRule[] = [
  {
    id: 'cookie',
    pattern:
      /\b(?:set-)?cookie\\{0,8}["'`]?[ \t]{0,20}[:=][ \t]{0,20}\\{0,8}["'`]?(?<secret>[\w.-]{1,100}=[^\s"'`\\]{8,4000}(?:[ \t][\w.-]{1,100}=[^\s"'`\\]{1,4000}){0,50})/gi,
    isSecret: (value) => value.split(/;[ \t]?/).some(isTellingCookie),
  },
  // GitHub's own word in a password's place says that the user is the token.
  {
    id: 'url-login',
    pattern: /:\/\/(?<secret>[^\s:@/"'`<>[]{1,200})(?<tail>:x-oauth-basic@)/g,
    isSecret: (value) => !isPlaceholder(value),
  },
  {
    id: 'url-login',
    pattern: /:\/\/(?:\[redacted:[a-z\d-]{1,40}\]|[^\s:@/"'`<>[]{0,100}):(?<secret>[^\s@/"'`<>]{1,200})(?<tail>@)/g,
    isSecret: (value) => !isPlaceholder(value) && value !== 'x-oauth-basic',
  },
  { id: 'url-login', pattern: /:\/\/(?<secret>[\w-]{20,200})(?<tail>:?@)/g, isSecret: (value) => /\d/.test(value) },
  {
    id: 'authorization',
    pattern:
      /\bauthorization\\{0,8}["'`]?[ \t]{0,20}[:=][ \t]{0,20}\\{0,8}["'`]?(?:[a-z-]{1,20}[ \t]{1,20})?(?<secret>[\w.~+/=:-]{8,8000})/gi,
    isSecret: (value) => !isPlaceholder(value) && !isCode(value) && /\d|={1,2}$/.test(value),
  },
  {
    id: 'authorization',
    pattern: /\bbearer[ \t]{1,20}(?<secret>[\w.~+/=-]{12,8000})/gi,
    isSecret: (value) => !isPlaceholder(value) && !isCode(value) && /\d/.test(value) && /[a-z]/i.test(value),
  },
  {
    id: 'login',
    pattern: /\bcurl\b[^\n]{0,300}?[ \t](?:-u|--user)[ =]\\{0,8}["']?[^\s:"'\\]{1,100}:(?<secret>[^\s"'\\]{1,200})/g,
    isSecret: (value) => !isPlaceholder(value),
  },
  login(String.raw`\bsshpass[ \t]{1,9}-p[ \t]{0,9}`),
  login(String.raw`\b(?:mysql|mariadb|mysql(?:dump|admin|import|check|show))\b[^\n|;&]{0,200}?[ \t]-p`),
  login(
    String.raw`\b(?:docker|podman|nerdctl|buildah|skopeo|helm(?: registry)?|crane(?: auth)?|az|oc|cf)[ \t]{1,9}login\b[^\n|;&]{0,200}?[ \t]-p[ \t=]{1,9}`,
  ),
  login(String.raw`\bredis-cli\b[^\n|;&]{0,200}?[ \t]-a[ \t]{1,9}`),
  login(
    String.raw`\b(?:machine|login)(?:\s|\\[nrt]){1,20}[^\s\\]{1,200}(?:(?:\s|\\[nrt]){1,20}(?:login|account)(?:\s|\\[nrt]){1,20}[^\s\\]{1,200}){0,2}(?:\s|\\[nrt]){1,20}password(?:\s|\\[nrt]){1,20}`,
  ),
  {
    id: 'login',
    pattern:
      /<add[ \t]{1,9}key=\\?["'](?:ClearText)?Password\\?["'][ \t]{0,9}value=\\?["'](?<secret>[^"'\\<>\n]{4,400})/gi,
    isSecret: (value) => !isPlaceholder(value),
  },
];

function isTellingCookie(pair: string): boolean {
  const [, name = '', value = ''] = /^\s*([\w.-]+)=(.*)$/s.exec(pair) ?? [];
  return !HARMLESS_COOKIE.test(name) && !isCode(value) && /[\w%+/=-]{12}/.test(value) && /\d/.test(value);
}

/** A program that is given a password where nobody could take it for something else. */
function login(before: string): SecretRule {
  return {
    id: 'login',
    pattern: new RegExp(
      `${before}(?:\\\\{0,8}["'](?<quoted>[^"'\\\\\n]{1,200})(?=\\\\{0,8}["'])|(?<bare>[^\\s"'\`\\\\]{1,200}))`,
      'gi',
    ),
    isSecret: (value) => !isPlaceholder(value) && !/^(?:-|\$)/.test(value),
  };
}

const SECRET_KIND = /\bkind\\{0,8}["']?:[ \t]{0,9}\\{0,8}["']?Secret\b/g;
const DATA_LINE =
  /(?<=[\s{,n]\\{0,8}["']?)[\w.-]{1,100}\\{0,8}["']?:[ \t]{0,9}(?:[|>][-+]?\s{1,40})?\\{0,8}["']?(?<secret>[A-Za-z0-9+/]{8,8000}={0,3})(?![\w+/=])/g;
const DATA = /(?<![A-Za-z])(?:string)?data\\{0,8}["']?:/gi;
// The block ends where something that is not its own begins.
const AFTER_DATA = /\}|\n[A-Za-z-]|\\n[a-z]+:(?:\\n| )/gi;
const AROUND_KIND = 4000;

/** What stands under `data:` near `kind: Secret`: base64 is no veil. */
export function findKubernetesSecrets(text: string): Found[] {
  const kinds = [...text.matchAll(SECRET_KIND)].map((match) => match.index);
  const found: Found[] = [];
  let done = 0;
  for (const data of kinds.length === 0 ? [] : text.matchAll(DATA)) {
    const from = data.index + data[0].length;
    while (kinds[0] !== undefined && kinds[0] < data.index - AROUND_KIND) kinds.shift();
    if (data.index < done || kinds[0] === undefined || kinds[0] > data.index + AROUND_KIND) continue;
    AFTER_DATA.lastIndex = from;
    done = Math.min(AFTER_DATA.exec(text)?.index ?? text.length, from + 4 * AROUND_KIND);
    for (const match of text.slice(from, done).matchAll(DATA_LINE)) {
      const end = from + match.index + match[0].length;
      found.push({ rule: 'kubernetes', start: end - (match.groups?.secret ?? '').length, end });
    }
  }
  return found;
}

const SECRET_NAME = String.raw`(?:api[ _-]?key|secret(?:[ _-]?(?:access[ _-]?)?key)?|(?:access|account|auth|encryption|private|shared|signing)[_-]?key|(?:client|tls)[_-]key[_-]data|token|passw(?:or)?d|passphrase|pass[_-]?code|pwd|[_-]pass|credentials?|kennwort|passwort|mot de passe|contrase[ñn]a|senha|wachtwoord|has[łl]o|пароль|密[码碼]|パスワード|비밀번호)(?:[_-]?\d{1,2})?`;
const NAMES_A_SECRET = new RegExp(SECRET_NAME, 'i');
const IN_VALUE = '(?:[^\\s"\'`\\\\]|\\\\(?![rnt"\'`]))';
// A quoted value ends at its quote (or the text does); words after it make it a sentence, not a secret.
const QUOTED = `${IN_VALUE}{1,4000}(?=\\\\{0,8}["'\`]|$)`;
const BARE = `(?:(?![<>&,;])${IN_VALUE}){0,4000}[^\\s"'\`\\\\<>&,;.:)\\]}]`;
const VALUE = `(?:\\\\{0,8}(?<quote>["'\`])(?<quoted>${QUOTED})|(?<bare>${BARE}))`;
// `const apiKey: string = `: the type is not what is given.
const TYPED = `(?::[ \\t]{0,9}(?:string|str|String|&(?:'static )?str)[ \\t]{0,9}(?==))?`;
const CLOSE = `\\\\{0,8}(?:["'\`]\\]?)?[ \\t]{0,20}${TYPED}`;

export const ASSIGNMENTS: SecretRule[] = [
  {
    id: 'assignment',
    pattern: new RegExp(
      `(?<name>${SECRET_NAME})${CLOSE}(?<joint>:=|=>|[:：=](?![:=])| (?:ist?|was|lautet|est|es|jest)(?![a-z]):?)[ \\t]{0,40}(?<break>${BREAK})?${VALUE}`,
      'gi',
    ),
    isSecret: isAssignedSecret,
  },
  {
    id: 'assignment',
    pattern: new RegExp(`(?<=\\s|^)--(?:[a-z]{1,15}-){0,3}(?<name>${SECRET_NAME})(?<joint>[ \\t]{1,20})${VALUE}`, 'gi'),
    isSecret: isAssignedSecret,
  },
  {
    id: 'assignment',
    pattern: new RegExp(`(?<name>key|auth|creds?)${CLOSE}(?<joint>:=|=>|[:=](?![:=]))[ \\t]{0,40}${VALUE}`, 'gi'),
    isSecret: isKeyOfSomeone,
  },
  {
    id: 'private-key',
    pattern:
      /(?:private|signing|wallet)[ _-]?key(?:[^\n]{0,40}?|[^\n]{0,9}\n[ \t]{0,20})(?<![A-Za-z0-9])(?<secret>(?:0x)?[a-f\d]{64})(?![A-Za-z0-9])/gi,
  },
];

const PASSWORD_NAME = /pass|pwd|kennwort|contrase|senha|wachtwoord|has[łl]o|пароль|密[码碼]|パスワード|비밀번호/i;
/** Before `token`: where a list goes on. */
const CURSOR =
  /(?:page|next|prev|previous|continuation|continue|cursor|sync|resume|pagination|scroll|offset|checkpoint|iterator|watch)[_-]?$/i;

function isAssignedSecret(value: string, groups: Record<string, string | undefined>, before: string): boolean {
  const name = groups.name ?? '';
  const joint = (groups.joint ?? '').trim();
  if (isPlaceholder(value) || TYPE_WORD.test(value)) return false;
  if (/^token/i.test(name) && CURSOR.test(before)) return false;
  if (value.replace(/[^a-z]/gi, '').toLowerCase() === name.replace(/[^a-z]/gi, '').toLowerCase()) return false;
  const isPassword = PASSWORD_NAME.test(name);
  const hasDigit = /\d/.test(value);
  const hasLetter = /[a-z]/i.test(value);
  if (!hasLetter) return isPassword && value.length >= (joint === '=' || joint === ':' ? 6 : 12);
  if (groups.quoted !== undefined) {
    if (isPath(value)) return false;
    return isPassword ? value.length >= 5 : value.length >= 8 && (hasDigit || isMixedInOrder(value));
  }
  if (isCode(value)) return false;
  if (groups.joint === '=' && name === name.toUpperCase()) return value.length >= (isPassword ? 4 : 8);
  // Bare and in running text or code: it must not look like a word or a name.
  const namesItself = /^[\w-]*$/.test(value) && !isMixed(value) && NAMES_A_SECRET.test(value);
  if (namesItself || groups.break !== undefined) return isMixed(value);
  // `signingKey: Ed25519Signer` names a type.
  if (!isPassword && joint === ':' && /^[A-Z][a-z]+\w*$/.test(value) && !isShuffled(value)) return false;
  const isProse = /^\p{L}/u.test(joint);
  if (isPassword) return value.length >= 6 && (hasDigit || (!isProse && /[!@#$%^*+~?]/.test(value)));
  return value.length >= (isProse ? 16 : 12) && hasDigit;
}

/** Letters of both cases in an order no word has. */
function isMixedInOrder(value: string): boolean {
  return value.length >= 20 && (value.match(/[a-z][A-Z]|[A-Z][a-z]/g)?.length ?? 0) >= value.length / 3;
}

/** Keys that are no secrets. */
const HARMLESS_KEY =
  /(?:primary|foreign|public|pub|publishable|cache|partition|sort|hash|range|idempotency|dedupe?|object|row|group|query|storage|map|lookup|index|routing|translation|message|etag|composite|natural|unique|react|item|node|site|job|lock|redis|memo|file|blob|bucket|content|event|trace|host|verif(?:y|ication)|answer|artifact|asset|build|column|config|context|data|entity|entry|field|image|layer|module|package|parent|product|record|ref|registry|render|request|resource|restore|s3|snapshot|source|state|store|symbol|tag|task|thread|turbo|type|version|session)[_-]?$/i;

const PROTECTS = /api|secret|auth|access|private|passw|token|cred|master|admin|encrypt|signing/i;

/** `OPENAI_KEY`, `const stripeKey`, `DEPLOY_AUTH`: what only a machine would write, given to someone's key. */
function isKeyOfSomeone(value: string, groups: Record<string, string | undefined>, before: string): boolean {
  const whose = /[A-Za-z][\w-]{1,60}$/.exec(before)?.[0] ?? '';
  if (whose === '' || isPlaceholder(value) || isPath(value) || HARMLESS_KEY.test(whose)) return false;
  // `monkey` and `turkey`: the name must begin there, by a sign or a capital.
  if (!/[_-]$/.test(whose) && !/^[A-Z]/.test(groups.name ?? '')) return false;
  if (!/^[\w+/=.~-]{10,500}$/.test(value) || (groups.quoted === undefined && isCode(value))) return false;
  if (PROTECTS.test(whose) && /\d/.test(value) && isMachineMade(value)) {
    // Bare, `Ed25519Signer` is a type.
    if (groups.quoted !== undefined) return true;
    return value.length >= 12 && (!/[A-Z]/.test(value) || (isMixed(value) && isShuffled(value)));
  }
  // In hex it could be the hash that something is kept under.
  if (namesVendor(whose) && groups.quoted !== undefined && /^(?=.*\d)[A-Za-z\d]{16,}$/.test(value)) return true;
  return value.length >= 16 && (namesVendor(whose) ? isMachineMade(value) : isMixed(value) && isShuffled(value));
}

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
function namesVendor(name: string): boolean {
  return ANY_VENDOR.test(name);
}

const ANY_VENDOR = new RegExp([...new Set([...TOKENS, ...NAMED].map(({ id }) => id))].join('|'), 'i');
