// A list of operations of which code refuses some: the others stand, only what was refused is asked for again, and what is
// left at the end waits for another night.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { longUnplaced } from '../../../src/memory/dream/habits.ts';
import { explainLines, toldOf } from '../../../src/memory/dream/provenance.ts';
import { listVersions } from '../../../src/memory/history/versions.ts';
import { entryRow, supportsOf } from '../../../src/memory/ledger/entries.ts';
import { lineId } from '../../../src/memory/text/topic.ts';
import { nights, put, told } from '../../support/answered-nights.ts';

const A = 'The harvest runs on crates.';
const B = 'The press runs on barrels.';

test('where one of two is refused, the other stands, the refused keeps its number, and only it is sent again', async () => {
  const { night, file } = await nights();
  const { report, ids, requests } = await night([A, B], ([a, b], call) =>
    call === 1
      ? [put(a, A), put(b, 'The press runs on port 9000.')]
      : [put(b, B, { type: undefined, description: undefined })],
  );
  expect(report).toMatchObject({ outcome: 'dreamed', left: [] });
  expect(requests).toHaveLength(2);
  const said = told(requests[1]);
  expect(said).toContain('These stand, and are not to be sent again: operations 0.');
  expect(said).toContain('operations[1] (put): nothing that');
  expect(said).toContain(`Send only operations for what is left: ${ids[1]}.`);
  expect(said).not.toContain('is_error\\":true');
  expect(file('facts.md')).toContain(`- ${A}\n- ${B}\n`);
});

test('the lines of one put stand or fall together, and all of it is sent again', async () => {
  const { night, file } = await nights();
  const linesOf = (a?: string, b?: string, end = '.') => ({
    in: [
      { text: A, entries: [a] },
      { text: `The press runs on barrels${end}`, entries: [b] },
    ],
  });
  const { report, ids, requests } = await night([A, B], ([a, b], call) => [
    put(a, '', linesOf(a, b, call === 1 ? ' 9000.' : '.')),
  ]);
  expect(report).toMatchObject({ outcome: 'dreamed', left: [] });
  expect(told(requests[1])).toContain(`Send only operations for what is left: ${ids.join(', ')}.`);
  expect(file('facts.md').match(/^- /gm)).toHaveLength(2);
});

test('what an operation that is refused says of a new topic holds for those beside it', async () => {
  const { night, file } = await nights();
  const bare = { type: undefined, description: undefined };
  const { report } = await night([A, B], ([a, b], call) =>
    call === 1 ? [put(a, 'The harvest runs on port 9000.'), put(b, B, bare)] : null,
  );
  expect(report).toMatchObject({ outcome: 'dreamed', operations: [{ entries: [expect.any(String)] }] });
  expect(file('facts.md')).toContain('description: Facts');
  expect(file('facts.md')).toContain(`- ${B}\n`);
});

test('an operation stands that only one which is refused stood in the way of, and a line that it drops for stays', async () => {
  const { night, file } = await nights();
  await night([A], ([a]) => [put(a, A)]);
  const wrong = { out: [lineId(A)] };
  const { report, ids, requests } = await night([`${A.slice(0, -1)} of wood.`, A], ([b, c], call) =>
    call === 1
      ? [
          put(b, `${A.slice(0, -1)} of wood on port 9000.`, wrong),
          { kind: 'drop', entries: [c], because: 'duplicate', of: lineId(A), reason: 'It stands there.' },
        ]
      : [put(b, `${A.slice(0, -1)} of wood.`)],
  );
  expect(report).toMatchObject({ outcome: 'dreamed', left: [] });
  const said = told(requests[1]);
  expect(said).toContain('These stand, and are not to be sent again: operations 1.');
  expect(said).toContain(`Send only operations for what is left: ${ids[0]}.`);
  expect(said).not.toContain('is taken out');
  expect(file('facts.md')).toContain(`- ${A}\n- ${A.slice(0, -1)} of wood.\n`);
});

test('of two operations that take out one line the second stands where the first is refused, and is refused where not', async () => {
  const { night, file } = await nights();
  await night([A], ([a]) => [put(a, A)]);
  const takes = { out: [lineId(A)] };
  const { requests } = await night(['The harvest runs on 12 crates.', 'The harvest runs on sacks.'], ([b, c], call) =>
    call === 1
      ? [put(b, 'The harvest runs on 15 crates.', takes), put(c, 'The harvest runs on sacks.', takes)]
      : call === 2
        ? [put(b, 'The harvest runs on 12 crates.', takes)]
        : null,
  );
  expect(told(requests[1])).toContain('These stand, and are not to be sent again: operations 1.');
  expect(told(requests[2])).toContain('is taken out by another operation already');
  expect(file('facts.md')).not.toContain(A);
});

