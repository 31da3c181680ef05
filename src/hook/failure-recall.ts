// Recall at a failing call of any tool, where `recallFailures` is on: what an agent found here before, when a call of its program or
// with its error failed. Promises: only what was tried in this repository, holds here and still stands in a topic or a log; nothing that
// deletes, sends out, pipes into a shell, changes rights or names a secret; at most three times in a session, nothing twice, and what its
// start told only where the very error is met; of the failing call's words nothing is kept. As with a prompt it waits for nobody that
// writes, and says nothing after its time.

import type { Config } from '../base/config/config.ts';
import { canonicalPath, isDirectory } from '../base/files/directories.ts';
import type { Evidence } from '../memory/memory-types.ts';
import { gitRoot } from '../memory/paths.ts';
import { isOfOnePlace } from '../memory/persons.ts';
import { isByProject } from '../memory/places.ts';
import { asContent, frameOf } from '../memory/recall/recall-words.ts';
import { type FoundLine, foundLines } from '../memory/rests.ts';
import { foundOn, mayBeOver, parseTopic, withoutMark } from '../memory/text/topic.ts';
import { commandsIn, harmsIn } from '../rules/commands.ts';
import { actOf } from '../rules/lessons.ts';
import { literals } from '../rules/literals.ts';
import { foldSpace } from '../rules/quotes.ts';
import type { Failure } from './hook-input.ts';
import { type Asked, answerWithin } from './within-session.ts';

/** Of one failure, and of a session. */
const MOST_AT_ONCE = 2;
const MOST_OF_SESSION = 3;
/** Shorter words of an error stand in many. */
const LEAST_OF_ERROR = 12;
const NAME = 'failure:';

/** What the hook answers, as the agents read it; empty for nothing. */
export async function answerFailure(
  config: Config,
  { input, failure, isOver }: { input: Record<string, unknown>; failure: Failure; isOver(): boolean },
): Promise<string> {
  if (!config.recallFailures) return '';
  return answerWithin(config, { input, isOver, kind: NAME }, (asked) => nearFailure(failure, asked, config));
}

async function nearFailure(failure: Failure, { db, own, cwd, shown }: Asked, config: Config): Promise<string> {
  const told = shown.filter(({ request }) => request.startsWith(NAME)).length;
  if (!own.row || told >= MOST_OF_SESSION) return '';
  const { does, programs } = actOf(failure);
  const names = programs.map((program) => program.split(' ').at(-1) ?? program);
  const output = foldSpace(failure.output);
  const isHere = isOfRepository(cwd, isByProject(config));
  const isNear = (error: string) => error.length >= LEAST_OF_ERROR && output.includes(error);
  const hasError = (evidence: readonly Evidence[], text: string) => errorsIn(evidence, text).some(isNear);
  // Looked at first, as what is read of thousands of lessons takes the time.
  const mayBe = (evidence: readonly Evidence[], text: string) =>
    hasError(evidence, text) ||
    isMetAgain(evidence, output) ||
    evidence.some(({ proves, quote }) => proves === 'failed' && names.some((name) => quote.includes(name)));
  const near = (await foundLines(db, own.row.id, mayBe)).flatMap((line) => {
    const { way, evidence, text, found } = line;
    // What a session left says nothing of why a call fails.
    if (found === 'outcome') return [];
    // A text may also name another call that was quoted than the one that worked.
    const isHarmless = (way?.isHarmless ?? true) && literals(text).every((value) => harmsIn(value).length === 0);
    if (!isHarmless || way?.works === does || line.path.startsWith('archive/')) return [];
    const [isSaid, isMet] = [hasError(evidence, text), isMetAgain(evidence, output)];
    const isSame = way?.programs.some((program) => programs.includes(program)) || isMet;
    const score = (isSaid ? 2 : 0) + (isSame ? 1 : 0);
    return score > 0 && isHere(line) ? [{ ...line, score, isMet: isSaid || isMet }] : [];
  });
  if (near.length === 0) return '';
  const paths = [...new Set(near.map(({ path }) => path).filter((path) => path !== ''))];
  const unsorted = near.some(({ path }) => path === '') ? await own.source.unsorted({ isQuick: true }) : [];
  const files = await own.source.read(paths);
  const known = await own.source.lines(paths);
  const best = Math.max(...near.map(({ score }) => score));
  const { redact } = await import('../base/secrets/redact-text.ts');
  const lines = new Set<string>();
  for (const { path, line, score, isMet } of near) {
    const standing =
      unsorted.find(({ id }) => id === line) ??
      parseTopic(path, files.get(path)?.text ?? '').lines.find(({ id }) => id === line);
    if (!standing || score < best || lines.size >= Math.min(MOST_AT_ONCE, MOST_OF_SESSION - told)) continue;
    const said = withoutMark(standing.text);
    if (mayBeOver(standing.text) || (isOfOnePlace(said) && known.get(path)?.get(line)?.isElsewhere)) continue;
    // What a beginning told long ago did not help where the very error is met.
    const given = isMet ? shown.filter(({ request }) => request.startsWith(NAME)) : shown;
    if (given.some(({ text }) => text.includes(asContent(said, own.isForeign)))) continue;
    if ((await redact(standing.text)).found.length > 0) continue;
    const day = 'day' in standing ? standing.day : foundOn(standing.text);
    lines.add(`- ${said} (${day ? `found by the agent, ${day}` : 'found by agents'})\n`);
  }
  return lines.size === 0
    ? ''
    : (await frameOf('recall-failure', own.called))(asContent([...lines].join(''), own.isForeign));
}

