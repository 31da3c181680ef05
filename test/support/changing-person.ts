// A person whose project changes over a year, as a script: what they say on each day, and what is to become of it. Made
// from a seed; it knows nothing of how nocturne checks operations.

import { addDays } from 'date-fns/addDays';
import type { MemoryType } from '../../src/memory/types.ts';
import { type Random, seeded } from './random.ts';
import type { Said } from './recorded.ts';

/** What is to become of an entry, in the words of topics' lines. */
export interface Fate {
  kind: 'add' | 'supersede' | 'retire' | 'merge' | 'duplicate';
  topic: string;
  type: MemoryType;
  /** What stood there before, where something did. */
  old?: string;
  /** The line that is to stand. */
  line?: string;
  /** Lines of things that are alike and not the same. */
  alike: string[];
}

export interface Script {
  /** By night: what was said the day before. */
  days: (Said & { fate: Fate })[][];
  /** What is true at the end, a line each. */
  truths: string[];
  /** All that ever was a true line. */
  everTrue: Set<string>;
  /** Habits that one session showed, and no other. */
  once: Set<string>;
}

interface Subject {
  /** What it is of: there is one of each, ever. */
  key: string;
  topic: string;
  type: MemoryType;
  /** Of a family of things that look alike. */
  family: string;
  line: string;
  /** Says it in other words. */
  again: string;
  next: Next;
  isBusyUntil: number;
  /** It is over by this night. */
  endsBy?: number;
}
/** The next thing that is said of it, and the line then; no line where it is taken back or over. */
type Next = (random: Random, day: string) => { text: string; line?: string; again?: string; later?: Next };

/** A plan is over, or off, so many days after it was made, before its date is long past. */
const PLAN_DAYS = 40;

const SERVICES = ['database', 'cache', 'gateway', 'indexer', 'mailer', 'ranker', 'scheduler', 'uploader'];
const PLACES = ['staging', 'production', 'preview', 'local', 'nightly', 'canary'];
const REPOS = ['orchard', 'cellar', 'mill', 'harbour', 'foundry', 'quarry', 'bakery', 'loft'];
const PEOPLE = ['Mira', 'Tom', 'Ines', 'Jonas', 'Priya', 'Oleg', 'Hana', 'Sven'];
const AREAS = ['billing', 'search', 'onboarding', 'reporting', 'exports', 'payments', 'notifications', 'permissions'];
const THINGS = ['invoices', 'orders', 'tickets', 'avatars', 'contracts', 'recipes', 'labels', 'shipments'];
const TOOLS = ['npm', 'pnpm', 'yarn', 'bun', 'vitest', 'jest', 'esbuild', 'rollup', 'biome', 'eslint'];
const PURPOSES = 'installs, unit tests, bundling, linting, snapshots, benchmarks, type checks, fixtures'.split(', ');
const HOSTS = ['Hetzner', 'Fly.io', 'Render', 'Scaleway', 'Linode', 'Vultr'];

