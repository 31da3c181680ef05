// Questions to a person at a terminal, on stderr, so that stdout stays for results.

import { spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { wrap } from './output.ts';

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

  /** A line, which begins as `begun` for the person to change; null at the end of the input, and after Ctrl-C. */
  async ask(question: string, begun = ''): Promise<string | null> {
    const said = wrap(question, process.stderr.columns || 80);
    this.#isShown = true;
    // What was typed ahead is there, also where nothing more can be.
    if (this.#isOpen) {
      this.#input.setPrompt(said);
      this.#input.prompt();
      if (begun) this.#input.write(begun);
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
