import { expect, test } from 'vitest';
import { classify } from '../../../src/agent/offline/statements.ts';

/** 2026-10-07 is a Wednesday. */
const read = (sentence: string) => {
  const statement = classify(sentence, '2026-10-07');
  return statement && `${statement.type}: ${statement.text}`;
};

test.each([
  ['always run make lint before committing', 'feedback: Always run make lint before committing.'],
  ["Don't mock the database in tests.", "feedback: Don't mock the database in tests."],
  ['Stop adding comments to every line', 'feedback: Stop adding comments to every line.'],
  ['Instead of npm, use pnpm.', 'feedback: Instead of npm, use pnpm.'],
  ['from now on use tabs', 'feedback: Use tabs.'],
  ['Please remember to run `make gen` after editing a proto.', 'feedback: Run `make gen` after editing a proto.'],
  ['Never deploy on Friday.', 'feedback: Never deploy on Friday.'],
  ['I prefer tabs over spaces', 'user: The user prefers tabs over spaces.'],
  ["I don't like emojis in commits", "user: The user doesn't like emojis in commits."],
  [
    'I want you to always ask me before you push',
    'user: The user wants the agent to always ask them before it pushes.',
  ],
  [
    "I'm a backend engineer and my team owns billing",
    'user: The user is a backend engineer and their team owns billing.',
  ],
  ['I maintain src/my/tool.ts for my team', 'user: The user maintains src/my/tool.ts for their team.'],
  ['I work on the billing team', 'user: The user works on the billing team.'],
  ['My time zone is Europe/Berlin', "user: The user's time zone is Europe/Berlin."],
  ["I've been writing Go for ten years", 'user: The user has been writing Go for ten years.'],
  ['We decided to use Postgres because of JSONB.', 'project: We decided to use Postgres because of JSONB.'],
  ["Let's go with SQLite because it needs no server", 'project: Decided: SQLite because it needs no server.'],
  ['Remember that the staging database is db-2.', 'project: The staging database is db-2.'],
  ['The beta is due on October 20.', 'project: The beta is due on 2026-10-20.'],
  ['Bugs are tracked in the Linear project INGEST.', 'reference: Bugs are tracked in the Linear project INGEST.'],
  ['Grafana dashboard: https://grafana.example/d/abc', 'reference: Grafana dashboard: https://grafana.example/d/abc'],
  ['Never push when CI is red, unless I say so', 'feedback: Never push when CI is red, unless I say so.'],
  ['Workers must never share a connection.', 'feedback: Workers must never share a connection.'],
  ['Whenever you add a route, add it to the docs.', 'feedback: Whenever you add a route, add it to the docs.'],
  ['When you write a query, name the columns.', 'feedback: When you write a query, name the columns.'],
  ['No global state anywhere, please.', 'feedback: No global state anywhere.'],
  ['Answer in German.', 'feedback: Answer in German.'],
  ['Release notes are in English, always.', 'feedback: Release notes are in English, always.'],
  ['Types are run with `npm run types`.', 'feedback: Types are run with `npm run types`.'],
  ['Topics are called area/name, all lower case.', 'feedback: Topics are called area/name, all lower case.'],
  ['for the API: from now on errors have a code', 'feedback: for the API: from now on errors have a code.'],
  ["I'm a beekeeper from Graz", 'user: The user is a beekeeper from Graz.'],
  ['I water the plants on Sundays', 'user: The user waters the plants on Sundays.'],
  ['I no longer use Docker', 'user: The user no longer uses Docker.'],
  ['I use fish as my shell', 'user: The user uses fish as their shell.'],
  ['Our customers use IE, sadly. We support Safari 15 and up.', null],
  ['We support Safari 15 and up.', 'project: We support Safari 15 and up.'],
  ['We switched to Valkey.', 'project: We switched to Valkey.'],
  ['Choir is on Thursdays at 19:00.', 'project: Choir is on Thursdays at 19:00.'],
  ['The board meets every other Monday.', null],
  ['The mail server runs on port 2525.', 'project: The mail server runs on port 2525.'],
  ['Paolo owns the importer.', 'project: Paolo owns the importer.'],
  ['Weights are stored in grams, not in pounds.', 'project: Weights are stored in grams, not in pounds.'],
  ['The audit begins on March 3.', null],
  ['The audit begins on October 30.', 'project: The audit begins on 2026-10-30.'],
  ['The staging URL is https://staging.example.com', 'reference: The staging URL is https://staging.example.com'],
  ['Scans are in /srv/scans, one folder a year.', 'reference: Scans are in /srv/scans, one folder a year.'],
])('%s', (sentence, expected) => {
  expect(read(sentence)).toBe(expected);
});

test.each([
  "I'm a bit confused",
  'I am looking for an engineer',
  "Don't touch the parser",
  "let's go with option 2",
  'Remember when we broke production?',
  'remember how this went',
  'Read the docs at https://example.com/docs and summarise them',
  'The docs are outdated in the API section',
  'The helper lives in Src/util/foo.ts',
  'Code freeze is soon',
  'release it tomorrow',
  'Mira says to always use tabs',
])('nothing in: %s', (sentence) => {
  expect(read(sentence)).toBeNull();
});

test.each([
  'Bitte nie direkt auf main pushen.',
  'Ne pousse jamais sur main.',
  'Nunca subas nada a main.',
  'Non usare mai la cache globale.',
  '必ずタブで字下げしてください。',
])('what is said in another language is left to real models: %s', (sentence) => {
  expect(read(sentence)).toBeNull();
});
