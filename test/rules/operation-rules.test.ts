// What code refuses of a dream's operations, and what it lets through: one table, each case one that a model proposed.

import { expect, test } from 'vitest';
import { checkOperations, proposalSchema } from '../../src/memory/text/operations.ts';
import { saidDescription } from '../../src/rules/description-rules.ts';
import type {
  DreamContext,
  Drop,
  KnownEntry,
  KnownLine,
  KnownTopic,
  Operation,
  Put,
} from '../../src/rules/dream-context.ts';

const DAY = '2026-11-20T09:00:00.000Z';
const KNOWN: Record<string, object> = {
  earlier: { at: '2026-11-01T09:00:00.000Z' },
  later: { at: '2026-11-21T09:00:00.000Z' },
  implied: { strength: 'implied' },
  tool: { by: 'tool' },
  remembered: { session: '' },
  "person's": { isPersons: true },
  "program's": { isPrograms: true },
  once: { seenOnce: '2026-11-01', sources: [{ id: 'e_old', at: DAY, session: 's_old', strength: 'implied' }] },
  newer: { sources: [{ id: 'e_old', at: '2026-11-21T09:00:00.000Z', session: 's_old' }] },
  again: { again: 'l1' },
  sam: { person: 'sam' },
  "sam's": { sources: [{ id: 'e_old', at: DAY, session: 's_old', person: 'sam', text: 'sam wants: Use npm.' }] },
};

interface Case {
  operations: Operation[];
  context: DreamContext;
  reason: string;
}

/**
 * A case as text: its name; `=` a line that stands, `-` one that goes, of the topic `ops`; `~` an entry of a session of its
 * own, `~>` what that says it changes; `described` what the topic is said to be about; `put` a line that cites all entries of which none was named yet; `over`; `drop` with its reason; `type` of the topic; `!` what the refusal says.
 */
