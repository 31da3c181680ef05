// A person's words: remember keeps them at once and without a model, forget takes something out for good, after showing
// what goes, pin says whether jobs must leave a topic as it is.

import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import { pin as pinTopic } from '../../../../jobs/edit.ts';
import type { ForgetPlan, ForgetReport } from '../../../../jobs/forget.ts';
import type { RememberReport } from '../../../../jobs/remember.ts';
import { AppError } from '../../../base/errors.ts';
import { agentOfShell, type ShellAgent } from '../../../base/process.ts';
import { didYouMean } from '../../../base/text/wording.ts';
import type { EntryState } from '../../../memory/ledger/entries.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import { catalogTopics } from '../../../memory/recall/catalog.ts';
import { MEMORY_TYPES, type MemoryType } from '../../../memory/types.ts';
import type { App } from '../../compose.ts';
import type { Call, CommandSpec } from '../spec.ts';
import { canAsk, confirm } from '../terminal/ask.ts';
import { topicFile } from '../terminal/looking.ts';
import { type CommonOptions, inApp, MEMORY, requirePerson, undoCommand, withApp } from '../terminal/options.ts';
import { EXIT, exitFor, note, print } from '../terminal/output.ts';

interface RememberOptions extends CommonOptions {
  type: MemoryType;
  share?: boolean;
  redacted?: boolean;
}

const remember: CommandSpec<RememberOptions, [string[]]> = {
  name: 'remember',
  about: 'keep something, in your own words',
  group: 'Every day',
  args: [['<words...>', 'what to remember; - reads it from stdin']],
  options: [
    ['--type <type>', 'what it is', { choices: MEMORY_TYPES, default: 'feedback' }],
    ['--share', "put it into the team's memory too, .claude/memory in the working tree"],
    ['--redacted', 'with --share: share secrets as placeholders; without it, they keep the words from being shared'],
    ...MEMORY,
  ],
  json: '{ outcome, entry: { id, type, text, day }, memory, path, job, redacted, relativeDate, shared? }',
  more: `Types: feedback (how to work), user (about you), project (facts), reference (where things are).
In a shell that an agent started it is kept as what the agent found, as project or reference; what you typed yourself there
becomes yours when the session is read.`,
  examples: ['remember "Always use pnpm instead of npm."'],
  async run(call) {
    const { options } = call;
    const [words] = call.args;
    const text = words.length === 1 && words[0] === '-' ? await readStdin() : words.join(' ');
    await withApp(call, async (app) => {
      const agent = agentOfShell(app.config.environment);
      if (options.share) requirePerson(app.config, 'remember --share');
      const type = agent && options.type !== 'reference' ? 'project' : options.type;
      const { store, scope } = await placeFor(app, { ...options, type });
      // Before anything is kept: who asks for what cannot be is not left with half of it.
      const sharing = options.share
        ? (await import('./share-command.ts')).beginSharing(app, { ...options, own: store, words: text })
        : undefined;
      const report = await app.remember(store, { text, type, byAgent: agent !== undefined });
      const { shared, lines = [] } = (await sharing?.()) ?? {};
      print(
        options.json
          ? { ...report, memory: store.id, shared }
          : [describeKept(report, { memory: options.memory, scope, ledger: store.ledger, agent }), ...lines].join('\n'),
      );
      if (shared) process.exitCode = exitFor([shared.outcome]);
      if (report.redacted > 0) note(`Secrets were taken out of the words: ${report.redacted}.`);
      if (report.relativeDate) {
        note(`“${report.relativeDate}” means nothing on another day; better remember it again with the date.`);
      }
    });
  },
};

/** What is no text would be remembered as its own ruins. */
async function readStdin(): Promise<string> {
  const bytes = await buffer(process.stdin);
  if (isUtf8(bytes)) return bytes.toString();
  throw new AppError('bad-input', 'What is on stdin is no UTF-8 text; nothing was remembered.', {
    remedy: 'Convert it first, for example with iconv -f LATIN1 -t UTF-8.',
  });
}

/** The project's directory or the one that is named; for what is about the user, where that is on, the user scope. */
async function placeFor(app: App, { type, memory, scope }: CommonOptions & { type: MemoryType }) {
  const isNamed = memory !== undefined || scope !== undefined;
  const toUserScope = type === 'user' && !isNamed && app.config.userScope;
  if (toUserScope) return { store: await app.userScope.open(), scope: 'user' as const };
  return { store: await app.storeFor(), scope };
}

function describeKept(
  { outcome, entry, path, job }: RememberReport,
  at: Pick<CommonOptions, 'memory' | 'scope'> & { ledger: Ledger; agent?: ShellAgent },
): string {
  const where = at.scope === 'user' ? `${path}, in the user scope` : path;
  const id = shortId(at.ledger, 'entry', entry.id);
  if (outcome === 'known') return `${id} is remembered already: ${entry.text} [${where}]`;
  const by = at.agent
    ? `\nKept as found by ${at.agent.name} (${at.agent.variable} is set), not as the person's word.`
    : '';
  return `${id} ${entry.type}: ${entry.text} [${where}]${by}\n${undoCommand(job, at)} takes it back.`;
}

interface ForgetOptions extends CommonOptions {
  yes?: boolean;
  all?: boolean;
}

/** So many candidates of an ambiguous text are listed. */
const MAX_LISTED = 20;

