// What each program was seen to print where it has no answer, and what that means to a job: the code, which says who waits
// for what, and how long. The sentences are the programs' own (Claude Code 2.1.197, Codex 0.169.0).

import { describe, expect, test } from 'vitest';
import { claudeCode, codex, failureOf } from '../../../src/agent/programs/programs.ts';
import type { ErrorCode } from '../../../src/base/errors.ts';

const HOUR = 3_600_000;
const NOTHING_USED = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 };

type Row = [said: string, status: number | null, code: ErrorCode, waitMs?: number];

describe('Claude Code', () => {
  const rows: Row[] = [
    ['Not logged in · Please run /login', null, 'auth'],
    ['Failed to authenticate. API Error: 401 OAuth token has expired. Please obtain a new token.', 401, 'auth'],
    [
      'Your account does not have access to Claude. Please login again or contact your administrator.',
      ...([403, 'auth'] as const),
    ],
    [
      'Your organization has disabled Claude subscription access for Claude Code · Use an Anthropic API key instead, or ask your admin to enable access',
      ...([403, 'auth'] as const),
    ],
    [
      "There's an issue with the selected model (claude-x). It may not exist or you may not have access to it. Run --model to pick a different model.",
      ...([404, 'no-model'] as const),
    ],
    ['Credit balance is too low', 400, 'quota'],
    ['API Error: 400 tools.0.custom.input_schema: JSON schema is invalid', 400, 'bad-reply'],
    ['Prompt is too long · the request is ~250000 tokens (limit 200000)', 400, 'oversize'],
    ['Request too large (max 32MB). Double press esc to go back and try with a smaller file.', 413, 'oversize'],
    ["You've hit your session limit · resets 5:07pm (UTC)", 429, 'plan-limit', HOUR],
    ["You've hit your session limit · resets 5pm (UTC)", 429, 'plan-limit', HOUR],
    ["You've hit your weekly limit · resets Nov 26, 3:07pm (UTC)", 429, 'plan-limit', HOUR],
    ["You've hit your Opus limit · resets Nov 26, 3:07pm (UTC)", 429, 'plan-limit', HOUR],
    ["You've hit your session limit", 429, 'plan-limit', HOUR],
    ['API Error: Server is temporarily limiting requests (not your usage limit) · slow down', 429, 'overloaded'],
    [
      'API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1).',
      ...([529, 'overloaded'] as const),
    ],
    ['API Error: 500 Internal server error. This is a server-side issue, usually temporary.', 500, 'server-error'],
    ['API Error: 502 Bad gateway. This is a server-side issue, usually temporary.', 502, 'server-error'],
    ['API Error: Unable to connect to API (ConnectionRefused)', null, 'network'],
    ['API Error: Unable to connect to API (FailedToOpenSocket)', null, 'network'],
    [
      "API Error: Claude's response exceeded the 8000 output token maximum. To configure this behavior, set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable.",
      ...([null, 'bad-reply'] as const),
    ],
    ['Something that nobody has seen before', null, 'server-error'],
  ];
  test.each(rows)('%s', (said, status, code, retryAfterMs) => {
    const stdout = JSON.stringify({
      ...{ type: 'result', subtype: 'success', is_error: true, api_error_status: status, result: said },
      ...{ stop_reason: 'stop_sequence', usage: NOTHING_USED, modelUsage: {} },
    });
    const { failure, usage } = claudeCode.read({ code: 1, stdout, stderr: '' });
    expect(failure).toMatchObject({ code, retryAfterMs });
    expect(failure?.message).toContain(said.slice(0, 60));
    // It says itself that nothing was used.
    expect(usage).toEqual(NOTHING_USED);
  });
});

