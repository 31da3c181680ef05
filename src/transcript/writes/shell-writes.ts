// Which files a shell command line or a script writes, moves or removes, and what it adds to them, as far as its text
// tells: words, quotes, redirections, here-documents, `cd` and plain variables of a line; the literal paths of a script in
// PowerShell, Python or JavaScript; what a patch names; the commands that a script of Codex's code mode gives to its tools.
// It runs nothing and expands no globs; what a script puts together itself is not seen.

import { type Place, resolvePath } from './recorded-paths.ts';

interface Command {
  words: string[];
  /** What the output is redirected to. */
  targets: string[];
  /** Its here-documents. */
  documents: string[];
}

/** What `line` writes, its paths resolved from `place`. */
export function findShellWrites(line: string, place: Place): Written[] {
  const variables = new Map([['HOME', place.home]]);
  const written: Written[] = [];
  let { cwd } = place;
  const expand = (word: string): string =>
    word.replace(/\$(?:(\w+)|\{(\w+)\})/g, (whole, name?: string, braced?: string) => {
      const key = name ?? braced ?? '';
      return (key === 'PWD' ? cwd : variables.get(key)) ?? whole;
    });
  /** What the command before put out, which `tee` may take up. */
  let saidBefore: string[] = [];
  for (const command of readCommands(line)) {
    const words = withoutPrefixes(command.words.map(expand), variables);
    const here: Place = { cwd, home: place.home };
    const [name = '', ...args] = words;
    const said = [...command.documents, saidBy(name, args)].flatMap(linesOf);
    const paths = [...command.targets.map(expand), ...operandsWritten(name, args)];
    const added = baseName(name) === 'tee' ? [...said, ...saidBefore] : said;
    const found = [
      ...paths.map((path) => ({ path, added })),
      ...writtenByProgram(name, [...args, ...command.documents]),
    ];
    written.push(...found.map((each) => ({ ...each, path: resolvePath(each.path, here) })));
    const script = scriptOf(name, args);
    if (script !== undefined) written.push(...findShellWrites(script, here));
    if (name === 'cd' || name === 'pushd') cwd = resolvePath(args.find((arg) => !arg.startsWith('-')) ?? '~', here);
    saidBefore = said;
  }
  return written;
}

function saidBy(name: string, args: string[]): string {
  if (name !== 'echo' && name !== 'printf') return '';
  const [first = '', ...rest] = args.filter((arg) => !/^-[neE]+$/.test(arg));
  const texts = name === 'printf' && first.includes('%') && rest.length > 0 ? rest : [[first, ...rest].join(' ')];
  return texts.join('\n').replaceAll('\\n', '\n');
}

const PREFIXES = new Set('sudo command env time nohup exec export local then do else if while ! {'.split(' '));

/** Drops `sudo`, `then` and the like, and takes assignments into `variables`. */
function withoutPrefixes(words: string[], variables: Map<string, string>): string[] {
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] as string;
    const assignment = /^(\w+)=(.*)$/s.exec(word);
    if (assignment) variables.set(assignment[1] as string, assignment[2] as string);
    else if (!PREFIXES.has(word)) break;
  }
  return words.slice(at);
}

/** What finds the files that a script writes, by the program that runs it. */
const SCRIPTS: readonly [program: RegExp, find: (script: string) => string[]][] = [
  [/^(?:python|py|node|bun|deno)$/, findProgramWrites],
  [/^(?:pwsh|powershell)$/, findPowerShellWrites],
];

/** What a program writes that another language runs: given as an argument (`python -c …`) or by a here-document. */
function writtenByProgram(name: string, texts: string[]): Written[] {
  const program = baseName(name).replace(/(?<![\d.])[\d.]*(\.exe)?$/, '');
  if (program === 'apply_patch') return texts.flatMap(findPatches);
  const find = SCRIPTS.find(([pattern]) => pattern.test(program))?.[1] ?? (() => []);
  return texts.flatMap((text) => find(text).map((path) => ({ path, added: literalsIn(text) })));
}