function readCase(text: string): [string, Case] {
  const [name = '', ...rows] = text.trim().split('\n');
  const [entries, lines]: [KnownEntry[], KnownLine[]] = [[], []];
  const [operations, out, over]: [Operation[], string[], string[]] = [[], [], []];
  const topic: KnownTopic = {
    name: 'ops',
    path: 'ops.md',
    type: 'project',
    isPinned: false,
    bytes: 100,
    lines: new Map(),
  };
  const put: Put = { kind: 'put', topic: 'ops', out, over, in: [], entries: [], reason: 'x' };
  let [reason, cited] = ['', 0];
  for (const row of rows) {
    const [, mark = '', tags = '', said = ''] = /^(\S+) (?:\(((?:[a-z']+(?:, )?)+)\) )?(.*)$/.exec(row) ?? [];
    const isTagged = tags.split(', ').every((tag) => tag in KNOWN);
    const given = Object.assign({ text: isTagged ? said : row.slice(mark.length + 1) });
    if (isTagged) for (const tag of tags.split(', ')) Object.assign(given, KNOWN[tag]);
    if (mark === '=' || mark === '-') {
      lines.push({ isPersons: false, sources: [{ id: 'e_old', at: DAY, session: 's_old' }], ...given });
      if (mark === '-') out.push(`l${lines.length}`);
    } else if (mark === '~') {
      const id = `e${entries.length + 1}`;
      const by = { id, session: `s${id}`, at: DAY, by: 'human', quotes: [] };
      entries.push({ type: 'project', strength: 'stated', ...by, ...given });
    } else if (mark === '~>') (entries.at(-1) as KnownEntry).changes = row.slice(3);
    else if (mark === 'put') {
      put.in?.push({ text: row.slice(4), entries: entries.slice(cited).map(({ id }) => id) });
      cited = entries.length;
    } else if (mark === 'over') over.push(row.slice(5));
    else if (mark === 'drop') {
      const [because, of] = said.split(' ') as [Drop['because'], string?];
      operations.push({ kind: 'drop', entries: entries.slice(cited).map(({ id }) => id), because, of, reason: 'x' });
      cited = entries.length;
    } else if (mark === 'type') topic.type = said as 'user';
    else if (mark === 'description') put.description = row.slice(12);
    else if (mark === 'described') topic.description = row.slice(10);
    else if (mark === 'pinned') topic.isPinned = true;
    else if (mark === '!') reason = row.slice(2);
  }
  put.entries = entries.slice(cited).map(({ id }) => id);
  topic.lines = new Map(lines.map((line, at) => [`l${at + 1}`, line]));
  if (put.in?.length || out.length > 0) operations.push(put);
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  return [name, { operations, context: { entries: known, topics: new Map([['ops', topic]]) }, reason }];
}

const casesIn = (text: string) => text.trim().split('\n\n').map(readCase);
const said = ({ operations, context }: Case) => checkOperations(operations, context).join('\n');

test.each(
  casesIn(`
an entry is in no operation
~ Use pnpm.
put Use pnpm.
~ Listen on port 8080.
drop duplicate l9
! neither a line

what is left of a line names the other of two paths, of which neither gave way
- Never edit \`src/auth.ts\` by hand.
~ \`src/auth.ts\` is generated, \`src/mail.ts\` is not.
put \`src/auth.ts\` is generated, \`src/mail.ts\` is not.
put Never edit \`src/mail.ts\` by hand.
over src/auth.ts
! cites no entry

a path that came is put back as the one that gave way
- Run \`src/mail.ts\` first.
~ \`src/auth.ts\` is replaced by \`src/mail.ts\`.
put \`src/auth.ts\` is replaced by \`src/mail.ts\`.
put Run \`src/auth.ts\` first.
over src/mail.ts
! cites no entry

a person's line goes
- (person's) Use npm.
~ Use pnpm.
put Use pnpm.
! was written by a person

a program's line goes
- (program's) Use npm.
~ Use pnpm.
put Use pnpm.
! was written by a program

a pinned topic is written to
pinned x
~ Use pnpm.
put Use pnpm.
! pinned

two people's words join in one line
~ Use pnpm.
~ (sam) sam wants: Use pnpm.
put sam wants: Use pnpm.
! words of several people

what another person wants loses their name
~ (sam) sam wants: Use pnpm.
put Use pnpm.
! does not say that sam wants it

what another person said is a rule
type feedback
~ (sam) Use pnpm.
put Use pnpm.
! not said by the user

a rule goes by what another person said
type feedback
- Use npm.
~ (sam) We use pnpm, not npm.
! of another person

what another person wants goes by the user's word
- (sam's) sam wants: Use npm.
~ Use pnpm, not npm.
put Use pnpm, not npm.
! of another person

the user's word is dropped for what another person wants
= (sam's) sam wants: Use npm.
~ Use npm.
drop duplicate l1
! of another person

a line that cites nothing is no rest of one that goes
- Use npm in the api.
~ Use pnpm in the api.
put Use pnpm in the api.
put Use yarn in the web.
! cites no entry

a path that no entry names beside the old one is no rename
- Check with \`go build -X a.io/x/sync/cmd/version\`.
~ The module path is \`a.io/x/git-sync\` now.
put The module path is \`a.io/x/git-sync\` now.
put Check with \`go build -X a.io/x/git-sync/cmd/version\`.
! cites no entry

what is said beside a habit that is shown again is none of its occasions
- (once) Run the linter before a commit (asked for the menu).
~ (implied) Run the linter before a commit (asked for \`api\`).
~ (implied) Deploys go out through \`ship.sh\`.
put Run the linter before a commit (asked for the menu).
! its lines lose "ship.sh"

a value is only a part of the one that was said
~ It listens on 8080.
put It listens on 80.
! "80"

another day of the week is invented
~ Deploys happen on Mondays.
put Deploys happen on Tuesdays.
! "Tuesday"

a value of an entry is lost
~ Listen on port 8080 always.
put Listen on the port always.
! lose "8080"

a clause comes from nowhere
~ Use pnpm for installs.
put Use pnpm for installs. Deploy production every friday evening.
! nothing that

a line that goes loses a value
- The limit is 3000, and the probe is merged as #96.
~ The limit is 4321 now, no longer 3000.
put The limit is 4321.
! "#96"

a value goes with a line that is only taken out
- The chat relay listens on port 6667.
~ There is no chat relay any more.
! "6667"

an older statement takes the place of a newer one
- (newer) Use pnpm.
~ Use npm.
put Use npm.
! which is newer

something else takes a line's place
- Releases need two approvals.
~ Tea is served in the kitchen at noon.
put Tea is served in the kitchen at noon.
! something else

what one session only showed becomes a part of a rule
- Show the diff before a commit.
~ (implied) Wants ways compared as a table.
put Show the diff before a commit; wants ways compared as a table.
! into a line of its own

a contradiction is put beside what it contradicts
= Always squash commits.
~ Never squash commits.
put Never squash commits.
! take that out

two ports that look alike share a line
- The staging database listens on port 8972.
~ The production database listens on port 5518.
put The production database listens on port 5518, and The staging database listens on port 8972.
! keep them apart

two ports of which the entry says more share a line
- The staging database listens on port 8972.
~ Port of the production database: 4000 until November, now 5518.
put The production database listens on port 5518, and The staging database listens on port 8972.
! keep them apart

a habit of one thing is taken for that of another
- (once) Asks for a second look before the press is pushed.
~ (implied) Asks for a second look before the mill is pushed.
put Asks for a second look before the mill is pushed.
! a line of its own

one request becomes a rule
~ Number the points of the release notes.
put Always number the points of the release notes.
! keep the scope of what was asked

a line says the opposite of its entry
~ Never push to main.
put Always push to main.
! says the opposite

a line is said again
= Use npm.
~ Use npm.
put Use npm.
! stands there already

the newer of one night gives way to the older
~ (earlier) Use yarn for installs.
put Use yarn for installs.
~ Use pnpm for installs.
! gives way to nothing

what a tool said becomes a rule
type feedback
~ (tool) Tests run on Linux.
put Tests run on Linux.
! not said by the user

what a tool said speaks to an agent
~ (tool) Always push to main.
put Always push to main.
! speaks to an agent ("Always"): say what is so

the line that a description promises goes, and the description stays
described When tests fail: GPG signing
- When tests fail on signing, turn GPG off.
= The bot merges on green.
~ Tests run in a container.
put Tests run in a container.
over turn GPG off
! is about what goes

a duplicate says another value
= Listen on port 8080.
~ Listen on port 80.
drop duplicate l1
! "80" is not said there

a duplicate denies what is said
= Always squash commits.
~ Never squash commits.
drop duplicate l1
! denies

what is newer gives way
= Use pnpm.
~ (later) Use npm.
drop gave-way l1
! is older

what a person asked to remember is dropped
~ (remembered) The harbour master has the keys.
drop ephemeral
! asked to remember

most of a night is dropped at the model's word
~ Tea.
drop ephemeral
~ Milk.
drop unsupported
~ Bread.
drop in-repository
~ Salt.
drop ephemeral
~ Rice.
drop ephemeral
! too many entries

duplicates in whose words nothing is said are too many
= Releases need approvals.
~ Somebody waters plants.
drop duplicate l1
~ Somebody cleans windows.
drop duplicate l1
~ Somebody bakes bread.
drop duplicate l1
~ Somebody feeds cats.
drop duplicate l1
~ Somebody reads books.
drop duplicate l1
! too many entries
`),
)('refused: %s', (_, each) => {
  expect(said(each)).toContain(each.reason);
});

test.each(
  casesIn(`
what is left of a line of which a clause changed cites nothing
- A rename touches README.md and CONTRIBUTING.md; the module path orchard/old is left as it is.
~ The module path is orchard/new.
~> the module path orchard/old is left as it is
put The module path is orchard/new.
put A rename touches README.md and CONTRIBUTING.md.

two sessions ask the same, which makes a rule
~ Number the points of the release notes.
~ Number the points of the release notes of a fix, too.
put Always number the points of the release notes, of a fix, too.

a newer statement takes the place of an older one, whose value it names
- Use \`npm\` for the press.
~ Use \`pnpm\` instead of \`npm\` for the press.
put Use \`pnpm\` for the press.

or whose value what it changes names
- The port of the cache is 3000.
~ The port of the cache is 4321.
~> The port of the cache is 3000.
put The port of the cache is 4321.

what else holds stays in a line of its own
- The limit is 3000, and the probe is merged as #96.
~ The limit is 4321 now, no longer 3000.
put The limit is 4321.
over 3000
put The probe is merged as #96.

a line is taken back
- Use npm for installs.
~ Nobody has to use npm for installs.

an older statement adds to a newer line
- (newer) Use pnpm for installs.
~ Use pnpm for installs since npm is slow.
put Use pnpm for installs, since npm is slow.

a habit is shown again by another session
- (once) Reads the diff of the press before a commit.
~ (implied) Wants to see the diff before the press is committed.
put Reads the diff of the press before a commit.

or in words of its own, where it was seen to say the line again
- (once) Looks at the patch of the press before it is merged.
~ (implied, again) Has it explained what became different.
put Looks at the patch of the press before it is merged.

a rule that was stated is shown again in other words
- Show the diff before a commit.
~ (implied) Looks at patches first.
put Show the diff before a commit.

both sides are written down as open
- The deadline is 2026-12-04.
~ The deadline is 2026-12-11.
put Open: the deadline is 2026-12-04 or 2026-12-11.

the older of one night gives way to the newer
- Use npm for installs.
~ Use pnpm for installs.
put Use pnpm for installs.
~ (earlier) Use yarn for installs.

a date that was past when it was said is left out
~ As of 2026-07-01 the press leaks at the valve.
put The press leaks at the valve.

a file is named by its path first, and by its name then
~ conf/local.json, which holds the remote, is ignored.
put conf/local.json is ignored: local.json holds the remote.

a number is written otherwise
~ The budget is 3,200 euros.
put Budget: 3200 euros.

a description has any words to search for
~ Keys are in com.1password for readers and writers.
put Keys are in com.1password for readers and writers.
description 1Password on GitHub: readers/writers

a denial in other words
~ Do not build the site each time.
put Ask for a look instead of building the site each time.

what was seen to say a line again goes into it, whatever else it names
- (once) \`cd src && go build\` fails from below: use an absolute path.
~ (implied, again) \`cd src: no such file\` comes from below: use an absolute path.
put From below \`cd src && go build\` fails (\`cd src: no such file\`): use an absolute path.

a duplicate names its line
= Use pnpm.
~ Use pnpm.
drop duplicate l1

a late old statement gives way to a line
= Use pnpm.
~ (earlier) Use npm.
drop gave-way l1

a path that an entry renames is renamed in what is left of a line, and in a command of it
- Check with \`go build -X a.io/x/sync/cmd/version=test ./cmd\`; the \`a.io/x/sync/*\` filter misses the bare path.
~ The module path is \`a.io/x/git-sync\`: references to \`a.io/x/sync\` are replaced.
put The module path is \`a.io/x/git-sync\`: references to \`a.io/x/sync\` are replaced.
put Check with \`go build -X a.io/x/git-sync/cmd/version=test ./cmd\`.
over a.io/x/sync/*
over go build -X a.io/x/sync/cmd/version=test ./cmd

and one of which an entry says what it says of the old one
- Check with \`go build a.io/x/sync/cmd\`.
~ The module path is \`a.io/x/git-sync\`.
~> The module path is \`a.io/x/sync\`
put The module path is \`a.io/x/git-sync\`.
put Check with \`go build a.io/x/git-sync/cmd\`.
over go build a.io/x/sync/cmd

where a line cites the entry that renames a path
- Check with \`go build -X a.io/x/sync/cmd/version=test ./cmd\`.
~ The module path is \`a.io/x/git-sync\`: references to \`a.io/x/sync\` are replaced.
put References to \`a.io/x/sync\` are replaced: check with \`go build -X a.io/x/git-sync/cmd/version=test ./cmd\`; module path \`a.io/x/git-sync\`.
over go build -X a.io/x/sync/cmd/version=test ./cmd

what is left of a command in a line
- The plugin is linked by \`ln -s api ~/lib/api\` on this machine.
~ The api is a package, nothing is linked by \`ln -s api\`.
put The api is a package, nothing is linked by \`ln -s api\`.
put The plugin is \`~/lib/api\` on this machine.
over ln -s api ~/lib/api

what is left of a line that was seen once, beside one that was said and goes
- (once) The build skips flags it does not know, and tests run on \`a/b.ts\`.
- The module is named sync.
~ The module is named git-sync, no longer sync, and \`a/b.ts\` is gone.
put The module is named git-sync, no longer sync, and \`a/b.ts\` is gone.
put The build skips flags it does not know.

a description names a file that lines spell
described Before changing the guide
~ (earlier) The contributing md names the first steps.
put The contributing md names the first steps.
description Before changing CONTRIBUTING.md

what implied entries do not show is dropped without a limit
~ (implied) Tea.
drop unsupported
~ (implied) Milk.
drop unsupported
~ (implied) Bread.
drop unsupported
~ (implied) Salt.
drop unsupported
~ (implied) Rice.
drop unsupported
`),
)('let through: %s', (_, each) => {
  expect(said(each)).toBe('');
});

const put = (entry: string, text: string, more: Partial<Put> = {}): Put => ({
  ...{ kind: 'put', topic: 'ops', in: [{ text, entries: [entry] }], reason: 'x', ...more },
});
const two = () => readCase('two\n= Use npm.\n~ Use pnpm.\n~ Listen on port 8080.')[1].context;

test('each entry is known, and in one operation, or in one for each topic of which it changes lines', () => {
  const both = put('e1', 'Use pnpm.', { entries: ['e2', 'e3'] });
  expect(checkOperations([put('e1', 'Use pnpm.')], two())).toEqual(['These entries are in no operation: e2.']);
  const all = checkOperations([both, put('e2', 'Listen on port 8080.')], two()).join('\n');
  expect(all).toContain('no such entry: e3');
  expect(all).toContain('e2 is in more than one operation: the put into ops has it, too');
  const unknown = checkOperations([put('e9', 'Deploy on port 9.'), put('e1', 'Use pnpm.')], two());
  expect(unknown.filter((fault) => fault.startsWith('operations[0]'))).toEqual([
    'operations[0] (put): there is no such entry: e9.',
  ]);
  const context = two();
  context.topics.set('copy', {
    ...(context.topics.get('ops') as KnownTopic),
    ...{ name: 'copy', path: 'copy.md', lines: new Map([['l2', { text: 'npm is in the image.', isPersons: false }]]) },
  });
  const changes = [put('e1', 'Use pnpm, not npm.', { out: ['l1'] }), put('e2', 'Listen on port 8080.')];
  const inCopy = (more: Partial<Put>) => checkOperations([...changes, put('e1', 'Use pnpm.', more)], context).join();
  expect(inCopy({ topic: 'copy', out: ['l2'], over: ['npm'] })).not.toContain('more than one');
  expect(inCopy({ topic: 'ops', out: ['l2'] })).toContain('e1 is in more than one operation');
  expect(inCopy({ topic: 'copy', out: ['l1'] })).toContain('e1 is in more than one operation');
});

test('a line may say that a person asked what they asked, also where they said more', () => {
  const context = two();
  const entry = context.entries.get('e1') as KnownEntry;
  Object.assign(entry, {
    text: 'Do not reach for Vale anymore.',
    quotes: ['yes', 'Note in memory not to reach for Vale anymore?', 'why are you still using vale?'],
    speakers: ['human', 'assistant', 'human'],
  });
  const faults = (text: string) =>
    checkOperations([put('e1', text), put('e2', 'Listen on port 8080.')], context).join();
  expect(faults('Do not reach for Vale anymore: the user asked why it was still used.')).toBe('');
  expect(faults('Do not reach for Vale anymore: the user asked what it costs each month.')).toContain('word it as');
});

test('what a line says that nobody said, and what one session only showed of it, is told together', () => {
  const context = two();
  Object.assign(context.entries.get('e2') as KnownEntry, { strength: 'implied', text: 'Probes listen on port 8080.' });
  const line = 'Use pnpm; probes listen on port 8080; deploys run every friday evening.';
  const told = checkOperations([{ ...put('e1', line), in: [{ text: line, entries: ['e1', 'e2'] }] }], context).join();
  expect(told).toContain('rests on says "deploys run every friday evening."');
  expect(told).toContain('which was said, one session only showed "Use pnpm; probes listen on port 8080;"');
});

test('a line goes once, and from every topic where it is no longer true', () => {
  const context = two();
  const [ops] = context.topics.values();
  context.topics.set('copy', { ...(ops as KnownTopic), name: 'copy', path: 'copy.md' });
  const out = { out: ['l1'] };
  const twice = [put('e1', 'Use pnpm, not npm.', out), put('e2', 'Listen on port 8080.', { ...out, topic: 'copy' })];
  expect(checkOperations(twice, context).join()).toContain('by another operation already');
});

test('a topic that would outgrow its file is refused in words, whatever else the operations make smaller', () => {
  const full = two();
  Object.assign(full.topics.get('ops') as object, { bytes: 102_395 });
  const port = put('e2', 'Listen on port 8080.', { topic: 'ports', description: 'Ports', type: 'project' });
  expect(checkOperations([put('e1', 'Use pnpm.'), port], full).join()).toContain('a topic may have 102400');
  expect(checkOperations([put('e1', 'Use pnpm', { out: ['l1'] }), port], full)).toEqual([]);
});

test('operations that begin a topic say what it is, agree on its type, and name it as a new one', () => {
  const begin = (topic: string, more: Partial<Put> = {}) => [
    put('e1', 'Use pnpm.', { topic, ...more }),
    put('e2', 'Listen on port 8080.', { topic, description: 'New', type: 'project' }),
  ];
  expect(checkOperations(begin('new'), two()).join()).toContain('give its description and type');
  expect(checkOperations(begin('new', { description: 'New', type: 'user' }), two()).join()).toContain('several types');
  expect(checkOperations(begin('New Topic', { description: 'New', type: 'project' }), two()).join()).toContain('kebab');
  expect(checkOperations(begin('OPS', { description: 'New', type: 'project' }), two()).join()).toContain(
    'ops.md already',
  );
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
  expect(proposalSchema.safeParse({ operations: [put('e1', text)] }).success).toBe(false);
  expect(proposalSchema.safeParse({ operations: [put('e1', 'Use spaces.')] }).success).toBe(true);
});

test.each([
  ['Meetings, at 16:00, short', 'Meetings, at, short'],
  ['Pushes: `--force`, meetings', 'Pushes:, meetings'],
  ['Meetings: rooms and times', 'Meetings: rooms and times'],
  ['16:00', 'Meetings are short.'],
])('of the description %j is kept what lines say, or else a line', (description, kept) => {
  const put: Put = { kind: 'put', topic: 'ops', in: [{ text: 'Meetings are short.', entries: [] }], reason: 'x' };
  expect(saidDescription({ ...put, description }, [put], { entries: new Map(), topics: new Map() })).toBe(kept);
});
