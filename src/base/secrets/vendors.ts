// The tokens of vendors: gitleaks' rules (gitleaks.json, made by checkout/gitleaks-rules.js), and what those do not know: HEADS, the
// beginnings by which a token is told though it is cut, and OWN. What is glued to a token, and lines that go on with it, are of it.

import { crc32 } from 'node:zlib';
import rules from './gitleaks.json' with { type: 'json' };
import { type Needles, needlesOf, scan } from './needles.ts';
import { bitsOf, type Found, isAtWordStart, isMachineMade, isShuffled, PLACEHOLDER } from './rule.ts';

/** By vendor: how its tokens begin. What follows must be as only machines write. */
export const HEADS: Record<string, string> = {
  '1password': 'ops_eyJ',
  age: 'AGE-SECRET-KEY-1',
  alibaba: 'LTAI',
  anthropic: 'sk-ant-',
  artifactory: 'AKCp cmVmd',
  atlassian: 'ATATT3 ATCTT3',
  aws: 'AKIA ASIA ABIA ACCA AGPA AIDA AROA AIPA ANPA ANVA ABSK bedrock-api-key-',
  buildkite: 'bkua_ bkaa_ bkrt_ bkct_ bkpt_',
  circleci: 'CCIPAT_ CCIPRJ_',
  cloudflare: 'cfk_ cfut_ cfat_',
  databricks: 'dapi dkea dose',
  'defined-networking': 'dnkey-',
  docker: 'dckr_pat_ dckr_oat_',
  doppler: 'dp.pt. dp.ct. dp.sa. dp.st. dp.scim. dp.audit.',
  dynatrace: 'dt0c01. dt0c02. dt0c08. dt0c16. dt0s01. dt0s02. dt0s08. dt0s16.',
  facebook: 'EAAM EAAC',
  flutterwave: 'FLWSECK_TEST- FLWPUBK_TEST- FLWSECK- FLWPUBK-',
  figma: 'figd_ figu_ figo_ figh_',
  github: 'ghp_ gho_ ghu_ ghs_ ghr_ github_pat_',
  gitlab:
    'glpat- gldt- glft- glrt- glptt- glcbt- glimt- glagent- gloas- glsoat- glwt- glffct- GR1348941 _gitlab_session=',
  google: 'AIza ya29. GOCSPX-',
  grafana: 'eyJrIjoi glc_ glsa_',
  groq: 'gsk_',
  heroku: 'HRKU-',
  jwt: 'ZXlK',
  langfuse: 'sk-lf-',
  langsmith: 'lsv2_pt_ lsv2_sk_',
  linear: 'lin_api_ lin_oauth_',
  microsoft: 'webhook.office.com/webhookb2/',
  netlify: 'nfp_',
  newrelic: 'NRAK- NRII- NRJS-',
  nocturne: 'noct_',
  npm: 'npm_',
  nvidia: 'nvapi-',
  openai: 'sk-proj- sk-svcacct- sk-admin- sk-None- sk-',
  openrouter: 'sk-or-v1-',
  perplexity: 'pplx-',
  planetscale: 'pscale_tkn_ pscale_oauth_ pscale_pw_',
  prefect: 'pnu_ pnb_',
  pypi: 'pypi-',
  readme: 'rdme_',
  replicate: 'r8_',
  sendgrid: 'SG.',
  sendinblue: 'xkeysib- xsmtpsib-',
  sentry: 'sntrys_ sntryu_',
  shopify: 'shpat_ shpca_ shppa_ shpss_ shpua_',
  slack:
    'xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/',
  discord: 'discord.com/api/webhooks/ discordapp.com/api/webhooks/',
  sonar: 'squ_ sqp_ sqa_ sqb_',
  sourcegraph: 'sgp_',
  square: 'sq0atp- sq0csp- sq0idp-',
  stripe: 'sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_',
  supabase: 'sbp_ sb_secret_',
  tailscale: 'tskey-',
  tavily: 'tvly-',
  typeform: 'tfp_',
  vault: 'hvs. hvb. hvr.',
  vercel: 'vcp_ vci_ vca_ vcr_ vck_',
  yandex: 'AQVN',
  xai: 'xai-',
};

interface Own {
  id: string;
  /** What stands in each of them, in lower case: one of these. */
  needle: string;
  pattern: RegExp;
}

const own = (id: string, needle: string, pattern: string): Own => ({
  id,
  needle,
  pattern: new RegExp(`(?<![\\w+/.-])${pattern}(?![\\w]|[+/=~-]\\w)`, 'g'),
});