/** The command line in `bash -c '…'`. */
function scriptOf(name: string, args: string[]): string | undefined {
  const flag = args.findIndex((arg) => /^-\w*c$/.test(arg));
  return /^(ba|z|da)?sh$/.test(baseName(name)) && flag !== -1 ? args[flag + 1] : undefined;
}

function operandsWritten(name: string, args: string[]): string[] {
  const operands = args.filter((arg) => !arg.startsWith('-'));
  const into = args.flatMap((arg, at) => {
    if (arg === '-t' || arg === '--target-directory') return args[at + 1] ?? [];
    return arg.startsWith('--target-directory=') ? arg.slice(arg.indexOf('=') + 1) : [];
  });
  const program = baseName(name);
  // What is moved is gone from where it was.
  if (/^(?:tee|rm|unlink|rmdir|truncate|mv)$/.test(program)) return [...operands, ...into];
  if (/^(?:cp|install|ln|rsync)$/.test(program)) return into.length > 0 ? into : operands.slice(-1);
  const isInPlace = args.some((arg) => /^(-[a-zA-Z]*i|--in-place)/.test(arg));
  return isInPlace && /^(?:sed|perl)$/.test(program) ? operands : [];
}

function baseName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** Splits a command line at its operators. Quotes are taken off; what stood in single quotes is not kept from expansion. */
function readCommands(line: string): Command[] {
  const commands: Command[] = [];
  const documentEnds: string[] = [];
  let command: Command = { words: [], targets: [], documents: [] };
  let next: 'word' | 'target' | 'nothing' | 'document' = 'word';
  let at = 0;

  const endCommand = (): void => {
    if (command.words.length > 0 || command.targets.length > 0) commands.push(command);
    command = { words: [], targets: [], documents: [] };
    next = 'word';
  };
  const takeWord = (word: string): void => {
    if (next === 'word') command.words.push(word);
    else if (next === 'target') command.targets.push(word);
    else if (next === 'document') documentEnds.push(word);
    next = 'word';
  };
  const skipDocuments = (): void => {
    for (const end of documentEnds.splice(0)) {
      const start = at;
      let text = '';
      let lineStart = at;
      do {
        lineStart = at;
        const lineEnd = line.indexOf('\n', at);
        text = line.slice(at, lineEnd === -1 ? undefined : lineEnd);
        at = lineEnd === -1 ? line.length : lineEnd + 1;
      } while (text.trim() !== end && at < line.length);
      command.documents.push(line.slice(start, text.trim() === end ? lineStart : at));
    }
  };

  while (at < line.length) {
    const rest = line.slice(at, at + 3);
    const redirection = /^(?:<<<|<<-?|<|&>>?|>>|>\||>&|>)/.exec(rest)?.[0];
    const char = line[at] as string;
    if (redirection && line[at + redirection.length] !== '(') {
      at += redirection.length;
      const isDuplicate = redirection === '>&' && /[\d-]/.test(line[at] ?? '');
      if (redirection.startsWith('<<') && redirection !== '<<<') next = 'document';
      else next = redirection.startsWith('<') || isDuplicate ? 'nothing' : 'target';
    } else if (char === '\n') {
      at++;
      skipDocuments();
      endCommand();
    } else if (/[;&|()<>]/.test(char)) {
      at++;
      endCommand();
    } else if (/\s/.test(char)) {
      at++;
    } else if (char === '#') {
      const end = line.indexOf('\n', at);
      at = end === -1 ? line.length : end;
    } else {
      const word = readWord(line, at);
      at = word.end;
      // `2>`: the number of a stream, not a word.
      if (!(/^\d+$/.test(word.text) && /[<>]/.test(line[at] ?? ''))) takeWord(word.text);
    }
  }
  endCommand();
  return commands;
}