test('a description that is too long is shortened where a clause ends, and holds nothing back', async () => {
  const { night, file } = await nights();
  const description =
    'Before planning the harvest: crates and barrels, who carries them to the press; which fields come first, and what the press needs before it runs';
  const short =
    'Before planning the harvest: crates and barrels, who carries them to the press; which fields come first';
  const { report, requests, ids } = await night([A, B], ([a, b], call) =>
    call === 1
      ? [put(a, A, { description }), put(b, 'The press runs on port 9000.')]
      : [put(b, B, { topic: 'presses', description: 'x'.repeat(150) })],
  );
  expect(report).toMatchObject({ outcome: 'dreamed', left: [] });
  expect(requests).toHaveLength(2);
  const said = told(requests[1]);
  expect(said).toContain(`operations[0]: its description had ${description.length} characters and was shortened to`);
  expect(said).toContain(short);
  expect(said).toContain(`Send only operations for what is left: ${ids[1]}.`);
  expect(file('facts.md')).toContain(`description: "${short}"\n`);
  expect(file('facts.md')).not.toContain('what the press needs');
  expect(file('presses.md')).toContain(`${'x'.repeat(120)}\n`);
  expect(file('presses.md')).not.toContain('x'.repeat(121));
});

test('of a line that goes, what the entry does not change is asked for alone, with a line that would do', async () => {
  const { night, file } = await nights();
  const old = 'The press has a limit of 3000, and the valve was put in by #96.';
  await night([old], ([a]) => [put(a, old)]);
  const text = 'The press has a limit of 4321 now.';
  const { report, requests } = await night([text], ([a], call) => {
    const lines = [{ text: 'The press has a limit of 4321.', entries: [a] }];
    const kept = call === 1 ? [] : [{ text: 'The valve was put in by #96.', entries: [a] }];
    return [put(a, '', { out: [lineId(old)], over: ['3000'], in: [...lines, ...kept] })];
  });
  expect(report).toMatchObject({ outcome: 'dreamed', left: [] });
  expect(told(requests[1])).toContain('says \\"#96\\", and no line would any more');
  expect(file('facts.md')).toContain('- The press has a limit of 4321.\n- The valve was put in by #96.\n');
  expect(file('facts.md')).not.toContain('3000');
});

describe('what a line that goes says besides', () => {
  const old = 'The press has a limit of 3000; bisected by Kim, at 4000 the valve of #96 still leaks.';
  const text = 'The press has a limit of 5000 again: it was the cellar.';
  const changed = (id: string | undefined, more: object = {}) => put(id, text, { out: [lineId(old)], ...more });
  const over = ['a limit of 3000, bisected by Kim', 'at 4000 the valve of #96 still leaks'];

  test('is asked about, and goes in one more request when it is no longer true, as the report and explain tell', async () => {
    const { night, file, dir, store } = await nights();
    await night([old], ([a]) => [put(a, old)]);
    const { report, ids, requests } = await night([text], ([a], call) => [changed(a, call === 1 ? {} : { over })]);
    expect(report).toMatchObject({ outcome: 'dreamed', left: [] });
    expect(requests).toHaveLength(2);
    expect(told(requests[1])).toContain('keep it in a line, or where it is no longer true, name it in');
    expect(file('facts.md')).toContain(`- ${text}\n`);
    expect(file('facts.md')).not.toContain('#96');
    const path = join(dir, '.nocturne/dreams/2026-11-22');
    expect(readFileSync(`${path}.md`, 'utf8')).toContain(
      `  - was: ${old}\n  - no longer true: ${over[0]}\n  - no longer true: ${over[1]}\n`,
    );
    expect(readFileSync(`${path}.md`, 'utf8')).toContain(
      '\nRefused by code at first, and mended then:\n- operations[0]',
    );
    const rows = JSON.parse(readFileSync(`${path}.json`, 'utf8'));
    expect(rows).toMatchObject([{ op: 'change', over }]);
    expect(toldOf(store.dir, ids[0] ?? '')).toMatchObject([{ op: 'change', over }]);
  });

  test('is not asked about when it is named as over at once', async () => {
    const { night, file } = await nights();
    await night([old], ([a]) => [put(a, old)]);
    const { report, requests } = await night([text], ([a]) => [
      changed(a, { over: ['3000, bisected by Kim, 4000: the valve of #96 leaks'] }),
    ]);
    expect(report).toMatchObject({ outcome: 'dreamed', refused: [] });
    expect(requests).toHaveLength(1);
    expect(file('facts.md')).toContain(`- ${text}\n`);
  });

  test('stays with its line, and the entry waits, when the model does not answer', async () => {
    const { night, file } = await nights();
    await night([old], ([a]) => [put(a, old)]);
    const { report } = await night([text, B], ([a, b], call) => (call < 4 ? [changed(a), put(b, B)] : null));
    expect(report).toMatchObject({
      outcome: 'dreamed',
      left: [{ reason: expect.stringContaining('name it in "over"') }],
    });
    expect(file('facts.md')).toContain(`- ${old}\n`);
    expect(file('facts.md')).not.toContain(text);
  });
});

