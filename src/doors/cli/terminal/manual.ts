// What `nocturne --help` says below the commands: models, environment, exit codes.

import { OFFLINE_DESCRIPTION } from '../../../agent/offline/model.ts';
import { EXIT, EXIT_MEANINGS } from './output.ts';

export function manual(): string {
  const codes = Object.entries(EXIT).map(
    ([name, code]) => `  ${String(code).padStart(2)}  ${EXIT_MEANINGS[name as keyof typeof EXIT]}`,
  );
  return `
Models:
  A model id of the Anthropic Messages API, reached with ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN and, for another
  endpoint of the same protocol, ANTHROPIC_BASE_URL; or offline: ${OFFLINE_DESCRIPTION}.

Environment:
  NOCTURNE_HOME        settings, spend, the embedded queue (default ~/.nocturne)
  NOCTURNE_MEMORY_DIR  one memory directory for every session (else CLAUDE_COWORK_MEMORY_PATH_OVERRIDE, else
                       autoMemoryDirectory of your Claude Code settings, else the project's own)
  NOCTURNE_MODEL       default of --model
  NOCTURNE_QUEUE_URL   redis://… or postgres://… (else REDIS_URL; empty: the embedded queue)
  VISUAL, EDITOR       what nocturne open starts
  NO_COLOR             no colours; there are none either where the output is no terminal

Exit codes:
${codes.join('\n')}`;
}
