// What an agent found out is kept where its calls show it, by kind; the calls are kept with it.

import { describe, expect, test } from 'vitest';
import { stands } from '../../src/rules/carried.ts';
import { harmsOf } from '../../src/rules/commands.ts';
import { actOf, endOf, wayOf } from '../../src/rules/lessons.ts';
import { type Proposed, proposed, type Step } from '../support/lessons.ts';

const ASKED: Step = { human: 'Make the api tests run' };
const FAILS: Step = { run: 'pnpm test', prints: 'Exit code 1\nNo projects matched the filters in /repo', failed: true };
const WORKS: Step = { run: 'cd services/api && pnpm test', prints: '12 passed' };
const WAY: Proposed = {
  found: 'way',
  text: "In `services/api`: `pnpm test`; from the top it fails with 'No projects matched the filters'.",
  evidence: [
    ['r1', 'No projects matched the filters'],
    ['m2', 'cd services/api && pnpm test'],
  ],
};

describe('a way', () => {
  test('is kept with the call that failed, its error and the call that worked, and is never said outright', async () => {
    const found = await proposed([ASKED, FAILS, WORKS], { ...WAY, strength: 'stated' });
    if (typeof found === 'string') throw new Error(found);
    expect(found).toMatchObject({ type: 'project', strength: 'implied', found: 'way', by: 'tool' });
    expect(found.evidence.map(({ quote, proves }) => [proves, quote])).toEqual([
      ['error', 'No projects matched the filters'],
      ['worked', 'cd services/api && pnpm test'],
      ['failed', 'pnpm test'],
    ]);
    expect(wayOf(found.evidence)).toEqual({
      ...{ programs: ['pnpm test'], files: [], error: 'No projects matched the filters' },
      ...{ works: 'cd services/api && pnpm test', isHarmless: true },
    });
  });

  test('is kept too where another program does the same with the same words', async () => {
    const steps: Step[] = [
      ASKED,
      { run: 'python scripts/seed.py --all', prints: 'python: command not found on PATH', failed: true },
      { run: 'python3 scripts/seed.py --all', prints: 'ok' },
    ];
    const text = 'On this machine: `python3 scripts/seed.py --all` seeds; plain python: command not found.';
    const way: Proposed = {
      found: 'way',
      text,
      evidence: [
        ['r1', 'command not found'],
        ['m2', 'python3 scripts/seed.py --all'],
      ],
    };
    expect(await proposed(steps, way)).toMatchObject({ found: 'way' });
    // What is missing is so too where the quote does not name it, and where a setting stands before it.
    const everywhere = { ...way, text: text.replace('On this machine: ', '') };
    for (const run of ['python scripts/seed.py --all', 'DEBUG=1 python scripts/seed.py --all'])
      expect(await proposed([ASKED, { ...steps[1], run } as Step, ...steps.slice(2)], everywhere)).toContain(
        'holds on this machine alone',
      );
  });

  test('that memory told needs no failure again: the call that works is run', async () => {
    const again = { ...WAY, again: '3', evidence: [['m1', 'cd services/api && pnpm test']] as Proposed['evidence'] };
    const text = 'In `services/api`: `pnpm test`.';
    expect(await proposed([ASKED, WORKS], { ...again, text })).toMatchObject({ found: 'way' });
    expect(await proposed([ASKED, { ...WORKS, failed: true } as Step], { ...again, text })).toContain(
      'needs the words',
    );
    expect(await proposed([ASKED, WORKS], { ...again, again: undefined, text })).toContain('needs the words');
  });
});

test('of several calls that are quoted the one counts that a way tells of, and of its error all that is quoted', async () => {
  const steps: Step[] = [
    ASKED,
    { run: 'cd src && go mod tidy && gofmt -l ./color', prints: 'Exit code 1\ncd: src: No such file', failed: true },
    { run: 'pwd && go mod tidy && gofmt -l ./color', prints: '/d/posh/src' },
    { run: 'cd /d/posh/src && gofmt -l ./color && go vet ./color', prints: 'ok' },
  ];
  const way: Proposed = {
    found: 'way',
    text: "Below `src`: `cd src && go mod tidy` fails with 'cd: src: No such file' (exit code 1); `cd /d/posh/src && gofmt -l ./color` works.",
    evidence: [
      ['r1', 'cd: src: No such file'],
      ['m2', 'pwd && go mod tidy && gofmt -l ./color'],
      ['m3', 'cd /d/posh/src && gofmt -l ./color && go vet ./color'],
      ['r1', 'Exit code 1'],
    ],
  };
  const found = await proposed(steps, way);
  expect(found).toMatchObject({ found: 'way' });
  expect(await proposed(steps, { ...way, evidence: way.evidence.slice(0, 2) })).toContain(
    '"cd /d/posh/src && gofmt -l ./color", "1" stands in neither of the two calls',
  );
});

test('all that is wrong with one is told at once, each value and each quote of it by itself', async () => {
  const text =
    "From `/opt/api/x`: `rm -rf /srv/data`, then `pnpm test --all`; 'No projects matched the filters', see #77.";
  const problem = await proposed([ASKED, FAILS, WORKS], {
    ...WAY,
    text,
    evidence: [...WAY.evidence, ['m2', 'cd api']],
  });
  for (const fault of [
    'evidence[2].quote: these words do not stand in m2',
    'text: each of "/opt/api/x", "rm -rf /srv/data", "pnpm test --all", "#77" stands in none of the messages',
    'text: holds a command that deletes something',
    'text: holds on this machine alone',
  ])
    expect(problem).toContain(fault);
});

