// What a shell command calls, told by its words alone: which programs, with the word that says what they are to do, which
// files, and whether it does what no line of memory may lead to. Pure and linear; a command that is not understood calls nothing.

/** No more of a command is read. */
const MOST_CHARS = 4_000;
const HEREDOC = /<<-?\s*(['"]?)(\w+)\1[\s\S]*?(?:\n\s*\2\b|$)/g;
const REDIRECTION = /\d*[<>]&\d?|&?\d*>{1,2}\s*(?:\/dev\/null|&\d)/g;
const TOKEN = /(&&|\|\||[;&|\n()`])|((?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s;&|"'()`\\])+)|[^\S\n]+|./gsy;

/** The commands of a line, each as its words without quotes; `joint`: what stands behind it. */
export function commandsIn(line: string): { words: string[]; joint: string }[] {
  const text = line
    .slice(0, MOST_CHARS)
    .replace(/\\\r?\n/g, ' ')
    .replace(HEREDOC, '\n')
    .replace(/\$\(\([^()]*\)\)/g, '0')
    .replace(REDIRECTION, ' ');
  const commands: { words: string[]; joint: string }[] = [{ words: [], joint: '' }];
  for (const [, joint, word] of text.matchAll(TOKEN)) {
    const last = commands.at(-1) as { words: string[]; joint: string };
    if (word !== undefined) last.words.push(word.replace(/["'\\]/g, ''));
    if (joint === undefined) continue;
    last.joint = joint;
    commands.push({ words: [], joint: '' });
  }
  return commands.filter(({ words }) => words.length > 0);
}

/** What only goes before a program; of some the next word is a number. */
const BEFORE =
  /^(?:sudo|doas|env|time|nice|nohup|exec|command|builtin|xargs|timeout|stdbuf|then|do|else|if|while|until|!|\{|\d+[smh]?|\w+=.*)$/;
/** What says nothing of a way by itself: it moves about, prints, looks or waits. */
const NO_PROGRAM =
  /^(?:cd|pushd|popd|echo|printf|export|unset|local|set|sleep|wait|true|false|pwd|source|\.|:|test|\[+|exit|return|for|in|done|fi|esac|case|cat|head|tail|less|more|wc|sort|uniq|tee|grep|egrep|rg|ls|find|sed|awk|cut|tr|xxd|file|stat|which|type|date|jq|diff|mkdir|touch|cp|mv|kill|ps)$/;
/** Programs that are told what to do by their first word. */
const WITH_VERB =
  /^(?:git|gh|glab|npm|pnpm|yarn|bun|deno|go|cargo|docker|docker-compose|podman|kubectl|helm|terraform|pip3?|uv|poetry|bundle|rails|rake|make|just|mise|asdf|brew|apt|apt-get|systemctl|dotnet|mvnw?|gradlew?|aws|gcloud|az|nx|turbo|task|swift|flutter|dart|mix|composer|php|conda)$/;
/** Words behind which the verb is another one. */
const VERB_OF_VERB = /^(?:run|exec|compose|dlx|pr|issue|tool|x|mod|run-script)$/;
/** Programs that only run another one. */
const RUNS =
  /^(?:npx|bunx|uvx|pnpx|pnpm (?:exec|dlx)|npm exec|yarn dlx|uv run|poetry run|bundle exec|mise (?:x|exec))$/;
/** Flags whose value is a word of its own. */
const WITH_VALUE =
  /^(?:-C|-F|-f|-n|-w|-m|-p|-c|--(?:prefix|filter|dir|cwd|workspace|file|namespace|project|directory|config))$/;

const nameOf = (word: string) => (word.split(/[/\\]/).at(-1) ?? word).replace(/\.(?:exe|cmd|ps1)$/i, '');

/** A program with what it is told to do: `pnpm test`, `npm run build`, `vitest`; null for what is none. */
function programOf(words: readonly string[], depth = 0): string | null {
  const own = words.slice(words.findIndex((word) => !BEFORE.test(word)));
  const name = nameOf(own[0] ?? '');
  if (BEFORE.test(own[0] ?? '') || NO_PROGRAM.test(name) || !/^[\w@][\w.+@-]*$/.test(name)) return null;
  const rest = own.slice(1).filter((word, at, all) => !word.startsWith('-') && !WITH_VALUE.test(all[at - 1] ?? ''));
  // A script that the command itself brings along is no way of anything.
  if (
    /^(?:node|bun|deno|python[\d.]*|perl|ruby|php|bash|zsh|sh)$/.test(name) &&
    /^-$|^-[lic]*[ecp]$|^--(?:eval|print)$/.test(own[1] ?? '')
  )
    return null;
  const module = /^python[\d.]*$/.test(name) && own[1] === '-m' ? own.slice(2) : null;
  if (module && depth < 2) return programOf(module, depth + 1) ?? name;
  const verb = WITH_VERB.test(name) && /^[a-z][\w:.-]*$/i.test(rest[0] ?? '') ? rest[0] : undefined;
  const called = verb === undefined ? name : `${name} ${verb}`;
  if (RUNS.test(called) && depth < 2) {
    const inner = verb === undefined ? rest : rest.slice(1);
    return inner.length > 0 ? programOf(inner, depth + 1) : called;
  }
  const more = verb !== undefined && VERB_OF_VERB.test(verb) && /^[\w:.-]+$/.test(rest[1] ?? '') ? ` ${rest[1]}` : '';
  return called + more;
}

/** The programs that a command calls, each with its verb and once, in its order; without those that only look or move about. */
export function programsIn(command: string): string[] {
  const found = commandsIn(command).flatMap(({ words }) => programOf(words) ?? []);
  return [...new Set(found)];
}

/** The files that a command names. */
export function filesIn(command: string): string[] {
  const words = commandsIn(command).flatMap((each) => (each.words[0] === 'cd' ? [] : each.words.slice(1)));
  return [
    ...new Set(
      words.filter((word) =>
        /^(?!-|\d|https?:|[./]+$|\/dev\/)[^\s=$*]*(?:[^/\s]\/[^/\s]|\w\.[a-z]\w{0,4}$|^\.[a-z][\w-]+$)/i.test(word),
      ),
    ),
  ];
}

/** The programs of which an exit code may say nothing: all, but for those before the first pipe that only `&&` leads to. */
export function hiddenIn(command: string): string[] {
  const commands = commandsIn(command);
  const from = commands.findIndex(({ joint }) => joint !== '&&');
  return [...new Set(commands.slice(Math.max(0, from)).flatMap(({ words }) => programOf(words) ?? []))];
}

/** Whether the exit code says what became of a command's programs: it is not that of a pipe's end or of what comes after. */
export function tellsEnd(command: string): boolean {
  if (/\bpipefail\b|\bset -\w*e/.test(command)) return true;
  const commands = commandsIn(command).filter(({ words }) => !/^(?:cd|export|set)$/.test(words[0] ?? ''));
  return (
    commands.every(({ joint }, at) => at === commands.length - 1 || joint === '&&') &&
    !/\|\||\|/.test(commands.at(-1)?.joint ?? '')
  );
}

/** What prints the end of a pipe and fails of nothing that stands before it. */
const PRINTS = /^(?:cat|head|tail|sort|uniq|wc|cut|tr|nl)$/;

/**
 * Whether an exit code that tells of a failure is that of a command's last program, as in a list or a loop; not in a pipe, but
 * for one that only prints behind `&&`: then what stands before that has failed.
 */
export function tellsFailure(command: string): boolean {
  const commands = commandsIn(command);
  const last = commands.findLast(({ words }) => words[0] !== 'done' && words[0] !== 'fi');
  const piped = commands.findIndex(({ joint }) => joint !== '&&');
  if (
    piped > 0 &&
    commands
      .slice(piped + 1)
      .every(
        ({ words, joint }, at, all) => PRINTS.test(words[0] ?? '') && joint === (at < all.length - 1 ? '|' : ''),
      ) &&
    commands[piped]?.joint === '|'
  )
    return true;
  return (
    commands.every(({ joint }) => !joint.includes('|')) &&
    (programOf(last?.words ?? []) !== null || programsIn(command).length === 0)
  );
}

/** What a command does that no line of memory may lead to, by kind. `sends`: to others than this machine. */
const HARM: Record<string, RegExp> = {
  deletes:
    /(?:^|[\s;&|(`"'])(?:rm|rmdir|shred|unlink|mkfs\S*|dd|truncate|del|rd|Remove-Item|format)\s|\s-delete\b|\b(?:reset\s+--hard|clean\s+-\w*[fdx]|checkout\s+(?:--|\.)|restore\s+\.|branch\s+-D|stash\s+(?:drop|clear)|filter-branch|reflog\s+expire)\b|\b(?:drop|truncate)\s+(?:table|database|schema)\b|\bdelete\s+from\b|\b(?:prune|purge|uninstall|destroy|down\s+-v|delete)\b|\bkill(?:all)?\s|pkill\s|>\s*\/dev\/sd/i,
  shell:
    /\|\s*(?:sudo\s+|env\s+)?(?:\S*\/)?(?:ba|z|da|k|fi)?sh\b(?!\s+-n(?:\s+-)?\s*(?:$|[;&|)"`\n]))|\|\s*(?:sudo\s+)?(?:python|perl|ruby|node|php|iex|Invoke-Expression)\w*\b|\beval\s|\biex\s*\(|<\(\s*(?:curl|wget)|\bbase64\s+(?:-d|--decode|-D)|\$\(\s*(?:curl|wget)/i,
  rights:
    /(?:^|[\s;&|(`"'])(?:sudo|doas|su|runas|chmod|chown|chgrp|setfacl|icacls|usermod|visudo)\s|--privileged\b|\bdangerously\b|--(?:no-sandbox|yolo)\b/i,
  unchecked:
    /--(?:no-verify|insecure|no-check-certificate|no-gpg-sign|trusted-host|allow-unauthenticated|force|no-audit|skip-checks?|ignore-scripts=false|index-url|extra-index-url|registry)\b|\bcurl\b[^|;&\n]*\s-\w*k\b|\bpush\s[^|;&\n]*\s(?:-f|\+\S)|TLS_REJECT_UNAUTHORIZED|SSL_?VERIFY\S*[=\s](?:0|false)|\bstrict-ssl\b|StrictHostKeyChecking|\bconfig\s+--(?:global|system)\b|\bconfig\s+set\b|\bhooksPath\b/i,
  secret:
    /(?:token|secret|passw(?:or)?d|passphrase|credential|api[_-]?key|private[_-]?key|access[_-]?key)s?\b|(?:^|[\s/"'=])\.(?:env|netrc|npmrc|pgpass|ssh|aws|kube|gnupg)\b|\bid_(?:rsa|ed25519|ecdsa)\b|\.pem\b|\[redacted/i,
  sends:
    /\b(?:push|publish|upload|deploy|release\s+create)\b|\b(?:scp|sftp|ftp|nc|ncat|netcat|telnet|sendmail|mail|mutt|socat)\s|\brsync\s[^|;&\n]*\S:|\bcurl\b[^|;&\n]*(?:\s-(?:d|F|T|X)\b|--data|--form|--upload|--request)|\bwget\s[^|;&\n]*--post|\bInvoke-(?:WebRequest|RestMethod)\b/i,
};

/** What harm a command may do, by kind, or one that a text names; empty for none. */
export function harmsIn(command: string): string[] {
  // What is not read to its end may do anything.
  if (command.length > MOST_CHARS) return Object.keys(HARM);
  const others = command.replace(OWN_REMOVED, (whole, paths: string) => {
    const isOwn = (path: string) => /^\/tmp\/[\w.-]*\w$/.test(path) || isMadeIn(command.replace(whole, ' '), path);
    return paths.trim().split(/\s+/).every(isOwn) ? ' ' : whole;
  });
  return Object.keys(HARM).filter((kind) => HARM[kind]?.test(others));
}

/** Files that are removed by their names, without a directory, a pattern or a variable. */
const OWN_REMOVED = /(?<=^|[\s;&(`])rm(?:\s+-f)?((?:\s+[\w./-]*\w)+)(?=\s*(?:$|[;&)`]))/g;

/** A command without the files beside it that it removes on its way, by their names: what else it does, it does without that. */
export const withoutRemoving = (command: string) =>
  command.replace(REMOVED_BESIDE, '').replace(/\s*&&\s*$/, '') || command;
const REMOVED_BESIDE = /(?<=^|&&)\s*rm(?:\s+-f)?(?:\s+(?![/-]|\S*\.\.)[\w./-]*\w)+\s*(?:&&|$)/g;

/** Whether the same command writes a file: `-o FILE`, `> FILE`, `tee FILE`. */
function isMadeIn(command: string, path: string): boolean {
  const name = path.replace(/^\.\//, '').replace(/[.]/g, '\\.');
  return new RegExp(`(?:-o[\\s=]?|--out(?:put)?[\\s=]|>\\s?|\\btee\\s)(?:\\./)?${name}(?:\\.exe)?(?![\\w./-])`).test(
    command,
  );
}

/** What is said of harm that no line may hold; what sends something out is known, and told to nobody unasked. */
export const HARM_SAID: Record<string, string> = {
  deletes: 'deletes something',
  shell: 'hands text to a shell',
  rights: 'changes rights',
  unchecked: 'turns a check off',
};

/** What a text's commands would do to whoever follows them. */
export function harmsOf(text: string): string[] {
  const spans = [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
  // A flag of a program of one's own, where no other is named that it would force.
  const isKnown = /\bpush/i.test(text) || text.split(/[\s`"'(),;:]+/).some((word) => WITH_VERB.test(word));
  const runs = spans.filter((span) => span !== '--force' || isKnown);
  return (spans.length > 0 ? runs : [text]).flatMap(harmsIn).filter((harm) => harm in HARM_SAID);
}
