// What is a secret by where it stands: in cookies and headers, in signatures and logins of addresses, and what programs are given on
// the command line. PLACES has a row for each: its rule, the words by which it is known, a pattern that begins there, a check.

import { needlesOf, scan } from './needles.ts';
import { type Found, isCode, isMachineMade, isPlaceholder, PLACEHOLDER } from './rule.ts';
import { isPassword } from './values.ts';
import { withNextLines } from './vendors.ts';

/** An argument, bare or in quotes; `before` is of it, but not of the secret. */
const argument = (before = '') =>
  String.raw`(?:"${before}(?<double>[^"\n]{1,200})"|'${before}(?<single>[^'\n]{1,200})'|${before}(?<bare>[^\s"'\x60|;<>)]{1,200}))`;
/** What reads a password from what is piped into it. */
const READS = String.raw`(?:--password-stdin|-S\b|chpasswd|passwd|cryptsetup|passphrase-fd|htpasswd|kinit|openssl|pass insert|--with-token|login|gpg|ssh-add|secret|keepassxc|--stdin|su\b|base64 -d|wpa_passphrase)`;
/** A program and what may stand before the option that is meant. */
const PROGRAM = String.raw`(?<![\w-])[\w-]{2,20}\b(?:\.exe)?[^\n|;]{0,160}?[ \t"']`;

/** Cookies that say what someone likes, not who they are. */
const HARMLESS_COOKIE =
  /consent|gdpr|theme|lang|locale|timezone|^tz$|currency|^_g[ai]|^_fbp$|^utm|^ajs_|optanon|banner|color|layout|sidebar/i;

function isTellingCookie(pair: string): boolean {
  const [, name = '', value = ''] = /^\s*([\w.-]+)=(.*)$/s.exec(pair) ?? [];
  return !HARMLESS_COOKIE.test(name) && !isCode(value) && /[\w%+/=-]{12}/.test(value) && /\d/.test(value);
}