describe('a way to another program', () => {
  const sure = (run: string, text: string): Proposed => ({
    ...{ found: 'way', text },
    evidence: [
      ['r1', 'zsh: command not found'],
      ['m2', run],
    ],
  });
  const fails: Step = { run: 'zsh scripts/lint.zsh', prints: 'bash: line 1: zsh: command not found', failed: true };
  const text = 'On this machine: no zsh (command not found); `bash scripts/lint.sh` lints.';

  test('is one where the error says that the first is missing, and is soon after', async () => {
    const works: Step = { run: 'bash scripts/lint.sh', prints: 'clean' };
    const way = sure('bash scripts/lint.sh', text);
    expect(await proposed([ASKED, fails, works], way)).toMatchObject({ found: 'way' });
    expect(
      await proposed([ASKED, { ...fails, prints: 'zsh: parse error near line 3' } as Step, works], {
        ...way,
        evidence: [
          ['r1', 'zsh: parse error near line 3'],
          ['m2', 'bash scripts/lint.sh'],
        ],
      }),
    ).toContain('of another program only soon after');
    const between = Array.from({ length: 11 }, (): Step => ({ run: 'date', prints: 'Sat' }));
    const late = {
      ...way,
      evidence: [
        ['r1', 'zsh: command not found'],
        ['m13', 'bash scripts/lint.sh'],
      ],
    } as Proposed;
    expect(await proposed([ASKED, fails, ...between, works], late)).toContain('of another program only soon after');
    const unnamed = sure('bash scripts/lint.sh', 'On this machine: command not found; `scripts/lint.sh` lints.');
    expect(await proposed([ASKED, fails, works], unnamed)).toContain('of another program only soon after');
  });

  test('is one too where a subcommand or a flag is unknown', async () => {
    const unknown: Step = {
      run: 'entire explain --checkpoint abc',
      prints: 'Error: unknown flag: --checkpoint',
      failed: true,
    };
    const works: Step = { run: 'entire checkpoint show abc', prints: 'shown' };
    expect(
      await proposed([ASKED, unknown, works], {
        found: 'way',
        text: '`entire checkpoint show abc` shows one; explain has an unknown flag: --checkpoint.',
        evidence: [
          ['r1', 'unknown flag: --checkpoint'],
          ['m2', 'entire checkpoint show abc'],
        ],
      }),
    ).toMatchObject({ found: 'way' });
  });

  test('leads among the tools of one server, and from one input to the next', async () => {
    const shot: Step = {
      ...{ tool: 'mcp__browser__screenshot', input: { tab: 1 }, failed: true },
      prints: 'screenshot timed waiting: the pane is not displayed',
    };
    const page: Step = { tool: 'mcp__browser__page_text', input: { most: 10 }, prints: 'Title: Home' };
    const pane: Proposed = {
      found: 'way',
      text: '`screenshot` fails while the pane is not displayed: `page_text` works.',
      evidence: [
        ['r1', 'the pane is not displayed'],
        ['m2', 'call mcp__browser__page_text'],
      ],
    };
    expect(await proposed([ASKED, shot, page], pane)).toMatchObject({ found: 'way' });
    expect(
      await proposed([ASKED, shot, { ...page, tool: 'mcp__other__page_text' } as Step], {
        ...pane,
        evidence: [
          ['r1', 'the pane is not displayed'],
          ['m2', 'call mcp__other__page_text'],
        ],
      }),
    ).toContain('of another program only soon after');
    const script = (text: string) => ({ tool: 'mcp__browser__script', input: { text } });
    const twice: Step[] = [
      ASKED,
      { ...script('const b = 1; b'), prints: "SyntaxError: 'b' has already been declared", failed: true },
      { ...script('(() => { const b = 1; return b })()'), prints: '1' },
    ];
    expect(
      await proposed(twice, {
        found: 'way',
        text: "`script` keeps const of earlier calls ('b' has already been declared): wrap it, `(() => {`.",
        evidence: [
          ['r1', 'has already been declared'],
          ['m2', '(() => { const b = 1; return b })()'],
        ],
      }),
    ).toMatchObject({ found: 'way' });
  });
});

test("what the agent's program blocks has failed, a word of its subject is no claim, a script's words are no command", async () => {
  const blocked = '<tool_use_error>Blocked: sleep 180 followed by: gh pr checks</tool_use_error>';
  const poll: Step[] = [
    { human: 'Wait for the checks' },
    { run: 'sleep 180; gh pr checks 5', prints: blocked, failed: true },
    { run: 'gh pr checks 5 --watch', prints: 'all checks were successful' },
  ];
  const watch: Proposed = {
    found: 'way',
    text: 'Blocked: sleep 180 followed by gh; `gh pr checks 5 --watch` waits.',
    evidence: [
      ['r1', 'Blocked: sleep 180 followed by: gh pr checks'],
      ['m2', 'gh pr checks 5 --watch'],
    ],
  };
  expect(await proposed(poll, watch)).toMatchObject({ found: 'way' });
  const push: Step[] = [
    { human: 'Push it' },
    { run: 'git push origin feat/complete', prints: 'To github' },
    { says: 'Branch feat/complete holds the complete rewrite; the docs are open.' },
  ];
  const rewrite: Proposed = {
    found: 'outcome',
    text: 'Branch `feat/complete` holds the complete rewrite; the docs are open.',
    evidence: [
      ['m2', 'holds the complete rewrite; the docs are open'],
      ['m1', 'git push origin feat/complete'],
    ],
  };
  expect(await proposed(push, rewrite)).toMatchObject({ found: 'outcome' });
  const script = (text: string): Step => ({ tool: 'script', input: { text }, prints: '1' });
  const twice: Step[] = [
    { human: 'Read the page' },
    { ...script('const b = 2'), prints: "Identifier 'b' has already been declared", failed: true } as Step,
    { says: 'A second const b fails.' },
    script('(() => { const b = 1; return b })()'),
  ];
  const wrapped: Proposed = {
    found: 'way',
    text: "`script`: a second `const b` fails ('b' has already been declared), `(() => {` works.",
    evidence: [
      ['r1', "Identifier 'b' has already been declared"],
      ['m3', '(() => { const b = 1; return b })()'],
      ['m2', 'A second const b fails'],
    ],
  };
  expect(await proposed(twice, wrapped)).toMatchObject({ found: 'way' });
});

const SEARCH: Step[] = [
  { human: 'Where does the invoice mail come from?' },
  { run: 'grep -rn "Invoice mail" src', prints: 'nothing' },
  { tool: 'Grep', input: { pattern: 'invoiceMail' }, prints: 'No files found' },
  { run: 'rg -l invoice packages', prints: 'packages/letters/templates/invoice_mail.hbs' },
];
const PLACE: Proposed = {
  found: 'place',
  type: 'reference',
  text: 'The invoice mail is made of `packages/letters/templates/invoice_mail.hbs`.',
  evidence: [['r3', 'packages/letters/templates/invoice_mail.hbs']],
};

test('a place is kept that took three calls, and not one that one look tells or that was known before', async () => {
  expect(await proposed(SEARCH, PLACE)).toMatchObject({ found: 'place', strength: 'implied', by: 'tool' });
  const [asked, , , found] = SEARCH as [Step, Step, Step, Step];
  const once = { ...PLACE, evidence: [['r1', 'packages/letters/templates/invoice_mail.hbs']] as Proposed['evidence'] };
  expect(await proposed([asked, found], once)).toContain('One look tells this');
  const known: Step = { run: 'ls packages/letters/templates/invoice_mail.hbs', prints: 'there' };
  const late = { ...PLACE, evidence: [['r4', 'packages/letters/templates/invoice_mail.hbs']] as Proposed['evidence'] };
  expect(await proposed([asked, known, ...SEARCH.slice(1)], late)).toContain('One look tells this');
  // Where the result is not shown, the agent says what it tells.
  const says: Step = { says: 'It is packages/letters/templates/invoice_mail.hbs.' };
  const said = {
    ...PLACE,
    evidence: [['m4', 'It is packages/letters/templates/invoice_mail.hbs']] as Proposed['evidence'],
  };
  expect(await proposed([...SEARCH, says], said)).toMatchObject({ found: 'place', by: 'assistant' });
});