/** Tokens whose beginning says too little. */
export const OWN: Own[] = [
  own('airtable', 'pat', String.raw`pat[A-Za-z0-9]{14}\.[a-f0-9]{64}`),
  own('azure', 'q~', String.raw`[\w~.-]{3}\dQ~[\w~.-]{31,34}`),
  own('aws', 'a3t', 'A3T[A-Z0-9]{17}'),
  own('discord', 'mt mj mz nd nt nj nz od ot md', String.raw`[MNO][DTjz][\w-]{22,26}\.[\w-]{6}\.[\w-]{27,40}`),
  own('mailchimp', '-us', String.raw`[a-f0-9]{32}-us\d{1,2}`),
  own('mailgun', 'key-', '(?:pub)?key-[a-f0-9]{32}'),
  own('mapbox', 'k.', String.raw`[pst]k\.[A-Za-z0-9]{50,200}\.[\w-]{22}`),
  own('notion', 'secret_', 'secret_[A-Za-z0-9]{43}'),
  own(
    'plaid',
    'access-',
    String.raw`access-(?:sandbox|development|production)-[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}`,
  ),
  own('dropbox', 'sl.', String.raw`sl\.[\w=-]{130,}`),
  own('facebook', '|', String.raw`\d{15,16}\|[\w-]{27,40}`),
  own('firebase', 'aaaa', String.raw`AAAA[\w-]{7}:[\w-]{140,}`),
  own('lob', 'live_ test_', '(?:live|test)_(?:pub_)?[a-f0-9]{31,35}'),
  own('yandex', 't1.', String.raw`t1\.[\w=-]{1,300}\.[\w=-]{86,}`),
  own('telegram', ':a', String.raw`\d{8,10}:A[\w-]{31,}`),
  own('trello', 'atta', 'ATTA[A-Fa-f0-9]{72}'),
  own('twilio', 'sk', 'SK[A-Fa-f0-9]{32}'),
];

interface Rule {
  id: string;
  pattern: RegExp;
  group: number;
  entropy: number;
  allowed: Allowed[];
}

interface Allowed {
  of: string;
  patterns: RegExp[];
  stopwords: string[];
}

const allowedOf = (list: { of: string; patterns: string[]; stopwords: string[] }): Allowed => ({
  ...list,
  patterns: list.patterns.map((pattern) => new RegExp(pattern)),
});
const ALLOWED = allowedOf(rules.allowed);

type Visit = (text: string, at: number, found: Found[], reached: Map<unknown, number>) => void;

