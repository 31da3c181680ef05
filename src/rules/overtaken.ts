// Which of the lines that are known a session's calls may have overtaken: a call replaced, moved or removed what a line names, or ended
// that of which it tells how it stands. Pure. It says where to look: whether the line still holds, whoever is shown it reads.

import { commandsIn } from './commands.ts';
import type { TriedCall } from './lessons.ts';
import { containsLiteral, literals } from './literals.ts';
import { subjectsIn, tellsState } from './states.ts';

/** What a call took away, of a text with what took its place. */
interface Taken {
  shown: string;
  texts: { was: string; is: string }[];
  paths: string[];
  /** Where something was moved or copied to. */
  came: string[];
  /** What is there by then: text that came, and files that were worked on. */
  there: string;
}

/** Shorter values stand in much that has nothing to do with them. */
const LEAST_OF_VALUE = 4;
/** So much of a call is shown, and so many lines. */
const MOST_SHOWN = 120;
const MOST_LINES = 20;

/** By the number of a line, newest call last: what may have overtaken it. */
export function overtakenIn(lines: ReadonlyMap<number, string>, tried: readonly TriedCall[]): Map<number, string> {
  const done = tried.filter(({ act }) => act.ended === 'worked' || act.ended === 'ran');
  const taken = done.map(takenBy);
  const found = new Map<number, string>();
  for (const [number, text] of lines) {
    if (found.size === MOST_LINES) break;
    const values = literals(text).filter((value) => value.length >= LEAST_OF_VALUE);
    const isOver = (value: string, at: number) =>
      isTaken(value, taken[at] as Taken) &&
      !taken.slice(at + 1).some(({ there, came }) => there.includes(value) || isWithin(plainPath(value), came));
    const by = taken.findLast((_, at) => values.some((value) => isOver(value, at)))?.shown ?? endOf(text, done);
    if (by !== undefined) found.set(number, by);
  }
  return found;
}

function isTaken(value: string, { texts, paths, came }: Taken): boolean {
  const path = plainPath(value);
  return (
    ((isWithin(path, paths) || (path.includes('/') && paths.some((each) => each.endsWith(`/${path}`)))) &&
      !isWithin(path, came)) ||
    texts.some(({ was, is }) => was.includes(value) && containsLiteral(value, was) && !containsLiteral(value, is))
  );
}

const isWithin = (path: string, places: string[]) =>
  places.some((each) => path === each || path.startsWith(`${each}/`));

const plainPath = (path: string) => path.replace(/^(?:\.{0,2}|~)\//, '').replace(/\/$/, '');
const SUBSTITUTION = /^s([|#/,@])((?:(?!\1).)+)\1(.*)\1\w*$/;

const PATCH = '*** Begin Patch';
const PATCHED_AWAY = /^\*\*\* (?:Delete File: (.+)|Update File: (.+)\n\*\*\* Move to:)/gm;

/** What an edit put in and took out, as its call is shown: what it took out stands last. */
function editIn(text: string): { was: string; is: string } | undefined {
  const [from, to] = [/"new_?\w*":"/i.exec(text), [...text.matchAll(/","old_?\w*":"/gi)].at(-1)];
  if (!from || !to || to.index < from.index || !text.endsWith('"}')) return undefined;
  return { was: text.slice(to.index + to[0].length, -2), is: text.slice(from.index + from[0].length, to.index) };
}

function takenBy({ act, call: { text } }: TriedCall): Taken {
  const edit = act.isCommand ? undefined : editIn(text);
  const commands = act.isCommand ? commandsIn(act.does).map(({ words }) => words) : [];
  // A substitution in a pipe only prints.
  const inPlace = commands.filter((words) => words.some((word) => /^-(?:\w*i|-in-place)/.test(word)));
  const texts = inPlace.flat().flatMap((word) => {
    const [, , was, is = ''] = SUBSTITUTION.exec(word) ?? [];
    return was === undefined ? [] : { was, is };
  });
  if (edit) texts.push(edit);
  const came: string[] = [];
  const paths = commands.flatMap((words) => {
    const isGits = words[0] === 'git';
    const [name, ...rest] = isGits ? words.slice(1) : words;
    const operands = rest.filter((word) => !word.startsWith('-')).map(plainPath);
    // What is removed without git is mostly what is built again.
    const isGone = name === 'rmdir' || (isGits && name === 'rm' && !rest.includes('--cached'));
    if (name !== 'mv' && name !== 'cp') return isGone ? operands : [];
    const [from, to = ''] = [operands.slice(0, -1), operands.at(-1)];
    // What moves up leaves what holds it behind.
    came.push(...from.map((each) => (each.startsWith(`${to}/`) ? `${to}/${each.split('/').at(-1)}` : to)));
    return name === 'mv' ? from : [];
  });
  if (text.includes(PATCH)) {
    const signed = (sign: string) => text.match(new RegExp(`^\\${sign}.*`, 'gm'))?.join('\n') ?? '';
    texts.push({ was: signed('-'), is: signed('+') });
    for (const [, deleted, moved] of text.matchAll(PATCHED_AWAY)) paths.push(plainPath(deleted ?? moved ?? ''));
  }
  const there = [...texts.map((each) => each.is), ...(act.isCommand ? [] : act.files)].join('\n');
  return { shown: act.does.slice(0, MOST_SHOWN), texts, paths, came, there };
}

const ENDS_NUMBER = /^(?:gh|glab) \w+ (?:merge|close|ready|reopen)$/;
const DROPS_BRANCH = /\bbranch (?:-\S+ )*-(?:\w*[dDmM]|-delete|-move)\b/;
const IS_IN = /\b(?:MERGED|CLOSED)\b|Merge pull request #/;

/** The call that ended what a line tells the state of. */
function endOf(text: string, done: readonly TriedCall[]): string | undefined {
  if (!tellsState(text)) return undefined;
  const { numbers, branches } = subjectsIn(text);
  const has = (whole: string, number: string) => new RegExp(`(?<![\\w.])#?${number}(?![\\w.])`).test(whole);
  return done
    .findLast(({ act: { does, programs }, result }) => {
      const calls = (which: RegExp) => programs.some((program) => which.test(program));
      const whole = `${does}\n${result.text.slice(0, MOST_READ)}`;
      // As a host says of a request, and git of a commit, that it is in: in its own line, or of what alone was asked.
      const isIn = (number: string) => {
        const isOnly = has(does, number) && !/\bOPEN\b/.test(whole);
        return whole.split('\n').some((line) => (isOnly || has(line, number)) && IS_IN.test(line));
      };
      return (
        numbers.some(
          (each) => has(whole, each) && (calls(ENDS_NUMBER) || (calls(/^(?:gh|glab|git) /) && isIn(each))),
        ) ||
        ((calls(/^git merge$/) || (calls(/^git branch$/) && DROPS_BRANCH.test(does))) &&
          branches.some((each) => containsLiteral(each, does)))
      );
    })
    ?.act.does.slice(0, MOST_SHOWN);
}
const MOST_READ = 4_000;
