// Lessons: what an agent found out by trying, and what each kind of it must rest on. A failure and a success are a tool's own
// marks, never words. Pure: it looks nothing up, and what a sentence means it does not know.

import { isObject } from '../base/text/json.ts';
import { filesIn, harmsIn, hiddenIn, programsIn, tellsEnd, tellsFailure } from './commands.ts';
import { foldSpace } from './quotes.ts';

/** How something was found: a way that works, where something is, why it is so, or what a session left. */
export const FOUND = ['way', 'place', 'reason', 'outcome'] as const;
export type Found = (typeof FOUND)[number];

/** What a quote shows: a call that failed, its error's own words, a call that worked. */
export type Proof = 'failed' | 'error' | 'worked';

/** What a way that is known is told for: another failure of these programs, or one with these words. */
export interface Way {
  /** Of the call that failed, each with its verb: `pnpm test`. */
  programs: string[];
  files: string[];
  error: string;
  /** The call that worked. */
  works: string;
  /** Whether its calls may be told to whoever meets the failure: they delete nothing, send nothing out, change no rights … */
  isHarmless: boolean;
}

/** So much of a call is kept. */
export const MOST_QUOTED = 300;

/** The way that an entry's evidence proves; null where it proves none. */
export function wayOf(evidence: readonly { quote: string; proves?: Proof }[]): Way | null {
  const said = (proves: Proof) => evidence.find((each) => each.proves === proves)?.quote;
  const [failed, error, works] = [said('failed'), said('error'), said('worked')];
  if (failed === undefined || error === undefined || works === undefined) return null;
  return {
    programs: programsIn(failed),
    files: filesIn(failed),
    error,
    works,
    isHarmless: works.length < MOST_QUOTED && harmsIn(works).length === 0,
  };
}

// What was tried.

/** A call, with what it is told by: the same for its call and its result. */
export interface Act {
  /** What it ran: a command, or a tool with its file. */
  does: string;
  programs: string[];
  files: string[];
  /** Of the programs those of which its exit code may say nothing. */
  hidden: string[];
  /** By the tool's own mark; `ran`: to its end, but a pipe or a later command hides how; undefined for what was not run. */
  ended?: 'failed' | 'worked' | 'ran';
  /** It runs a command. */
  isCommand: boolean;
  /** Its exit code says what became of it: no pipe hides that. */
  isTold: boolean;
  /** That it failed is told by it, of what stands in a list or a loop too. */
  isFailureTold: boolean;
}

/** `position`: as that of a message that is shown. */
interface TriedPart {
  text: string;
  position: number;
  message: { id: string };
}

/** A call that was answered, as it stands in the transcript. */
export interface TriedCall {
  act: Act;
  call: TriedPart;
  result: TriedPart;
}

/** What a call runs; its end is not known yet. */
export function actOf({ tool, input }: { tool: string; input: unknown }): Act {
  const fields = isObject(input) ? input : {};
  const given = fields.command ?? fields.cmd ?? fields.script;
  const list = Array.isArray(given) ? given.filter((word) => typeof word === 'string') : null;
  const command = list ? (/(?:ba|z|da)?sh$/.test(list[0] ?? '') ? (list.at(-1) ?? '') : list.join(' ')) : given;
  if (typeof command === 'string')
    return {
      does: foldSpace(command),
      programs: programsIn(command),
      files: filesIn(command),
      hidden: hiddenIn(command),
      isCommand: true,
      isTold: tellsEnd(command),
      isFailureTold: tellsFailure(command),
    };
  const file = FILE_KEYS.map((key) => fields[key]).find((value) => typeof value === 'string');
  const isOfFile = FILE_TOOL.test(tool);
  const plain = Object.entries(fields).filter(([, value]) => !isObject(value) && !Array.isArray(value));
  // Of another tool all that it was given tells one way from the next.
  const does = foldSpace([tool, isOfFile ? (file ?? '') : JSON.stringify(Object.fromEntries(plain))].join(' '));
  return {
    does,
    programs: isOfFile ? [] : [tool],
    files: file ? [file as string] : [],
    hidden: [],
    isCommand: false,
    isTold: true,
    isFailureTold: true,
  };
}