const RUN = /[\w~+/=.@-]{12,300}/y;
const REST = /[\w~+/=-]+/y;
/** A line that nothing but the rest of a token stands on. */
const NEXT_LINE =
  /\n(?:[>|+][ \t]?|[ \t]{0,6}\d{1,5}[:|\t])?[ \t]{0,40}(?<rest>[\w+/=-]{8,4000})(?:(?<alone>["'`,;]{0,3}(?=\n|$))|(?=[\s.,;]|$))/y;

function headVisit(id: string, head: string): Visit {
  return (text, at, found, reached) => {
    if (at < (reached.get(RUN) ?? 0) || !text.startsWith(head, at)) return;
    RUN.lastIndex = at + head.length;
    const run = RUN.exec(text)?.[0].replace(/[.=~/-]+$/, (signs) => /^={1,2}/.exec(signs)?.[0] ?? '') ?? '';
    const isGlued = !isAtWordStart(text, at);
    // Four letters stand in any long base64.
    if (!/[_.-]/.test(head) && /[+/]/.test(text[at - 1] ?? '')) return;
    let end = at + head.length + run.length;
    const isOne = isGlued
      ? isProven(run) ||
        (/\d/.test(text[at - 1] ?? '') && /[_-]$/.test(head) && run.length >= 30 && isMadeBy(head, run))
      : isMadeBy(head, run);
    REST.lastIndex = end;
    if (isOne && run.length === 300 && REST.test(text)) end = REST.lastIndex;
    // Heads in a row, each read to the end of the row, would take the square of its length.
    reached.set(RUN, isOne ? end : at + (run.length >> 1));
    const glued = isGlued ? (/[A-Za-z\d]*$/.exec(text.slice(Math.max(0, at - 40), at))?.[0].length ?? 0) : 0;
    if (isOne) found.push({ rule: id, start: at - glued, end: withNextLines(text, end) });
  };
}

function isMadeBy(head: string, run: string): boolean {
  if (/^A[A-Z]{2}A$|^ASIA$|^ACCA$/.test(head)) return /^[A-Z\d]{12,}/.test(run) && bitsOf(run) > 2.5;
  const isOnePiece = head.length > 3 && /\d/.test(run) && /^[A-Za-z\d]{30,}/.test(run);
  return (
    bitsOf(run) >= 2 &&
    ((run.length >= 16 && isMachineMade(run)) || isOnePiece || (run.length >= 30 && isMixedCase(run)))
  );
}

/** Letters of both cases in an order that no word has. */
export const isMixedCase = (value: string) => (value.match(/[a-z][A-Z]|[A-Z][a-z]/g)?.length ?? 0) >= value.length / 3;

export function withNextLines(text: string, from: number): number {
  for (let end = from; ; ) {
    NEXT_LINE.lastIndex = end;
    const { rest, alone } = NEXT_LINE.exec(text)?.groups ?? {};
    if (rest === undefined || !(alone === undefined ? isShuffled(rest) : isMachineMade(rest))) return end;
    end = NEXT_LINE.lastIndex - (alone?.length ?? 0);
  }
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Whether the six letters after the first thirty are the CRC-32 of those, as GitHub and npm make them. */
function isProven(random: string): boolean {
  if (random.length < 36) return false;
  let sum = 0;
  for (const digit of random.slice(30, 36)) sum = sum * 62 + BASE62.indexOf(digit);
  return sum === crc32(random.slice(0, 30));
}

const BEFORE = 60;
const BEHIND = 600;

/** A pattern is tried around its words only; where those stand close, in one piece. */
function ruleVisit(rule: Rule): Visit {
  return (text, at, found, reached) => {
    const from = Math.max(at - BEFORE, reached.get(rule) ?? 0);
    const to = at + BEHIND;
    reached.set(rule, to);
    const piece = text.slice(from, to);
    rule.pattern.lastIndex = 0;
    for (let match = rule.pattern.exec(piece); match !== null; match = rule.pattern.exec(piece)) {
      rule.pattern.lastIndex = Math.max(rule.pattern.lastIndex, match.index + 1);
      const value = (rule.group ? match[rule.group] : match.slice(1).find(Boolean)) ?? match[0];
      const start = from + match.index + match[0].indexOf(value);
      if (match.index === 0 && from > 0 && /\w/.test(text[from - 1] ?? '')) continue;
      if (isSecret(rule, value, match[0], text, start)) found.push({ rule: rule.id, start, end: start + value.length });
    }
  };
}

/** Between a vendor's name and what anybody may see. */
const HARMLESS =
  /(?<![a-z])(?:commit|sha|hash|digest|checksum|rev(?:ision)?|version|integrity|etag|uuid|guid|build|image|blob|tree|md5|fingerprint|cursor|trace|span|request|message|nonce|page|file|path|url|channel|user|team|project|task|app|org|account|site|event|session)(?![a-z])/i;

function isSecret(rule: Rule, value: string, match: string, text: string, start: number): boolean {
  if (value.includes(PLACEHOLDER) || bitsOf(value) < Math.max(rule.entropy, 2)) return false;
  const between = match.slice(0, match.indexOf(value)).replace(/(?<=[a-z])(?=[A-Z])/g, '_');
  if (/[=:>,|]/.test(between) && !between.includes('://') && (HARMLESS.test(between) || !isMachineMade(value)))
    return false;
  const lower = value.toLowerCase();
  return [ALLOWED, ...rule.allowed].every(({ of, patterns, stopwords }) => {
    const seen = of === 'match' ? match : of === 'line' ? lineAt(text, start) : value;
    return !patterns.some((pattern) => pattern.test(seen)) && !stopwords.some((word) => lower.includes(word));
  });
}

function lineAt(text: string, at: number): string {
  const from = Math.max(text.lastIndexOf('\n', at) + 1, at - 300);
  return text.slice(from, at + 300).split('\n', 1)[0] as string;
}

/** Whether a name speaks of a vendor whose keys are secrets. */
export const namesVendor = (name: string) => ANY_VENDOR.test(name);

const vendorOf = (id: string) => (/^(?:new-relic|private-ai|[^-]+)/.exec(id) as RegExpExecArray)[0];
const ANY_VENDOR = new RegExp(
  [...Object.keys(HEADS), ...rules.rules.map(({ id }) => vendorOf(id).replace('-', '[_-]?'))].join('|'),
  'i',
);

const VENDORS: Needles<Visit> = needlesOf([
  ...Object.entries(HEADS).flatMap(([id, heads]) =>
    heads.split(' ').map((head) => [head.toLowerCase(), headVisit(id, head)] as const),
  ),
  ...OWN.flatMap(({ id, needle, pattern }) => {
    const visit = ruleVisit({ id, pattern, group: 0, entropy: 3, allowed: [] });
    return needle.split(' ').map((word) => [word, visit] as const);
  }),
  ...rules.rules.flatMap(({ id, keywords, pattern, group = 0, entropy = 0, allowed = [] }) => {
    const visit = ruleVisit({
      id: vendorOf(id),
      pattern: new RegExp(pattern, 'g'),
      group,
      entropy,
      allowed: allowed.map(allowedOf),
    });
    return keywords.map((keyword) => [keyword, visit] as const);
  }),
]);

export function findTokens(text: string, lower: string): Found[] {
  const found: Found[] = [];
  const reached = new Map<unknown, number>();
  scan(VENDORS, lower, (visit, at) => visit(text, at, found, reached));
  return found;
}