test('a place in a home is found by its home or by `~`', async () => {
  const steps = SEARCH.slice(0, 3).concat({ run: 'find ~ -name tap', prints: '/Users/kim/work/tap/Formula' });
  const text = 'On this machine: the tap is the checkout `~/work/tap`.';
  const evidence: Proposed['evidence'] = [['r3', '/Users/kim/work/tap/Formula']];
  expect(await proposed(steps, { ...PLACE, text, evidence })).toMatchObject({ found: 'place' });
  const other = text.replace('~/work', '~/play');
  expect(await proposed(steps, { ...PLACE, text: other, evidence })).toEqual(expect.any(String));
});

test('of what stands in several places the one that was found last tells how long that took', async () => {
  const steps: Step[] = [
    { human: 'Bump the version' },
    { run: 'cat package.json', prints: '"version": "0.3.0"' },
    { run: 'grep -n version *.json', prints: 'package.json: "0.3.0"\nmanifest.json: "0.3.0"' },
    { run: 'rg --hidden 0.3.0', prints: 'package.json\nmanifest.json\n.plugin/plugin.json' },
  ];
  const text = 'The version stands in `package.json`, `manifest.json` and `.plugin/plugin.json`.';
  const evidence = (quote: string) => [['r3', quote]] as Proposed['evidence'];
  const all = evidence('package.json\nmanifest.json\n.plugin/plugin.json');
  expect(await proposed(steps, { ...PLACE, text, evidence: all })).toMatchObject({ found: 'place' });
  const two = 'The version stands in `package.json` and `manifest.json`.';
  expect(await proposed(steps, { ...PLACE, text: two, evidence: evidence('package.json\nmanifest.json') })).toContain(
    'One look tells this',
  );
});

test('places that were each worked on belong together', async () => {
  const edit = (file_path: string): Step => ({ tool: 'Edit', input: { file_path }, prints: 'updated' });
  const steps = [
    { human: 'Bump the version' },
    edit('package.json'),
    edit('manifest.json'),
    edit('.plugin/plugin.json'),
    {
      run: 'grep -rn version package.json manifest.json .plugin',
      prints: 'package.json:3\nmanifest.json:4\n.plugin/plugin.json:3',
    },
  ] as Step[];
  const text = 'The version stands in `package.json`, `manifest.json` and `.plugin/plugin.json`.';
  const evidence: Proposed['evidence'] = [['r4', 'package.json:3\nmanifest.json:4\n.plugin/plugin.json:3']];
  expect(await proposed(steps, { ...PLACE, text, evidence })).toMatchObject({ found: 'place' });
  const one = 'The version stands in `package.json`.';
  expect(await proposed(steps, { ...PLACE, text: one, evidence })).toContain('One look tells this');
});

test('what an issue or a page reports is a place where the text names it', async () => {
  const prints = 'I copied it to ~/.cursor/plugins/local and Cursor did not load it';
  const steps: Step[] = [{ human: 'Look at the issue' }, { run: 'gh issue view 3 --comments', prints }];
  const text = 'Issue #3: the reporter copied it to `~/.cursor/plugins/local`, Cursor did not load it.';
  const evidence: Proposed['evidence'] = [['r1', prints]];
  expect(await proposed(steps, { ...PLACE, text, evidence })).toMatchObject({ found: 'place' });
  const unnamed = 'A reporter copied it to `.cursor/plugins/local`, Cursor did not load it.';
  expect(await proposed(steps, { ...PLACE, text: unnamed, evidence })).toContain('One look tells this');
  // What a page names is not this machine's; what a command prints here is.
  const docs = 'Plugins load from ~/Acme/plugins';
  const links = (run: string): Step[] => [
    { human: 'Install it' },
    { run, prints: docs },
    { says: 'A link in the checkout is never read, since only ~/Acme/plugins loads.' },
    { run: 'node link.mjs ~/Acme/plugins', prints: 'linked' },
  ];
  const reason: Proposed = {
    found: 'reason',
    text: 'A link in the checkout is never read: only `~/Acme/plugins` loads.',
    evidence: [
      ['m2', 'A link in the checkout is never read, since only ~/Acme/plugins loads'],
      ['r1', docs],
    ],
  };
  expect(await proposed(links('curl https://acme.dev/plugins'), reason)).toMatchObject({ found: 'reason' });
  expect(await proposed(links('acme plugins'), reason)).toContain('On this machine');
  // What programs keep in everybody's home is no one machine's, nor is what only a quote names.
  const inAll = JSON.parse(JSON.stringify(reason).replaceAll('~/Acme/', '~/.acme/')) as Proposed;
  const shared = JSON.parse(JSON.stringify(links('acme plugins')).replaceAll('~/Acme/', '~/.acme/')) as Step[];
  expect(await proposed(shared, inAll)).toMatchObject({ found: 'reason' });
  const unsaid = 'A link in the checkout is never read: only the plugins of Acme load.';
  expect(await proposed(links('acme plugins'), { ...reason, text: unsaid })).toMatchObject({ found: 'reason' });
  const read: Step[] = [{ human: 'Look at the issue' }, { run: 'cat issue-3.txt', prints }];
  expect(await proposed(read, { ...PLACE, text, evidence })).toEqual(expect.any(String));
});

test('what sums up needs fewer words of its quotes where all that it names stands in them', async () => {
  const summed = (text: string): Proposed => ({ ...PLACE, text });
  const text = 'For a mail about payment due, change `packages/letters/templates/invoice_mail.hbs`.';
  expect(await proposed(SEARCH, summed(text))).toMatchObject({ found: 'place' });
  const more =
    'For mail about payment due dates to customers, change `packages/letters/templates/invoice_mail.hbs`, never `index.ts`.';
  expect(await proposed(SEARCH, summed(more))).toEqual(expect.any(String));
});

const WHY = 'esbuild drops the decorators, which is why build.mjs runs tsc before it';
const REASON: Proposed = {
  found: 'reason',
  text: 'build.mjs runs tsc before esbuild, since esbuild drops the decorators.',
  evidence: [
    ['m1', WHY],
    ['m2', 'node build.mjs'],
  ],
};

