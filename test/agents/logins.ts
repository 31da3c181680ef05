// Logins as the programs keep them in files, with made-up tokens: enough for what asks without a request, and for a service
// on loopback that believes everything.

import type { ProgramName } from '../../src/agent/programs/programs.ts';

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = { chatgpt_plan_type: 'plus', chatgpt_account_id: 'acc-1', chatgpt_user_id: 'u-1' };
const jwt = [
  encode({ alg: 'none', typ: 'JWT' }),
  encode({ email: 'kim@example.com', exp: 4_102_444_800, 'https://api.openai.com/auth': claims }),
  'c2ln',
].join('.');

/** What the service is sent as who asks. */
export const TOKENS: Record<ProgramName, string> = {
  'claude-code': 'sk-ant-oat01-made-up-token-of-a-test',
  codex: jwt,
};

/** Paths in the HOME. */
export const LOGINS: Record<ProgramName, Record<string, object>> = {
  'claude-code': {
    '.claude/.credentials.json': {
      claudeAiOauth: {
        accessToken: TOKENS['claude-code'],
        refreshToken: 'sk-ant-ort01-made-up',
        expiresAt: 4_102_444_800_000,
        scopes: ['user:inference', 'user:profile', 'user:sessions:claude_code'],
        subscriptionType: 'max',
      },
    },
  },
  codex: {
    '.codex/auth.json': {
      OPENAI_API_KEY: null,
      tokens: { id_token: jwt, access_token: jwt, refresh_token: 'made-up', account_id: 'acc-1' },
      last_refresh: new Date().toISOString(),
    },
  },
};

/** By a key that the program itself keeps. */
export const KEYS: Record<ProgramName, Record<string, object>> = {
  'claude-code': {
    '.claude.json': { primaryApiKey: 'sk-ant-api03-made-up-console-key', hasCompletedOnboarding: true },
  },
  codex: { '.codex/auth.json': { OPENAI_API_KEY: 'sk-made-up-key-of-a-test-0123456789' } },
};

/** How Codex reaches loopback: the one difference from a person's runs. */
export function codexArguments(url: string): string[] {
  const loop = `{name="loop",base_url="${url}/v1",wire_api="responses",requires_openai_auth=true,supports_websockets=false,request_max_retries=0,stream_max_retries=0}`;
  return ['-c', 'model_provider="loop"', '-c', `model_providers.loop=${loop}`];
}
