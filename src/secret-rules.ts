// What a secret looks like, where secretlint's preset does not know it: assignments, headers, logins in URLs, JWTs,
// tokens that are broken over lines or still escaped.
// Names of variables, types, expressions, placeholders and paths are no secrets.
// Every pattern is linear: what it repeats is bounded or can be split in one way only, so no text can make it slow.

/** One way to recognise a secret. */
export interface SecretRule {
  id: string;
  /** Global. The group `secret`, `quoted` or `bare`, else the whole match, is replaced; it ends where `tail` begins. */
  pattern: RegExp;
  isSecret?(value: string, groups: Record<string, string | undefined>): boolean;
}

// A line break inside a token: real, continued with a backslash, or still escaped.
const BREAK = String.raw`(?:\\{1,4}r)?(?:\\{1,4}n|\\?\r?\n)[ \t]{0,40}`;
const NOT_INSIDE_A_WORD = '(?<![A-Za-z0-9])';

/** `full` characters of `set`, possibly broken over lines, and the rest of their run; else `min` or more in one run. */
function run(set: string, full: number, min: number): string {
  return `(?:(?:[${set}](?:${BREAK}(?=[${set}]))?){${full - 1}}[${set}]+|[${set}]{${min},})`;
}

function token(id: string, prefix: string, rest: { set: string; full: number; min?: number }): SecretRule {
  const tail = run(rest.set, rest.full, rest.min ?? rest.full);
  return { id, pattern: new RegExp(`${NOT_INSIDE_A_WORD}(?:${prefix})${tail}`, 'g') };
}

const SECRET_NAME = String.raw`(?:api[ _-]?key|secret(?:[ _-]?(?:access[ _-]?)?key)?|(?:access|account|auth|encryption|private|shared|signing)[_-]?key|token|passw(?:or)?d|passphrase|pass[_-]?code|pwd|[_-]pass|credentials?|kennwort|passwort|mot de passe|contrase[ñn]a|senha|wachtwoord|has[łl]o|пароль|密[码碼]|パスワード|비밀번호)(?:[_-]?\d{1,2})?`;
const NAMES_A_SECRET = new RegExp(SECRET_NAME, 'i');
const IN_VALUE = '(?:[^\\s"\'`\\\\]|\\\\(?![rnt"\'`]))';
// A quoted value ends at its quote (or the text does); words after it make it a sentence, not a secret.
const QUOTED = `${IN_VALUE}{1,4000}(?=\\\\{0,4}["'\`]|$)`;
const BARE = `(?:(?![<>&,;])${IN_VALUE}){0,4000}[^\\s"'\`\\\\<>&,;.:)\\]}]`;
const VALUE = `(?:\\\\{0,4}(?<quote>["'\`])(?<quoted>${QUOTED})|(?<bare>${BARE}))`;

