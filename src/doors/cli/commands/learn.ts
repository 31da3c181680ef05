// learn: what was said in sessions, now: of those given, or of all that nobody read yet; and, where asked, what is in the
// log is sorted into topics after that.

import { requireAccess } from '../../../agent/types.ts';
import { AppError } from '../../../base/errors.ts';
import { readAccess } from '../../../base/key.ts';
import type { App } from '../../compose.ts';
import { ingestSpool } from '../../hook/ingest.ts';
import { describeLearned, findBacklog, learnFound } from '../../setup/backlog.ts';
import type { CommandSpec } from '../spec.ts';
import { explainSessions } from '../terminal/explain-session.ts';
import { type CommonOptions, INSTRUCTIONS, MEMORY, MODEL, withApp } from '../terminal/options.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import { progress } from '../terminal/progress.ts';
import { FINDING, type FindingOptions, sinceOf } from './enqueue.ts';
import { dreamNow, extractNow, type ReprocessOptions, reprocessedDay, reprocessNow } from './extract.ts';

interface LearnOptions extends ReprocessOptions, FindingOptions {
  again?: boolean;
  dream?: boolean;
}

const learn: CommandSpec<LearnOptions, [string[]]> = {
  name: 'learn',
  about: 'read sessions now: those given, or all that are new',
  group: 'Every day',
  args: [['[session...]', 'session files, or ids of sessions (default: all that changed lately and nobody read yet)']],
  options: [
    ['--again', 'read again what was read: these sessions, or with --day or --all more'],
    ['--day <day>', 'with --again: the turns of one day, YYYY-MM-DD', { parse: reprocessedDay, conflicts: 'all' }],
    ['--all', 'with --again: everything'],
    ['--dream', 'sort what is in the log into topics, too'],
    ['--live', 'the sessions still run: leave their last turns alone'],
    ...FINDING,
    ...MEMORY,
    MODEL,
    INSTRUCTIONS,
  ],
  json: 'one line per session, as extract prints it; without sessions { done, waiting: [{ transcript, reason }], memories: [{ memory, entries }] }; with --dream then that of dream',
  more: 'What was declined at set-up is learned too. nocturne dream sorts without learning.',
  examples: ['learn', 'learn ~/.claude/projects/-home-kim-orchard/0d8c1a52.jsonl --dream', 'learn --again 0d8c1a52'],
  async run(call) {
    const [sessions] = call.args;
    const { again, day, all, live, dream: isSorted } = call.options;
    if (!again && (day !== undefined || all)) call.wrong('--day and --all go with --again');
    if (again && sessions.length === 0 && day === undefined && !all) {
      call.wrong('say what to read again: sessions, --day YYYY-MM-DD or --all');
    }
    const memories = await withApp(call, async (app): Promise<(string | undefined)[]> => {
      if (!again && sessions.length === 0) return learnNew(app, call.options);
      const known = await sessionsNamed(app, sessions, call.options);
      const transcripts = known.map(({ transcript }) => transcript);
      if (!again) return extractNow(app, transcripts, call.options);
      const ofSessions = known.map(({ session }) => ({ session, ended: !live }));
      const more = day !== undefined || all ? [{ day, all, ended: !live }] : [];
      await reprocessNow(app, [...ofSessions, ...more], call.options);
      return [call.options.memory];
    });
    if (!isSorted) return;
    let { exitCode = EXIT.fine } = process;
    // Where it was learned; where nothing was, the memory here.
    for (const memory of memories.length > 0 ? memories : [call.options.memory]) {
      const scope = memory === undefined ? call.options.scope : undefined;
      await dreamNow({ ...call, options: { ...call.options, memory, scope } });
      exitCode = exitCode === EXIT.fine ? (process.exitCode ?? EXIT.fine) : exitCode;
    }
    process.exitCode = exitCode;
  },
};

/** Files as they are given; an id, or what it begins with, is looked up. */
async function sessionsNamed(app: App, given: string[], { memory }: CommonOptions) {
  const found: { session: string; transcript: string }[] = [];
  for (const what of given) {
    const known = await explainSessions(app, { what, memory });
    const [first, ...others] = known;
    if (!first) continue;
    if (others.some(({ session }) => session !== first.session)) {
      throw new AppError('bad-input', `${JSON.stringify(what)} may mean ${known.length} sessions.`, {
        remedy: `Say which: ${known.map(({ shortId }) => shortId).join(', ')}`,
      });
    }
    found.push({ session: first.session, transcript: first.transcript });
  }
  return found;
}

/** What hooks told of and what is found on this disk, declined or not. */
async function learnNew(app: App, { since, agent, json }: FindingOptions): Promise<string[]> {
  await ingestSpool(app, { onProblem: note });
  const bar = progress('looking for sessions');
  const found = await findBacklog(app, {
    since: since === undefined ? undefined : sinceOf(since, app.config.clock.now()),
    agents: agent && [agent],
  }).finally(() => bar.stop());
  for (const problem of found.problems) note(problem);
  // Else each of them fails by itself, and the model counts as out of reach.
  if (found.sessions.length > 0) requireAccess({ model: app.config.model, access: await readAccess(app.config) });
  const learned = await learnFound(app, found);
  if (learned.waiting.length > 0) process.exitCode = EXIT.attention;
  const memories = learned.memories.map(({ memory, entries }) => ({ memory, entries }));
  if (json) print({ ...learned, memories });
  else
    print(found.sessions.length > 0 ? describeLearned(learned) : 'Nothing new: every session that was found was read.');
  return memories.map(({ memory }) => memory);
}

export const commands: CommandSpec[] = [learn];