test('a reason is kept with a later call on what it names that worked, with the commit that says it, or with a yes', async () => {
  const asked: Step = { human: 'Why is the build so slow?' };
  const says: Step = { says: `Found it: ${WHY}.` };
  const good: Step = { run: 'node build.mjs', prints: 'built' };
  expect(await proposed([asked, says, good], REASON)).toMatchObject({ found: 'reason', by: 'assistant' });
  expect(await proposed([asked, says, { ...good, failed: true } as Step], REASON)).toContain(
    'a reason needs, beside that sentence',
  );
  const other = {
    ...REASON,
    evidence: [
      ['m1', WHY],
      ['m2', 'cargo build'],
    ] as Proposed['evidence'],
  };
  expect(await proposed([asked, says, { run: 'cargo build', prints: 'ok' }], other)).toContain(
    'a reason needs, beside that sentence',
  );
  // What a test printed is no text that somebody finds by looking there.
  const tested: Step = {
    run: 'go test ./cmd',
    prints: `FAIL: build.mjs runs tsc before esbuild: ${WHY}`,
    failed: true,
  };
  const evidence = [
    ['m2', WHY],
    ['m3', 'node build.mjs'],
  ] as Proposed['evidence'];
  expect(await proposed([asked, tested, says, good], { ...REASON, evidence })).toMatchObject({ found: 'reason' });
  const read: Step = { run: 'cat NOTES', prints: `build.mjs runs tsc before esbuild: ${WHY}` };
  expect(await proposed([asked, read, says, good], { ...REASON, evidence })).toContain('printed says this');
  const looked: Step = { run: 'grep -c target build.mjs', prints: 'build.mjs: 2 targets' };
  const concluded = (of: number, quote: string) =>
    ({
      ...REASON,
      evidence: [
        [`m${of}`, WHY],
        [`r${of - 1}`, quote],
      ],
    }) as Proposed;
  const result = 'build.mjs: 2 targets';
  expect(await proposed([asked, looked, says], concluded(2, result))).toMatchObject({ found: 'reason' });
  // Most results are not shown: a name in code leads to the one that it was concluded from.
  const named = { ...REASON, text: `${REASON.text.slice(0, -1)} of \`emitDecorators\`.` };
  const because = `${WHY}: see emitDecorators`;
  const code = (prints: string): Step[] => [asked, { run: 'sed -n 4,9p x.mjs', prints }, { says: `${because}.` }];
  const alone = { ...named, evidence: [['m2', because]] as Proposed['evidence'] };
  expect(await proposed(code('function emitDecorators() {'), alone)).toMatchObject({ found: 'reason' });
  expect(await proposed(code('function emit() {'), alone)).toContain('a reason needs, beside that sentence');
  const piped = { run: 'grep -n emit x.mjs | head -3', prints: '4: emitDecorators()' };
  expect(await proposed([asked, piped, { says: `${because}.` }], alone)).toMatchObject({ found: 'reason' });
  // What was looked at before the person spoke is not what it was concluded from.
  const between = [asked, looked, { human: 'And the size?' }, says] as Step[];
  const earlier = {
    ...concluded(3, result),
    evidence: [
      ['m3', WHY],
      ['r1', result],
    ],
  } as Proposed;
  expect(await proposed(between, earlier)).toContain('a reason needs, beside that sentence');
  // Who asks about what was run does not part it from the answer; a word that only holds its name does.
  const ran = { run: 'vale docs/colors.mdx', prints: '0 errors in 0 files' };
  const answer = 'Vale lints no mdx at all, so that run checked nothing';
  const asks = (human: string): Step[] => [asked, ran, { human }, { says: `${answer}.` }];
  const useless: Proposed = {
    ...{ found: 'reason', text: 'Vale checked nothing: it lints no mdx at all, as that run of vale shows.' },
    evidence: [['m3', answer]],
  };
  expect(await proposed(asks('why are you still using vale?'), useless)).toMatchObject({ found: 'reason' });
  expect(await proposed(asks('what is the equivalent here?'), useless)).toContain('a reason needs, beside');
  expect(await proposed(asks('why is it so slow?'), useless)).toContain('a reason needs, beside');
  const commit: Step = { run: `git commit -m "build: ${WHY}"`, prints: '[main 1a2b3c4] build' };
  expect(await proposed([asked, commit], { ...REASON, evidence: [['m1', WHY]] })).toMatchObject({ found: 'reason' });
  const yes = {
    ...REASON,
    evidence: [
      ['m1', `Is it right that ${WHY}?`],
      ['m2', 'yes, exactly'],
    ] as Proposed['evidence'],
  };
  expect(await proposed([asked, { says: `Is it right that ${WHY}?` }, { human: 'yes, exactly' }], yes)).toMatchObject({
    found: 'reason',
  });
});

const PUSHED: Step = { run: 'git push -u origin feat/parser', prints: "branch 'feat/parser' set up to track" };
const OUTCOME: Proposed = {
  found: 'outcome',
  text: 'Branch `feat/parser` is pushed; the error recovery is open.',
  evidence: [
    ['m1', 'git push -u origin feat/parser'],
    ['m2', 'The error recovery is still open'],
  ],
};

test('a path and an address count without what stands around them: a mention, a line, a scheme', () => {
  expect(stands('internal/sync/sync.go', 'look at @internal/sync/sync.go:879-882')).toBe(true);
  expect(stands('github.com/acme/large-test', 'clone https://github.com/acme/large-test.git')).toBe(true);
  expect(stands('github.com/acme/large', 'clone https://github.com/acme/large-test.git')).toBe(false);
});

test('where a pipe hides the exit, the last line of a known program tells it, also behind others of its name', () => {
  const act = actOf({ tool: 'Bash', input: { command: 'git add -A && git commit -m "x" 2>&1 | tail -3' } });
  expect(endOf(act, { text: '[main 1a2b3c4] x', isError: false })).toBe('worked');
  expect(endOf(act, { text: 'fatal: not a git repository', isError: false })).toBe('failed');
  expect(endOf(act, { text: 'something', isError: false })).toBe('ran');
  // A pipe that only prints fails of what stands before it.
  expect(endOf(act, { text: 'something', isError: true })).toBe('failed');
  const piped = actOf({ tool: 'Bash', input: { command: 'git commit -m "x" 2>&1 | tail -3' } });
  expect(endOf(piped, { text: 'something', isError: true })).toBeUndefined();
});

test('an outcome is kept with the call that made it; what it claims only with the call that shows it', async () => {
  const asked: Step = { human: 'Go on with the parser' };
  const closing: Step = { says: 'Pushed. The error recovery is still open; all tests pass.' };
  expect(await proposed([asked, PUSHED, closing], OUTCOME)).toMatchObject({ found: 'outcome' });
  expect(await proposed([asked, { ...PUSHED, failed: true } as Step, closing], OUTCOME)).toContain('needs the call');
  const claim = {
    ...OUTCOME,
    text: 'Branch `feat/parser` is pushed, all tests pass.',
    evidence: [...OUTCOME.evidence.slice(0, 1), ['m2', 'all tests pass']] as Proposed['evidence'],
  };
  expect(await proposed([asked, PUSHED, closing], claim)).toContain('"pass" claims what no quoted call shows');
  // What is not committed is shown by a look at it.
  const status: Step = { run: 'git status', prints: 'On branch feat/parser\nmodified: parser.ts' };
  const open = { ...OUTCOME, text: 'Branch `feat/parser`: `parser.ts` is not committed.' };
  const looked = [
    ['r1', 'On branch feat/parser\nmodified: parser.ts'],
    ['m2', 'The error recovery is still open'],
  ] as Proposed['evidence'];
  expect(await proposed([asked, status, closing], { ...open, evidence: looked })).toMatchObject({ found: 'outcome' });
  const tested: Step = { run: 'go test ./...', prints: 'ok all' };
  const shown = { ...claim, evidence: [...claim.evidence, ['m3', 'go test ./...']] as Proposed['evidence'] };
  expect(await proposed([asked, PUSHED, closing, tested], shown)).toMatchObject({ found: 'outcome' });
});

