// Whether what stands where a secret would is one: by what it is called, by how it is written, and by what it looks like. And
// passwords that are known by their spelling alone.

import own from './own-rules.json' with { type: 'json' };
import {
  type Found,
  isCode,
  isMachineMade,
  isMixed,
  isMixedInOrder,
  isPath,
  isPlaceholder,
  isShuffled,
} from './rule.ts';
import { namesVendor } from './vendors.ts';

export type Kind = 'password' | 'pin' | 'secret' | 'key';

/** How a value follows its name: by a joint of programs, beside it in structure, or in a sentence. */
export type Way = 'joint' | 'beside' | 'prose';

interface Given {
  value: string;
  kind: Kind;
  /** As it is written. */
  name: string;
  way: Way;
  joint: string;
  isQuoted: boolean;
  /** What stands before the name in its line, up to 80 characters; and behind the value. */
  before: string;
  behind: string;
}

/** Before `token`: where a list goes on. */
export const CURSOR =
  /(?:page|next|prev|previous|continuation|continue|cursor|sync|resume|pagination|scroll|offset|checkpoint|iterator|watch|pad|eos|bos|max|csrf)[_-]?$/i;
const SPEAKS =
  /passw|passphrase|pwd|secret|token|api[ _-]?key|kennwort|mot de passe|contrase|senha|wachtwoord|пароль|credential/i;
const UNIT =
  /^[ \t-]?(?:digits?|char|zeichen|words?|wörter|caract|car[aá]ct|letters|znak|tekens|cyfr|символ|位|文字|times|days?|tage|minutes?|hours?|%|px|ms\b)/i;
/** Words with digits in them that are no passwords. */
const NO_PASSWORD = new RegExp(own.noPasswords.map((each) => `^(?:${each})$`).join('|'));

/** `J4zz.hands12`, which looks like a field of something: what only people write has digits, and no file is called so. */
const isDotted = (value: string) =>
  /^(?=.*\d)[A-Za-z]\w*\.\w+$/.test(value) &&
  !/^(?:config|cfg|env|var|data|local|module|self|this|settings|options|opts|args|process|input|user|request|req|row)\w*\.|\.[a-z]{2,4}$|_/i.test(
    value,
  );