test('what is left waits for the next night with its reason, and after three nights a person is told', async () => {
  const { night, store, dir } = await nights();
  const wrong = 'The harvest runs on port 9000.';
  const one = await night([A, B], ([a, b], call) => (call === 1 ? [put(a, wrong), put(b, B)] : null));
  const [a = ''] = one.ids;
  expect(one.report).toMatchObject({
    outcome: 'dreamed',
    left: [{ entry: a, reason: expect.stringContaining('"9000"') }],
  });
  expect(entryRow(store.ledger, a)?.state).toBe('new');
  expect(readFileSync(join(dir, '.nocturne/dreams/2026-11-21.md'), 'utf8')).toContain('\nRefused by code:\n- ');
  expect(readFileSync(join(dir, '.nocturne/dreams/2026-11-21.md'), 'utf8')).toContain(
    `Left for another night:\n- ${a}`,
  );
  const two = await night([], () => [put(a, wrong)]);
  expect(two.report).toMatchObject({ outcome: 'failed' });
  const input = JSON.stringify(two.requests[0]?.messages);
  expect(input).toContain('What another run of you proposed');
  expect(input).toContain('says \\"9000\\"');
  expect(longUnplaced(store.ledger)).toEqual([]);
  await night([], () => [put(a, wrong)]);
  expect(longUnplaced(store.ledger)).toMatchObject([{ entry: a, nights: 3, text: A }]);
  // It is not asked about night after night.
  expect((await night([], () => [put(a, wrong)])).requests).toEqual([]);
});

test('a value that stands in a name, and dates that only say when, are no values to be kept apart or lost', async () => {
  const { night, file } = await nights();
  const [one, two] = [
    'As of 2026-07-01 the press leaks at the valve.',
    'The press leaks at the valve, seen on 2026-11-20 already.',
  ];
  const { report, requests } = await night([one, two], (ids) => [
    {
      ...put(ids[0], ''),
      in: [{ text: 'The press leaks at the valve.', entries: ids }],
    },
  ]);
  expect(report).toMatchObject({ outcome: 'dreamed', refused: [] });
  expect(requests).toHaveLength(1);
  expect(file('facts.md')).toContain('- The press leaks at the valve.\n');
});

test.each([
  [
    'As of 2026-07-01, 120 of 900 barrels are labelled.',
    'As of 2026-11-20, 400 of 900 barrels are labelled.',
    'As of 2026-11-20, 400 of 900 barrels are labelled.',
  ],
  [
    'The dev server of the press listens on port 3000.',
    'The dev server of the press: 3000 until November, now 4321.',
    'The dev server of the press listens on 4321.',
  ],
  [
    'Never label the barrels before the press is cleaned.',
    'Label the barrels before the press is cleaned, that is fine now.',
    'Label the barrels before the press is cleaned.',
  ],
  ['Use `npm` for the press.', 'Use `pnpm` instead of `npm` for the press.', 'Use `pnpm` for the press.'],
])('a status moves: %s', async (old, said, line) => {
  const { night, file } = await nights();
  await night([old], ([id]) => [put(id, old)]);
  const { report } = await night([said], ([id]) => [put(id, line, { out: [lineId(old)], over: [old] })]);
  expect(report.refused).toEqual([]);
  expect(file('facts.md')).toContain(`- ${line}\n`);
  expect(file('facts.md')).not.toContain(`- ${old}\n`);
});

test('of two things that look alike neither takes the place of the other', async () => {
  const { night, file } = await nights();
  const old = 'The staging press listens on port 3000.';
  await night([old], ([id]) => [put(id, old)]);
  const said = 'The production press listens on port 4321.';
  const { requests } = await night([said], ([id], call) =>
    call === 1 ? [put(id, said, { out: [lineId(old)] })] : [put(id, said)],
  );
  expect(told(requests[1])).toContain('says \\"3000\\", and no line would any more');
  expect(file('facts.md')).toContain(`- ${old}\n- ${said}\n`);
});

