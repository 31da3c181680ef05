// A person's words: remember keeps them at once and without a model, forget takes something out for good, after showing what goes.

import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import type { RememberReport } from '../../jobs/edit.ts';
import type { ForgetReport, Meant } from '../../jobs/forget.ts';
import { AppError } from '../base/errors.ts';
import { agentOfShell, type ShellAgent } from '../base/process.ts';
import { didYouMean, sayCount } from '../base/text/wording.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { MEMORY_TYPES, type MemoryType } from '../memory/memory-types.ts';
import { shortId } from '../memory/short-ids.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import type { App } from '../worker/compose.ts';
import { placeOf } from '../worker/whose-memory.ts';
import {
  agreed,
  BUSY,
  type CommonOptions,
  isNamed,
  MEMORY,
  requirePerson,
  undoCommand,
  withApp,
} from './cli-options.ts';
import { topicNames } from './history-command.ts';
import type { CommandSpec } from './spec.ts';

interface RememberOptions extends CommonOptions {
  type: MemoryType;
}

const remember: CommandSpec<RememberOptions, [string[]]> = {
  name: 'remember',
  about: 'keep something, in your own words',
  args: [['<words...>', 'what to remember; - reads it from stdin']],
  options: [['--type <type>', 'what kind it is', { choices: MEMORY_TYPES, default: 'feedback' }], ...MEMORY],
  json: '{ outcome, entry: { id, type, text, day }, memory, path, job, redacted, relativeDate }',
  more: `Types: feedback (how to work), user (about you), project (facts), reference (where things are).
In a shell that an agent started it is kept as something the agent found, as project or reference. What you type there
yourself becomes yours when the session is read.`,
  examples: ['remember "Always use pnpm instead of npm."'],
  async run(call) {
    const { options } = call;
    const [words] = call.args;
    const text = words.length === 1 && words[0] === '-' ? await readStdin() : words.join(' ');
    await withApp(call, async (app) => {
      const agent = agentOfShell(app.config.environment);
      const type = agent && options.type !== 'reference' ? 'project' : options.type;
      const { memory, scope } = await placeFor(app, { ...options, type });
      const report = await app.remember(memory, { text, type, byAgent: agent !== undefined });
      const told = options.json
        ? { ...report, memory: placeOf(memory) }
        : await describeKept(app, report, { ...options, scope, agent });
      print(told);
      if (scope === 'user' && !app.config.userScope)
        note('No session is told of it until nocturne config userScope true.');
      if (report.redacted > 0) note(`Taken out of the words: ${sayCount(report.redacted, 'secret')}.`);
      if (report.relativeDate)
        note(`“${report.relativeDate}” means something else on another day: better remember it again with the date.`);
    });
  },
};

/** What is no text would be remembered as its own ruins. */
async function readStdin(): Promise<string> {
  const bytes = await buffer(process.stdin);
  if (isUtf8(bytes)) return bytes.toString();
  throw new AppError('bad-input', 'The text on stdin is not UTF-8; nothing was remembered.', {
    remedy: 'Convert it first, for example with iconv -f LATIN1 -t UTF-8.',
  });
}

/** The project's memory or the one that is named; for what is about the user, where that is on, the user's. */
async function placeFor(
  app: App,
  options: CommonOptions & { type: MemoryType },
): Promise<{ memory: MemoryRow; scope: CommonOptions['scope'] }> {
  const user = options.type === 'user' && !isNamed(options) ? await app.userMemory() : null;
  return user ? { memory: user, scope: 'user' } : { memory: await app.memoryFor(), scope: options.scope };
}

async function describeKept(
  app: App,
  { outcome, entry, path, job }: RememberReport,
  options: CommonOptions & { agent?: ShellAgent },
): Promise<string> {
  const { scope, agent } = options;
  const where = scope === 'user' ? `${path}, in the user scope` : path;
  const id = await shortId(app.db, 'entry', entry.id);
  const told = `: ${entry.text}\n  ${entry.type}, in ${where} (${id})`;
  if (outcome === 'known' || job === null) return `Remembered already${told}`;
  const by = agent
    ? `\nKept as something that ${agent.name} found (${agent.variable} is set), not as your own words.`
    : '';
  return `Remembered${told}${by}\n${await undoCommand(app, job, options)} takes it back.`;
}