function readWord(line: string, start: number): { text: string; end: number } {
  let text = '';
  let at = start;
  while (at < line.length) {
    const char = line[at] as string;
    if (/[\s;&|()<>]/.test(char)) break;
    if (char === "'") {
      const end = line.indexOf("'", at + 1);
      text += line.slice(at + 1, end === -1 ? undefined : end);
      at = end === -1 ? line.length : end + 1;
    } else if (char === '"') {
      const end = endOfQuotes(line, at);
      text += line.slice(at + 1, end).replace(/\\(["\\$`\n])/g, '$1');
      at = end + 1;
    } else if (char === '\\') {
      if (line[at + 1] !== '\n') text += line[at + 1] ?? '';
      at += 2;
    } else {
      text += char;
      at++;
    }
  }
  return { text, end: at };
}

/** The index of the double quote that closes the one at `start`; quotes inside `$(…)` are its own. */
function endOfQuotes(line: string, start: number): number {
  let depth = 0;
  for (let at = start + 1; at < line.length; at++) {
    const char = line[at];
    if (char === '\\') at++;
    else if (char === '(' && (depth > 0 || line[at - 1] === '$')) depth++;
    else if (char === ')' && depth > 0) depth--;
    else if (char === '"' && depth === 0) return at;
  }
  return line.length;
}

/** A file that was written, moved or removed. */
export interface Written {
  path: string;
  /** What was added to it, in lines; empty where nothing was, or nothing tells. */
  added: string[];
}

export function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== '');
}

/** What is opened for writing, written, moved or removed by a script in Python or JavaScript. */
function findProgramWrites(program: string): string[] {
  return PROGRAM_WRITES.flatMap((pattern) => [...program.matchAll(pattern)].map((match) => match[2] as string));
}

const PROGRAM_WRITES = [
  // open('a.md', 'w'), open("a.md", mode="a+")
  /\bopen\(\s*(['"])([^'"\n]+)\1\s*,\s*(?:mode\s*=\s*)?['"][^'"]*[wax+]/g,
  // Path('a.md').write_text(…)
  /\bPath\(\s*(['"])([^'"\n]+)\1\s*\)(?:\.expanduser\(\))?\.(?:write_|unlink|touch|rename|replace|open\(\s*['"][wax])/g,
  /\bos\.(?:remove|unlink|rename|replace)\(\s*(['"])([^'"\n]+)\1/g,
  // The last argument is what is written: shutil.copy(a, 'b'), os.rename(a, 'b')
  /\b(?:shutil\.(?:copy\w*|move)|os\.(?:rename|replace))\([^()\n]*,\s*(['"])([^'"\n]+)\1\s*\)/g,
  /\b(?:writeFile|appendFile|unlink|rm|createWriteStream|truncate)(?:Sync)?\(\s*(['"`])([^'"`\n]+)\1/g,
  /\b(?:copyFile|rename|cp)(?:Sync)?\([^()\n]*,\s*(['"`])([^'"`\n]+)\1\s*[,)]/g,
];

/** The lines of the texts that stand in a script, where they have more than one word: what it may write. */
export function literalsIn(script: string): string[] {
  const found = script.matchAll(LITERAL).map(([, , block, , here, , text]) => block ?? here ?? text ?? '');
  return [...found]
    .flatMap((text) => text.replaceAll('\\n', '\n').split(/\r?\n/))
    .filter((line) => /\S\s+\S/.test(line));
}

/** A text in triple quotes, a here-string of PowerShell, one in plain quotes. */
const LITERAL = /('''|""")([\s\S]*?)\1|@(['"])\r?\n([\s\S]*?)\n\3@|(['"`])((?:\\.|(?!\5)[^\\\n])*)\5/g;

/** What the cmdlets and redirections of a PowerShell script write. */
export function findPowerShellWrites(script: string): string[] {
  // The text of a here-string is written, it writes nothing.
  const text = script
    .replace(/@(['"])\r?\n[\s\S]*?\n\1@/g, "''")
    .replace(/\$(?:env:(?:USERPROFILE|HOME)|HOME)\b/gi, '~');
  const statements = text.match(/(?:'[^']*'|"[^"]*"|[^'"|;\r\n])+/g) ?? [];
  const methods = [...text.matchAll(/\[(?:System\.)?IO\.File\]::(?:Write|Append|Delete)\w*\(\s*(['"])([^'"\n]+)\1/gi)];
  return [...statements.flatMap(writtenByStatement), ...methods.map((match) => match[2] as string)];
}

const WRITES_ANY =
  /^(set-content|add-content|clear-content|out-file|new-item|remove-item|rename-item|move-item|tee-object)$/i;
/** Parameters whose argument is no path that is written. */
const NO_PATH = /^-(value|inputobject|encoding|itemtype|newname|width|delimiter|filter|include|exclude|erroraction)$/i;

function writtenByStatement(statement: string): string[] {
  const words = [...statement.matchAll(/'([^']*)'|"([^"]*)"|[^\s'"]+/g)].map(
    ([word, single, double]) => single ?? double ?? word,
  );
  const redirected = words.flatMap((word, at) => (/^[\d*]?>>?$/.test(word) ? (words[at + 1] ?? []) : []));
  const start = words.findIndex((word) => WRITES_ANY.test(word) || /^copy-item$/i.test(word));
  if (start === -1) return redirected;
  const operands = words
    .slice(start + 1)
    .filter((word, at, all) => !word.startsWith('-') && !NO_PATH.test(all[at - 1] ?? ''));
  return [...redirected, ...(/^copy-item$/i.test(words[start] as string) ? operands.slice(1) : operands)];
}

/** What a patch in the form of `apply_patch` adds, changes, removes or moves. */
export function findPatches(patch: string): Written[] {
  const written: Written[] = [];
  let open: Written[] = [];
  for (const line of patch.split(/\r?\n/)) {
    const [, what, path = ''] = /^\*\*\* (?:(Add|Update|Delete) File|Move to): (.+)$/.exec(line) ?? [];
    if (path !== '') {
      const next: Written = { path: path.trim(), added: [] };
      written.push(next);
      open = what === undefined ? [...open, next] : [next];
    } else if (line.startsWith('*** End')) {
      open = [];
    } else if (line.startsWith('+') && line.slice(1).trim() !== '') {
      for (const each of open) each.added.push(line.slice(1));
    }
  }
  return written;
}

// Codex's code mode: the model writes a script that calls tools.

interface ScriptCommand {
  line: string;
  workdir?: string;
}

/** The commands given to `exec_command({ cmd, workdir })`. */
export function findScriptCommands(script: string): ScriptCommand[] {
  const starts = [...script.matchAll(/\bcmd["']?\s*:\s*(?=["'`])/g)].map((match) => match.index + match[0].length);
  return starts.map((start, at) => {
    const { text, end } = readString(script, start);
    const workdir = /\bworkdir["']?\s*:\s*(?=["'`])/.exec(script.slice(end, Math.max(end, starts[at + 1] ?? Infinity)));
    if (!workdir) return { line: text };
    return { line: text, workdir: readString(script, end + workdir.index + workdir[0].length).text };
  });
}

/** What the patches given to `apply_patch` write. */
export function findScriptPatches(script: string): Written[] {
  return script.includes('apply_patch') ? findPatches(withoutEscapes(script)) : [];
}

function readString(script: string, start: number): { text: string; end: number } {
  let end = start + 1;
  while (end < script.length && script[end] !== script[start]) end += script[end] === '\\' ? 2 : 1;
  return { text: withoutEscapes(script.slice(start + 1, end)), end };
}

function withoutEscapes(text: string): string {
  return text.replace(/\\(.)/gs, (_, char: string) => (char === 'n' ? '\n' : char));
}
