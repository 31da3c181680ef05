// What code refuses of operations that look right: each case is one that a model proposed somewhere.

import { describe, expect, test } from 'vitest';
import { checkOperations } from '../../../src/memory/dream/operation-checks.ts';
import {
  type DreamContext,
  type KnownEntry,
  type KnownLine,
  type KnownTopic,
  type Operation,
  proposalSchema,
} from '../../../src/memory/dream/operations.ts';

const DAY = '2026-11-20T09:00:00.000Z';
const LATER = '2026-11-21T09:00:00.000Z';
const EARLIER = '2026-11-01T09:00:00.000Z';

/** What one session showed, and nobody said. */
const SHOWN = [{ id: 'e_old', at: EARLIER, session: 's_old', strength: 'implied' as const }];

/** A rule, what shows it again in other words, and both in a line. */
const SHORT_ERROR = "An error has to say what the user can do next; 'exited 1' (of the remote helper) is not enough.";
const SHOWN_ERROR = {
  text: 'Takes no error that tells what broke and not how people get out of it.',
  strength: 'implied' as const,
  quotes: ['as with the helper: it tells them what broke and not how they get out of it'],
};
const BOTH_ERRORS = `${SHORT_ERROR.slice(0, -1)}; ${SHOWN_ERROR.text}`;

interface Given extends Partial<KnownEntry> {
  text: string;
}

/** Entries e1, e2, … and lines l1, l2, … of one topic `ops`. */
function context(entries: Given[], lines: (Partial<KnownLine> & { text: string })[] = []): DreamContext {
  const known = entries.map((entry, at): [string, KnownEntry] => [
    `e${at + 1}`,
    {
      id: `e${at + 1}`,
      type: 'project',
      strength: 'stated',
      at: DAY,
      quotes: [],
      by: 'human',
      session: `s${at}`,
      isWithdrawn: false,
      ...entry,
    },
  ]);
  const sources = [{ id: 'e_old', at: DAY, session: 's_old' }];
  const standing = lines.map((line, at): [string, KnownLine] => [`l${at + 1}`, { isPersons: false, sources, ...line }]);
  const topic = {
    name: 'ops',
    path: 'ops.md',
    type: 'project' as const,
    isPinned: false,
    bytes: 100,
    lines: new Map(standing),
  };
  return { entries: new Map(known), topics: new Map([['ops', topic]]) };
}

/** Entries e1, e2, … and topics with lines l1, l2, …: the nth line of each has the same id. */
function withTopics(
  topics: Record<string, string[]>,
  { said = ['Never squash.'], pinned, newer }: { said?: string[]; pinned?: string; newer?: string } = {},
): DreamContext {
  const known = Object.entries(topics).map(([name, lines]) => {
    const sources = [{ id: 'e_old', at: name === newer ? LATER : EARLIER, session: 's_old' }];
    const [topic] = context(
      [],
      lines.map((text) => ({ text, sources })),
    ).topics.values();
    return [name, { ...topic, name, path: `${name}.md`, isPinned: name === pinned }] as [string, KnownTopic];
  });
  return { entries: context(said.map((text) => ({ text }))).entries, topics: new Map(known) };
}

const write = (kind: 'add' | 'merge' | 'supersede', text: string, more: object = {}): Operation =>
  ({ kind, entries: ['e1'], reason: 'x', topic: 'ops', lines: [{ text, entries: ['e1'] }], ...more }) as Operation;
const both = { entries: ['e1', 'e2'] };
const drop = (because: string, of?: string, entries = ['e1']): Operation =>
  ({ kind: 'drop', entries, reason: 'x', because, ...(of ? { of } : {}) }) as Operation;

/** What is known of a line or an entry beside its text. */
const KNOWN: Record<string, object> = {
  ...{
    earlier: { at: EARLIER },
    later: { at: LATER },
    implied: { strength: 'implied' },
    "person's": { isPersons: true },
  },
  ...{ once: { seenOnce: '2026-11-19' }, shown: { sources: SHOWN } },
};

/**
 * Cases as text: the name; `=` a line, `-` one that the operation replaces, `~` an entry, `~>` what that says it changes; the
 * operation, about the first entry or both; `!` what the refusal says.
 */