const any = (value: string) => !isPlaceholder(value) && !value.startsWith('-');
const CHECKS: Record<string, (value: string, before: string) => boolean> = {
  any,
  password: isPassword,
  machine: isMachineMade,
  digit: (value) => any(value) && !isCode(value) && /\d|={1,2}$/.test(value),
  sign: (value) => any(value) && /\d|[!#$%&*]/.test(value),
  cookie: (value) => value.split(/;[ \t]?/).some(isTellingCookie),
  login: (value) => /^[\w.@+-]{1,60}:\S{3,200}$/.test(Buffer.from(value, 'base64').toString('latin1')),
  piped: (value, before) => any(value) && new RegExp(READS).test(before),
};

// `¤` stands for an argument, `¤«user:»` for one with something before the secret, `‡` for a program up to its option.
const ROWS = String.raw`
cookie ¦ cookie ¦ cookie["'\x60]?[ \t]{0,20}[:=][ \t]{0,20}["'\x60]?(?<secret>[\w.-]{1,100}=[^\s"'\x60]{1,4000}(?:[ \t][\w.-]{1,100}=[^\s"'\x60]{1,4000}){0,50}) ¦ cookie
cookie ¦ \ttrue\t·\tfalse\t ¦ \t(?:TRUE|FALSE)\t\d{1,20}\t[\w.-]{1,100}\t(?<secret>\S{8,4000}) ¦ machine
authorization ¦ authorization ¦ authorization["'\x60]?[ \t]{0,20}[:=][ \t]{0,20}["'\x60]?(?:[a-z-]{1,20}[ \t]{1,20})?(?<secret>[\w.~+/=:-]{8,8000}) ¦ digit
authorization ¦ bearer ¦ bearer[ \t]{1,20}(?<secret>[\w.~+/=-]{12,8000}) ¦ digit
login ¦ auth ¦ auth["']?\s?[:=]\s?["']?(?<secret>[A-Za-z0-9+/]{8,400}={0,2}) ¦ login
signature ¦ sig=·signature=·signature" ¦ (?<=[?&;"'-])sig(?:nature)?["']?[=:][ ]?["']?(?<secret>[\w%+/=.~-]{16,2000})
telegram ¦ bot ¦ bot\d{8,10}:(?<secret>[\w-]{20,60})
key-file ¦ .key ¦ \.key["']?[ \t]{0,9}\n(?<secret>[a-f\d]{32,128})(?=[\s"']|$)
key ¦ crypt ¦ crypt["']?\s{0,9}(?:=>|[:=])\s{0,9}[[{]\s{0,40}["']?key["']?\s{0,9}(?:=>|[:=])\s{0,9}["']?(?<secret>\w{16,200})
key ¦ jwt.sign(·jwt.verify(·jwt.encode(·jwt.decode( ¦ jwt\.\w+\([^'"\n]{0,120}(?:'[^'\n]{0,60}'[^'"\n]{0,60})?,[ ]?["'](?<secret>[^"'\n]{6,200})["']
url-login ¦ @tcp(·@unix(·@udp( ¦ (?<=[\w.-]{1,60}:(?<secret>[^\s"'\x60:]{1,100}))@(?:tcp|unix|udp)\(
url-login ¦ oracle:thin:·sqlplus·sqlldr·expdp·impdp·rman ¦ [\w:]{4,30}[ \t]{0,3}(?:-\w+[ \t]+)?["']?[\w$#]{1,60}/(?<secret>[^\s"'\x60@]{1,100})(?=@)
pgpass ¦ :5432:·:*:·:3306:·:6432:·:5433: ¦ :[\d*]{1,5}:[^\s:]{1,60}:[^\s:]{1,60}:(?<secret>\S{3,200})
login ¦ admin·root ¦ (?<![\w-])(?:admin|root)\b[^\n→>:/]{0,30} (?:→|->) (?<secret>[^\s"']{5,100}) ¦ password
login ¦ login(·authenticate(·signin(·connect(·auth(·auth=(·credential(·credentials(·connection( ¦ \w+=?\((?:[^()"'\n]{0,60}|["'][^"'\n]{0,80}["'])(?:, ?["'][^"'\n]{1,80}["']){0,2}?, ?["'](?<secret>(?=[^"'\s]{0,99}[\d!#$%&*])[^"'\s]{4,100})(?=["']) ¦ password
login ¦ "-p" ¦ "-p", ?"(?<secret>[^"\n]{4,100}) ¦ password
login ¦ convertto-securestring ¦ ConvertTo-SecureString (?:-String )?¤
login ¦ send\s ¦ send(?:_\w+)?[ ](?:-- )?"(?<secret>[^"\n$ ]{4,100}?)(?=\s{0,2}") ¦ password
login ¦ assword: ¦ assword:["'* ]{0,4}\s{0,9}[\n;{]?\s{0,20}send(?:_\w+)? (?:-- )?"(?<secret>[^"\n$]{4,100}?)(?=\s{0,2}")
login ¦ \son\s> ¦ \son\s>(?<secret>\S{4,200})
login ¦ \nuser\s ¦ \nuser [\w.@-]{1,60} (?<secret>\S{4,100})(?=\n) ¦ sign
login ¦ echo·printf ¦ (?:echo|printf)(?: -\w+| ["']?%s\n?["']?)? ¤«(?:[\w.-]{1,40}:(?=\S{1,99}[^\n|]{0,9}[|] {0,9}(?:sudo )?chpasswd))?» ?\|(?=[^\n|]{0,200}READS)
login ¦ <<< ¦ <<< ?¤ ¦ piped
login ¦ curl·wget·http·xh ¦ ‡(?:-u|--user|--proxy-user|-a|--auth)[ =]{0,2}¤«[^\s:"']{1,100}:»
login ¦ mysql·mariadb ¦ ‡-p(?=\S)¤
login ¦ machine ¦ machine\s{1,20}\S{1,200}(?:\s{1,20}(?:login|account)\s{1,20}\S{1,200}){0,2}\s{1,20}password\s{1,20}¤
private-key ¦ private·signing·wallet ¦ (?:private|signing|wallet)[ _-]?key(?:[^\n]{0,40}?|[^\n]{0,9}\n[ \t]{0,20})(?<![A-Za-z0-9])(?<secret>(?:0x)?[a-f\d]{64})(?![A-Za-z0-9])
login ¦ sshpass ¦ ‡-p ?¤
login ¦ docker·podman·nerdctl·buildah·skopeo·helm·crane·az·oc·cf ¦ ‡login\b[^\n|;&]{0,160}?[ \t]-p[ \t=]{1,9}¤
login ¦ mongo·cqlsh·psexec ¦ ‡-p[ \t=]{1,9}¤
login ¦ sqlcmd·bcp·ipmitool·mosquitto_·zip·unzip ¦ ‡-P[ \t]{0,9}¤
login ¦ redis-cli ¦ ‡-a[ \t]{1,9}¤
login ¦ ldap ¦ ‡-w[ \t]{0,9}¤
login ¦ 7z·rar ¦ ‡-h?p(?=\S)¤
login ¦ openssl ¦ ‡-k[ \t]{1,9}¤
login ¦ useradd ¦ ‡-p[ \t]{1,9}¤
login ¦ wpa_passphrase ¦ wpa_passphrase[ \t]\S{1,60}[ \t]¤
login ¦ vault ¦ ‡login[ \t]{1,9}¤ ¦ machine
login ¦ gh ¦ ‡secret set[^\n]{1,80}?[ \t] ‡(?:--body|-b)[ \t=]¤
login ¦ << ¦ <<-?["']?\w+["']?\n(?<secret>\S{4,100})(?=\n) ¦ piped
login ¦ openssl·keytool ¦ ‡[\w-]{1,12}[ \t]{1,9}¤«pass:»
login ¦ smb·rpcclient ¦ ‡-U[ \t]{0,9}¤«[^\s%"']{1,80}%»
login ¦ htpasswd ¦ ‡-(?:\w{0,4}n\w{0,4}b|b\w{0,3}n)\w{0,4}[ \t]{1,9}\S{1,100}[ \t]{1,9}¤
login ¦ htpasswd ¦ ‡-\w{0,4}b\w{0,4}[ \t]{1,9}\S{1,200}[ \t]{1,9}\S{1,100}[ \t]{1,9}¤
login ¦ xfreerdp·rdesktop·cmdkey·schtasks ¦ ‡/(?:p|pass|rp)[: \t]¤
login ¦ lftp·ncftp ¦ ‡-u[ \t]{0,9}¤«[^\s,"']{1,80},»
login ¦ rabbitmqctl ¦ ‡(?:add_user|change_password)[ \t]{1,9}\S{1,80}[ \t]{1,9}¤
login ¦ net ¦ net[ \t]{1,9}(?:use[ \t]{1,9}(?:\w:[ \t]{1,9})?\\\\\S{1,200}|user[ \t]{1,9}[\w.-]{1,60})[ \t]{1,9}(?:/user:\S{1,80}[ \t]{1,9})?(?!/)¤
login ¦ snmp ¦ ‡-[AX][ \t]{1,9}¤`;

interface Place {
  id: string;
  pattern: RegExp;
  isSecret: (value: string, before: string) => boolean;
}

const PLACES = needlesOf(
  ROWS.split('\n')
    .slice(1)
    .flatMap((row) => {
      const [id = '', words = '', form = '', check = 'any'] = row.split(' ¦ ');
      const source = form
        .replace('‡', () => PROGRAM)
        .replace('READS', () => READS)
        .replace(/¤(?:«(.*?)»)?/, (_, before?: string) => argument(before));
      const place: Place = {
        id,
        pattern: new RegExp(source, form.startsWith('‡') ? 'dy' : 'dyi'),
        isSecret: CHECKS[check] ?? any,
      };
      const written = words.replaceAll('\\t', '\t').replaceAll('\\n', '\n').replaceAll('\\s', ' ');
      return written.split('·').map((word) => [word, place] as const);
    }),
);

export function findInPlaces(text: string, lower: string): Found[] {
  const found: Found[] = [];
  // What a place has read is not read again from the next of its words.
  const reached = new Map<Place, number>();
  scan(PLACES, lower, (place, at) => {
    if (at < (reached.get(place) ?? 0)) return;
    place.pattern.lastIndex = at;
    const match = place.pattern.exec(text);
    if (match === null) return;
    const [start, end] = Object.values(match.indices?.groups ?? {}).find(Boolean) ?? [at, at];
    reached.set(place, end);
    const value = text.slice(start, end);
    if (value.includes(PLACEHOLDER) || !place.isSecret(value, text.slice(Math.max(0, at - 120), at))) return;
    found.push({ rule: place.id, start, end: place.id === 'authorization' ? withNextLines(text, end) : end });
  });
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
    const login = loginAt(text, at + 3, /https?$/i.test(text.slice(at - 5, at)));
    if (login !== undefined) found.push(login);
  }
  return found;
}

