// Whose shell this is: agents name themselves in the environment of the shells that they start.
// Promises that an agent which does as it is told cannot speak in the person's place by calling nocturne; it is no wall
// against one that takes the variables out.
// Never told by a terminal: some agents give their shells one.

/** What each agent sets, as its own program does. `AI_AGENT` is what any other may set. */
const VARIABLES = new Map([
  ['CLAUDECODE', 'Claude Code'],
  ['CODEX_THREAD_ID', 'Codex'],
  ['CODEX_SANDBOX', 'Codex'],
  ['CODEX_CI', 'Codex'],
  ['GEMINI_CLI', 'Gemini CLI'],
  ['OPENCODE', 'opencode'],
  ['COPILOT_CLI', 'Copilot CLI'],
  ['PI_CODING_AGENT', 'pi'],
  ['CURSOR_AGENT', 'Cursor'],
  ['AI_AGENT', 'an agent'],
]);

export interface ShellAgent {
  name: string;
  /** By which it is known. */
  variable: string;
}

/** The agent whose shell has this environment; undefined: none that is known, so the person's. */
export function agentOfShell(environment: Record<string, string | undefined>): ShellAgent | undefined {
  const [known] = [...VARIABLES].filter(([variable]) => environment[variable]);
  return known && { name: known[1], variable: known[0] };
}