/** The script of so many nights from `begin` on. */
export function changingPerson(begin: Date, nights: number, seed: number): Script {
  const random = seeded(seed);
  const subjects: Subject[] = [];
  const everTrue = new Set<string>();
  const used = new Set<string>();
  const makers = [port, rule, tool, owner, status, plan];
  const shown: { night: number; line: string; again: string }[] = [];
  const habits = habitsIn(random);
  const once = new Set<string>();
  const others = (line: string) => [...everTrue].filter((text) => text !== line && HABIT.test(text));
  const days = Array.from({ length: nights }, (_, night) => {
    const day = addDays(begin, night - 1)
      .toISOString()
      .slice(0, 10);
    const said: (Said & { fate: Fate })[] = [];
    const touched = new Set<Subject>();
    const alike = ({ family, line }: Pick<Subject, 'family' | 'line'>) =>
      subjects.filter((other) => other.family === family && other.line !== line).map((other) => other.line);
    const say = (
      text: string,
      subject: Pick<Subject, 'topic' | 'type' | 'family' | 'line'>,
      fate: Partial<Fate>,
      more = {},
    ) => {
      const { topic, type } = subject;
      said.push({ type, text, ...more, fate: { kind: 'add', topic, type, alike: alike(subject), ...fate } });
      if (fate.line) everTrue.add(fate.line);
    };
    const count = 2 + random.below(5);
    for (let event = 0; event < count; event++) {
      const free = subjects.filter((each) => !touched.has(each) && each.isBusyUntil <= night);
      const ending = free.filter(({ endsBy = Infinity }) => endsBy <= night);
      const what = ending.length > 0 ? 9 : random.below(10);
      const made = what < 4 || free.length < 5 ? random.pick(makers)(random, day) : null;
      if (made && !used.has(made.key)) {
        used.add(made.key);
        if (made.family === 'plan') made.endsBy = night + PLAN_DAYS;
        subjects.push(made);
        touched.add(made);
        say(made.line, made, { line: made.line });
      } else if (free.length > 0 && what < 6) {
        const subject = random.pick(free);
        touched.add(subject);
        say(subject.again, subject, { kind: 'duplicate', old: subject.line });
      } else if (free.length > 0) {
        const subject = ending[0] ?? random.pick(free);
        touched.add(subject);
        const old = subject.line;
        const { text, line, again, later } = subject.next(random, day);
        // An extractor names what is changed as often as not.
        const more = night % 2 === 0 ? { changes: old } : {};
        say(text, subject, line ? { kind: 'supersede', old, line } : { kind: 'retire', old }, more);
        if (line === undefined) {
          subjects.splice(subjects.indexOf(subject), 1);
          continue;
        }
        Object.assign(subject, {
          line,
          again: again ?? line,
          isBusyUntil: night + 2,
          endsBy: undefined,
          ...(later && { next: later }),
        });
      }
    }
    // Habits that are shown, and shown again by another session, or never. Some days show two.
    const ofTonight = night % 5 === 0 ? habits.splice(0, night % 10 === 0 ? 2 : 1) : [];
    for (const [at, { line, again }] of ofTonight.entries()) {
      say(line, habitOf(line), { line, alike: others(line) }, { strength: 'implied', session: `h-${night}-${at}` });
      once.add(line);
      if (random.below(2) === 0) shown.push({ night: night + 3 + random.below(20), line, again });
    }
    for (const { line, again } of shown.filter((habit) => habit.night === night)) {
      const fate = { kind: 'merge', old: line, line, alike: others(line) } as const;
      say(again, habitOf(line), fate, { strength: 'implied', session: `g-${night}` });
      once.delete(line);
      const next = () => ({ text: line, line });
      subjects.push({ key: line, ...habitOf(line), again: line, isBusyUntil: Infinity, next });
    }
    return said;
  });
  return { days, truths: subjects.map(({ line }) => line), everTrue, once };
}

/** What somebody does who says nothing of it, and the same in other words. */
const HABITS = [
  ['Asks for a second look before X is pushed.', 'Wants somebody to look a second time before a push of X.'],
  ['Wants options for X as a table with rough numbers.', 'Has choices for X put into a table, with numbers.'],
  ['Reads the diff of X before a commit.', 'Wants to see the diff before X is committed.'],
  ['Has X tried on the cluster before it counts as finished.', 'Calls X finished after a real run on the cluster.'],
  ['Goes through open questions on X one by one.', 'Takes the questions on X singly, one after another.'],
];
const HABIT = /^(?:Asks for a|Wants options|Reads the|Has |Goes through)/;

function habitsIn(random: Random): { line: string; again: string }[] {
  const all = [...REPOS, ...AREAS].flatMap((of) => HABITS.map((habit) => habit.map((text) => text.replace('X', of))));
  for (let at = all.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [all[at], all[other]] = [all[other], all[at]] as [string[], string[]];
  }
  return all.map(([line = '', again = '']) => ({ line, again }));
}

function habitOf(line: string): Pick<Subject, 'topic' | 'type' | 'family' | 'line'> {
  return { topic: 'ways-of-working', type: 'feedback', family: 'habit', line };
}

const ofProject = (topic: string, key: string, family: string) => ({
  ...{ topic, key, family, type: 'project' as const, isBusyUntil: 0 },
});
const ofPerson = (topic: string, key: string, family: string) => ({
  ...{ topic, key, family, type: 'feedback' as const, isBusyUntil: 0 },
});

function port(random: Random): Subject {
  const [place, service] = [random.pick(PLACES), random.pick(SERVICES)];
  const name = `The ${place} ${service}`;
  let number = 3_000 + random.below(6_000);
  const said = () => ({
    line: `${name} listens on port ${number}.`,
    again: `Remember that ${number} is the port on which the ${place} ${service} listens.`,
  });
  const next: Next = (again) => {
    const old = number;
    number = 3_000 + again.below(6_000);
    const text = again.pick([
      `${name} listens on port ${number} now, no longer on ${old}.`,
      `${name} moved from port ${old} to port ${number}.`,
      `${name} listens on port ${number}.`,
      `Port of the ${place} ${service}: ${old} until November, now ${number}.`,
      `From now on the ${place} ${service} listens on ${number} instead of ${old}.`,
    ]);
    return { text, ...said() };
  };
  return { ...ofProject(`${service}-ports`, name, `port ${service}`), ...said(), next };
}