export const SECRET_RULES: SecretRule[] = [
  {
    id: 'private-key',
    pattern:
      /-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-(?!----)){0,20000}-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\{1,4}[rn]|["'+,]){1,80}[A-Za-z0-9+/=]{16,200})*)/g,
    isSecret: (value) => /[A-Za-z0-9+/=]{16}/.test(value),
  },
  {
    id: 'jwt',
    pattern: new RegExp(
      `${NOT_INSIDE_A_WORD}eyJ(?:[\\w-](?:${BREAK}(?=[\\w.-]))?){8,1000}\\.(?:[\\w-](?:${BREAK}(?=[\\w.-]))?){8,8000}\\.${run('\\w-', 43, 0)}`,
      'g',
    ),
  },
  token('github', 'gh[pousr]_', { set: 'A-Za-z0-9', full: 36, min: 20 }),
  token('github', 'github_pat_', { set: '\\w', full: 82, min: 22 }),
  token('github', 'ghs_\\d{1,20}_', { set: '\\w.-', full: 100, min: 20 }),
  token('anthropic', 'sk-ant-', { set: '\\w-', full: 100, min: 16 }),
  {
    ...token('openai', 'sk-', { set: '\\w-', full: 48, min: 20 }),
    isSecret: (value) => /\d/.test(value) && (/[A-Z]/.test(value) || value.length >= 35),
  },
  token('stripe', '[sr]k_(?:live|test)_|whsec_', { set: 'A-Za-z0-9', full: 24, min: 16 }),
  token('slack', 'xox[a-z]-|xapp-', { set: 'A-Za-z0-9-', full: 50, min: 12 }),
  token('npm', 'npm_', { set: 'A-Za-z0-9', full: 36, min: 30 }),
  token('google', 'AIza', { set: '\\w-', full: 35, min: 30 }),
  token('google', 'ya29\\.|GOCSPX-', { set: '\\w-', full: 28, min: 20 }),
  token('aws', 'AKIA|ASIA|ABIA|ACCA', { set: 'A-Z0-9', full: 16 }),
  token('digitalocean', 'do[opr]_v1_', { set: 'a-f0-9', full: 64, min: 40 }),
  token('telegram', '\\d{8,10}:AA', { set: '\\w-', full: 33, min: 30 }),
  token('discord', 'discord(?:app)?\\.com/api/webhooks/\\d{15,20}/', { set: '\\w-', full: 60 }),
  {
    id: 'cookie',
    pattern:
      /\b(?:set-)?cookie\\{0,4}["'`]?[ \t]{0,20}[:=][ \t]{0,20}\\{0,4}["'`]?(?<secret>[\w.-]{1,100}=[^\s"'`\\]{8,4000}(?:[ \t][\w.-]{1,100}=[^\s"'`\\]{1,4000}){0,50})/gi,
    isSecret: (value) => !isCode(value) && /[\w%+/=-]{12}/.test(value) && /\d/.test(value),
  },
  {
    id: 'url-login',
    pattern: /:\/\/(?:\[redacted:[a-z\d-]{1,40}\]|[^\s:@/"'`<>[]{0,100}):(?<secret>[^\s@/"'`<>]{1,200})(?<tail>@)/g,
    isSecret: (value) => !isPlaceholder(value),
  },
  {
    id: 'url-login',
    pattern: /:\/\/(?<secret>[\w-]{20,200})(?<tail>@)/g,
    isSecret: (value) => /\d/.test(value),
  },
  {
    id: 'authorization',
    pattern:
      /\bauthorization\\{0,4}["'`]?[ \t]{0,20}[:=][ \t]{0,20}\\{0,4}["'`]?(?:[a-z-]{1,20}[ \t]{1,20})?(?<secret>[\w.~+/=:-]{8,8000})/gi,
    isSecret: (value) => !isPlaceholder(value) && !isCode(value) && /\d|={1,2}$/.test(value),
  },
  {
    id: 'authorization',
    pattern: /\bbearer[ \t]{1,20}(?<secret>[\w.~+/=-]{12,8000})/gi,
    isSecret: (value) => !isPlaceholder(value) && !isCode(value) && /\d/.test(value) && /[a-z]/i.test(value),
  },
  {
    id: 'login',
    pattern: /\bcurl\b[^\n]{0,300}?[ \t](?:-u|--user)[ =]["']?[^\s:"']{1,100}:(?<secret>[^\s"']{1,200})/g,
    isSecret: (value) => !isPlaceholder(value),
  },
  {
    id: 'assignment',
    pattern: new RegExp(
      `(?<name>${SECRET_NAME})\\\\{0,4}(?:["'\`]\\]?)?[ \\t]{0,20}(?<joint>:=|=>|[:：=](?![:=])| (?:ist?|was|lautet|est|es|jest)(?![a-z]):?)[ \\t]{0,40}(?<break>${BREAK})?${VALUE}`,
      'gi',
    ),
    isSecret: isAssignedSecret,
  },
  {
    id: 'assignment',
    pattern: new RegExp(`(?<=\\s|^)--(?:[a-z]{1,15}-){0,3}(?<name>${SECRET_NAME})(?<joint>[ \\t]{1,20})${VALUE}`, 'gi'),
    isSecret: isAssignedSecret,
  },
];

// Found by what it says once it is decoded.
SECRET_RULES.push({
  id: 'base64',
  pattern: /(?<![\w+/-])[\w+/-]{24,8000}={0,2}(?![\w+/=-])/g,
  isSecret(value) {
    const said = Buffer.from(value, 'base64').toString('latin1');
    return /^[\x20-\x7e\s]{16,}$/.test(said) && VENDOR_RULES.some(({ pattern }) => said.search(pattern) >= 0);
  },
});
const VENDOR_RULES = SECRET_RULES.filter(({ isSecret }) => isSecret === undefined);

const PASSWORD_NAME = /pass|pwd|kennwort|contrase|senha|wachtwoord|has[łl]o|пароль|密[码碼]|パスワード|비밀번호/i;
const TYPE_WORD =
  /^(?:string|number|boolean|bool|int|str|object|any|unknown|never|void|null|none|nil|undefined|true|false|required|optional|hidden|omit|include|same-origin)\b[[\]?|!]*$/i;
const PLACEHOLDER_WORD =
  /(?:^|[^a-z])(?:your|example|placeholder|change[-_ ]?me|insert|replace|dummy|todo|masked|hidden|redacted)(?:$|[^a-z])/i;

/** Whether the value stands for one: a variable, a template, stars, `your-key-here`. */
function isPlaceholder(value: string): boolean {
  return (
    /^[$<{[%(#]|\$\{|\{\{|%[A-Z_]{2,}%|\*{3}|x{4}|\.{3}|\u2026/i.test(value) ||
    /^(.)\1*$/s.test(value) ||
    PLACEHOLDER_WORD.test(value)
  );
}

/** Whether the value, bare, is an expression, a path or the name of an algorithm. */
function isCode(value: string): boolean {
  if (/[(]|=>|^(?:process|os|env|config|settings|self|this|req|ctx|options|props|secrets)[.[]/.test(value)) return true;
  if (/^(?:sha-?\d|md5|base64|utf-?8|oauth|bcrypt|argon2|aes-?\d|rsa|[hre]s\d{3})/i.test(value)) return true;
  if (isPath(value) || /\.[a-z]{2,4}$/.test(value)) return true;
  return /^[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)+$/.test(value) && !isMixed(value);
}

function isPath(value: string): boolean {
  return /^(?:\.{0,2}|~|[A-Za-z]:)[/\\]{1,2}[\w.-]+(?:[/\\.]|$)|^https?:/.test(value);
}

/** Long, with digits and letters of both cases: made by a machine. */
function isMixed(value: string): boolean {
  return value.length >= 20 && /\d/.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value);
}

function isAssignedSecret(value: string, groups: Record<string, string | undefined>): boolean {
  const name = groups.name ?? '';
  const joint = (groups.joint ?? '').trim();
  if (isPlaceholder(value) || TYPE_WORD.test(value)) return false;
  if (value.replace(/[^a-z]/gi, '').toLowerCase() === name.replace(/[^a-z]/gi, '').toLowerCase()) return false;
  const isPassword = PASSWORD_NAME.test(name);
  const hasDigit = /\d/.test(value);
  const hasLetter = /[a-z]/i.test(value);
  if (!hasLetter) return isPassword && value.length >= (joint === '=' || joint === ':' ? 6 : 12);
  if (groups.quoted !== undefined) {
    if (isPath(value)) return false;
    return isPassword ? value.length >= 5 : value.length >= 8 && (hasDigit || isShuffled(value));
  }
  if (isCode(value)) return false;
  if (groups.joint === '=' && name === name.toUpperCase()) return value.length >= (isPassword ? 4 : 8);
  // Bare and in running text or code: it must not look like a word or a name.
  const namesItself = /^[\w-]*$/.test(value) && !isMixed(value) && NAMES_A_SECRET.test(value);
  if (namesItself || groups.break !== undefined) return isMixed(value);
  const isProse = /^\p{L}/u.test(joint);
  if (isPassword) return value.length >= 6 && (hasDigit || (!isProse && /[!@#$%^*+~?]/.test(value)));
  return value.length >= (isProse ? 16 : 12) && hasDigit;
}

/** Letters of both cases in an order no word has. */
function isShuffled(value: string): boolean {
  return value.length >= 20 && (value.match(/[a-z][A-Z]|[A-Z][a-z]/g)?.length ?? 0) >= value.length / 3;
}