const FILE_KEYS = ['file_path', 'filePath', 'absolute_path', 'notebook_path', 'path'];
const FILE_TOOL =
  /^(?:edit|multiedit|write|read|view|notebook|apply_?patch|replace|str_replace|create|glob|grep|ls|list)/i;

/** The tools that hand a task to a subagent, whose report is their result. */
export const AGENT_TOOL = /^(?:task|agent|spawn_?agent)$/i;

/** What a program says of a call that it did not make or did not let end: a refusal, an interruption, a wrong use. */
const NEVER_RAN =
  /^(?:Exit code 1(?:30|37|43)\b|<tool_use_error>(?!Blocked)|The user doesn['’]t want|\[Request interrupted|File (?:has not been read|has been modified|does not exist|content)|String to replace|Sibling tool call|Cancelled|Permission to use |Claude requested permissions|Command timed out|aborted|(?:tool|command) execution (?:aborted|cancelled|denied)|User (?:rejected|denied|cancelled)|.{0,200}rejected by user)/i;

/** The last line by which a known program says what became of it, where a pipe hides its exit code. */
const SUMMARIES: [program: RegExp, failed: RegExp, worked: RegExp][] = [
  [
    /^(?:vitest|jest|npm test|pnpm test|yarn test|bun test)/,
    /^\s*Tests?:?\s.*\bfailed\b/m,
    /^\s*Tests?:?\s+\d+ passed/m,
  ],
  [/^go (?:test|vet)/, /^(?:FAIL|--- FAIL)\b/m, /^ok\s+\S+/m],
  [/^(?:pytest|python)/, /^=+ .*\b(?:failed|errors?)\b.* in [\d.]+s/m, /^=+ \d+ passed.* in [\d.]+s/m],
  [/^cargo/, /^(?:test result: FAILED|error(?:\[E\d+\])?: )/m, /^(?:test result: ok|\s+Finished )/m],
  [/^tsc/, /\berror TS\d+:/, /^Found 0 errors/m],
  [/^(?:npm|pnpm|yarn)/, /^(?:npm (?:ERR!|error)|\s*ERR_PNPM|error Command failed)/m, /^added \d+ packages/m],
  [/^make/, /^make(?:\[\d+\])?: \*\*\* /m, /^make: Nothing to be done/m],
  [/^(?:gradlew?|mvnw?)/, /BUILD FAIL/, /BUILD SUCCESS/],
  [/^dotnet/, /^(?:Build FAILED|Failed!)/m, /^(?:Build succeeded|Passed!)/m],
  [/^(?:rspec|rails|rake)/, /\b[1-9]\d* failures?\b/, /\b0 failures\b/],
  [/^mocha/, /^\s*\d+ failing/m, /^\s*\d+ passing/m],
  [/^eslint/, /^✖ \d+ problems?/m, /^✔ /m],
  [/^biome/, /^Found \d+ errors?/m, /^Checked \d+ files?[^\n]*No fixes/m],
  [
    /^(?:gh|glab) \w+ create$/,
    /^(?:gh|GraphQL|HTTP|error|failed)\b|already exists|must first/im,
    /^https:\/\/\S+\/\d+$/m,
  ],
  [/^git (?:push|fetch|pull)/, /^(?:fatal|error): /m, /^(?:\[\S+ [0-9a-f]{7,}\]|To \S+| [ +*] .+ -> \S+$)/m],
  [/^git/, /^(?:fatal|error): /m, /^(?:\[\S+ [0-9a-f]{7,}\]|To \S+)/m],
];

/** A summary stands in the end of what a program prints. */
const MOST_READ = 8_000;

/** A call in a list, whose last command only looks, begins its result with what failed. */
const SAYS_FAILED =
  /^(?:Exit code \d+\s+)?[^\n]*\b(?:can(?:['’]t|not) (?:open|find|read|access)|no such file|not found|permission denied|fatal: |error: )/i;

/** How a call ended, by its result's mark; where a pipe hides that, by the summary of a known program. */
export function endOf(
  act: Act,
  { text, isError, isUnmarked }: { text: string; isError: boolean; isUnmarked?: boolean },
): Act['ended'] {
  if (isUnmarked || NEVER_RAN.test(text)) return undefined;
  if (isError && (act.isFailureTold || (!act.does.includes('|') && SAYS_FAILED.test(text)))) return 'failed';
  if (act.isTold) return isError ? 'failed' : 'worked';
  const hidden = isError ? undefined : 'ran';
  const row = SUMMARIES.find(([program]) => program.test(act.hidden.at(-1) ?? ''));
  const name = (program?: string) => program?.split(' ')[0];
  if (act.hidden.some((program) => name(program) !== name(act.hidden.at(-1)))) return hidden;
  if (row === undefined) return hidden;
  const end = text.slice(-MOST_READ);
  return row[1].test(end) ? 'failed' : row[2].test(end) ? 'worked' : hidden;
}

/** Whether a call goes on in the background, as it was told to, and no later one tells that it failed. */
export function isStarted({ act, call, result }: TriedCall, later: readonly TriedCall[]): boolean {
  const [, command, monitor] =
    /^(?:Command running in background with ID: (\w+)|Monitor started \(task (\w+))/.exec(result.text) ?? [];
  const isAsked = call.text.includes('"run_in_background":true');
  const id = call.text.startsWith('call Monitor ') ? monitor : isAsked ? command : undefined;
  if (act.ended !== 'ran' || id === undefined) return false;
  return !later.some((each) => each.act.ended === 'failed' && `${each.call.text}\n${each.result.text}`.includes(id));
}

/** What two calls share that try the same thing: a program, a file, or all that follows another program's name. */
function keysOf({ programs, files, does, isCommand }: Act): string[] {
  // What only looks and moves about is no way.
  if (isCommand && programs.length === 0) return [];
  const operands = isCommand ? does.split(' ').slice(1).join(' ') : '';
  const others = operands.length > 3 ? [`with ${operands}`] : [];
  return [...programs.map((program) => `program ${program}`), ...files.map((file) => `file ${file}`), ...others];
}

export function isSameTried(a: Act, b: Act): boolean {
  const keys = new Set(keysOf(a));
  const serverOf = ({ programs }: Act) => /^mcp__.+?__/.exec(programs[0] ?? '')?.[0];
  // The tools of one server are what a program's subcommands are.
  return keysOf(b).some((key) => keys.has(key)) || (serverOf(a) !== undefined && serverOf(a) === serverOf(b));
}

/** What says that a program is missing, and what one says of a subcommand, a flag or a target that it does not know. */
const NO_PROGRAM = /\bnot found\b|\bno such (?:file|program|tool)|\bis not (?:recogni[sz]ed|installed)/i;
const NO_VERB =
  /\b(?:unknown|unrecogni[sz]ed|invalid|undefined|no such|missing|not an?) (?:[\w-]+ )?(?:(?:sub)?command|option|flag|argument|task|target|script)|\bno rule to make target\b/i;
/** The shell that a call hands a script of its own. */
export const shellOf = ({ does }: Act) => /^(?:\S*\/)?((?:ba|z|da|k|fi)?sh)\s+-[a-z]*c\s/.exec(does)?.[1];
/** So many calls later another program may still stand for one that is missing. */
const SOON = 10;

/**
 * The word of a call that its error says is missing, where another call stands for it: soon after, by a program that the error
 * itself does not name, since whoever printed that may want it run. Undefined where it stands for nothing.
 */
export function missingFor(failed: TriedCall, good: TriedCall, { error, apart }: { error: string; apart: number }) {
  const shell = shellOf(good.act);
  if (apart > SOON || (good.act.programs.length === 0 && shell === undefined)) return undefined;
  const wordsOf = (text: string) => text.split(/[^\w@.+-]+/).filter((word) => /[a-z]/i.test(word));
  const ran = failed.act.does.split(/[;&|]+/).map((each) =>
    each
      .trim()
      .split(/\s+/)
      .find((word) => !word.includes('=')),
  );
  const called = new Set([...ran.flatMap((word) => word?.split(/[/\\]/).at(-1) ?? []), ...failed.act.programs]);
  const given = new Set(wordsOf(failed.act.does));
  const said = new Set(wordsOf(failed.result.text.replace(/^(?:error: )?(?:\S*\/)?(?:ba|z|da)?sh: /gm, '')));
  const names = shell ? [shell] : good.act.programs.flatMap((program) => program.split(' '));
  if (names.some((name) => said.has(name) && !given.has(name))) return undefined;
  const [told, does] = [new Set(wordsOf(error)), new Set(wordsOf(good.act.does))];
  const sought = NO_VERB.test(error) ? given : NO_PROGRAM.test(error) ? called : [];
  // What one shell does not know, another may.
  const isOther = (word: string) => !does.has(word) || (shell !== undefined && !given.has(shell));
  return [...sought].find((word) => told.has(word) && isOther(word));
}

/**
 * Of calls in their order each failure with the next call of the same that worked, newest first; before all those that worked in
 * another way, as what was only tried again after a change tells less.
 */
export function madeGood<Tried extends { act: Act }>(tried: readonly Tried[]): { failed: Tried; worked: Tried }[] {
  const open = new Map<string, Tried>();
  const found = new Map<Tried, Tried>();
  for (const each of tried) {
    for (const key of keysOf(each.act)) {
      const failed = open.get(key);
      if (each.act.ended === 'failed') open.set(key, each);
      if (each.act.ended !== 'worked' || !failed) continue;
      if (!found.has(failed)) found.set(failed, each);
      open.delete(key);
    }
  }
  const pairs = [...found].map(([failed, worked]) => ({ failed, worked })).reverse();
  const isOtherWay = ({ failed, worked }: (typeof pairs)[number]) => failed.act.does !== worked.act.does;
  return [...pairs.filter(isOtherWay), ...pairs.filter((pair) => !isOtherWay(pair))];
}

/** What leaves something behind that the next session meets, here or elsewhere. */
const LEAVES =
  /^(?:git (?:commit|push|merge|rebase|tag|switch|checkout|branch|cherry-pick|stash|worktree|status)|(?:gh|glab) \w+ (?!view|list|diff|status)\w+)$|\b(?:install|deploy|publish|release|apply|migrate|upload)\b/;
const LEAVING_TOOL =
  /(?:^|[_-])(?:create|update|add|post|send|comment|deploy|publish|artifact|propose|merge|close|assign|file|save|submit)/i;
/** An agent's list of what it is about ends with the session. */
const OWN_LIST = /^(?:todo|task|update_?(?:plan|todo)|write_?todo)/i;
export const isLeaving = (tool: string) =>
  LEAVING_TOOL.test(tool.replace(/(?<=[a-z])(?=[A-Z])/g, '_')) && !OWN_LIST.test(tool);

export function leaves({ does, programs, isCommand }: Act): boolean {
  if (!isCommand) return programs.some(isLeaving);
  return programs.some((program) => LEAVES.test(program)) || (programs.length > 0 && harmsIn(does).includes('sends'));
}

/** What a text says in the words of a program's own verb, `pushed` for `git push`; of what it makes, in the name of that. */
export const verbIn = (text: string, { programs }: Pick<Act, 'programs'>) =>
  programs
    .flatMap((program) => {
      const words = program.split(' ').slice(1);
      return words.at(-1) === 'create' ? words : words.slice(-1);
    })
    .find((verb) => new RegExp(`(?<![\\p{L}-])${verb}`, 'iu').test(text));
