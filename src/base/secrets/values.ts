// Tells a value that was given to a name apart from what only looks like one: a type, an expression, a path, a placeholder.

export const TYPE_WORD =
  /^(?:string|number|boolean|bool|int|str|object|any|unknown|never|void|null|none|nil|undefined|true|false|required|optional|hidden|omit|include|same-origin|(?:big)?(?:u?int|float)\d{1,2}(?:clamped)?array)\b[[\]?|!]*$/i;
const PLACEHOLDER_WORD =
  /(?:^|[^a-z])(?:your|example|placeholder|change[-_ ]?me|insert|replace|dummy|todo|masked|hidden|redacted)(?:$|[^a-z])/i;
const ALGORITHM =
  /^(?:sha-?\d{1,3}|md5|base64|utf-?8|oauth|bcrypt|argon2|aes-?\d{1,3}|rsa|[hre]s\d{3})(?![a-z\d]{3}|~)/i;

/** Whether the value stands for one: a variable, a template, stars, `your-key-here`; or is a version. */
export function isPlaceholder(value: string): boolean {
  return (
    /^[$<{[%(#]|\$\{|\{\{|%[A-Z_]{2,}%|\*{3}|x{4}|\.{3}|\u2026/i.test(value) ||
    /^(.)\1*$/s.test(value) ||
    /^[~^<>=v]{0,2}\d{1,5}(?:\.\d{1,5}){1,3}(?:[-+][\w.]{1,30})?$/.test(value) ||
    PLACEHOLDER_WORD.test(value)
  );
}

/** Whether the value, bare, is an expression, a path, an image with its digest, or the name of an algorithm. */
export function isCode(value: string): boolean {
  if (/[(]|=>|^(?:process|os|env|config|settings|self|this|req|ctx|options|props|secrets)[.[]/.test(value)) return true;
  if (/^[A-Za-z_$][\w$.]*!?\[[\w$.+ -]*\]?/.test(value)) return true;
  if (/@sha256:[a-f\d]{64}/.test(value)) return true;
  if (ALGORITHM.test(value) || isPath(value) || /\.[a-z]{2,4}$/.test(value)) return true;
  return /^[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)+$/.test(value) && !isMixed(value);
}

export function isPath(value: string): boolean {
  return /^(?:\.{0,2}|~|[A-Za-z]:)[/\\]{1,2}[\w.-]+(?:[/\\.]|$)|^https?:/.test(value);
}

/** Long, with digits and letters of both cases: made by a machine. */
export function isMixed(value: string): boolean {
  return value.length >= 20 && /\d/.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value);
}