describe('Codex', () => {
  const rows: Row[] = [
    ['error sending request for url (https://auth.openai.com/oauth/token)', null, 'network'],
    ['Failed to refresh token: 404 Not Found', null, 'auth'],
    ['unexpected status 403 Forbidden: You do not have access, url: http://127.0.0.1/v1/responses', 403, 'auth'],
    ['The model `x` does not exist or you do not have access to it.', null, 'no-model'],
    [
      `{"detail":"The 'gpt-5' model is not supported when using Codex with a ChatGPT account."}`,
      ...([null, 'no-model'] as const),
    ],
    [
      '{"error":{"type":"invalid_request_error","code":"invalid_json_schema","message":"Invalid schema for response_format"}}',
      ...([null, 'bad-reply'] as const),
    ],
    [
      'You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at 5:12 PM.',
      ...([null, 'plan-limit', HOUR] as const),
    ],
    [
      'You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro) or try again at Nov 26th, 2026 3:13 PM.',
      ...([null, 'plan-limit', HOUR] as const),
    ],
    ['You’ve hit your usage limit. Upgrade to Pro or try again later.', null, 'plan-limit', HOUR],
    ['To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.', null, 'quota'],
    ['exceeded retry limit, last status: 429 Too Many Requests', 429, 'overloaded'],
    ['Quota exceeded. Check your plan and billing details.', null, 'quota'],
    ['We’re currently experiencing high demand, which may cause temporary errors.', null, 'overloaded'],
    ['Selected model is at capacity. Please try a different model.', null, 'overloaded'],
    [
      'rate limit exceeded: Rate limit reached for gpt-5.5. Please try again in 11.054s.',
      ...([null, 'overloaded'] as const),
    ],
    [
      "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
      ...([null, 'oversize'] as const),
    ],
    ['Incomplete response returned, reason: max_output_tokens', null, 'bad-reply'],
    ['Connection failed: error sending request', null, 'network'],
    ['Something that nobody has seen before', null, 'server-error'],
  ];
  test.each(rows)('%s', (said, _, code, retryAfterMs) => {
    const events = [
      { type: 'thread.started', thread_id: 't' },
      { type: 'item.completed', item: { id: 'item_0', type: 'error', message: 'Model metadata for `x` not found.' } },
      { type: 'error', message: 'Reconnecting... 1/5 (stream disconnected)' },
      { type: 'error', message: said },
      { type: 'turn.failed', error: { message: said } },
    ];
    const stdout = events.map((event) => JSON.stringify(event)).join('\n');
    expect(() => codex.read({ code: 1, stdout, stderr: 'WARNING: a line' })).toThrow(
      expect.objectContaining({ code, retryAfterMs, message: expect.stringContaining(said.slice(0, 60)) }),
    );
  });

  test('an answer is the last thing it said, its cached tokens apart; a warning of its own is none', () => {
    const events = [
      { type: 'item.completed', item: { id: 'item_0', type: 'error', message: 'Codex is ignoring 1 setting' } },
      { type: 'item.completed', item: { id: 'item_1', type: 'agent_message', text: '{"entries":[]}' } },
      {
        type: 'turn.completed',
        usage: { input_tokens: 12_000, cached_input_tokens: 4_000, output_tokens: 60, reasoning_output_tokens: 20 },
      },
    ];
    const stdout = events.map((event) => JSON.stringify(event)).join('\n');
    expect(codex.read({ code: 0, stdout, stderr: '' })).toEqual({
      output: { entries: [] },
      usage: { input_tokens: 8_000, cache_read_input_tokens: 4_000, output_tokens: 60 },
    });
  });
});

test.each([claudeCode, codex])('$title that ended without a word is no answer, by whatever code', (program) => {
  const thrown = (code: number | null, stderr = '') => {
    expect(() => program.read({ code, stdout: '', stderr })).toThrow(
      expect.objectContaining({
        code: 'server-error',
        message: expect.stringMatching(
          new RegExp(stderr || (code === null ? 'it was killed' : `with exit code ${code}`)),
        ),
      }),
    );
  };
  thrown(3);
  thrown(137);
  thrown(null);
  thrown(1, "error: unknown option '--x'");
  // Said nothing, and all is well: an answer that code refuses.
  expect(program.read({ code: 0, stdout: '', stderr: '' })).toMatchObject({ output: '' });
});

test('each failure that a person can do something about says what', () => {
  const remedy = (said: string, status?: number) => failureOf(claudeCode, { said, status }).remedy;
  expect(remedy('Not logged in · Please run /login')).toMatch(/Log in to Claude Code \(claude, then \/login\)/);
  expect(remedy("You've hit your session limit")).toMatch(/choose another model: nocturne setup/);
  expect(remedy('no such model', 404)).toMatch(/nocturne config model/);
  expect(remedy('Credit balance is too low')).toMatch(/Add credit/);
  expect(remedy('Unable to connect to API')).toMatch(/network/);
});
