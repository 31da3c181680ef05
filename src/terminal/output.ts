// What the commands print: results on stdout, everything else on stderr; and the exit codes. Lines fit the terminal, broken
// between words and nowhere else: a call of nocturne that can be pasted, code and a quote stay whole as far as a line is
// long enough for them; a path is never broken. Nothing is left out. Tables are for people, and
// the same rows for pipes. And a line on stderr that says what is going on and what is waited for, silent where stderr is no
// terminal: Ctrl-C ends the process at once, with a word; nothing that was begun is half done, for work is committed whole.
// Questions to a person are on stderr, so that stdout stays for results.

import { spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { stripVTControlCharacters, styleText } from 'node:util';

/** `attention`: something needs a person. `later`: busy, or a ceiling. */
export const EXIT = { fine: 0, failed: 1, usage: 2, attention: 3, later: 75 } as const;

export const EXIT_MEANINGS: Record<keyof typeof EXIT, string> = {
  fine: 'fine',
  failed: 'it failed, and stderr says why',
  usage: 'wrong usage: nothing was done',
  attention: 'something needs a person',
  later: 'try again later: another process works on it, or a limit was reached',
};

export interface Printing {
  json?: boolean;
}

/** The exit code of an outcome, and of several the worst. */
export function exitFor(outcomes: string[]): number {
  const isFailure = (outcome: string) => ['failed', 'refused', 'transcript-gone', 'unknown-format'].includes(outcome);
  if (outcomes.some(isFailure)) return EXIT.failed;
  return outcomes.some((outcome) => outcome === 'busy' || outcome === 'ceiling') ? EXIT.later : EXIT.fine;
}

/** Text is for a person: a terminal gets lines that fit it, a pipe the text as it is. All else is for a program: one line of JSON. */
export function print(said: string | object): void {
  printRaw(`${typeof said === 'string' ? fitting(said, process.stdout) : JSON.stringify(said)}\n`);
}

/** Prints text as it is, without an end of line of its own. */
export function printRaw(text: string): void {
  process.stdout.write(readable(text, process.stdout));
}

// All but the styles of `style`: others could hide what stands there, as the marks of direction could turn it around.
const COMMANDING = /(?!\t|\r?\n|\u001b\[(?:[12]|22|3[1236]|39)m)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/** What a memory holds, perhaps one that came with a repository, cannot command a terminal. */
function readable(text: string, stream: { isTTY?: boolean }): string {
  return stream.isTTY ? text.replace(COMMANDING, '') : text;
}

/** Words in a style where stdout is a terminal that shows it; NO_COLOR is respected. */
export function style(format: 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', text: string): string {
  return styleText(format, text, { stream: process.stdout });
}

export function note(text: string): void {
  process.stderr.write(readable(`${fitting(text, process.stderr)}\n`, process.stderr));
}

function fitting(text: string, stream: { isTTY?: boolean; columns?: number }): string {
  return stream.isTTY ? wrap(text, stream.columns || 80) : text;
}

const GIVEN = String.raw`(?: (?:--?\w[\w-]*|"[^"\n]*"|'[^'\n]*'|<[^>\n]*>|[A-Z]{2,}\b|\S*[\d_/~:]\S*|\S+\.\w+))*`;
const CALL = String.raw`nocturne(?: (?:enqueue|snapshot|help) [a-z]+| [a-z-]+)?${GIVEN}\S*`;
const UNIT = new RegExp(String.raw`\S*(?:\x60[^\x60\n]*\x60|“[^”\n]*”|(?<!\S)"[^"\n]*")\S*|${CALL}|\S+`, 'g');

/** `indent`: where a line that is too long goes on; default: below its first words, behind a label where it has one. */
export function wrap(text: string, columns: number, indent?: number): string {
  const fit = (line: string) =>
    stripVTControlCharacters(line).length <= columns ? line : wrapLine(line, columns, indent ?? hangOf(line, columns));
  return text.split('\n').map(fit).join('\n');
}

function wrapLine(line: string, columns: number, indent: number): string {
  const room = columns - indent;
  const lines: string[] = [];
  let current = '';
  let end = 0;
  const add = (unit: string, before: string) => {
    if (current !== '' && lengthOf(current + before + unit) > columns) {
      lines.push(current);
      current = ' '.repeat(indent) + unit;
    } else current += before + unit;
  };
  for (const { 0: unit, index } of line.matchAll(UNIT)) {
    const before = line.slice(end, index);
    end = index + unit.length;
    if (lengthOf(unit) <= room) add(unit, before);
    else for (const [at, word] of unit.split(' ').entries()) add(word, at === 0 ? before : ' ');
  }
  return [...lines, current].join('\n');
}

/** Behind `- `, or behind a word or two and the spaces that line up what follows. */
function hangOf(line: string, columns: number): number {
  const plain = stripVTControlCharacters(line);
  const labels = /^\s*(?:- |(?:\S{1,16}(?: \S{1,16})? {2,}){1,2})?/.exec(plain)?.[0].length ?? 0;
  return labels <= columns / 2 ? labels : (/^\s*/.exec(plain)?.[0].length ?? 0);
}

/** Letters that a terminal shows two columns wide; what lies beyond is two units of a string by itself. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/g;

/** In columns of a terminal. */
function lengthOf(text: string): number {
  const plain = stripVTControlCharacters(text);
  return plain.length + (plain.match(WIDE)?.length ?? 0);
}

/** Rows in columns under their names, the last one wrapped to the terminal; where stdout is none, one tab between and no padding. */
export function printTable(names: string[], rows: string[][]): void {
  if (!process.stdout.isTTY) {
    for (const row of rows.length > 0 ? [names, ...rows] : []) print(row.join('\t'));
    return;
  }
  const all = [names.map((name) => name && style('bold', name)), ...rows];
  const widths = names.slice(0, -1).map((_, at) => 2 + Math.max(...all.map((row) => lengthOf(row[at] ?? ''))));
  const taken = widths.reduce((sum, width) => sum + width, 0);
  const columns = process.stdout.columns || 80;
  const lines = all.map((row) => {
    const first = widths.map((width, at) => `${row[at]}${' '.repeat(width - lengthOf(row[at] ?? ''))}`).join('');
    return wrapLine(first + (row.at(-1) ?? ''), columns, Math.min(taken, Math.floor(columns / 2)));
  });
  print(lines.join('\n'));
}

const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const FRAME_MS = 100;
const CLEARED = '\r\u001b[2K';
const STOPPED = 'Stopped. What is done stays; the rest waits for the next time.';

/** `ifStopped`: what is said at Ctrl-C. */
export function progress(text: string, ifStopped = STOPPED) {
  let said = text;
  let frame = 0;
  const isShown = process.stderr.isTTY;
  const clear = () => isShown && process.stderr.write(CLEARED);
  const draw = () => {
    if (!isShown) return;
    const room = (process.stderr.columns || 80) - 4;
    const short = said.length > room ? `${said.slice(0, room)}…` : said;
    process.stderr.write(`${CLEARED}${FRAMES[frame++ % FRAMES.length]} ${short}`);
  };
  const timer = setInterval(draw, FRAME_MS);
  timer.unref();
  const stop = () => {
    clearInterval(timer);
    process.off('SIGINT', end);
    clear();
  };
  const end = () => {
    stop();
    note(ifStopped);
    // As a process ends that heeds no signal, so that a script that called it ends, too.
    process.kill(process.pid, 'SIGINT');
  };
  process.once('SIGINT', end);
  draw();
  return {
    say(next: string): void {
      said = next;
      draw();
    },
    stop,
  };
}

/** How a person is spoken with. */
export interface Asking {
  /** Null: nobody is there to answer. */
  questions: Questions | null;
  say(text: string): void;
}

/** Whether someone is there to answer. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** True for `y` or `yes`; everything else, and the end of the input, is no. */
export async function confirm(question: string): Promise<boolean> {
  const questions = new Questions();
  return questions.confirm(question).finally(() => questions.close());
}

/** Questions one after the other over the same input, so that what was typed ahead answers the next, unseen. */
export class Questions {
  /** What is typed is shown while a question is open whose answer may be, and never else. */
  #isShown = false;
  #isOpen = true;
  readonly #echo = new Writable({
    write: (chunk, _encoding, done) => {
      if (this.#isShown) process.stderr.write(chunk);
      done();
    },
  });
  readonly #input = createInterface({ input: process.stdin, output: this.#echo, terminal: true });
  readonly #lines = this.#input[Symbol.asyncIterator]();

  constructor() {
    this.#input
      .on('SIGINT', () => this.#input.close())
      .on('line', () => {
        this.#isShown = false;
      })
      .on('close', () => {
        this.#isOpen = false;
      });
  }

  /** A line; null at the end of the input, and after Ctrl-C. */
  async ask(question: string): Promise<string | null> {
    const said = wrap(question, process.stderr.columns || 80);
    this.#isShown = true;
    // What was typed ahead is there, also where nothing more can be.
    if (this.#isOpen) {
      this.#input.setPrompt(said);
      this.#input.prompt();
    } else process.stderr.write(said);
    return this.#next();
  }

  /** True for `y` or `yes`; everything else, and the end of the input, is no. */
  async confirm(question: string): Promise<boolean> {
    return /^y(es)?$/i.test((await this.ask(`${question} [y/N] `))?.trim() ?? '');
  }

  /** The same as `ask`; what is typed is not shown. */
  async askHidden(question: string): Promise<string | null> {
    this.#isShown = false;
    process.stderr.write(question);
    const answer = await this.#next();
    process.stderr.write('\n');
    return answer;
  }

  async #next(): Promise<string | null> {
    const { value, done } = await this.#lines.next();
    return done ? null : value;
  }

  close(): void {
    this.#input.close();
  }
}

/** The editor may be a command with arguments (`code --wait`), so a shell reads it; the path is never read by one. */
export function openEditor(editor: string, path: string): boolean {
  const isWindows = process.platform === 'win32';
  const run = isWindows
    ? spawnSync(`${editor} "${path}"`, { stdio: 'inherit', shell: true })
    : spawnSync('/bin/sh', ['-c', `${editor} "$@"`, editor, path], { stdio: 'inherit' });
  return run.status === 0;
}
