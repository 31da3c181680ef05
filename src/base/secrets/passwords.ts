// What can only be a password by how it is spelled, signs and digits within a word as people and their programs make them up,
// where anything of logging in stands near: in whatever sentence, call, option or table.
// Promises: each run of letters is looked at once.

import { type Found, isCode, isPlaceholder } from './rule.ts';

/** Where one may stand: a sign after a letter, or two words that are spelled differently. */
const SIGN =
  /[A-Za-z\d][!#$%&*+?@^~](?!["'\x60)\]}\s<&|(])|\d[!#$%&*+?^~]|\d[A-Z]{3,14}[-_.][a-z]{3}|[a-z\d][-_.](?:\d|[A-Z][a-z]{2,14}\d)/g;
const LETTERS = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[\w!#$%&*+.=?@^~-]/.test(String.fromCharCode(code))),
);
const isLetter = (text: string, at: number) => LETTERS[text.charCodeAt(at)] === 1;
const LONGEST = 40;

/** `foo#12`, `count+1`, `$1`, `%s`, `a.b*c.d`, a call, an address: what has signs in it for other reasons. */
const NO_PASSWORD =
  /^[^A-Za-z\d]|^[a-z\d.-]+[#?&+*]|[a-z]#\d{3,}$|^[a-z]\w*\d$|^[a-z]\w*[+*$]\w+(?:$|=)|^\d+[-+*]|^[A-Za-z-]+#\d+$|#L\d|%[sdqv](?![a-z])|%[\dA-F]{2}|^\w+[.*+]\w+[.*+]|&&|==|\?\w+\.\w|\w\$\d(?:\.|$)|\?\?|^[\w.+-]+@[\w-]+\.|^\w{1,2}[+*&]|^a-z|0-9|^(?:Ctrl|Cmd|Alt|Shift|Meta|Option)\+/;
const SPELLINGS = [
  /^[a-z]{3,}\d{4}!$/,
  /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])(?:.*[A-Za-z\d][!#$%&*+?@^~][\w=.-]|.*[!#$%&*+?@^~].*[!#$%&*+?@^~]|.*\d[!#$%&*+?^~]$)/,
  /^[A-Z][a-z\d]+[!#$%&*+?][A-Z][a-z]+$/,
  /^\d+[A-Z]{3,}[-_.][a-z]{3,}$/,
  /^(?=.*\d)[A-Z][a-z]*\d[a-z\d]*[a-z][a-z\d]*[-_.]\d+$/,
  /^[A-Z][a-z]+[-_.][A-Z][a-z]+\d+$/,
];

/** Whether a word can be nothing else. */
export function isSpelledAsPassword(word: string): boolean {
  return (
    word.length >= 7 &&
    word.length <= LONGEST &&
    SPELLINGS.some((spelling) => spelling.test(word)) &&
    (!NO_PASSWORD.test(word) || /^[a-z]+\d{4}!$/.test(word)) &&
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