const forget: CommandSpec<ForgetOptions, [string[]]> = {
  name: 'forget',
  about: 'take something out; it is not learned again from there',
  group: 'Every day',
  args: [
    [
      '<what...>',
      'name of a topic, TOPIC:LINE, id of an entry, a line or a session, or words as they stand in what is meant',
    ],
  ],
  options: [
    ['--all', 'everything that holds the words, or was said in the session'],
    ['--yes', 'do not ask'],
    ...MEMORY,
  ],
  json: '{ outcome, topics, lines, entries, candidates: [{ kind, id, path, text }], job }',
  more: `Versions of what goes are kept for nocturne undo; nocturne redact takes a text out of these too.
Words that may mean several things change nothing: exit code 2, and the candidates are listed with their ids.`,
  examples: ['forget "use pnpm"'],
  run: inApp(async (app, { options, args }) => {
    requirePerson(app.config, 'forget');
    const store = await app.storeFor();
    const target = args[0].join(' ');
    const isWanted = async (plan: ForgetPlan) => options.yes || ask(plan, store.ledger);
    const report = await app.forget(store, { target, all: options.all, confirm: isWanted });
    if (report.outcome === 'unknown') {
      const names = catalogTopics(store.dir, store.ledger).map((topic) => topic.name);
      throw new AppError('bad-input', `Nothing in ${store.id} is called or holds ${JSON.stringify(target)}.`, {
        remedy: didYouMean(target, names, 'nocturne list and nocturne search show what is remembered.'),
      });
    }
    print(options.json ? report : describeForgotten(report, target, { ...options, ledger: store.ledger }));
    process.exitCode = exitOf(report);
  }),
};

/** Shows what goes on stderr and asks, where someone is there to answer. */
async function ask(plan: ForgetPlan, ledger: Ledger): Promise<boolean> {
  note(['This goes:', ...describePlan(plan, ledger)].join('\n'));
  if (canAsk()) return confirm('Forget it?');
  note('There is no terminal to ask at: --yes forgets it.');
  return false;
}

/** What goes, as the plan and the report have it. */
interface Going extends Pick<ForgetReport, 'topics' | 'lines'> {
  entries: (ForgetReport['entries'][number] & { state?: EntryState })[];
  again?: ForgetPlan['again'];
}

function describePlan({ topics, lines, entries, again }: Going, ledger: Ledger): string[] {
  const nameOf = (entry: { id: string }) => shortId(ledger, 'entry', entry.id);
  return [
    ...topics.map((path) => `  topic  ${path}`),
    ...lines.map((line) => `  line   ${line.path}: ${line.text}`),
    ...entries.map((entry) => `  entry  ${nameOf(entry)} (${entry.day}${sayScope(entry)}): ${entry.text}`),
    ...(again ?? []).map((entry) => `  The next dream reads ${nameOf(entry)} again: ${entry.text}`),
  ];
}

function describeForgotten(report: ForgetReport, target: string, options: CommonOptions & { ledger: Ledger }): string {
  if (report.outcome === 'busy') return 'A dream works on this memory; try again when it is done.';
  if (report.outcome === 'unconfirmed') return 'Nothing was forgotten.';
  if (report.outcome === 'forgotten') {
    const isSent = report.entries.some(({ scope }) => scope === 'user');
    return [
      'Forgotten:',
      ...describePlan(report, options.ledger),
      `${undoCommand(report.job, options)} brings it back.`,
      ...(isSent ? ['In the user scope nocturne undo --scope user --last does.'] : []),
    ].join('\n');
  }
  const { candidates } = report;
  const nameOf = ({ kind, id }: (typeof candidates)[number]) => {
    return kind === 'entry' ? shortId(options.ledger, 'entry', id) : id;
  };
  const more = candidates.length - MAX_LISTED;
  return [
    `${JSON.stringify(target)} may mean ${candidates.length} things; nothing was forgotten. Name one by its id, or take --all:`,
    ...candidates
      .slice(0, MAX_LISTED)
      .map((each) => `  ${nameOf(each).padEnd(14)}  ${each.path}${sayScope(each)}: ${each.text}`),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ].join('\n');
}

function sayScope(of: { scope?: 'user'; state?: EntryState }): string {
  return of.scope === 'user' || of.state === 'sent' ? ', user scope' : '';
}

function exitOf({ outcome }: ForgetReport): number {
  if (outcome === 'forgotten') return EXIT.fine;
  return outcome === 'busy' ? EXIT.later : EXIT.usage;
}

type PinCall = Call<CommonOptions & { off?: boolean }, [string]>;

const pin: CommandSpec<PinCall['options'], PinCall['args']> = {
  name: 'pin',
  about: 'keep a topic as it is: no dream changes it',
  group: 'Every day',
  args: [['<topic>', 'name or file of the topic']],
  options: [['--off', 'let dreams change it again'], ...MEMORY],
  json: '{ path, pinned, changed }',
  examples: ['pin working-agreements', 'pin working-agreements --off'],
  run: (call) => setPinned(call, !call.options.off),
};

function setPinned(call: PinCall, pinned: boolean): Promise<void> {
  return withApp(call, async (app) => {
    requirePerson(app.config, 'pin');
    const found = app.keeping ? await app.storeFor() : null;
    const dir = app.memoryDirOf();
    const path = topicFile(found?.dir ?? dir, call.args[0], found?.id);
    const store = found ?? (await app.storeFor());
    const { changed } = await pinTopic({ path, pinned }, { store, clock: app.config.clock });
    const said = pinned ? `is pinned${changed ? '' : ' already'}` : `${changed ? 'is no longer' : 'was not'} pinned`;
    print(call.options.json ? { path, pinned, changed } : `${path} ${said}.`);
  });
}

export const commands: CommandSpec[] = [remember, forget, pin];