/** So many candidates of an ambiguous text are listed. */
const MAX_LISTED = 20;

const forget: CommandSpec<CommonOptions & { yes?: boolean; all?: boolean }, [string[]]> = {
  name: 'forget',
  about: 'take something out; it is not learned again from there',
  args: [['<what...>', 'a topic, TOPIC:LINE, an entry, a session, or words']],
  options: [
    ['--all', 'everything that contains the words, or came from the session'],
    ['--yes', 'do not ask'],
    ...MEMORY,
  ],
  json: '{ outcome, topics, lines, entries, candidates: [{ kind, id, path, text }], job }',
  more: `Versions are kept for nocturne undo; nocturne redact takes a text out of those too. If the words fit several things,
nothing is changed: they are listed, and the exit code is 2.`,
  examples: ['forget "use pnpm"'],
  async inApp(app, call) {
    const { options } = call;
    requirePerson(app.config, 'forget');
    const memory = await app.memoryFor();
    const target = call.args[0].join(' ');
    const isWanted = async (plan: Meant) => {
      if (options.yes) return true;
      note(['This will be forgotten:', ...(await describePlan(app, plan))].join('\n'));
      return agreed('Forget it?');
    };
    const report = await app.forget(memory, { target, all: options.all, confirm: isWanted });
    if (report.outcome === 'unknown') {
      const names = await topicNames(app, memory);
      throw new AppError(
        'bad-input',
        `Nothing in ${placeOf(memory)} is named ${JSON.stringify(target)} or contains it.`,
        {
          remedy: /:\d+$/.test(target)
            ? `nocturne show ${target.replace(/:\d+$/, '')} shows its lines.`
            : didYouMean(target, names, 'nocturne list and nocturne search show what is remembered.'),
        },
      );
    }
    print(options.json ? report : await describeForgotten(app, report, { target, options }));
    process.exitCode = report.outcome === 'forgotten' ? EXIT.fine : report.outcome === 'busy' ? EXIT.later : EXIT.usage;
  },
};

async function describePlan({ db }: App, { topics, lines, entries }: Meant): Promise<string[]> {
  const told = entries.map(
    async (entry) => `  entry  ${await shortId(db, 'entry', entry.id)} (${entry.day}${sayScope(entry)}): ${entry.text}`,
  );
  return [
    ...topics.map((path) => `  topic  ${path}`),
    ...lines.map((line) => `  line   ${line.path}: ${line.text}`),
    ...(await Promise.all(told)),
  ];
}

async function describeForgotten(
  app: App,
  report: ForgetReport,
  { target, options }: { target: string; options: CommonOptions },
): Promise<string> {
  const { outcome, candidates } = report;
  if (outcome === 'busy') return BUSY;
  if (outcome === 'unconfirmed') return 'Nothing was forgotten.';
  if (outcome === 'forgotten') {
    const undo = `${await undoCommand(app, report.job, options)} brings it back.`;
    return ['Forgotten:', ...(await describePlan(app, report)), undo].join('\n');
  }
  const more = candidates.length - MAX_LISTED;
  const told = candidates.slice(0, MAX_LISTED).map(async (each) => {
    const name = each.kind === 'entry' ? await shortId(app.db, 'entry', each.id) : each.id;
    return `  ${name.padEnd(14)}  ${each.path}${sayScope(each)}: ${each.text}`;
  });
  return [
    `${JSON.stringify(target)} may mean ${candidates.length} things; nothing was forgotten. Name one of these, or use --all:`,
    ...(await Promise.all(told)),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ].join('\n');
}

function sayScope({ scope }: { scope?: 'user' }): string {
  return scope === 'user' ? ', user scope' : '';
}

export const commands: CommandSpec[] = [remember, forget];