/** Whether a word of a sentence can only be a password. */
export function isPassword(written: string): boolean {
  const value = written.replace(/^["'`]+|["'`]+$/g, '');
  if (value.length < 5 || value.length > 100 || isPlaceholder(value) || /[\u3040-\u9fff\uac00-\ud7af]/.test(value))
    return false;
  if (isCode(value) && !isDotted(value)) return false;
  if (SPEAKS.test(value) && !/[!@#$%^&*+~?]/.test(value)) return false;
  const hasSign = /[A-Za-z\d][!@#$%^&*+~?=.,_-]+[A-Za-z\d]|[A-Za-z\d][!#$%&*+?]+$/.test(value);
  if (!/\d/.test(value))
    return (
      /[A-Za-z][!@#$%^&*+~?]/.test(value) && (/[a-z][!@#$%^&*+~?][A-Za-z]/.test(value) || /[a-z][A-Z]/.test(value))
    );
  if (!/\p{L}/u.test(value)) return hasSign && /[!@#$%^&*+~?]/.test(value);
  return !NO_PASSWORD.test(value);
}

export function isGiven(given: Given): boolean {
  const { value, kind, name, way, joint, isQuoted, before, behind } = given;
  if (isPlaceholder(value) || /\s/.test(value)) return false;
  if (kind === 'pin') {
    const isYear =
      way === 'prose' && /^(?:19|20)\d\d$/.test(value) && !/[:=]|\b(?:is|ist|lautet|est|es|é|è)\b/.test(joint);
    return /^(?:[A-Z]-)?\d{4,8}#?$/.test(value) && !isYear && !UNIT.test(behind);
  }
  if (kind === 'key') return isKeyOfSomeone(given);
  if (/^token/i.test(name) && CURSOR.test(before)) return false;
  const isOfPassword = kind === 'password';
  const hasDigit = /\d/.test(value);
  if (way === 'prose') {
    if (UNIT.test(behind)) return false;
    if (/code$/i.test(name) && /^\d{4,8}$/.test(value)) return true;
    if (!isOfPassword) return hasDigit && isMade(value, 16);
    return isPassword(value) || (/^\d{5,}$/.test(value) && /[:：はis为是]\s*$/.test(joint));
  }
  if (way === 'beside') {
    if (isOfPassword) return isPassword(value);
    return /^identified/i.test(name) ? value.length >= 4 && !behind.startsWith('`') : isMade(value, hasDigit ? 12 : 20);
  }
  if (!/[a-z]/i.test(value)) return isOfPassword ? value.length >= 5 && hasDigit : /^\d{15,}$/.test(value);
  if (isQuoted) {
    // What a name is given is a list or an object then.
    if (/^["']\s{0,9}:/.test(behind) || isPath(value) || (SPEAKS.test(value) && !hasDigit)) return false;
    if (isOfPassword) return value.length >= 5 && /[a-z\d]{3}/i.test(value);
    const isLong = value.length >= 8 && (hasDigit || (value.length >= 20 && isMixedInOrder(value)));
    return isLong || (value.length >= 6 && isPassword(value));
  }
  if (isCode(value)) return isOfPassword && isPassword(value);
  if (joint === '=' && name === name.toUpperCase()) return value.length >= (isOfPassword ? 4 : 8);
  // Bare and in running text or code: it must not look like a word, a name or a type.
  if (/^[\w-]*$/.test(value) && !isMixed(value) && SPEAKS.test(value)) return false;
  if (isOfPassword) return value.length >= 5 && (hasDigit || /[!@#$%^*+~?&]/.test(value));
  if (/^[A-Z][a-z]+\w*$/.test(value) && !isShuffled(value)) return false;
  return value.length >= 8 && (hasDigit ? value.length >= 12 || /[!@#$%^*+~?&-]/.test(value) : isPassword(value));
}

const isMade = (value: string, least: number) => value.length >= least && isMachineMade(value) && !isCode(value);

/** Keys that are no secrets. */
const HARMLESS_KEY =
  /(?:primary|foreign|public|pub|publishable|cache|partition|sort|hash|range|idempotency|dedupe?|object|row|group|query|storage|map|lookup|index|routing|translation|message|etag|composite|natural|unique|react|item|node|site|job|lock|redis|memo|file|blob|bucket|content|event|trace|host|verif(?:y|ication)|answer|artifact|asset|build|column|config|context|entity|entry|field|image|layer|module|package|parent|product|record|ref|registry|render|request|resource|restore|s3|snapshot|source|state|store|symbol|tag|task|thread|turbo|type|version)[_-]?$/i;
const PROTECTS =
  /api|secret|auth|access|private|passw|token|cred|master|admin|hmac|encr|decr|crypt|sign|unseal|fernet|shared|account|valid|logged|nonce|salt|pepper|app|machine|session|cookie|data|cipher|aes|csrf|otp|db_|base|iv_/i;

/** `OPENAI_KEY`, `const stripeKey`, `DEPLOY_AUTH`: what only a machine would write, given to someone's key. */
function isKeyOfSomeone({ value, name, before, isQuoted, way }: Given): boolean {
  const whose = /[A-Za-z][\w-]{0,60}[ ]?$/.exec(before.slice(-62))?.[0] ?? '';
  const isSalt =
    /salt|pepper|cookie|cipher|encrypt/i.test(name) || (/^(?:\s*KEY|.*_auth)$/.test(before + name) && way === 'joint');
  const isShuffledKey = isMixed(value) && isShuffled(value);
  const isHarmless = !isSalt && HARMLESS_KEY.test(whose.trim());
  if (way === 'prose') return isMade(value, 14) && (namesVendor(whose) || (isShuffledKey && !isHarmless));
  if (isHarmless || (!isSalt && whose === '')) return false;
  if (isPath(value) || /^\w+=[^=]/.test(value) || (way !== 'joint' && !isQuoted)) return false;
  // `monkey` and `turkey`: the name must begin there, by a sign or a capital.
  if (!isSalt && !/[_ -]$/.test(whose) && !/^[A-Z]/.test(name)) return false;
  if (!isSalt && !PROTECTS.test(whose) && !namesVendor(whose)) return /^[\w+/=.~-]*$/.test(value) && isShuffledKey;
  if (!/\d/.test(value) || isCode(value) || value.length < (isQuoted && isSalt ? 8 : 12)) return false;
  if (isQuoted) return isMachineMade(value) || isPassword(value);
  return isMachineMade(value) && (!/[A-Z]/.test(value) || isShuffled(value) || isMixed(value));
}

// What can only be a password by how it is spelled, signs and digits within a word as people and their programs make them up,
// where anything of logging in stands near: in whatever sentence, call, option or table. Each run of letters is looked at once.

/** Where one may stand: a sign after a letter, or two words that are spelled differently. */
const SIGN =
  /[A-Za-z\d][!#$%&*+?@^~](?!["'\x60)\]}\s<&|(])|\d[!#$%&*+?^~]|\d[A-Z]{3,14}[-_.][a-z]{3}|[a-z\d][-_.](?:\d|[A-Z][a-z]{2,14}\d)/g;
const LETTERS = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[\w!#$%&*+.=?@^~-]/.test(String.fromCharCode(code))),
);
const isLetter = (text: string, at: number) => LETTERS[text.charCodeAt(at)] === 1;
const LONGEST = 40;

/** `foo#12`, `count+1`, `$1`, `%s`, `a.b*c.d`, a call, an address: what has signs in it for other reasons. */
const OTHER_SIGNS =
  /^[^A-Za-z\d]|^[a-z\d.-]+[#?&+*]|[a-z]#\d{3,}$|^[a-z]\w*\d$|^[a-z]\w*[+*$]\w+(?:$|=)|^\d+[-+*]|^[A-Za-z-]+#\d+$|#L\d|%[sdqv](?![a-z])|%[\dA-F]{2}|^\w+[.*+]\w+[.*+]|&&|==|\?\w+\.\w|\w\$\d(?:\.|$)|\?\?|^[\w.+-]+@[\w-]+\.|^\w{1,2}[+*&]|^a-z|0-9|^(?:Ctrl|Cmd|Alt|Shift|Meta|Option)\+/;
const SPELLINGS = own.spellings.map((each) => new RegExp(each));

/** Whether a word can be nothing else. */
export function isSpelledAsPassword(word: string): boolean {
  return (
    word.length >= 7 &&
    word.length <= LONGEST &&
    SPELLINGS.some((spelling) => spelling.test(word)) &&
    (!OTHER_SIGNS.test(word) || /^[a-z]+\d{4}!$/.test(word)) &&
    !isPlaceholder(word) &&
    !isCode(word)
  );
}

const CUE =
  /pass|pwd|pw\b|secret|log.?[io]n|sign.?in|credential|creds|acc(?:ount|ess)|user|auth|admin|root|[lu]n?lock|session|cookie|hmac|crypt|sign|connect|token|key|ssh|ftp|wi-?fi|wlan|ssid|psk|vault|zip|archiv|backup|client|sudo|curl|mysql|community|send|expect|pdo|dsn|eap|bind|db|sql|🔑|schlüssel|zugang|benutzer|konto|kennwort|losung|mdp|clé|clave|cl[ée]f|usuario|senha|chave|contrase|chiave|parola|wachtwoord|sleutel|gebruiker|has[łl]|klucz|парол|логин|ключ|доступ|密|口令|账|帳|登|パス|鍵|ログイン|비밀|비번|암호|계정|şifre|lösen|adgang|heslo|jelsz|salasan|lozink|gesl|κωδικ|mật khẩu|sandi|كلمة|סיסמ|รหัส|पासवर्ड|парол|лозинк/i;
/** Where an option is given, no word has to say so. */
const OPTION = /(?:^|\s)-{1,2}[A-Za-z]{1,3}[ =]?["']?$|(?:^|[\s"':])[\w.@+-]{1,40}:(?:\{\w{3,9}\})?$/;
const TAKEN = /\[redacted:[a-z\d-]+\]/g;
const AROUND = 120;

export function findPasswords(text: string): Found[] {
  const found: Found[] = [];
  SIGN.lastIndex = 0;
  for (let hit = SIGN.exec(text); hit !== null; hit = SIGN.exec(text)) {
    let start = hit.index;
    let end = start + 1;
    while (start > hit.index - LONGEST && isLetter(text, start - 1)) start--;
    while (isLetter(text, end)) end++;
    SIGN.lastIndex = end;
    const word = wordIn(text.slice(start, Math.min(end, start + 2 * LONGEST)));
    if (word === undefined || /[\\$`/]/.test(text[start - 1] ?? '') || /[(/[\\]/.test(text[end] ?? '')) continue;
    const before = text.slice(Math.max(0, start - AROUND), start);
    const near = before + text.slice(start, start + word.from) + text.slice(end, end + AROUND / 2);
    if (CUE.test(near.replace(TAKEN, '')) || OPTION.test(before + text.slice(start, start + word.from)))
      found.push({ rule: 'password', start: start + word.from, end: start + word.to });
  }
  return found;
}

/** What of a run is the password: without signs of a sentence, and a name or a host beside it. */
function wordIn(run: string): { from: number; to: number } | undefined {
  const from = /^[*_=.~]*(?:-{1,2}\w{1,20}=|[A-Za-z_][\w.-]{0,40}=|-[pPwWh]+(?=[A-Z\d]))?/.exec(run)?.[0].length ?? 0;
  let to = run.replace(/[.*_]+$/, '').length;
  const host = /@[A-Za-z\d][\w.-]*$/.exec(run);
  if (host !== null && isSpelledAsPassword(run.slice(from, host.index))) to = host.index;
  for (const start of [from, 0]) if (isSpelledAsPassword(run.slice(start, to))) return { from: start, to };
  return undefined;
}
