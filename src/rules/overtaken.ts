// Which of the lines that are known a session's calls may have overtaken: a call replaced, moved or removed what a line names, or ended
// that of which it tells how it stands. Pure. It says where to look: whether the line still holds, whoever is shown it reads.

import { commandsIn } from './commands.ts';
import type { TriedCall } from './lessons.ts';
import { containsLiteral, literals } from './literals.ts';
import { subjectsIn, tellsState } from './states.ts';

/** What a call took away, of a text what took its place. */
interface Taken {
  shown: string;
  texts: { was: string; is: string }[];
  paths: string[];
}

/** Shorter values stand in much that has nothing to do with them. */
const LEAST_OF_VALUE = 4;
/** So much of a call is shown, and so many lines. */
const MOST_SHOWN = 120;
const MOST_LINES = 20;

/** By the number of a line, newest call last: what may have overtaken it. */
export function overtakenIn(lines: ReadonlyMap<number, string>, tried: readonly TriedCall[]): Map<number, string> {
  const done = tried.filter(({ act }) => act.ended === 'worked' || act.ended === 'ran');
  const taken = done.flatMap((each) => takenBy(each) ?? []);
  const found = new Map<number, string>();
  for (const [number, text] of lines) {
    if (found.size === MOST_LINES) break;
    const values = literals(text).filter((value) => value.length >= LEAST_OF_VALUE);
    const by = taken.findLast((each) => values.some((value) => isTaken(value, each)))?.shown ?? endOf(text, done);
    if (by !== undefined) found.set(number, by);
  }
  return found;
}

function isTaken(value: string, { texts, paths }: Taken): boolean {
  const path = plainPath(value);
  return (
    paths.some(
      (each) => path === each || path.startsWith(`${each}/`) || (path.includes('/') && each.endsWith(`/${path}`)),
    ) || texts.some(({ was, is }) => was.includes(value) && containsLiteral(value, was) && !containsLiteral(value, is))
  );
}

const plainPath = (path: string) => path.replace(/^(?:\.{0,2}|~)\//, '').replace(/\/$/, '');
/** How a call of an edit is shown: what it took out stands last. */
const EDIT = /"new_?\w*":"([\s\S]*)","old_?\w*":"([\s\S]*)"\}$/i;
const SUBSTITUTION = /^s([|#/,@])((?:\\.|(?!\1).)+)\1(.*)\1\w*$/;

function takenBy({ act, call: { text } }: TriedCall): Taken | null {
  if (!act.isCommand) {
    const [, is = '', was] = EDIT.exec(text) ?? [];
    const patched = (sign: string) =>
      text
        .split('\n')
        .filter((line) => line.startsWith(sign))
        .join('\n');
    const isPatch = text.includes('*** Begin Patch');
    if (was === undefined && !isPatch) return null;
    const texts = [isPatch ? { was: patched('-'), is: patched('+') } : { was: was ?? '', is }];
    return { shown: act.does.slice(0, MOST_SHOWN), texts, paths: [] };
  }
  const commands = commandsIn(act.does).map(({ words }) => words);
  const texts = commands.flat().flatMap((word) => {
    const [, , was, is = ''] = SUBSTITUTION.exec(word) ?? [];
    return was === undefined ? [] : { was, is };
  });
  const paths = commands.flatMap((words) => {
    const [name, ...rest] = words[0] === 'git' ? words.slice(1) : words;
    const operands = rest.filter((word) => !word.startsWith('-')).map(plainPath);
    return name === 'mv' ? operands.slice(0, -1) : name === 'rm' || name === 'rmdir' ? operands : [];
  });
  return texts.length + paths.length === 0 ? null : { shown: act.does.slice(0, MOST_SHOWN), texts, paths };
}

const ENDS_NUMBER = /^(?:gh|glab) \w+ (?:merge|close|ready|reopen)$/;
const ENDS_BRANCH = /^git (?:merge|branch)$/;
/** As a host says of a request, and git of a commit, that it is in. */
const isOver = (text: string, number: string) =>
  /\b(?:MERGED|CLOSED)\b/.test(text) || text.includes(`Merge pull request #${number}`);

/** The call that ended what a line tells the state of. */
function endOf(text: string, done: readonly TriedCall[]): string | undefined {
  if (!tellsState(text)) return undefined;
  const { numbers, branches } = subjectsIn(text);
  const has = (whole: string, number: string) => new RegExp(`(?<![\\w.])#?${number}(?![\\w.])`).test(whole);
  return done
    .findLast(({ act: { does, programs }, result }) => {
      const calls = (which: RegExp) => programs.some((program) => which.test(program));
      const whole = `${does}\n${result.text.slice(0, MOST_READ)}`;
      return (
        numbers.some(
          (each) => has(whole, each) && (calls(ENDS_NUMBER) || (calls(/^(?:gh|glab|git) /) && isOver(whole, each))),
        ) ||
        (calls(ENDS_BRANCH) && branches.some((each) => containsLiteral(each, does)))
      );
    })
    ?.act.does.slice(0, MOST_SHOWN);
}
const MOST_READ = 4_000;
