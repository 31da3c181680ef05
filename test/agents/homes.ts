// The HOME of somebody who uses an agent's program: what the program wants to find so that it asks nothing at its start and
// takes its model from loopback, and how a person talks to it in a terminal. By key here; a login as a file: logins.ts.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Environment } from '../../src/base/config/config.ts';
import type { AgentName } from '../../src/setup/agents/agents.ts';

export interface AgentProgram {
  name: AgentName;
  /** What it is called in `PROGRAMS`. */
  bin: string;
  args: string[];
  /** Written into the HOME, by their paths in it. */
  files(at: { url: string; project: string }): Record<string, object | string>;
  environment(url: string): Environment;
  /** What the screen says when it can be typed into. */
  ready: RegExp;
  /** Typed to end it. */
  quit: string;
}

const KEY = 'sk-ant-made-up-key-of-a-test-0123456789';

const trusted = (project: string) => ({
  [project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true },
});

export const AGENTS: Record<AgentName, AgentProgram> = {
  'claude-code': {
    name: 'claude-code',
    bin: 'claude',
    args: ['--model', 'claude-sonnet-4-5'],
    files: ({ project }) => ({
      '.claude.json': {
        hasCompletedOnboarding: true,
        customApiKeyResponses: { approved: [KEY.slice(-20)] },
        projects: trusted(project),
      },
    }),
    environment: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: KEY, DISABLE_AUTOUPDATER: '1' }),
    ready: /❯/,
    quit: '/exit',
  },
  codex: {
    name: 'codex',
    bin: 'codex',
    args: ['--dangerously-bypass-hook-trust'],
    files: ({ url, project }) => ({
      '.codex/config.toml': [
        'model = "gpt-6.1-sol"',
        'model_provider = "loop"',
        'check_for_update_on_startup = false',
        '[model_providers.loop]',
        `name = "loop"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "LOOP_KEY"\nsupports_websockets = false`,
        `[projects."${project}"]\ntrust_level = "trusted"`,
      ].join('\n'),
    }),
    environment: () => ({ LOOP_KEY: KEY }),
    ready: /›/,
    quit: '/quit',
  },
  gemini: {
    name: 'gemini',
    bin: 'gemini',
    args: [],
    files: () => ({
      '.gemini/settings.json': {
        security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        privacy: { usageStatisticsEnabled: false },
      },
    }),
    environment: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: KEY }),
    ready: /Type your message/,
    quit: '/quit',
  },
  opencode: {
    name: 'opencode',
    bin: 'opencode',
    args: [],
    files: ({ url }) => ({
      '.config/opencode/opencode.json': {
        autoupdate: false,
        share: 'disabled',
        model: 'anthropic/claude-sonnet-4-5',
        small_model: 'anthropic/claude-haiku-4-5',
        provider: { anthropic: { options: { baseURL: `${url}/v1`, apiKey: KEY } } },
      },
    }),
    // At each start with a plugin it would wait for npm to install its plugin package, which ours does not need.
    environment: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1', NPM_CONFIG_OFFLINE: 'true', npm_config_offline: 'true' }),
    ready: /Ask anything/,
    quit: '/exit',
  },
};

/** Writes files by their paths below `home`. */
export function writeFiles(home: string, files: Record<string, object | string>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), typeof content === 'string' ? content : JSON.stringify(content, null, 2));
  }
}
