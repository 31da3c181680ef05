// Which files a shell command line writes, moves or removes, and what it adds to them, as far as its text tells.
// It reads words, quotes, redirections, here-documents, `cd` and plain variables; it runs nothing and expands no globs.

import { type Place, resolvePath } from './recorded-paths.ts';
import {
  findPatches,
  findPowerShellWrites,
  findProgramWrites,
  linesOf,
  literalsIn,
  type Written,
} from './script-writes.ts';

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
