// What a line may say in other words than the entry that it rests on: of a denial, what binds as much; of a number, its other
// form; of what is over, nothing. Beside each, what looks like it and says something else.

import { expect, test } from 'vitest';
import { checkOperations } from '../../../src/memory/dream/operation-checks.ts';
import type { DreamContext, KnownEntry, KnownLine, Operation } from '../../../src/memory/dream/operations.ts';

const AT = '2026-11-20T09:00:00.000Z';

/** What code says of one line that rests on these entries, and takes the place of a line where one is given. */
function refusal(said: (string | Partial<KnownEntry>)[], text: string, old?: Partial<KnownLine>, kind = 'supersede') {
  const entries = said.map((each, at): [string, KnownEntry] => {
    const given = typeof each === 'string' ? { text: each } : each;
    const named = { id: `e${at}`, session: `s${at}`, at: AT, text: '', quotes: [], by: 'human', isWithdrawn: false };
    return [`e${at}`, { type: 'feedback', strength: 'stated', ...named, ...given }];
  });
  const sources = [{ id: 'e', at: '2026-11-01T09:00:00.000Z', session: 's' }];
  const lines = new Map(old ? [['l1', { text: '', isPersons: false, sources, ...old }]] : []);
  const topic = { name: 'ops', path: 'ops.md', type: 'feedback' as const, isPinned: false, bytes: 100, lines };
  const context: DreamContext = { entries: new Map(entries), topics: new Map([['ops', topic]]) };
  const ids = entries.map(([id]) => id);
  const written = { entries: ids, reason: 'x', topic: 'ops', lines: [{ text, entries: ids }] };
  const dropped = { kind, entries: ids, reason: 'x', because: 'duplicate', of: 'l1' };
  const operation = old ? { kind, replaces: ['l1'], ...written } : { kind: 'add', ...written };
  return checkOperations([(kind === 'drop' ? dropped : operation) as Operation], context).join('\n');
}

const ASKED = 'Priya owns pricing; nothing there is changed without asking her.';
const SMOKE = 'Never deploy without running the smoke test.';

test.each([
  [ASKED, 'Priya owns pricing; ask her before changing anything there.'],
  [SMOKE, 'Run the smoke test before each deploy.'],
  ['Nothing is merged without a review.', 'Everything is reviewed before it is merged.'],
  ['Do not push to main without a green build.', 'Push to main only after a green build.'],
  ['The API does not accept dates without an offset.', 'The API accepts only dates with an offset.'],
  ['No meetings before 10:00.', 'Meetings only from 10:00 on.'],
  ['Do not merge until Kim agrees.', 'Merge only once Kim agrees.'],
  ['Nobody but Kim may deploy.', 'Only Kim may deploy.'],
  ['We decided not to use GraphQL.', 'Decided against GraphQL.'],
  ['The budget is 3,200 euros.', 'Budget: 3200 euros.'],
  ['The limit is 5 %.', 'The limit is 5%.'],
  ['Coverage must be at least 80%.', 'Coverage: at least 80 %.'],
  ['The dashboard is not at old.example any more but at new.example.', 'The dashboard is at new.example.'],
])('what binds or counts as much may be said otherwise: %s', (said, line) => {
  expect(refusal([said], line)).toBe('');
});

test.each([
  [ASKED, 'Priya owns pricing; change what is to be changed there, and ask her.'],
  [SMOKE, 'Deploy before running the smoke test.'],
  ['Never deploy without asking Kim.', 'Ask Kim, and deploy before the release.'],
  ['No meetings before 10:00.', 'Meetings only before 10:00.'],
  ['Do not merge until Kim agrees.', 'Merge only until Kim agrees.'],
  ['Nobody but Kim may deploy.', 'Kim may deploy.'],
  ['Do not push to main without a green build.', 'Push to main only after a red build.'],
  [SMOKE, 'Run the load test before each deploy.'],
  ['Never log bodies, and nothing is deployed without Kim.', 'Deploy only with Kim, and log bodies.'],
  ['We decided not to use GraphQL.', 'Decided to use GraphQL.'],
  ['Do not deploy without tests.', 'Tests run only after a deploy.'],
  ['Do not deploy without tests.', 'Deploy first, tests only later.'],
  ['No deploys without a ticket.', 'Deploys only, a ticket is optional.'],
])('what binds less or the other way round is refused: %s', (said, line) => {
  expect(refusal([said], line)).toContain('keep that word');
});

