// What is given to a name that says it is a secret: `API_KEY=`, `"password": "`, `my password is`, `--token`, `OPENAI_KEY`.
// Names of variables, types, expressions, placeholders, paths and places in a list of pages are no secrets.

import { BREAK } from './edges.ts';
import { namesVendor } from './named-tokens.ts';
import { isMachineMade, isShuffled } from './randomness.ts';
import type { SecretRule } from './rule.ts';
import { isCode, isMixed, isPath, isPlaceholder, TYPE_WORD } from './values.ts';

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

/** `OPENAI_KEY`, `const stripeKey`, `DEPLOY_AUTH`: what only a machine would write, given to somebody's key. */
function isKeyOfSomeone(value: string, groups: Record<string, string | undefined>, before: string): boolean {
  const whose = /[A-Za-z][\w-]{1,60}$/.exec(before)?.[0] ?? '';
  if (whose === '' || isPlaceholder(value) || isPath(value) || HARMLESS_KEY.test(whose)) return false;
  // `monkey` and `turkey`: the name must begin anew, by a sign or a capital.
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
