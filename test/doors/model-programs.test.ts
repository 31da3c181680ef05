// Agents' programs as the model, through the doors, by a program that prints what the real ones were seen to print: how it
// is started, what becomes of what it says, what it costs. How it is ended is tested beside (ended-programs.test.ts).

import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { findProgram } from '../../src/worker/model-programs.ts';
import { type TestApp, type TestAppOptions, testApp } from '../support/app.ts';
import { isDeep, waysTaken } from '../support/depth.ts';
import { enqueueExtract } from '../support/doors.ts';
import { workSession } from '../support/due-work.ts';
import {
  claudeFails,
  claudeSays,
  codexSays,
  type FakeProgram,
  fakeProgram,
  LOGGED_IN_BY_KEY,
  NOT_LOGGED_IN,
  type Order,
} from '../support/fake-program.ts';
import { runHere } from '../support/run-here.ts';
import { aSession, RULE, type SessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const deep = test.runIf(isDeep);

const DAY = '2026-11-21';

interface Given extends TestAppOptions {
  fake?: FakeProgram;
  model?: string;
}

/** An app whose model is the program, found on PATH. */
async function withProgram({ fake = fakeProgram('claude'), model = 'claude-code', variables, ...more }: Given = {}) {
  const own = { PATH: `${fake.dir}:${process.env.PATH}`, NOCTURNE_MODEL: model };
  return { fake, ...(await testApp({ ...more, variables: { ...own, ...variables } })) };
}

let sessions = 0;
function another(prompt = RULE): SessionFile {
  sessions += 1;
  return aSession([prompt], { id: `${`${sessions}`.padStart(4, '0')}2222-2222-4333-8444-555555555555` });
}

/** As the strict form has it: what may be left out is null. */
function entry(session: SessionFile, quote = RULE) {
  const evidence = [{ message: session.turn(1), quote }];
  return { type: 'feedback', strength: 'stated', text: 'Always use pnpm.', evidence, changes: null };
}

const learn = ({ app }: TestApp, { path }: SessionFile) => app.extract({ transcript: path, ended: true });
const spendOf = ({ app }: TestApp) => app.home.days.spendOf(DAY);

const PROGRAMS = [
  ['claude', 'claude-code', 'claude-code/sonnet', claudeSays],
  ['codex', 'codex', 'codex/gpt-5.5', codexSays],
] as const;

test.each(waysTaken(PROGRAMS))(
  '%s learns a session and sorts it at night, in a process without any tool of ours',
  async (name, _, model, says) => {
    const fake = fakeProgram(name);
    const testing = await withProgram({ fake, model, isForked: true });
    const session = another();
    fake.answers(says({ entries: [entry(session)] }));
    expect(await learn(testing, session)).toMatchObject({ outcome: 'recorded', spend: { calls: 1, onPlan: 1 } });
    const [{ id } = { id: '' }] = await testing.rows('entries');
    const lines = [{ text: 'Always use pnpm.', entries: [id] }];
    const put = { kind: 'put', reason: 'It is new.', topic: 'tools', in: lines };
    const operation = { ...put, description: 'Which tools.', type: 'feedback', over: null };
    fake.answers(says({ operations: [operation] }));
    expect(await testing.app.dream(testing.store, {})).toMatchObject({ outcome: 'dreamed' });
    expect(await testing.store.list()).toContain('tools.md');
    const starts = fake.starts();
    expect(starts).toHaveLength(2);
    for (const { argv, cwd, names, stdin } of starts) {
      expect(stdin).toContain('pnpm');
      expect(argv.join(' ')).not.toMatch(/pnpm|orchard/);
      expect(argv).toContain(model.split('/')[1]);
      expect(names).toEqual([]);
      expect(cwd.startsWith(join(testing.home, 'programs'))).toBe(true);
    }
    expect(new Set(starts.map(({ cwd }) => cwd)).size).toBe(1);
    // Asked once with each job, not with each answer: which version it is, and how it is logged in.
    expect(fake.looks()).toBe(4);
    expect(readdirSync(join(testing.home, 'programs'))).toEqual(['turn.db']);
  },
);

test('what code refuses is answered in the next turn, which is shown what was answered and why it was refused', async () => {
  const { fake, ...testing } = await withProgram();
  const session = another();
  fake.answers(
    claudeSays({ entries: [entry(session, 'Always use yarn.')] }),
    claudeSays({ entries: [entry(session)] }),
  );
  expect(await learn(testing, session)).toMatchObject({ outcome: 'recorded', spend: { calls: 2, onPlan: 2 } });
  const [first, second] = fake.starts().map(({ stdin }) => stdin);
  expect(second?.startsWith(first ?? '?')).toBe(true);
  expect(second?.slice(first?.length)).toMatch(
    /^\n<answered>\n.*Always use yarn.*\n<\/answered>\n<reply>\n.*quote.*\n<\/reply>$/s,
  );
});

const UNREADABLE: [string, Order][] = [
  ['megabytes', { isEndless: true }],
  ['nothing', {}],
  ['half a JSON', { stdout: '{"type":"result","subtype":"success","is_error":false,"resu' }],
  ['words', claudeSays('I found nothing that is worth keeping.')],
  ['another form', claudeSays({ facts: ['pnpm'] })],
  ['a list', { stdout: '[1, 2]' }],
  ['a form that it could not keep to', { ...claudeSays('', { subtype: 'error_max_turns', is_error: true }), code: 1 }],
];

// In the small size one of them.
test.each(waysTaken(UNREADABLE))(
  'a program that prints %s is told so, and mends it in the next turn',
  async (_, order) => {
    const { fake, ...testing } = await withProgram();
    const session = another();
    fake.answers(order, claudeSays({ entries: [entry(session)] }));
    expect(await learn(testing, session)).toMatchObject({
      outcome: 'recorded',
      // Of one that did not say what it used it counts that it was made.
      spend: { onPlan: 2 },
    });
    const second = fake.starts()[1]?.stdin ?? '';
    expect(second).toContain('<reply>');
    expect(second.length).toBeLessThan(20_000);
  },
);

test('its environment is made for it: no key, no agent around it, but its user, network, directory and service', async () => {
  const handedOn = {
    ...{ LANG: 'de_DE.UTF-8', LC_ALL: 'C.UTF-8', USER: 'kim', TMPDIR: '/tmp', HTTPS_PROXY: 'http://proxy:1' },
    ...{ no_proxy: 'localhost', NODE_EXTRA_CA_CERTS: '/ca.pem', SSL_CERT_FILE: '/ca.pem', SSL_CERT_DIR: '/certs' },
    ...{ CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-made-up' },
  };
  const kept = { CLAUDE_CONFIG_DIR: '/kept/claude', ANTHROPIC_BASE_URL: 'http://kept' };
  const withheld = {
    ...{ ANTHROPIC_API_KEY: 'sk-1', ANTHROPIC_AUTH_TOKEN: 'sk-2', OPENAI_API_KEY: 'sk-3', CODEX_API_KEY: 'sk-4' },
    ...{ GITHUB_TOKEN: 'ghp', AWS_SECRET_ACCESS_KEY: 'aws', CLAUDECODE: '1', CLAUDE_CODE_ENTRYPOINT: 'cli' },
    ...{ NODE_OPTIONS: '--no-warnings', CODEX_HOME: '/codex', CLAUDE_CODE_USE_BEDROCK: '1', DATABASE_URL: 'x' },
    ...{ ANTHROPIC_CUSTOM_HEADERS: 'x: y' },
  };
  const fake = fakeProgram('claude');
  const agentPrograms = { 'claude-code': { path: fake.path, environment: { ...kept, OPENAI_API_KEY: 'sk-5' } } };
  const testing = await withProgram({
    ...{ fake, settings: { agentPrograms } },
    variables: { PATH: '/nowhere', ANTHROPIC_BASE_URL: 'http://now', ...handedOn, ...withheld },
  });
  await learn(testing, another());
  const env = fake.starts()[0]?.env ?? {};
  expect(env).toMatchObject({ ...handedOn, ...kept, HOME: testing.home, TZ: 'UTC', NOCTURNE_WORKER: '1' });
  expect(env).toMatchObject({
    ...{ MAX_THINKING_TOKENS: '0', CLAUDE_CODE_MAX_OUTPUT_TOKENS: '8000', CLAUDE_CODE_MAX_RETRIES: '0' },
    ...{ DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  });
  expect(env.PATH).toMatch(/^\/nowhere:/);
  expect(Object.keys(env).filter((name) => name in withheld)).toEqual([]);
  expect(Object.keys(env).filter((name) => /_(?:KEY|TOKEN)$/.test(name))).toEqual(['CLAUDE_CODE_OAUTH_TOKEN']);
});

const UNFIT: [string, { version?: Order; status?: Order; mode?: number } | null, string, RegExp][] = [
  [
    'is not there',
    null,
    'no-model',
    /Claude Code \(claude\) is not installed here\. Install it, or choose another model: nocturne setup/,
  ],
  [
    'is older than the oldest that was tried',
    { version: { stdout: '2.1.9 (Claude Code)\n' } },
    ...(['no-model', /Claude Code 2\.1\.9 \(\S+\/claude\) is older than 2\.1\.197.*Update Claude Code/] as const),
  ],
  ['is not logged in', { status: NOT_LOGGED_IN }, 'auth', /is not logged in.*Log in to Claude Code/],
  [
    'is a script of another kind',
    { version: { stdout: 'usage: claude FILE\n', code: 2 } },
    ...(['no-model', /\/claude is not Claude Code: asked for its version, it said usage: claude FILE/] as const),
  ],
  ['is no program', { mode: 0o644 }, 'no-model', /Claude Code could not be started: .*EACCES.*Install it again/],
];

test.each(waysTaken(UNFIT))(
  'a program that %s is not asked, the work waits and says why',
  async (_, about, code, message) => {
    const fake = fakeProgram('claude');
    if (about) fake.is(about);
    if (about?.mode) chmodSync(fake.path, about.mode);
    const testing = await withProgram({ fake, variables: about ? {} : { PATH: '/nowhere' } });
    const result = await workSession(testing, another().path);
    expect(result).toMatchObject({ outcome: 'failed', code, reason: expect.stringMatching(message) });
    expect(fake.starts()).toEqual([]);
    expect(await spendOf(testing)).toMatchObject({ planRequests: 0, reservedTokens: 0, usedTokens: 0 });
    expect(await testing.rows('failures')).toMatchObject([{ state: 'retrying', attempts: 0 }]);
  },
);

test('what waits for a login is worked as soon as there is one', async () => {
  const { fake, ...testing } = await withProgram();
  fake.is({ status: NOT_LOGGED_IN });
  await enqueueExtract(testing.app, { transcript: another().path, ended: true });
  for (const _ of [1, 2]) await testing.nocturne('worker', '--once');
  expect(await testing.rows('waiting')).toMatchObject([{ failure: expect.stringContaining('not logged in') }]);
  fake.is({ status: { stdout: JSON.stringify({ loggedIn: true, authMethod: 'claude.ai' }) } });
  // It is logged in, and nothing tells of it: by its own clock.
  await testing.nocturne('worker', '--once');
  expect(await testing.rows('waiting')).toHaveLength(1);
  mkdirSync(join(testing.home, '.claude'), { recursive: true });
  writeFileSync(join(testing.home, '.claude/.credentials.json'), '{}');
  await testing.nocturne('worker', '--once');
  expect(await testing.rows('waiting')).toEqual([]);
  expect(fake.starts()).toHaveLength(1);
});

deep('a login that ends in the middle of a night keeps the rest waiting, without an attempt', async () => {
  const { fake, ...testing } = await withProgram();
  fake.answers(claudeSays({ entries: [] }), claudeFails('Failed to authenticate. API Error: 401', 401));
  expect(await learn(testing, another())).toMatchObject({ outcome: 'nothing-worth-keeping' });
  expect(await workSession(testing, another().path)).toMatchObject({
    code: 'auth',
    reason: expect.stringContaining('Log in to'),
  });
  expect(await testing.rows('failures')).toMatchObject([{ state: 'retrying', attempts: 0 }]);
});

test('a plan that is used up is not asked for an hour; another model is asked at once', async () => {
  const { fake, ...testing } = await withProgram();
  fake.answers(claudeFails("You've hit your weekly limit · resets Nov 24, 3:07pm (UTC)", 429));
  expect(await workSession(testing, another().path)).toMatchObject({ code: 'plan-limit' });
  await workSession(testing, another('I prefer short answers.').path);
  expect(fake.starts()).toHaveLength(1);
  expect(await testing.rows('waiting')).toHaveLength(2);
  const waits = (await testing.rows('waiting')).filter(({ failure }) => failure !== null);
  expect(waits.length).toBeGreaterThan(0);
  for (const { notBefore, failure } of waits) {
    expect(notBefore).toMatch(/^2026-11-21T03:0/);
    expect(failure).toMatch(/weekly limit · resets Nov 24, 3:07pm|plan-limit/);
  }
  const { stdout } = await testing.nocturne();
  expect(stdout).toMatch(/weekly\s+limit/);
  expect(stdout).toMatch(/1 of 100 requests on your\s+plan today/);
  await testing.nocturne('worker', '--once');
  expect(await testing.rows('waiting')).toHaveLength(2);
  await runHere(['worker', '--once'], { ...testing.environment, NOCTURNE_MODEL: 'offline' });
  expect(await testing.rows('waiting')).toEqual([]);
});

const FAILURES: [string, Order, string, boolean][] = [
  ['overload', claudeFails('API Error: 529 Overloaded.', 529), 'overloaded', true],
  ['a model that the plan lacks', claudeFails("There's an issue with the selected model", 404), 'no-model', true],
  ['a prompt that is too long', claudeFails('Prompt is too long', 400), 'oversize', true],
  ['no network', claudeFails('API Error: Unable to connect to API (ConnectionRefused)'), 'network', true],
  ['an exit without a word', { code: 3 }, 'server-error', false],
  ['an exit with words', { code: 3, stderr: 'Segmentation fault' }, 'server-error', false],
];

test.each(waysTaken(FAILURES))(
  '%s: the failure is told, and its tokens are given back where it says that nothing was used',
  async (_, order, code, isGivenBack) => {
    const { fake, ...testing } = await withProgram();
    fake.answers(order);
    expect(await learn(testing, another())).toMatchObject({ outcome: 'failed', error: { code } });
    const { reservedTokens, usedTokens, planRequests } = await spendOf(testing);
    if (code === 'network') expect(planRequests).toBe(0);
    expect({ isGivenBack: reservedTokens === 0, usedTokens }).toEqual({ isGivenBack, usedTokens: 0 });
  },
);

deep('a refusal of its model counts what it used', async () => {
  const { fake, ...testing } = await withProgram();
  fake.answers({ ...claudeSays('violates our Usage Policy', { is_error: true, stop_reason: 'refusal' }), code: 1 });
  expect(await learn(testing, another())).toMatchObject({ outcome: 'failed', error: { code: 'refusal' } });
  expect(await spendOf(testing)).toMatchObject({ reservedTokens: 0, usedTokens: 1_100 });
});

test('so many requests a day go out on a plan, and what needs more waits for the next', async () => {
  const { fake, ...testing } = await withProgram({ settings: { planRequests: 2 } });
  for (const _ of [1, 2]) await learn(testing, another());
  expect(await workSession(testing, another().path)).toMatchObject({ outcome: 'ceiling' });
  expect(fake.starts()).toHaveLength(2);
  const [waits] = await testing.rows('waiting');
  expect(waits?.failure).toMatch(/daily limit of 2 requests on your plan.*Raise planRequests/);
  expect(waits?.notBefore).toMatch(/^2026-11-22T00/);
  expect(await spendOf(testing)).toMatchObject({ planRequests: 2, usedMicroUsd: 0 });
});

test('by a key it is counted in money, at the price of the model that answered, and not as requests of a plan', async () => {
  const { fake, ...testing } = await withProgram({ settings: { planRequests: 0, dayMoneyUsd: 2 } });
  fake.is({ status: LOGGED_IN_BY_KEY });
  expect(await learn(testing, another())).toMatchObject({ outcome: 'nothing-worth-keeping' });
  // 1,000 in, 30 written to the cache, 20 read from it, 50 out, of claude-sonnet-4-5.
  const microUsd = 1_000 * 3 + 30 * 3.75 + 20 * 0.3 + 50 * 15;
  expect(await spendOf(testing)).toMatchObject({
    planRequests: 0,
    reservedMicroUsd: 0,
    usedMicroUsd: Math.ceil(microUsd),
  });
  const { stdout } = await testing.nocturne('cost');
  expect(stdout).toMatch(/^Today {7}\$0\.0039 of \$2\.00 a day$/m);
  expect(stdout).toMatch(/^claude-(?:code|sonnet-4-5)\t\$0\.0039\t1,100\t1$/m);
  expect(stdout).not.toContain('plan');
});

deep('by a key it is bounded by the price of the dearest model that it may choose', async () => {
  const { fake, ...testing } = await withProgram({ settings: { dayMoneyUsd: 0.3 } });
  fake.is({ status: LOGGED_IN_BY_KEY });
  expect(await learn(testing, another())).toMatchObject({
    outcome: 'ceiling',
    error: { message: expect.stringMatching(/of \$0\.3/) },
  });
  expect(fake.starts()).toEqual([]);
  const named = await withProgram({ fake, model: 'claude-code/claude-haiku-4-5', settings: { dayMoneyUsd: 0.3 } });
  expect(await learn(named, another())).toMatchObject({ outcome: 'nothing-worth-keeping' });
});

test('cost and status tell what was used on a plan in requests and tokens, never as money or as without a price', async () => {
  const { fake, ...testing } = await withProgram();
  const session = another();
  fake.answers(claudeSays({ entries: [entry(session)] }));
  const said = await testing.nocturne('learn', session.path);
  expect(said.stdout).toMatch(/^ {2}1 request, 1,100 tokens on your plan$/m);
  fake.answers(claudeSays({ operations: [] }));
  expect((await testing.nocturne('dream')).stdout).toMatch(/^ {2}1 request, 1,100 tokens on your plan$/m);
  const cost = await testing.nocturne('cost');
  expect(cost.stdout).toMatch(/^Your plan {3}2 requests, 2,200 tokens; today 2 of at most 100$/m);
  expect(cost.stdout).toMatch(/^claude-code\tyour plan\t2,200\t2$/m);
  expect(cost.stdout).not.toContain('$');
  for (const line of cost.stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  expect(await testing.json('cost')).toMatchObject({
    plan: { requests: 2, tokens: 2_200, today: 2, ceiling: 100 },
    models: [{ model: 'claude-code', isOnPlan: true, tokens: 2_200 }],
  });
  expect(await testing.json()).toMatchObject({ spendToday: { planRequests: 2, ceilingPlanRequests: 100 } });
  expect((await testing.nocturne()).stdout).toMatch(/^Cost .*; 2 of 100 requests on\s+your plan today$/m);
  const estimate = await testing.nocturne('dream', '--dry-run');
  expect(estimate.stdout).not.toContain('no price known');
});

test('a program that is gone from where set-up found it is looked up again, which doctor says', async () => {
  const fake = fakeProgram('claude');
  const agentPrograms = { 'claude-code': { path: '/gone/claude', environment: {} } };
  const testing = await withProgram({ fake, settings: { agentPrograms } });
  expect(await learn(testing, another())).toMatchObject({ outcome: 'nothing-worth-keeping' });
  expect(fake.starts()).toHaveLength(1);
  const found = await findProgram('claude-code', await loadConfig({}, testing.environment));
  expect(found).toMatchObject({ path: fake.path, movedFrom: '/gone/claude', version: '2.1.197' });
  expect(found.login).toEqual({ isLoggedIn: true, paidBy: 'plan', said: 'claude.ai (max)' });
});

deep('a directory of its name, and what cannot be read of a key, do not matter to a program', async () => {
  const fake = fakeProgram('claude');
  const other = tempDir();
  mkdirSync(join(other, 'claude'));
  const testing = await withProgram({ fake, variables: { PATH: `${other}:${fake.dir}`, ANTHROPIC_API_KEY: '' } });
  writeFileSync(join(testing.home, 'key'), 'two words\n', { mode: 0o644 });
  expect(await workSession(testing, another().path)).toMatchObject({ outcome: 'nothing-worth-keeping' });
  rmSync(join(testing.home, 'key'));
  mkdirSync(join(testing.home, 'key'));
  expect(await workSession(testing, another().path)).toMatchObject({ outcome: 'nothing-worth-keeping' });
});

deep('a login that is over is told at once, and no token is left in the home', async () => {
  const token = 'sk-ant-oat01-made-up';
  const { fake, ...testing } = await withProgram({ variables: { CLAUDE_CODE_OAUTH_TOKEN: token } });
  await learn(testing, another());
  expect(existsSync(join(testing.home, 'programs/run'))).toBe(false);
  const without = { ...testing.environment, CLAUDE_CODE_OAUTH_TOKEN: undefined };
  fake.is({ status: NOT_LOGGED_IN });
  const config = await loadConfig({}, without);
  expect(await findProgram('claude-code', config)).toMatchObject({ problem: { code: 'auth' } });
});

test('a model id that names no program is a model that needs a key, and says which programs there are', async () => {
  const { fake, ...testing } = await withProgram({ model: 'gemini', variables: { ANTHROPIC_API_KEY: undefined } });
  const report = await learn(testing, another());
  expect(report.error).toMatchObject({
    code: 'no-model',
    message: expect.stringMatching(/model gemini.*claude-code.*codex/s),
  });
  expect(fake.looks()).toBe(0);
});