const ADDRESS = /[^\n]{0,300}/y;
const USUAL_LOGIN = /^(?:password|passwd|x-oauth-basic)$/i;

/** The password of an address, or what stands in its user's place: up to the last `@` before what can be a host. */
function loginAt(text: string, at: number, isOfWeb: boolean): Found | undefined {
  ADDRESS.lastIndex = at;
  const [rest = ''] = ADDRESS.exec(text)?.[0].split('://', 1) ?? [];
  if (!rest.includes('@')) return undefined;
  const token = /^(?:[\w-]{20,200}(?=:?@)|[^\s:@/<>[]{1,200}(?=:x-oauth-basic@))/.exec(rest)?.[0];
  if (token !== undefined)
    return /\d/.test(token) ? { rule: 'url-login', start: at, end: at + token.length } : undefined;
  const user = /^(?:\[redacted:[a-z\d-]{1,40}\]|[^\s:/<>[]{0,100}):(?!\d{1,5}(?:[/\s.,;)]|$)|[/\s])/.exec(rest)?.[0];
  if (user === undefined) return undefined;
  let length = 0;
  for (let sign = rest.indexOf('@', user.length); sign >= 0; sign = rest.indexOf('@', sign + 1)) {
    const password = rest.slice(user.length, sign);
    if (/^["'`$]|["'`]$|["'`].*\s|\s.*["'`]/.test(password)) break;
    if (/\s/.test(password) && (isOfWeb || length > 0 || !/\d|[!#$%&*]/.test(password) || password.length > 60)) break;
    if (length === 0 || !/[/?]/.test(password)) length = sign - user.length;
    if (/^(?:\[[\da-f:]+\]|[\w-]+(?:\.[\w-]+)+|localhost|[\w-]+:\d)(?![\w@])/.test(rest.slice(sign + 1))) {
      length = sign - user.length;
      break;
    }
  }
  const value = rest.slice(user.length, user.length + length);
  if (value === '' || value.includes(PLACEHOLDER) || USUAL_LOGIN.test(value) || isPlaceholder(value)) return undefined;
  return { rule: 'url-login', start: at + user.length, end: at + user.length + length };
}