test('what was left elsewhere is an outcome, and so is what a person saw of what was tried', async () => {
  const asked: Step = { human: 'Tell the reporter' };
  const ticket: Step = { tool: 'mcp__tracker__create_ticket', input: { title: 'Loader' }, prints: 'Created ABC-12' };
  const kept = (steps: Step[], text: string, ...evidence: Proposed['evidence']) =>
    proposed(steps, { found: 'outcome', text, evidence });
  expect(
    await kept([asked, ticket], 'Ticket ABC-12 was filed for the Loader.', ['r1', 'Created ABC-12']),
  ).toMatchObject({ found: 'outcome' });
  const linked: Step = { run: 'ln -s plugins/entire here/entire; ls here', prints: 'entire' };
  const seen: Step = { human: "nope I don't see it in cursor" };
  const text = 'The link of `plugins/entire` was tried, and is not seen in cursor.';
  const call = ['m1', 'ln -s plugins/entire here/entire'] as [string, string];
  expect(await kept([asked, linked, seen], text, call, ['m2', "I don't see it in cursor"])).toMatchObject({
    found: 'outcome',
  });
  expect(await kept([asked, linked, seen], text, call)).toContain('the words by which the human says what they saw');
  const view: Step = { run: 'gh issue view 3', prints: 'Loader: open' };
  expect(await kept([asked, view], 'Issue 3, Loader, is open.', ['m1', 'gh issue view 3'])).toContain(
    'an outcome needs',
  );
});

test('an order is refused with its words; what a file for agents is like is none', async () => {
  const why = 'AGENTS.md must stay short, since Cursor never loads it whole';
  const steps: Step[] = [{ human: 'Why?' }, { says: `${why}.` }, { run: 'node lint AGENTS.md', prints: 'short' }];
  const kept = (text: string) =>
    proposed(steps, {
      found: 'reason',
      text,
      evidence: [
        ['m1', why],
        ['m2', 'node lint AGENTS.md'],
      ],
    });
  expect(await kept('AGENTS.md must stay short: Cursor never loads it whole.')).toMatchObject({ found: 'reason' });
  expect(await kept('Agents must keep AGENTS.md short: Cursor never loads it whole.')).toContain('"Agents must"');
});

test('what a session was told and only repeats is no new evidence', async () => {
  const steps: Step[] = [{ human: 'Go on' }, { says: `As known, ${WHY}.` }, { run: 'node build.mjs', prints: 'built' }];
  expect(await proposed(steps, REASON, { told: [REASON.text] })).toContain('was told');
  const before = REASON.text.replace(/build\.mjs/g, 'make.mjs');
  expect(before).not.toBe(REASON.text);
  expect(await proposed(steps, REASON, { told: [before] })).toMatchObject({ found: 'reason' });
});

test('a reason and an outcome rest on calls that are not quoted, where these name the same', async () => {
  const steps: Step[] = [
    { human: 'Why does the licence check fail?' },
    { run: 'mise run lint:licenses', prints: 'orchard: Unknown', failed: true },
    {
      tool: 'Read',
      input: { file_path: '/work/lint/licenses' },
      prints: 'if [[ "$package" == orchard/* ]]; then continue',
    },
    { says: 'The filter in lint/licenses skips orchard/ with a slash, so that the bare module orchard is reported.' },
    { run: 'git switch -c fix/licences', prints: "Switched to a new branch 'fix/licences'" },
    { says: 'On fix/licences the filter takes the bare module, too; nothing is pushed.' },
  ];
  const reason = 'lint/licenses skips orchard/ with a slash, so that the bare module orchard is reported.';
  const why: Proposed = {
    found: 'reason',
    text: reason,
    evidence: [['m3', steps[3] && 'says' in steps[3] ? steps[3].says : '']],
  };
  expect(await proposed(steps, why)).toMatchObject({ found: 'reason' });
  const left = 'The branch fix/licences holds the filter for the bare module; nothing is pushed.';
  const what: Proposed = {
    found: 'outcome',
    text: left,
    evidence: [['m5', 'On fix/licences the filter takes the bare module, too; nothing is pushed.']],
  };
  expect(await proposed(steps, what)).toMatchObject({ found: 'outcome' });
  // Of another branch nothing was done.
  const other = {
    ...what,
    text: left.replace('fix/licences', 'fix/others'),
    evidence: [['m5', 'the filter takes the bare module, too; nothing is pushed']],
  };
  expect(await proposed(steps, other as Proposed)).toEqual(expect.any(String));
});

test('what one shell does not know another may', async () => {
  const steps: Step[] = [
    ASKED,
    {
      run: "zsh -c 'zsh -n draft'",
      prints: 'Exit code 127\n/usr/bin/bash: line 1: zsh: command not found',
      failed: true,
    },
    { run: "bash -c 'bash -n draft'", prints: 'ok' },
  ];
  const way = (text: string): Proposed => ({
    ...{ found: 'way', text },
    evidence: [
      ['r1', 'zsh: command not found'],
      ['m2', "bash -c 'bash -n draft'"],
    ],
  });
  const text = 'On this machine: no zsh (command not found); `bash -n` checks the syntax of a draft.';
  expect(await proposed(steps, way(text))).toMatchObject({ found: 'way' });
  const own = { run: 'mapfile -t all < list', prints: 'zsh: command not found: mapfile', failed: true } as Step;
  const inBash: Step = { run: "bash -c 'mapfile -t all < list'", prints: 'ok' };
  const builtin: Proposed = {
    ...{ found: 'way', text: 'On this machine: `mapfile` is not found in zsh (command not found); bash -c knows it.' },
    evidence: [
      ['r1', 'command not found: mapfile'],
      ['m2', "bash -c 'mapfile -t all < list'"],
    ],
  };
  expect(await proposed([ASKED, own, inBash], builtin)).toMatchObject({ found: 'way' });
  const other = { ...own, prints: 'no matches found: mapfile*' } as Step;
  const denied: Proposed['evidence'] = [
    ['r1', 'no matches found: mapfile'],
    ['m2', "bash -c 'mapfile -t all < list'"],
  ];
  expect(
    await proposed([ASKED, other, inBash], {
      ...builtin,
      text: builtin.text.replace('(command not found)', ''),
      evidence: denied,
    }),
  ).toContain('a way needs');
});

test('what took too long and says why is a way around that, the network of a moment is none', async () => {
  const shot = (prints: string): Step[] => [
    ASKED,
    { tool: 'mcp__browser__screenshot', input: { tab: '1' }, prints, failed: true },
    { tool: 'mcp__browser__page_text', input: { tab: '1' }, prints: 'Prices' },
  ];
  const way = (quote: string): Proposed => ({
    ...{ found: 'way', text: '`screenshot` fails while the browser pane is not displayed: `page_text` works.' },
    evidence: [
      ['r1', quote],
      ['m2', 'call mcp__browser__page_text'],
    ],
  });
  const why = 'Screenshot timed out after 5s: the browser pane is not displayed';
  expect(await proposed(shot(why), way(why))).toMatchObject({ found: 'way' });
  expect(await proposed(shot(why), way('Screenshot timed out after 5s'))).toContain('of the moment');
  const net = 'Connection timed out: the browser pane is not displayed';
  expect(await proposed(shot(net), way(net))).toContain('of the moment');
});