/** The words of errors that a lesson rests on, or names: what a tool said, and what its text quotes. */
function errorsIn(evidence: readonly Evidence[], text: string): string[] {
  const said = evidence.flatMap(({ by, proves, quote }) =>
    proves === 'error' || (proves === undefined && by === 'tool') ? foldSpace(quote).replace(EXIT_CODE, '') : [],
  );
  return [...said, ...(text.match(QUOTED) ?? []).map((each) => each.slice(1, -1))];
}

const EXIT_CODE = /^(?:error: )?Exit code \d+\s*/i;
const QUOTED = /"[^"]{12,200}"|“[^”]{12,200}”/g;

/** Whether a way's error is met again of something else: all that it says stands there, but for what its call was given. */
function isMetAgain(evidence: readonly Evidence[], output: string): boolean {
  const said = (of: Evidence['proves']) => evidence.find(({ proves }) => proves === of)?.quote;
  const [failed, error] = [said('failed'), said('error')];
  if (failed === undefined || error === undefined) return false;
  const pieces = foldSpace(error)
    .replace(EXIT_CODE, '')
    .split(/\s*[:'"`“”‘’()]\s*/);
  const lacking = pieces.filter((piece) => !output.includes(piece));
  if (!pieces.some((piece) => piece.length >= LEAST_OF_ERROR && !lacking.includes(piece))) return false;
  const given = new Set(commandsIn(failed).flatMap(({ words }) => words.slice(1).flatMap(wordsOf)));
  return lacking.every((piece) => wordsOf(piece).every((word) => given.has(word)));
}

const wordsOf = (text: string) => text.match(/[\p{L}\p{N}_]+/gu) ?? [];

/** Whether the calls behind a line ran in the repository of a directory; one that is gone is known by its memory, if that is one project's. */
function isOfRepository(cwd: string, isOfProject: boolean): (line: Pick<FoundLine, 'cwd'>) => boolean {
  const rootOf = (dir: string) => gitRoot(dir) ?? canonicalPath(dir);
  const root = rootOf(cwd);
  return ({ cwd: there }) => there != null && (rootOf(there) === root || (isOfProject && !isDirectory(there)));
}