test('a line that replaces another keeps the sources whose words it still says, and explain tells what each gave', async () => {
  const { night, store } = await nights();
  const old = 'The press runs on barrels in the cellar.';
  await night([old], ([id]) => [put(id, old)]);
  const line = 'The press runs on barrels in the cellar since the flood, with `crank --slow`.';
  await night(['Since the flood the press runs with `crank --slow`.'], ([id]) => [
    put(id, line, { out: [lineId(old)] }),
  ]);
  const [explained] = await explainLines(store, { path: 'facts.md', line: lineId(line) });
  expect(explained?.entries.map(({ text, gave }) => [text, gave])).toEqual([
    [old, ['The press runs on barrels in the cellar']],
    [expect.any(String), ['The press runs', 'since the flood, with `crank --slow`.']],
  ]);
});

test('a topic is renamed with its history, what its lines rest on, the links to it and its line in the index', async () => {
  const { night, store, dir, file, undo } = await nights();
  const link = 'How the press is cleaned stands in [facts](facts.md).';
  await night([A, link], ([a, b]) => [put(a, A), put(b, link, { topic: 'cleaning', description: 'Cleaning' })]);
  const { report } = await night([B], ([b]) => [
    {
      kind: 'rename',
      topic: 'facts',
      to: 'harvest',
      description: 'Harvest and press',
      reason: 'It is about the harvest.',
    },
    put(b, B, { topic: 'harvest' }),
  ]);
  expect(report).toMatchObject({ outcome: 'dreamed', refused: [] });
  expect(existsSync(join(dir, 'facts.md'))).toBe(false);
  expect(file('harvest.md')).toContain('name: harvest\ndescription: Harvest and press');
  expect(file('harvest.md')).toContain(`- ${A}\n- ${B}\n`);
  expect(file('cleaning.md')).toContain('[facts](harvest.md)');
  expect(file('MEMORY.md')).toContain('[harvest.md]');
  expect(file('MEMORY.md')).not.toContain('facts.md');
  expect(
    supportsOf(store.ledger, 'harvest.md')
      .map(({ line }) => line)
      .sort(),
  ).toEqual([lineId(A), lineId(B)].sort());
  expect(supportsOf(store.ledger, 'cleaning.md')).toMatchObject([
    { line: lineId(link.replace('facts.md', 'harvest.md')) },
  ]);
  expect(listVersions(store.ledger, { path: 'harvest.md' }).versions.length).toBeGreaterThan(1);
  expect((await undo({ job: report.job ?? '' })).outcome).toBe('undone');
  expect(file('facts.md')).toContain('name: facts\ndescription: Facts');
  expect(file('cleaning.md')).toContain('[facts](facts.md)');
  expect(supportsOf(store.ledger, 'facts.md')).toMatchObject([{ line: lineId(A) }]);
});

test('a topic that a person wrote in, or links, keeps its name', async () => {
  const { night, dir, file } = await nights();
  await night([A], ([a]) => [put(a, A)]);
  writeFileSync(join(dir, 'mine.md'), 'See [facts](facts.md).\n');
  const rename = { kind: 'rename', topic: 'facts', to: 'harvest', reason: 'x' };
  const one = await night([B], ([b], call) => (call === 1 ? [rename, put(b, B)] : null));
  expect(told(one.requests[1])).toContain("A person's line of mine.md links facts.md");
  expect(file('facts.md')).toContain(`- ${B}\n`);
  writeFileSync(join(dir, 'facts.md'), `${file('facts.md')}- Mine.\n`);
  const two = await night(['The mill stands still.'], ([c], call) =>
    call === 1 ? [rename, put(c, 'The mill stands still.')] : null,
  );
  expect(told(two.requests[1])).toContain('a person wrote in facts');
  expect(file('facts.md')).toContain('- Mine.\n');
});

test('what a tag would have begun or ended is shown as ‹ and read as <; every other < stands as it was said', async () => {
  const { night, file } = await nights();
  const said = 'Releases with a <topics> block or `a < b` or <div> are checked twice.';
  const { requests } = await night([said], ([id]) => [put(id, said.replace('<topics>', '‹topics> tag'))]);
  const input = JSON.stringify(requests[0]?.messages);
  expect(input).toContain('‹topics> block or `a < b` or <div>');
  expect(told(requests[1])).toContain('holds a tag of this conversation');
  expect(() => file('facts.md')).toThrow();
});
