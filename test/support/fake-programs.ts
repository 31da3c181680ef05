// Programs of agents as a person may have them on the path: they say that they are logged in, or not, and answer every
// request with the same. The real ones are in test:agents.

import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Person } from './person.ts';

interface Fake {
  isLoggedIn?: boolean;
  /** It is logged in by a key that costs money. */
  isByKey?: boolean;
  version?: string;
  /** What it answers; default: nothing to learn. */
  output?: object;
}

const ANSWERS = {
  claude: ({ isLoggedIn = true, isByKey = false, output = { entries: [] } }: Fake) => ({
    status: JSON.stringify({
      ...{ loggedIn: isLoggedIn, authMethod: isLoggedIn ? 'claude.ai' : 'none', subscriptionType: 'max' },
      ...(isByKey && { apiKeySource: 'ANTHROPIC_API_KEY' }),
    }),
    result: isLoggedIn
      ? { is_error: false, structured_output: output, usage: { input_tokens: 12, output_tokens: 3 } }
      : { is_error: true, result: 'Not logged in · Please run /login' },
  }),
  codex: ({ isLoggedIn = true, isByKey = false, output = { entries: [] } }: Fake) => ({
    status: isLoggedIn ? `Logged in using ${isByKey ? 'an API key' : 'ChatGPT'}` : 'Not logged in',
    result: [
      { type: 'item.completed', item: { type: 'agent_message', text: JSON.stringify(output) } },
      { type: 'turn.completed', usage: { input_tokens: 12, output_tokens: 3 } },
    ],
  }),
};

/** Puts one on the person's path; answers how many requests it was sent. */
export function giveProgram(
  { user }: Person,
  name: 'claude' | 'codex',
  fake: Fake = {},
): { path: string; calls(): number } {
  const { isLoggedIn = true, version = name === 'claude' ? '2.1.197' : '0.169.0' } = fake;
  const { status, result } = ANSWERS[name](fake);
  const [path, log] = [join(user, 'bin', name), join(user, `${name}-calls`)];
  const lines = [result].flat().map((line) => `printf '%s\\n' '${JSON.stringify(line)}'`);
  writeFileSync(
    path,
    `#!/bin/sh
case " $* " in
  " --version ") echo '${version}' ;;
  *" auth status "*|*" login status "*) printf '%s\\n' '${status}'; exit ${isLoggedIn ? 0 : 1} ;;
  *) cat > '${log}.stdin'; printf 'asked\\n' >> '${log}'
     ${lines.join('\n     ')}
     exit ${isLoggedIn ? 0 : 1} ;;
esac
`,
  );
  chmodSync(path, 0o755);
  return { path, calls: () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0) };
}