test('a call that also removes files of its own is told without that', async () => {
  const steps = (end: string): Step[] => [
    ASKED,
    { run: 'go build ./cmd/tool', prints: 'go: cannot find main module', failed: true },
    { run: `cd src && go build -o bin/tool ./cmd/tool${end}`, prints: 'ok' },
  ];
  const way: Proposed = {
    ...{ found: 'way', text: 'In `src`: `go build`; above it fails with "cannot find main module".' },
    evidence: [
      ['r1', 'cannot find main module'],
      ['m2', 'cd src && go build -o bin/tool ./cmd/tool'],
    ],
  };
  const found = await proposed(steps(' && rm -f bin/tool tool.log'), way);
  if (typeof found === 'string') throw new Error(found);
  expect(wayOf(found.evidence)).toMatchObject({ works: 'cd src && go build -o bin/tool ./cmd/tool', isHarmless: true });
  const again: Step[] = [
    ASKED,
    { run: 'cd src && rm -f bin/tool && go build', prints: 'cd: src: No such file or directory', failed: true },
    { run: 'cd /d/tool/src && rm -f bin/tool && go build && ls bin', prints: 'tool' },
  ];
  const cd: Proposed = {
    ...{
      found: 'way',
      text: '`cd` stays in force (cd: src: No such file or directory): `cd /d/tool/src && go build`.',
    },
    evidence: [
      ['r1', 'cd: src: No such file or directory'],
      ['m2', 'cd /d/tool/src && rm -f bin/tool && go build'],
    ],
  };
  const absolute = await proposed(again, cd);
  if (typeof absolute === 'string') throw new Error(absolute);
  expect(wayOf(absolute.evidence)).toMatchObject({ works: 'cd /d/tool/src && go build && ls bin', isHarmless: true });
  for (const end of [
    ' && rm -rf bin',
    ' && rm -f ../main.go',
    ' && rm -f *.log',
    ' && rm -f /etc/hosts',
    ' && git clean -fd',
  ])
    expect(await proposed(steps(end), way)).toContain('deletes');
});

test("a subagent's finding is one where a later call meets what it names", async () => {
  const report = 'The pull request check runs `tools/gate.sh`, since the runner has no shellcheck of its own.';
  const asks: Step = { tool: 'Agent', input: { prompt: 'What does CI check?' }, prints: report };
  const steps = (...later: Step[]): Step[] => [{ human: 'What does CI check?' }, asks, ...later];
  const meets: Step = { run: 'sh tools/gate.sh', prints: 'all clean' };
  const of = (found: 'place' | 'reason'): Proposed => ({
    found,
    text: 'The pull request check runs `tools/gate.sh`, since the runner has no shellcheck.',
    evidence: [['r1', 'The pull request check runs `tools/gate.sh`, since the runner has no shellcheck']],
  });
  for (const found of ['place', 'reason'] as const) {
    expect(await proposed(steps(meets), of(found))).toMatchObject({ found });
    expect(await proposed(steps(), of(found))).toEqual(expect.any(String));
    expect(await proposed(steps({ ...meets, failed: true } as Step), of(found))).toEqual(expect.any(String));
    expect(await proposed(steps({ ...asks }), of(found))).toEqual(expect.any(String));
    expect(await proposed(steps({ run: 'cat gate', prints: 'x' }), of(found))).toEqual(expect.any(String));
  }
  // Nor is it found by looking there, where the agent says it again.
  const says: Step = { says: report };
  const again: Proposed = { ...of('reason'), evidence: [['m2', report.slice(0, 80)]] };
  expect(await proposed(steps(says, meets), again)).toMatchObject({ found: 'reason', by: 'assistant' });
  expect(await proposed(steps(says), again)).toContain('a reason needs');
  expect(await proposed([{ human: 'What?' }, { run: 'cat gate.txt', prints: report }, says, meets], again)).toContain(
    'printed says this',
  );
});

test('a published page is an outcome, and what a call that is not shown left; an own list of tasks is none', async () => {
  const page = (tool: string): Step[] => [
    { human: 'Draw three designs' },
    { tool, input: { file_path: 'designs.html' }, prints: 'Published at https://pages.dev/3' },
    { says: 'Three designs of the start page are up; which one is chosen is open.' },
  ];
  const left = (text: string, ...evidence: Proposed['evidence']): Proposed => ({ found: 'outcome', text, evidence });
  const designs = left(
    'Three designs of the start page are up at https://pages.dev/3; which one is chosen is open.',
    ['m2', 'Three designs of the start page are up; which one is chosen is open'],
    ['r1', 'Published at https://pages.dev/3'],
  );
  for (const tool of ['Artifact', 'mcp__notion__notion-create-pages', 'publishPage'])
    expect(await proposed(page(tool), designs)).toMatchObject({ found: 'outcome' });
  for (const tool of ['TaskCreate', 'update_plan', 'Render'])
    expect(await proposed(page(tool), designs)).toContain('an outcome needs');
  const commit: Step = {
    run: 'git commit -m "readme: a push is not atomic, what was rejected is told"',
    prints: '[x 1a2b3c4]',
  };
  const said: Step = { says: 'The readme says that a push is not atomic; the retries are open.' };
  const open = left('The readme says that a push is not atomic; the retries are open.', [
    'm2',
    'says that a push is not atomic; the retries are open',
  ]);
  expect(await proposed([{ human: 'Mend it' }, commit, said], open)).toMatchObject({ found: 'outcome' });
  expect(await proposed([{ human: 'Mend it' }, { ...commit, failed: true } as Step, said], open)).toContain(
    'an outcome needs',
  );
});

test('an outcome whose end a pipe hides is one where a later list shows what it made, of what was sent a list of there', async () => {
  const made: Step = { run: 'git branch -f backup/fold HEAD\ngit log --oneline -3 | cat', prints: '1a2b3c4 fold' };
  const listed: Step = { run: 'git branch --list "backup/*" | cat', prints: '  backup/fold' };
  const says = 'Nothing is pushed; the branch backup/fold is the only copy';
  const kept = (...steps: Step[]) =>
    proposed([{ human: 'Fold it' }, ...steps, { says }], {
      ...{ found: 'outcome', text: 'Nothing is pushed; the branch `backup/fold` is the only copy.' },
      evidence: [[`m${steps.length + 1}`, says]],
    });
  expect(await kept(made, listed)).toMatchObject({ found: 'outcome' });
  expect(await kept(made)).toContain('an outcome needs');
  expect(await kept(listed, made)).toContain('an outcome needs');
  expect(await kept(made, { ...listed, failed: true } as Step)).toContain('an outcome needs');
  expect(await kept(made, { run: 'cat notes', prints: 'backup/fold' })).toContain('an outcome needs');
  const sent: Step = { run: 'git push origin backup/fold | tail -1', prints: 'hint: see the manual' };
  expect(await kept(sent, listed)).toContain('an outcome needs');
  expect(await kept(sent, { run: 'git ls-remote', prints: '1a2b3c4 refs/heads/backup/fold' })).toMatchObject({
    found: 'outcome',
  });
});