function rule(random: Random): Subject {
  const repo = random.pick(REPOS);
  const ways = ['squash commits before merging', 'rebase branches before reviewing', 'sign tags when releasing'];
  const what = random.pick(ways);
  let is = random.below(2) === 0;
  const said = () => {
    const line = `${is ? 'Always' : 'Never'} ${what} ${repo}.`;
    return { line, again: `${line.replace(/\.$/, '')}, as I said.` };
  };
  const next: Next = (again) => {
    if (again.below(3) === 0) return { text: `I take the rule back that ${repo} wants us to ${what}: do as you like.` };
    is = !is;
    return { text: said().line, ...said() };
  };
  return { ...ofPerson(`${repo}-rules`, `${what} ${repo}`, `rule ${repo}`), ...said(), next };
}

function tool(random: Random): Subject {
  const [purpose, repo] = [random.pick(PURPOSES), random.pick(REPOS)];
  let name = random.pick(TOOLS);
  const said = () => ({
    line: `Use \`${name}\` for ${purpose} in ${repo}.`,
    again: `In ${repo}, ${purpose} go through \`${name}\`: use that.`,
  });
  const next: Next = (again) => {
    const old = name;
    name = again.pick(TOOLS.filter((other) => other !== old));
    const text = again.pick([
      `Use \`${name}\` instead of \`${old}\` for ${purpose} in ${repo}.`,
      `For ${purpose} in ${repo} use \`${name}\`, not \`${old}\`.`,
      `We switched ${purpose} in ${repo} from \`${old}\` to \`${name}\`: use \`${name}\`.`,
    ]);
    return { text, ...said() };
  };
  return { ...ofPerson('tools', `${purpose} ${repo}`, `tool ${repo}`), ...said(), next };
}

function owner(random: Random): Subject {
  const area = random.pick(AREAS);
  let name = random.pick(PEOPLE);
  const said = () => ({ line: `${name} owns ${area}.`, again: `Ask ${name} about ${area}, which is what they own.` });
  const next: Next = (again) => {
    const old = name;
    name = again.pick(PEOPLE.filter((other) => other !== old));
    const ways = [`${name} owns ${area} now; ${old} moved on.`, `${area} went from ${old} to ${name}, who owns it.`];
    return { text: again.pick([...ways, `${name} owns ${area}.`]), ...said() };
  };
  return { ...ofProject('owners', `owner ${area}`, 'owner'), ...said(), next };
}

function status(random: Random, day: string): Subject {
  const things = random.pick(THINGS);
  const all = 1_000 + random.below(9_000);
  let done = random.below(300);
  const said = (on: string) => ({
    line: `As of ${on}, ${done} of ${all} ${things} are migrated.`,
    again: `The migration of ${things} is at ${done} of ${all}.`,
  });
  const next: Next = (again, on) => {
    done += 1 + again.below(400);
    if (done < all) return { text: said(on).line, ...said(on) };
    const line = `All ${all} ${things} are migrated.`;
    return { text: `${line} That is done, since ${on}.`, line, again: line, later: () => ({ text: line, line }) };
  };
  return { ...ofProject('migrations', `status ${things}`, 'status'), ...said(day), next };
}

function plan(random: Random, day: string): Subject {
  const [area, host] = [random.pick(AREAS), random.pick(HOSTS)];
  const due = addDays(new Date(day), 20).toISOString().slice(0, 10);
  const next: Next = (again) => {
    if (again.below(2) === 0) return { text: `The plan to move ${area} to ${host} is off.` };
    const line = `The move of ${area} to ${host} is done.`;
    const text = `The plan of ${due} is over: the move of ${area} to ${host} is done.`;
    const later = () => ({ text: `Nobody needs to know any more that the move of ${area} to ${host} is done.` });
    return { text, line, again: line, later };
  };
  return {
    ...ofProject('plans', `plan ${area} ${host}`, 'plan'),
    line: `The plan is to move ${area} to ${host} by ${due}.`,
    again: `${area} moves to ${host} by ${due}, that is the plan.`,
    next,
  };
}
