// What holds where an agent's own program is the model, tried with the program: a session is learned and sorted, nothing of
// the person's settings reaches the service, and what goes wrong is said and waits.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ProgramName } from '../../src/agent/programs/programs.ts';
import { processesWith } from '../support/processes.ts';

import { PROGRAMS } from './install.ts';
import { KEYS, TOKENS } from './logins.ts';
import type { Asked, Refused } from './loopback.ts';
import { MARKS, marksIn } from './marks.ts';
import { asScripted, promptOf } from './model-play.ts';
import { FACTS, type ModelWorld, modelWorld } from './model-world.ts';
import { USAGE } from './protocols.ts';
import { runAsPerson } from './run-as-person.ts';

const HOUR_MS = 3_600_000;
const TOKENS_A_REQUEST: Record<ProgramName, number> = {
  'claude-code': USAGE.input + USAGE.cacheRead + USAGE.cacheCreation + USAGE.output,
  codex: USAGE.input + USAGE.cacheRead + USAGE.output,
};
/** As in kills.test.ts. */
const GONE_WITHIN_MS = 5_000;

const TITLES: Record<ProgramName, string> = { 'claude-code': 'Claude Code', codex: 'Codex' };

export function answers(name: ProgramName): void {
  describe.skipIf(PROGRAMS === null)(`${name} as the model`, () => {
    test('a session is learned and sorted by the login alone; requests and tokens count, and no session is left', async () => {
      const at = await modelWorld(name, asScripted);
      expect(await at.nocturne('learn', at.session.path)).toMatchObject({ code: 0, stderr: '' });
      expect(await at.nocturne('dream')).toMatchObject({ code: 0 });
      for (const fact of FACTS) expect(at.remembered()).toMatch(new RegExp(`^- ${fact}$`, 'm'));
      expect(at.server.asked).toHaveLength(2);
      for (const { headers, body } of at.server.asked) {
        expect(headers.authorization).toBe(`Bearer ${TOKENS[name]}`);
        expect(headers).not.toHaveProperty('x-api-key');
        expect(body).not.toContain('of-the-environment');
      }
      const { stdout } = await at.nocturne('cost', '--json');
      expect(JSON.parse(stdout).today).toEqual({ usd: 0, tokens: 2 * TOKENS_A_REQUEST[name], requests: 2 });
      expect(sessionsIn(at)).toEqual([at.session.path]);
      // Nothing of the run's own is left on the disk either.
      expect(readdirSync(join(at.home, '.nocturne', 'programs')).filter((file) => file.startsWith('run'))).toEqual([]);
    });

    test('of settings, memory, hooks, plugins, agents, skills and MCP servers, nothing is in a request but what docs name', async () => {
      const at = await modelWorld(name, asScripted);
      const { files, planted, anyway } = MARKS[name](at.home);
      // As the person runs it, these are told: else their absence would prove nothing.
      await runAsPerson(name, at, files);
      expect(seenBy(at)).toEqual(expect.arrayContaining([...planted].sort()));
      at.server.asked.length = 0;
      expect(await at.nocturne('learn', at.session.path)).toMatchObject({ code: 0 });
      expect(await at.nocturne('dream')).toMatchObject({ code: 0 });
      expect(at.server.asked).toHaveLength(2);
      expect(seenBy(at)).toEqual(anyway);
    });

    test('what code refuses is answered in the next turn, with what it said', async () => {
      const at = await modelWorld(name, async (asked) => {
        const { output } = asScripted(asked);
        if (promptOf(asked).includes('\n<reply>\n')) return { output };
        const entries = output.entries as { evidence: { quote: string }[] }[];
        for (const { evidence } of entries) for (const each of evidence) each.quote = 'Words that nobody said.';
        return { output };
      });
      expect(await at.nocturne('learn', at.session.path)).toMatchObject({ code: 0 });
      expect(at.server.asked).toHaveLength(2);
      const [, answered, reply] = promptOf(at.server.asked[1] as Asked).split(/\n<(?:answered|reply)>\n/);
      expect(answered).toContain('Words that nobody said.');
      expect(reply).toContain('quote');
      for (const fact of FACTS) expect(at.remembered()).toContain(fact);
    });

    test('an answer in words is told what is missing, and is not the last', async () => {
      const at = await modelWorld(name, async (asked, call) =>
        call === 1 ? { text: 'I would rather talk about it.' } : asScripted(asked),
      );
      const ended = await at.nocturne('learn', at.session.path);
      expect(ended).toMatchObject({ code: 0 });
      for (const fact of FACTS) expect(at.remembered()).toContain(fact);
    });

    test('not logged in: nothing is sent, the work waits, and goes on once there is a login', async () => {
      const at = await modelWorld(name, asScripted);
      at.logOut();
      await at.nocturne('learn', '--later', at.session.path);
      expect(await at.worked()).toMatch(/failed, again at .*is not logged in/);
      const status = (await at.nocturne()).stdout.replace(/\s+/g, ' ');
      expect(status).toMatch(new RegExp(`1 job waits: ${TITLES[name]} .*is not logged in.* Log in to`));
      expect(at.server.asked).toEqual([]);
      at.logIn();
      expect(await at.worked()).toContain('learned');
      for (const fact of FACTS) expect(at.remembered()).toContain(fact);
    });

    test('a login is bounded by requests a day; one that is a key of the program is counted in money, where its price is known', async () => {
      const at = await modelWorld(name, asScripted, { settings: { planRequests: 0 } });
      const refused = await at.nocturne('learn', at.session.path);
      expect(`${refused.stdout}${refused.stderr}`).toContain('planRequests');
      expect(at.server.asked).toEqual([]);
      at.logOut();
      at.logIn(KEYS[name]);
      expect(await at.nocturne('learn', at.session.path)).toMatchObject({ code: 0 });
      const { today } = JSON.parse((await at.nocturne('cost', '--json')).stdout);
      expect(today).toMatchObject({ tokens: TOKENS_A_REQUEST[name], requests: 1 });
      if (name === 'claude-code') expect(today.usd).toBeGreaterThan(0);
    });

    test('a plan that is used up: the work waits an hour', async () => {
      const resetsAt = Math.ceil((Date.now() + 2 * HOUR_MS) / 60_000) * 60;
      const at = await modelWorld(name, () => LIMITS[name](resetsAt));
      await at.nocturne('learn', '--later', at.session.path);
      expect(await at.worked()).toContain('says that the plan is used up');
      const { needs, modelPause } = JSON.parse((await at.nocturne('--json')).stdout);
      expect(JSON.stringify(needs)).toContain('says that the plan is used up');
      expect(Math.abs(Date.parse(modelPause.until) - Date.now() - HOUR_MS)).toBeLessThan(HOUR_MS / 6);
      expect(at.server.asked).toHaveLength(1);
    });

    test('what a service answers besides is told by its class', async () => {
      for (const [answer, words] of FAILURES[name]) {
        const at = await modelWorld(name, () => answer);
        const { code, stdout, stderr } = await at.nocturne('learn', at.session.path);
        expect({ code, said: stdout + stderr }).toEqual({ code: 1, said: expect.stringContaining(words) });
      }
      const at = await modelWorld(name, asScripted);
      await at.server.close();
      expect((await at.nocturne('learn', at.session.path)).stderr).toContain('could not reach its service');
      // What a program started ends with its group, which takes a moment after the command's own end.
      await expect.poll(() => [...processesWith(`HOME=${at.home}`).values()], { timeout: GONE_WITHIN_MS }).toEqual([]);
    });
  });
}