test('what a text says was sent out is kept where a call of it ended well, as its mark, its last line or a later list tells', async () => {
  const made: Step = { run: 'git checkout -b fix/tabs', prints: "Switched to a new branch 'fix/tabs'" };
  const push = (prints: string): Step => ({ run: 'git push origin fix/tabs 2>&1 | tail -1', prints });
  const kept = (...steps: Step[]) =>
    proposed([{ human: 'Mend the tabs' }, made, ...steps, { says: 'Branch fix/tabs is pushed.' }], {
      ...{ found: 'outcome', text: 'Branch `fix/tabs` is pushed.' },
      evidence: [[`m${steps.length + 2}`, 'Branch fix/tabs is pushed']],
    });
  const hidden = push('hint: see the note about fast-forwards');
  expect(await kept(hidden)).toContain('nothing shows that "git push origin fix/tabs 2>&1 | tail -1" did');
  expect(await kept(hidden, { run: 'git branch', prints: '  fix/tabs' })).toContain('says "push"');
  expect(await kept(push('   1a2b3c4..5d6e7f8  fix/tabs -> fix/tabs'))).toMatchObject({ found: 'outcome' });
  expect(await kept(hidden, { run: 'git push origin fix/tabs', prints: 'ok' })).toMatchObject({ found: 'outcome' });
  const there: Step = { run: 'git ls-remote origin', prints: '1a2b3c4 refs/heads/fix/tabs' };
  expect(await kept(hidden, there)).toMatchObject({ found: 'outcome' });
});

test('what took away what memory says is an outcome, whatever it left', async () => {
  const moved: Step = { run: 'git mv plugins/skills skills', prints: '(no output)' };
  const viewed: Step = { run: 'gh pr view 24 --json state', prints: '{"state":"MERGED"}' };
  const kept = (step: Step, text: string, quote: [string, string], changes?: string) =>
    proposed([ASKED, step], { found: 'outcome', text, evidence: [quote], ...(changes && { changes }) });
  const flat = 'The skills live in `skills`, no more in `plugins/skills`.';
  const move: [string, string] = ['m1', 'git mv plugins/skills skills'];
  expect(await kept(moved, flat, move, 'The skills live in `plugins/skills/`.')).toMatchObject({ found: 'outcome' });
  expect(await kept(moved, flat, move)).toContain('an outcome needs');
  expect(await kept(moved, flat, move, 'The tests live in `test`.')).toContain('an outcome needs');
  const merged: [string, string] = ['r1', '"state":"MERGED"'];
  expect(await kept(viewed, 'PR #24 is merged.', merged, 'PR #24 is open.')).toMatchObject({ found: 'outcome' });
});

test('where a program is missing the line is of this machine', async () => {
  const steps: Step[] = [
    ASKED,
    { run: 'rg TODO src', prints: 'bash: rg: command not found', failed: true },
    { run: 'ack TODO src', prints: 'src/a.ts: TODO' },
  ];
  const kept = (text: string) =>
    proposed(steps, {
      ...{ found: 'way', text },
      evidence: [
        ['r1', 'rg: command not found'],
        ['m2', 'ack TODO src'],
      ],
    });
  expect(await kept('`ack TODO src`, as rg: command not found.')).toContain('holds on this machine alone');
  expect(await kept('On this machine: `ack TODO src`, as rg: command not found.')).toMatchObject({ found: 'way' });
});

test('a list whose last command only looks has failed where its result begins with that', async () => {
  const list = 'FILES="a.json b.json"\nperl -i -pe s/1/2/ $FILES\necho done\ngrep 2 $FILES';
  const prints = "Exit code 2\nCan't open a.json b.json: No such file or directory";
  const works: Step = { run: 'perl -i -pe s/1/2/ a.json b.json', prints: 'done' };
  const kept = (said: string, run = list) =>
    proposed([ASKED, { run, prints: said, failed: true }, works], {
      ...{ found: 'way', text: "A list in a variable: Can't open a.json b.json; `perl -i -pe s/1/2/ a.json b.json`." },
      evidence: [
        ['r1', "Can't open a.json b.json"],
        ['m2', 'perl -i -pe s/1/2/ a.json b.json'],
      ],
    });
  expect(await kept(prints)).toMatchObject({ found: 'way' });
  expect(await kept(`1 changed\n${prints}`)).toContain('needs the words of the error');
  expect(await kept(prints, `${list} | tee log`)).toContain('needs the words of the error');
});

test('what was started in the background works where no later call of it failed', async () => {
  const blocked = '<tool_use_error>Blocked: sleep 180 followed by: gh pr checks</tool_use_error>';
  const run = '(sleep 180; gh pr checks 5) 2>&1';
  const prints = 'Command running in background with ID: b1en6. Output is being written to: tasks/b1en6.output';
  const kept = (started: Step, ...more: Step[]) =>
    proposed([ASKED, { run: 'sleep 180; gh pr checks 5', prints: blocked, failed: true }, started, ...more], {
      ...{ found: 'way', text: `Blocked: sleep 180 followed by gh; \`${run}\` in the background works.` },
      evidence: [
        ['r1', 'Blocked: sleep 180 followed by: gh pr checks'],
        ['m2', run],
        ['r2', 'Command running in background'],
      ],
    });
  const started: Step = { tool: 'Bash', input: { command: run, run_in_background: true }, prints };
  expect(await kept(started)).toMatchObject({ found: 'way' });
  const ended: Step = { tool: 'TaskOutput', input: { id: 'b1en6' }, prints: 'exit 1', failed: true };
  expect(await kept(started, ended)).toContain('No quoted call is marked as good');
  expect(await kept({ run, prints })).toContain('hides its end, it may be a reason');
});

test("a program's own flag that is named forces nothing; a command with it does", async () => {
  const says = 'The hint stays in sync.go, since replicate rejects --force there';
  const steps: Step[] = [{ human: 'Why?' }, { says }, { run: 'go vet sync.go', prints: 'ok' }];
  const kept = (text: string) => proposed(steps, { found: 'reason', text, evidence: [['m1', says]] });
  expect(await kept('The hint stays in `sync.go`, since replicate rejects `--force` there.')).toMatchObject({
    found: 'reason',
  });
  for (const text of [
    'The hint stays in `sync.go`, since `replicate --force` rejects there.',
    'The hint stays in `sync.go`, since git rejects all but `--force` there.',
    'The hint stays in `sync.go`, since a push rejects all but `--force` there.',
    'The hint stays in `sync.go`, since replicate rejects `--no-verify` there.',
  ])
    expect(harmsOf(text)).toEqual(['unchecked']);
});