function casesIn(text: string): [string, Operation[], DreamContext, string][] {
  return text
    .trim()
    .split('\n\n')
    .map((each) => {
      const [name = '', ...rows] = each.split('\n');
      const [entries, lines]: [Given[], Given[]] = [[], []];
      const [operations, replaces]: [Operation[], string[]] = [[], []];
      let reason = '';
      for (const row of rows) {
        const [, mark = '', of, tags, said = ''] =
          /^(\S+) (both: )?(?:\(((?:earlier|later|implied|person's|once|shown)(?:, \w+)*)\) )?(.*)$/.exec(row) ?? [];
        const given = Object.assign({ text: said }, ...(tags?.split(', ') ?? []).map((tag) => KNOWN[tag]));
        if (mark === '=' || mark === '-') lines.push(given);
        if (mark === '-') replaces.push(`l${lines.length}`);
        else if (mark === '~') entries.push(given);
        else if (mark === '~>') Object.assign(entries.at(-1) ?? {}, { changes: said });
        else if (mark === '!') reason = said;
        else if (mark === 'drop') operations.push(drop(...(said.split(' ') as [string, string?])));
        else if (mark === 'add' || mark === 'merge' || mark === 'supersede') {
          const about = of ? both : { entries: ['e1'] };
          const gone = replaces.length > 0 ? { replaces } : {};
          operations.push(write(mark, said, { ...about, ...gone, lines: [{ text: said, ...about }] }));
        }
      }
      return [name, operations, context(entries, lines), reason];
    });
}

test.each<[string, Operation[], DreamContext, string]>([
  ...casesIn(`
two ports that look alike are put into one line
- The staging database listens on 5433.
~ The production database listens on 5432.
merge The staging and production databases listen on 5433 and 5432.
! keep them apart

a value is only a part of the one that was said
~ It listens on 8080.
add It listens on 80.
! "80"

an older statement supersedes a newer one
- Use pnpm.
~ (earlier) Use npm.
supersede Use npm.
! which is newer

a line is superseded by something else
- Releases need two approvals.
~ Tea is at four.
supersede Tea is at four.
! one and the same thing?

a denial is lost
~ Never push to main.
add Push to main.
! leaves out

a denial is lost in German
~ Nicht auf main pushen.
add Auf main pushen.
! leaves out

a denial comes from nowhere
~ Push to main.
add Never push to main.
! denies anything

a contradiction is put beside what it contradicts
= Always squash commits.
~ Never squash commits.
add Never squash commits.
! write both down as open

what is open has one side
~ Squash commits, not rebase.
add Open: squash or rebase.
! rests on one only

the place of a habit that was seen once is taken by something else
- (once) Asks for a review.
~ Tea is at four.
merge Tea is at four.
! one and the same thing?

what one session shows is put behind a rule of something else
- Show the diff before a commit.
~ (implied) Wants ways compared as a table.
merge Show the diff before a commit; wants ways compared as a table.
! one and the same thing?

one habit is taken for another that differs in a word
- (once, shown) Reads the diff of the press before a commit.
~ (implied) Reads the diff of the mill before a commit.
merge Reads the diff of the mill before a commit.
! together

one habit is taken for another of the same thing
- (once, shown) Reads the diff of the press before a commit.
~ (implied) Wants options for the press as a table.
merge Reads the diff of the press before a commit.
! together

a value of a habit that was seen once is lost when it is shown again
- (once) Runs a change on \`soph-test\` first.
~ (implied) Runs the tests on the cluster before a change is done.
merge Runs the tests on the cluster before a change is done.
! lose "soph-test"

a value of what holds beside what is over is lost
- No Windows build is made.
~ Windows builds are made again, from 0.8 on (in April 2026 Windows was skipped).
~> No Windows build.
supersede Windows builds are made again.
! lose "0.8"

a value that came is lost beside the one that was before
- The dev server talks git on 8080.
~ The dev server was moved in June 2026, git was on 8080 and it was put on 8443.
~> The dev server talks git on 8080.
supersede The dev server talks git.
! lose "2026", "8443"

a value is lost that the line that goes has and the entry says again
- As of 2026-11-12, 6090 of 6213 orders are migrated.
~ All 6213 orders are migrated. That is done, since 2026-11-20.
supersede All it orders are migrated.
! lose "6213"

a value is lost that what the entry changes has and the entry says again
- The cache has 8 shards.
~ The cache on 4321 has 16 shards.
~> The cache on 4321 has 8 shards.
supersede The cache has 16 shards.
! lose "4321"

a number of things is lost of which it is said that they are closed
- 6090 of 6213 tickets are closed.
~ All 6213 tickets are closed.
supersede All tickets are closed.
! lose "6213"

a value that stays is lost beside one that is gone
- The cache listens on 3000 and 4321.
~ Port 3000 of the cache is gone, it listens on 4321 as before.
supersede The cache listens on one port.
! lose "4321"

a value of what is changed is written as if it held
~ Use the default from now on.
~> The dev server listens on 3000.
add The dev server listens on 3000.
! "3000" as it was before

a denial is lost beside another of something else
~ Never push to main.
add Push to main, not to dev.
! in "Never push to main"

a denial is lost beside a question that was asked
~ Asked why the push failed, and wants a push never to go to main.
add A push goes to main.
! leaves out

a duplicate is of nothing
~ Use npm.
drop duplicate l9
! neither a line

a duplicate says another value
= Port 8080.
~ Port 80.
drop duplicate l1
! "80" is not said

a duplicate says other words
= Use pnpm.
~ Tea is at four.
drop duplicate l1
! words are not there

what is newer gives way
= Use pnpm.
~ (later) Use npm.
drop gave-way l1
! is older

what is open denies what nobody did
~ Whether the mirror takes tags is open.
add Open: whether the mirror does not take tags.
! denies anything

a "not" beside what is not decided is lost
~ Not decided: where the mirror runs, since it does not take tags.
add Open: where the mirror runs, since it takes tags.
! keep that word

a command goes on with a value that nobody said
- On new machines run \`sync set --remote git:acme/private --local\` once.
~ The remote moved to git:acme/vault.
supersede On new machines run \`sync set --remote git:acme/other --local\` once.
! rests on says

two addresses are put into one line
~ The tools are at git.example/a.
~ The tools are at git.example/b.
add both: The tools are at git.example/a and git.example/b.
! keep them apart

a file in one directory is named for one in another
~ conf/local.json holds the remote.
add web/local.json holds the remote.
! lose "conf/local.json"
`),
  [
    'a line takes a value from an entry that it does not cite',
    [
      {
        ...write('add', ''),
        ...both,
        lines: [
          { text: 'The api listens on 8081.', entries: ['e1'] },
          { text: 'The web listens on 8081.', entries: ['e2'] },
        ],
      } as Operation,
    ],
    context([{ text: 'The api listens.' }, { text: 'The web listens on 8081.' }]),
    '"8081"',
  ],
  [
    'the newer of one night gives way to the older',
    [{ ...write('supersede', 'Use npm.', { replaces: ['l1'] }), ...both } as Operation],
    context(
      [
        { text: 'Use npm.', at: DAY },
        { text: 'Use yarn.', at: LATER },
      ],
      [{ text: 'Use pnpm.' }],
    ),
    'gives way to nothing',
  ],
  [
    'a rule that is shown again loses what shows it',
    [write('merge', SHORT_ERROR, { replaces: ['l1'] })],
    context([SHOWN_ERROR], [{ text: SHORT_ERROR }]),
    'one and the same thing?',
  ],
  [
    'a rule that is shown again loses its own words',
    [write('merge', 'Do not say what broke, say how to get out of it.', { replaces: ['l1'] })],
    context([SHOWN_ERROR], [{ text: SHORT_ERROR }]),
    'one and the same thing?',
  ],
  [
    'two habits of one night are taken for one that two sessions show',
    [
      {
        ...write('add', 'Wants options for the press as a table.'),
        ...both,
        lines: [{ text: 'Wants options for the press as a table.', ...both }],
      } as Operation,
    ],
    context([
      { text: 'Wants options for the press as a table.', strength: 'implied' },
      { text: 'Reads the diff of the press before a commit.', strength: 'implied' },
    ]),
    'together',
  ],
  [
    'a denial is lost in all lines that cite the entry',
    [
      write('supersede', '', {
        replaces: ['l1', 'l2'],
        lines: [
          { text: 'The default is 3000.', entries: ['e1'] },
          { text: 'The flag sets more than 3000.', entries: ['e1'] },
        ],
      }),
    ],
    context(
      [{ text: 'The default is 3000, and the flag never sets less.' }],
      [{ text: 'The default is 5000.' }, { text: 'The flag sets more than 5000.' }],
    ),
    'leaves out',
  ],
  [
    'a description names a flag that nothing says',
    [write('add', 'Force is for pushes.', { description: 'Pushes: --force' })],
    context([{ text: 'Force is for pushes.' }]),
    '"--force"',
  ],
  [
    'a description names a path of words that are said apart',
    [write('add', 'The docs hold plans.', { description: 'Plans in ./docs/plans' })],
    context([{ text: 'The docs hold plans.' }]),
    '"./docs/plans"',
  ],
  [
    'what a tool said becomes a rule',
    [write('add', 'Tests run on Linux.', { topic: 'rules', description: 'Rules', type: 'feedback' })],
    context([{ text: 'Tests run on Linux.', by: 'tool' }]),
    'not said by the user',
  ],
  [
    'a description says what nothing says',
    [write('add', 'Tea.', { description: 'Tea at 16:00' })],
    context([{ text: 'Tea.' }]),
    '"16:00"',
  ],
  [
    'an older statement supersedes a line of which a copy rests on something newer',
    [write('supersede', 'Never squash.', { replaces: ['l1'] })],
    withTopics({ ops: ['Always squash.'], git: ['Always squash.'] }, { newer: 'git' }),
    'which is newer',
  ],
  [
    'a merge leaves the copy of a line that the new one denies',
    [write('merge', 'Never squash.', { replaces: ['l1'] })],
    withTopics({ ops: ['Always squash.'], git: ['Always squash.'] }),
    'supersede that',
  ],
  [
    'most of a night is dropped at the model’s word',
    [drop('ephemeral', undefined, ['e1', 'e2', 'e3', 'e4', 'e5'])],
    context(['a', 'b', 'c', 'd', 'e'].map((text) => ({ text }))),
    'nobody can check',
  ],
  [
    'two operations begin a topic with two types',
    [
      write('add', 'Tea.', { topic: 'new', description: 'New', type: 'user' }),
      write('add', 'Cake.', {
        entries: ['e2'],
        lines: [{ text: 'Cake.', entries: ['e2'] }],
        topic: 'new',
        description: 'New',
        type: 'project',
      }),
    ],
    context([{ text: 'Tea.' }, { text: 'Cake.' }]),
    'several types',
  ],
  ...(
    [
      ['Do not skip the full review.', 'Skip the full review.'],
      ['Never mock the database.', 'Mock the database and stop the server.'],
      ['Never mock the database.', 'Mock the database, and stop the server of the database.'],
      ['Do not build the site each time.', 'Build the site each time instead of asking.'],
    ] as const
  ).map(([said, line]): [string, Operation[], DreamContext, string] => [
    `${JSON.stringify(said)} is turned round: ${JSON.stringify(line)}`,
    [write('add', line)],
    context([{ text: said }]),
    'keep that word',
  ]),
])('a list is refused when %s', (_, operations, known, reason) => {
  expect(checkOperations(operations, known).join('\n')).toContain(reason);
});

test.each<[string, Operation[], DreamContext, string?]>([
  ...casesIn(`
a newer statement takes the place of an older one
- Use npm.
~ Use pnpm.
supersede Use pnpm since 2026-11-20, not npm.

both sides are written down as open
- The deadline is 2026-12-04.
~ The deadline is 2026-12-11.
merge Open: the deadline is 2026-12-04 or 2026-12-11.

a late old statement gives way to a line
= Use pnpm.
~ (earlier) Use npm.
drop gave-way l1

a duplicate names its line
= Use port 80, please.
~ Use port 80.
drop duplicate l1

a habit is shown again in other words
- (once) Before something is committed, first show the user what you changed; then it can go in.
~ (implied) Wants to see the diff before a change is committed ("before it goes in").
merge Before something is committed, first show the user the diff; then it can go in.

a habit is shown again in words of nearly the same form
- (once, shown) Goes through open questions on the press one by one.
~ (implied) Takes the questions on the press singly, one after another.
merge Goes through open questions on the press one by one.

a habit that was seen once is stated in other words
- (once) Green unit tests do not make something done in git-sync: wants it actually run once, on soph-test-large-ref.
~ Before calling a change in git-sync finished, try it for real, end to end on the cluster.
merge Green unit tests do not make something done in git-sync: before calling a change finished, run it once for real, end to end on the cluster, on soph-test-large-ref.

a line names what no longer holds by the words of what the entry changes
~ Forget those lines.
~> Every pull request gets a line in CHANGELOG.md.
add No lines are written into CHANGELOG.md any more.

a line names by the words of what it changes what it is of
~ The default is 3000.
~> The default of \`--max-refs\` is 5000.
add The default of \`--max-refs\` is 3000.

a date of what is over is left out
- No Windows build ("Skip Windows (current config)" was chosen).
~ From 0.8 on there are Windows builds, amd64 only (in April 2026 Windows was skipped; that's over).
~> No Windows build ("Skip Windows").
supersede From 0.8 on there are Windows builds, amd64 only.

the date of a decision that is over is left out
- No Windows build is made.
~ From 0.8 on Windows builds are made, amd64 only; skipping Windows, as decided in April 2026, is over.
~> No Windows build is made.
supersede From 0.8 on Windows builds are made, amd64 only.

a question that was asked becomes a rule
~ Wants table-driven tests: asked why near-identical test functions were not table-driven.
add Use table-driven tests, no near-identical ones.

a question that was asked becomes a rule without the word that denies
~ Wants table-driven tests: asked why near-identical test functions were not table-driven.
add Use table-driven tests.

what is left is put in the place of what is denied
~ Use table-driven tests: near-identical test functions are not wanted.
add Use table-driven tests, not near-identical test functions.

one thing is unsettled or put off
~ What to change in the goal line is not decided before 0.8 is planned.
add Open: what to change in the goal line; not before 0.8 is planned.

one entry names both sides of what is open
~ Squash or not is undecided.
add Open: squash or not.

one entry names two ports of one server
~ The server talks git on port 8080, and 8081 is pprof.
add The server talks git on port 8080, and 8081 is pprof.

what is not decided is said to be open
~ Not decided yet: whether the mirror leaves out tags.
add Open: whether the mirror leaves out tags.

what is open is said to be not decided
~ Whether the mirror leaves out tags is open.
add Open: whether the mirror leaves out tags is not decided.

a file that one entry names alone is named by its path, as another does
~ conf/local.json is ignored.
~ local.json holds the remote.
add both: conf/local.json is ignored, and holds the remote.

a name that a thing was renamed from goes
~ The tool lives at git.example/tools/sync (renamed once more, from git.example/tools/mirror).
add The tool lives at git.example/tools/sync.

"no more than" is said in another way
~ Readers have no more than the key of the metadata.
add Readers only have the key of the metadata.

an address and a path are put into one line
~ Releases are announced at git.example/tools/sync.
~ Sources stand in src/sync.
add both: Releases are announced at git.example/tools/sync; sources stand in src/sync.

a thing that is renamed, by the old name and the new one, is written by the new one
- The skill is called code-tour; its header is \`Code Tour:\`.
~ The skill code-tour is renamed to repo-tour, its header becomes \`Repo Tour:\`.
supersede The skill is called repo-tour; its header is \`Repo Tour:\`.

a command goes on with the value that changes
- On new machines run \`sync set --remote git:acme/private --local\` once.
~ The remote moved to git:acme/vault.
supersede On new machines run \`sync set --remote git:acme/vault --local\` once.

a file is named by its path first, and by its name then
~ conf/local.json, which holds the remote, is ignored.
add conf/local.json is ignored: local.json holds the remote.
`),
  [
    'a newer statement denies a line of a pinned topic, which no dream can change',
    [write('add', 'Never squash.', { topic: 'git' })],
    withTopics({ ops: ['Always squash.'], git: ['Commit often.'] }, { pinned: 'ops' }),
  ],
  [
    'a newer statement takes the place of every copy of what it denies',
    [write('supersede', 'Never squash.', { replaces: ['l1'] })],
    withTopics({ ops: ['Always squash.'], git: ['Always squash.'] }),
  ],
  [
    'each of two copies of a line is merged by itself',
    [
      write('merge', 'Always squash.', { replaces: ['l1'] }),
      write('merge', 'Always squash, please.', {
        entries: ['e2'],
        topic: 'git',
        lines: [{ text: 'Always squash, please.', entries: ['e2'] }],
        replaces: ['l1'],
      }),
    ],
    withTopics(
      { ops: ['Always squash.'], git: ['Always squash.'] },
      { said: ['Always squash.', 'Always squash, please.'] },
    ),
  ],
  [
    'a habit that two sessions show becomes a line that rests on both',
    [{ ...write('add', 'Asks for a review.'), ...both, lines: [{ text: 'Asks for a review.', ...both }] } as Operation],
    context([
      { text: 'Asks for a review.', strength: 'implied' },
      { text: 'Asks for a review.', strength: 'implied' },
    ]),
  ],
  [
    'a rule that was stated is shown again in other words, and the line says both',
    [
      write(
        'merge',
        "An error has to say what the user can do next, how they get out of it, and not only what broke; 'exited 1' (of the remote helper) is not enough.",
        { replaces: ['l1'] },
      ),
    ],
    context([SHOWN_ERROR], [{ text: SHORT_ERROR }]),
  ],
  [
    'a rule that was stated is shown again in other words, as the refusal words it',
    [write('merge', BOTH_ERRORS, { replaces: ['l1'] })],
    context([SHOWN_ERROR], [{ text: SHORT_ERROR }]),
  ],
  [
    'a description names what another operation of the list writes there',
    [
      write('supersede', '0.7 is out.', {
        replaces: ['l1'],
        description: 'Before a release (0.7, 0.8) or Windows builds',
      }),
      write('add', 'From 0.8 on there are Windows builds.', {
        entries: ['e2'],
        lines: [{ text: 'From 0.8 on there are Windows builds.', entries: ['e2'] }],
      }),
    ],
    context(
      [{ text: '0.7 is out.' }, { text: 'From 0.8 on there are Windows builds.' }],
      [{ text: 'The plan is to tag 0.7 on Friday.' }],
    ),
  ],
  ...[
    'The port of the cache is 4321. 3000 is gone.',
    'The port of the cache is 4321; the old 3000 is closed.',
    'The port of the cache is 4321 from now on (3000 was too busy).',
    'The port of the cache was on 3000 and is 4321 now.',
    'The port of the cache is 4321, we removed 3000.',
    'The port of the cache used to be 3000: it is 4321.',
    'The port of the cache is 4321, no longer 3000.',
    'The port of the cache: 3000 → 4321.',
    'The port of the cache is 4321 now, no longer on 3000.',
    'The port of the cache is 4321, up from 3000.',
    'The port of the cache is 4321, and not 3000 any more.',
    'Der Port of the cache ist 4321, 3000 wurde abgeschaltet.',
    'The port of the cache is 4321: 3000 is replaced by it.',
    'Le port of the cache est 4321, 3000 est supprimé.',
  ].map((text): [string, Operation[], DreamContext] => [
    `an entry tells of the old value that it is over: ${text}`,
    [write('supersede', 'The port of the cache is 4321.', { replaces: ['l1'] })],
    context([{ text }], [{ text: 'The port of the cache is 3000.' }]),
  ]),
  [
    'a description has words to search for, in other letters and of parts',
    [
      write('add', 'Keys are in com.1password; `readers: []` and later `writers: []`.', {
        description: '1Password on GitHub: readers/writers',
      }),
    ],
    context([{ text: 'Keys are in com.1password; `readers: []` and later `writers: []`.' }]),
  ],
  [
    'an entry makes two lines outdated, and its words are kept by their new lines together',
    [
      write('supersede', '', {
        replaces: ['l1', 'l2'],
        lines: [
          { text: 'The default is 3000, because 4000 does not work.', entries: ['e1'] },
          { text: 'Everybody has one default (3000).', entries: ['e1'] },
        ],
      }),
    ],
    context(
      [{ text: 'The default is lowered to 3000, because 4000 does not work.' }],
      [{ text: 'The default is 5000.' }, { text: 'Everybody has one default (5000).' }],
    ),
  ],
  ...(
    [
      ['Small changes go without the full review.', 'Skip the full review for small changes.'],
      ['Small changes skip the full review.', 'No full review for small changes.'],
      ['Do not build the site each time.', 'Ask for a look instead of building the site.'],
      ['The release does not know --data-only.', 'The release lacks --data-only.'],
      ['Notes get no `title:` in their head.', 'Leave `title:` out of notes.'],
      ['No charts of function names.', 'Charts of function names are rejected.'],
      [
        'Names it does not know go to helpers, and there is no fallback to the old way.',
        'Foreign names go to helpers (with an error, no fallback to the old way).',
      ],
      ['Edits that were not agreed on are undone.', 'Edits that nobody agreed on are undone.'],
    ] as const
  ).map(([said, line]): [string, Operation[], DreamContext] => [
    `${JSON.stringify(said)} is put as ${JSON.stringify(line)}`,
    [write('add', line)],
    context([{ text: said }]),
  ]),
])('a list is let through when %s', (_, operations, known) => {
  expect(checkOperations(operations, known)).toEqual([]);
});

describe('whether two texts speak of one thing', () => {
  const HABITS = () =>
    context(
      [{ text: 'Has it explained what became different before it goes in.', strength: 'implied' }],
      [{ text: 'Looks at the patch before it is merged.', sources: SHOWN, seenOnce: '2026-11-01' }],
    );
  const OWNERS = (changes?: string) =>
    context(
      [
        {
          text: "The load tester is Oleg's now: the rate it runs with is for him to say, since Hana went to another team.",
          ...(changes && { changes }),
        },
      ],
      [{ text: "The load tester can go faster than others do, but it is Hana's: she sets the rate it runs with." }],
    );
  const OLEG = () =>
    write('supersede', "The load tester is Oleg's since Hana went to another team: he sets the rate it runs with.", {
      replaces: ['l1'],
    });

  test.each([
    'Looks at the patch, and has it explained, before it is merged.',
    'Looks at the patch before it is merged.',
  ])('a habit that is shown again in other words is asked about once, and joined by a plain answer: %s', (text) => {
    const [asked = '', ...more] = checkOperations([write('merge', text, { replaces: ['l1'] })], HABITS());
    expect(more).toEqual([]);
    expect(asked).toContain('"Looks at the patch before it is merged."');
    expect(asked).toContain('"Has it explained what became different before it goes in."');
    expect(asked).toContain('one and the same thing? If they do, send the operation again with "same": true');
    expect(checkOperations([write('merge', text, { replaces: ['l1'], same: true })], HABITS())).toEqual([]);
  });

  test('a line that an entry names as what it changes is not asked about', () => {
    const changes = "The load tester is Hana's: she sets the rate it runs with.";
    expect(checkOperations([OLEG()], OWNERS(changes))).toEqual([]);
  });

  test('no answer puts two values, or two names, into one line, nor lets one take the place of the other', () => {
    const ports = () =>
      context(
        [{ text: 'The mail relay on the east side listens on port 2525.' }],
        [{ text: 'The chat relay on the west side listens on port 6667.' }],
      );
    const more = { replaces: ['l1'], same: true };
    const both = 'The mail and chat relays listen on port 2525 and 6667.';
    expect(checkOperations([write('merge', both, more)], ports()).join()).toContain('keep them apart');
    const mail = write('supersede', 'The mail relay on the east side listens on port 2525.', more);
    expect(checkOperations([mail], ports()).join()).toContain('what looks alike is not the same');
  });

  test('no answer lets a line with a value go for what has no word in common with it', () => {
    const tea = () => context([{ text: 'Tea is at noon.' }], [{ text: 'The chat relay listens on port 6667.' }]);
    const taken = write('supersede', 'Tea is at noon.', { replaces: ['l1'], same: true });
    expect(checkOperations([taken], tea()).join()).toContain('something else');
  });

  test('what is dropped at a mere answer counts as what nobody can check', () => {
    const entries = Array.from({ length: 5 }, (_, at) => ({
      text: `Somebody ${'abcde'[at]}${'vwxyz'[at]}q waters plants.`,
    }));
    const dropped = entries.map((_, at) => ({ ...drop('duplicate', 'l1', [`e${at + 1}`]), same: true }) as Operation);
    const known = context(entries, [{ text: 'Releases need approvals.' }]);
    expect(
      checkOperations(dropped.slice(0, 4), { ...known, entries: new Map([...known.entries].slice(0, 4)) }),
    ).toEqual([]);
    expect(checkOperations(dropped, known).join()).toContain('nobody can check');
  });
});

test.each([
  ['turns the reading direction', 'Use \u202espaces'],
  ['hides letters', 'Use sp\u200baces'],
  ['hides words in tags', 'Use spaces\u{e0049}\u{e0067}'],
  ['is a rule', '---'],
  ['holds a comment', 'Use <!-- not --> spaces'],
  ['has two lines', 'Use\nspaces'],
  ['holds half a character', 'Use \ud83d spaces'],
])('a line that %s has no shape', (_, text) => {
  expect(proposalSchema.safeParse({ operations: [write('add', text)] }).success).toBe(false);
  expect(proposalSchema.safeParse({ operations: [write('add', 'Use spaces.')] }).success).toBe(true);
});