function seenBy({ server }: ModelWorld): string[] {
  return marksIn(server.asked.flatMap(({ body, headers }) => [body, JSON.stringify(headers)]));
}

/** The files that agents keep sessions in. */
function sessionsIn({ home }: ModelWorld): string[] {
  const places = ['.claude/projects', '.codex/sessions'].map((place) => join(home, place)).filter(existsSync);
  const paths = places.flatMap((place) =>
    readdirSync(place, { recursive: true, encoding: 'utf8' }).map((path) => join(place, path)),
  );
  const databases = existsSync(join(home, '.codex')) ? readdirSync(join(home, '.codex')) : [];
  const told = databases.filter((file) => /sqlite/.test(file)).map((file) => join(home, '.codex', file));
  return [
    ...paths.filter((path) => path.endsWith('.jsonl')),
    ...told.filter((path) => readFileSync(path).includes('<excerpt>')),
  ];
}

const error = (type: string, message: string) => ({ type: 'error', error: { type, message } });

const LIMITS: Record<ProgramName, (resetsAt: number) => Refused> = {
  'claude-code': (resetsAt) => ({
    status: 429,
    headers: {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(resetsAt),
      'anthropic-ratelimit-unified-representative-claim': 'five_hour',
    },
    body: error('rate_limit_error', 'This request would exceed your account’s rate limit.'),
  }),
  codex: (resetsAt) => ({
    status: 429,
    body: {
      error: { type: 'usage_limit_reached', message: 'The limit is reached.', plan_type: 'plus', resets_at: resetsAt },
    },
  }),
};

const openai = (status: number, code: string, message: string) => ({
  status,
  body: { error: { type: 'error', code, message, param: null } },
});

const FAILURES: Record<ProgramName, [Refused, string][]> = {
  'claude-code': [
    [{ status: 401, body: error('authentication_error', 'OAuth token has expired.') }, 'is not logged in'],
    [{ status: 404, body: error('not_found_error', 'model: x') }, 'cannot use the model'],
    [{ status: 429, body: error('rate_limit_error', 'Too many requests') }, 'is busy'],
    [{ status: 529, body: error('overloaded_error', 'Overloaded') }, 'is busy'],
    [{ status: 500, body: error('api_error', 'Internal') }, 'cannot answer now'],
    [{ status: 400, body: error('invalid_request_error', 'Your credit balance is too low') }, 'has no budget left'],
    [
      { status: 400, body: error('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum') },
      'of this length',
    ],
  ],
  codex: [
    [
      openai(404, 'model_not_found', 'The model x does not exist or you do not have access to it.'),
      'cannot use the model',
    ],
    [openai(429, 'rate_limit_exceeded', 'Rate limit reached.'), 'is busy'],
    [openai(503, 'server_is_overloaded', 'At capacity.'), 'is busy'],
    [openai(500, 'server_error', 'The server had an error.'), 'is busy'],
    [openai(429, 'insufficient_quota', 'You exceeded your current quota.'), 'has no budget left'],
    [openai(403, 'forbidden', 'No.'), 'is not logged in'],
  ],
};