test.each([
  ['The budget is 3,200 euros.', 'Budget: 32 euros.'],
  ['The limit is 5 %.', 'The limit is 50%.'],
  ['Mount 3.200 boxes.', 'Mount 3200 boxes.'],
])('a number of other digits, or of a point that may be either, is another: %s', (said, line) => {
  expect(refusal([said], line)).toContain('rests on says');
});

test('the number of a pull request stands beside a count, and not beside another pull request', () => {
  const kept = 'Idempotency keys are kept for 72 hours.';
  const added = 'PR #101 adds idempotency keys.';
  expect(refusal([kept, added], 'Idempotency keys (PR #101) are kept for 72 hours.')).toBe('');
  const keys = ['PR #101 adds idempotency keys.', 'PR 94 adds idempotency keys.'];
  expect(refusal(keys, 'PR #101 and PR 94 add idempotency keys.')).toContain('keep them apart');
});

const STAGES = { text: 'There are two environments: stage and prod; stage is reset each Sunday.' };
const WITHOUT = 'There are two environments: stage and prod.';

test('of what is over a line need not say that it is, where it says no longer that it is so', () => {
  expect(refusal(['The environment stage is no longer reset.'], WITHOUT, STAGES)).toBe('');
  expect(refusal(["Stage isn't reset any more."], WITHOUT, STAGES)).toBe('');
});

test.each([
  ['The environment stage is no longer reset.', STAGES.text.replace('Sunday', 'Sunday now')],
  ['Stage is no longer reset: never delete data there.', WITHOUT],
  ['Never reset stage.', WITHOUT],
])('what is forbidden, and what still stands there, is no such thing: %s', (said, line) => {
  expect(refusal([said], line, STAGES)).toContain('keep that word');
});

test('a habit is joined by what shows it in the same words but for who wants it, and by no other', () => {
  const shown = { text: 'List endpoints as a table.', seenOnce: '2026-11-01' as const };
  const sources = [{ id: 'e', at: AT, session: 's', strength: 'implied' as const }];
  const again = (text: string) => [{ text, strength: 'implied' as const }];
  const same = again('Wants endpoints as a table.');
  expect(refusal(same, shown.text, { ...shown, sources }, 'merge')).toBe('');
  const other = again('Wants columns as a table.');
  expect(refusal(other, shown.text, { ...shown, sources }, 'merge')).not.toBe('');
});

test.each([
  ['Deploys happen on Mondays.', 'Monday: deploys.'],
  ['The user works Monday to Friday.', 'Works on weekdays.'],
  ['The release is on 2026-11-02, a Monday.', 'Release: 2026-11-02.'],
  ['The planning moved from Wednesdays to Thursdays.', 'The planning is on Thursdays.'],
])('a day of the week stays, in any number, among weekdays or as a date: %s', (said, line) => {
  expect(refusal([said], line)).toBe('');
});

test('a line of several days keeps those that the entry does not change', () => {
  const line = 'Training: intervals on Tuesdays, easy 6 km on Thursdays, long run on Saturdays.';
  const old = { text: line.replace('Saturdays', 'Sundays') };
  expect(refusal(['Long runs are on Saturdays now.'], line, old)).toBe('');
});

test('another day of the week is invented, one that is left out is lost, and none is a duplicate of another', () => {
  const [mondays, tuesdays] = ['Deploys happen on Mondays.', 'Deploys happen on Tuesdays.'];
  expect(refusal([mondays], tuesdays)).toContain('rests on says "Tuesday"');
  expect(refusal([mondays], 'Deploys happen weekly.')).toContain('its lines lose "Monday"');
  expect(refusal([mondays], tuesdays, { text: tuesdays }, 'merge')).toContain('"Monday"');
  const entry: Partial<KnownEntry> = { text: mondays };
  expect(refusal([entry], '', { text: tuesdays }, 'drop')).toContain('"Monday" is not said there');
});

test('what bounds a line that goes is asked about, however short it is', () => {
  const old = { text: 'Kim works from Kassel, mornings only.' };
  const changes = 'Kim works from Kassel.';
  const said = [{ text: 'Kim works from Berlin now.', changes }];
  expect(refusal(said, 'Kim works from Berlin.', old)).toContain('"mornings only", too');
  expect(refusal(said, 'Kim works from Berlin, mornings only.', old)).toBe('');
});
