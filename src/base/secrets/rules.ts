// What a secret looks like where it is no token of a vendor's form and has no name: keys in a block, JWTs, cookies,
// headers, logins in URLs and on command lines, secrets of Kubernetes.
// Every pattern is linear: what it repeats is bounded or can be split in one way only, so no text can make it slow.

import { BREAK, WORD_START } from './edges.ts';
import type { SecretRule } from './rule.ts';
import type { Found } from './token-forms.ts';
import { isCode, isPlaceholder } from './values.ts';

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

/** Cookies that say what somebody likes, not who they are. */
const HARMLESS_COOKIE =
  /consent|gdpr|theme|lang|locale|timezone|^tz$|currency|^_g[ai]|^_fbp$|^utm|^ajs_|optanon|banner|color|layout|sidebar/i;

export const IN_PLACES: SecretRule[] = [
  {
    id: 'cookie',
    pattern:
      /\b(?:set-)?cookie\\{0,8}["'`]?[ \t]{0,20}[:=][ \t]{0,20}\\{0,8}["'`]?(?<secret>[\w.-]{1,100}=[^\s"'`\\]{8,4000}(?:[ \t][\w.-]{1,100}=[^\s"'`\\]{1,4000}){0,50})/gi,
    isSecret: (value) => value.split(/;[ \t]?/).some(isTellingCookie),
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