test('a place that was sought by its name in vain was not known', async () => {
  const named = 'packages/letters/templates/invoice_mail.hbs';
  const vain: Step = { run: `cat ${named}`, prints: `cat: ${named}: No such file or directory`, failed: true };
  const late = { ...PLACE, evidence: [['r4', named]] as Proposed['evidence'] };
  const [asked, ...searches] = SEARCH as [Step, ...Step[]];
  expect(await proposed([asked, vain, ...searches], late)).toMatchObject({ found: 'place' });
});

test('what removes what it builds itself may stand in a way as it was run', async () => {
  const build = 'rm -f bin/tool && go build -o ./bin/tool.exe .';
  const steps: Step[] = [
    ASKED,
    { run: `cd src && ${build}`, prints: 'Exit code 1\ngo: cannot find main module', failed: true },
    { run: `cd ~/tool/src && ${build}`, prints: '(Bash completed with no output)' },
  ];
  const way: Proposed = {
    found: 'way',
    text: `\`cd src && ${build}\` fails with 'go: cannot find main module'; \`cd ~/tool/src && ${build}\` works.`,
    evidence: [
      ['r1', 'go: cannot find main module'],
      ['m2', `cd ~/tool/src && ${build}`],
    ],
  };
  expect(await proposed(steps, { ...way, text: `On this machine: ${way.text}` })).toMatchObject({ found: 'way' });
});

test('an end is told by what a piped call prints, wherever the call stands in its lines, and a watch is one that works', async () => {
  const end = (command: string, text: string) =>
    endOf(actOf({ tool: 'Bash', input: { command } }), { text, isError: false });
  const push = 'cd /repo/skills\ngit push 2>&1 | tail -5';
  expect(end(push, 'To https://github.com/acme/skills.git\n   7a21ceb..9feff38  search -> search')).toBe('worked');
  expect(end(push, 'error: failed to push some refs to origin')).toBe('failed');
  expect(end('git branch -a | head', '   remotes/origin/HEAD -> origin/main')).toBe('ran');
  const create = 'gh pr create --title x --body "$(cat <<\'EOF\'\nWhy\nEOF\n)" 2>&1 | tail -5';
  expect(end(create, 'https://github.com/acme/sync/pull/94')).toBe('worked');
  expect(end(create, 'a pull request for branch "x" already exists:\nhttps://github.com/acme/sync/pull/9')).toBe(
    'failed',
  );
  const loop = 'deadline=$((SECONDS + 600))\nwhile [ $SECONDS -lt $deadline ]; do gh api repos/x; sleep 60; done';
  const steps: Step[] = [
    ASKED,
    { run: 'sleep 180; gh api repos/x', prints: '<tool_use_error>Blocked: sleep 180 followed by: gh', failed: true },
    { tool: 'Monitor', input: { command: loop }, prints: 'Monitor started (task bwl2, timeout 700000ms).' },
  ];
  const way: Proposed = {
    found: 'way',
    text: "`sleep 180` before `gh api` is 'Blocked': a Monitor loop with `deadline=$((SECONDS + 600))` works.",
    evidence: [
      ['r1', 'Blocked: sleep 180 followed by'],
      ['m2', 'deadline=$((SECONDS + 600))'],
    ],
  };
  expect(await proposed(steps, way)).toMatchObject({ found: 'way' });
  // What another tool printed is no mark.
  const printed: Step = { run: `${loop} | tail -1`, prints: 'Monitor started (task bwl2).' };
  expect(await proposed([...steps.slice(0, 2), printed], way)).toContain('No quoted call is marked as good');
});

test('a pull request that a piped call made is made, whatever became of a later edit of it', async () => {
  const steps = (made: string): Step[] => [
    ASKED,
    { run: 'git commit -m x', prints: '[fix 1a2b3c4] x' },
    { run: 'gh pr create --title "Batch updates" 2>&1 | tail -5', prints: made },
    { run: 'gh pr edit 94 --body "a push each" 2>&1 | tail -5', prints: 'see above' },
    { says: 'PR opened: https://github.com/acme/sync/pull/94 batches ref updates.' },
  ];
  const outcome: Proposed = {
    ...{ found: 'outcome', text: 'PR #94 (https://github.com/acme/sync/pull/94) batches ref updates.' },
    evidence: [['m4', 'PR opened: https://github.com/acme/sync/pull/94 batches ref updates']],
  };
  expect(await proposed(steps('https://github.com/acme/sync/pull/94'), outcome)).toMatchObject({ found: 'outcome' });
  expect(await proposed(steps('must first push the branch'), outcome)).toContain('an outcome needs');
});

test('what an agent left may say what a person asked, where words of theirs are quoted that say it', async () => {
  const steps: Step[] = [
    ASKED,
    { run: 'git push origin fix/filters', prints: 'To https://github.com/acme/api\n   1a2b3c4..5d6e7f8  fix/filters' },
    { human: 'how to test all the changes to install' },
  ];
  const outcome = (text: string, ...more: [string, string][]): Proposed => ({
    ...{ found: 'outcome', text: `\`fix/filters\` was pushed, 1a2b3c4..5d6e7f8. Open: ${text}.` },
    evidence: [['r1', '1a2b3c4..5d6e7f8  fix/filters'], ...more],
  });
  const asks: [string, string] = ['m2', 'how to test all the changes to install'];
  const left = 'the user asked how to test the changes to install';
  expect(await proposed(steps, outcome(left, asks))).toMatchObject({ found: 'outcome' });
  expect(await proposed(steps, outcome(left))).toContain('says what a person says or wants');
  for (const made of [
    'user: the changes install',
    'the user wants a force push to main',
    'the user asked to delete all branches with `git branch -D`',
  ])
    expect(await proposed(steps, outcome(made, asks))).toContain('says what a person says or wants');
});

test('a command of another quoted call that was run may stand in a way, of one that was only printed not', async () => {
  const steps: Step[] = [
    ASKED,
    { run: 'cd src && go vet ./color', prints: 'Exit code 1\nbash: cd: src: No such file or directory', failed: true },
    { run: 'go vet ./color', prints: 'fine. Next: cd /d/x/src && gofmt -w .' },
    { run: 'cd /d/x/src && gofmt -l ./color; go vet ./color | tail -2', prints: 'clean' },
  ];
  const way = (command: string): Proposed => ({
    ...{ found: 'way', text: `\`cd src && go vet\` fails (cd: src: No such file); \`${command}\` runs.` },
    evidence: [
      ['r1', 'cd: src: No such file or directory'],
      ['m2', 'go vet ./color'],
      ['r2', 'cd /d/x/src && gofmt -w .'],
      ['m3', 'cd /d/x/src && gofmt -l ./color'],
    ],
  });
  expect(await proposed(steps, way('cd /d/x/src && gofmt -l ./color'))).toMatchObject({ found: 'way' });
  expect(await proposed(steps, way('cd /d/x/src && gofmt -w .'))).toContain('stands in neither of the two calls');
});
