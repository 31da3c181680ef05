// Recall for one prompt, where `recallPrompts` is on: what is near to it and the session was not shown yet, of the
// project's memory and of those beside it. Promises: at most 1,000 tokens; a session is shown nothing twice, also not what
// its beginning showed; what cannot be noted as shown is not shown; nothing after the time is over. It waits for nobody
// that writes, and makes, repairs and asks nothing.

import { hash } from 'node:crypto';
import type { Config } from '../base/config/config.ts';
import { canonicalPath, isDirectory } from '../base/files/directories.ts';
import { textOf } from '../base/text/json.ts';
import { lookIntoHome } from '../memory/home/home.ts';
import { isCheckedInDir } from '../memory/home/paths.ts';
import { findLedger } from '../memory/ledger/ledger.ts';
import { type NearLine, nearTo } from '../memory/recall/near.ts';
import { asContent, frameOf } from '../memory/recall/recall.ts';
import { recalledTexts, rememberRecalled } from '../memory/recall/recall-uses.ts';
import { passagesOf } from '../rules/spoken-text.ts';
import { isWithinTokens } from '../transcript/excerpt/tokens.ts';
import { enablementFor, scopeDir, scopesBeside } from './places.ts';

const MOST_TOKENS = 1_000;
/** For a job that is just writing. */
const WAIT_MS = 50;
/** What a person types is shorter; of more the beginning and the end tell what it is about. */
const MOST_CHARACTERS = 4_000;

interface PromptRequest {
  /** What the agent's hook was given. */
  input: Record<string, unknown>;
  /** Whether it is too late for an answer. */
  isOver(): boolean;
}

/** What the hook answers, as the agents read it; empty for nothing. Throws like anything else: the hook is silent then. */
export async function answerPrompt(config: Config, { input, isOver }: PromptRequest): Promise<string> {
  const [hookEventName, session, prompt] = [
    textOf(input.hook_event_name),
    textOf(input.session_id),
    textOf(input.prompt),
  ];
  if (!config.recallPrompts || !hookEventName || !session || !prompt || textOf(input.agent_id)) return '';
  // A database is not asked within the time of a prompt.
  if (config.databaseUrl !== undefined) return '';
  const text = await recallPromptFor(config, { session, prompt, cwd: textOf(input.cwd) ?? process.cwd(), isOver });
  return text === '' ? '' : JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext: text } });
}

async function recallPromptFor(
  config: Config,
  { session, prompt, cwd, isOver }: { session: string; prompt: string; cwd: string; isOver(): boolean },
): Promise<string> {
  const home = lookIntoHome(config.home, config.clock);
  if (!home || !(await enablementFor(config, { pauses: home.pauses, cwd })).enabled) return '';
  const memory = canonicalPath(scopeDir(config, { memory: 'project', cwd }));
  const beside = scopesBeside(config, { cwd, memory });
  // A ledger that came with a repository proves nothing of what happened here.
  const trusted = beside.filter(({ scope, dir }) => scope === 'user' || home.stores.includes(dir));
  const places = [{ scope: 'project', dir: memory }, ...trusted].flatMap(({ scope, dir }) => {
    const ledger = findLedger(dir, { waitMs: WAIT_MS });
    return ledger ? [{ scope, dir, ledger }] : [];
  });
  try {
    // Where recall at the beginning of a session notes it, too.
    const keeper = places.find(({ scope }) => scope === (isDirectory(memory) ? 'project' : 'user'))?.ledger;
    if (!keeper || isOver()) return '';
    const shown = recalledTexts(keeper, session);
    const now = config.clock.now();
    const words = typedOf(prompt);
    const found: Placed[] = [];
    for (const { scope, dir, ledger } of places) {
      const isForeign = scope === 'local' || isCheckedInDir(dir);
      const isShown = (said: string) => shown.some((text) => text.includes(asContent(said, isForeign)));
      const near = nearTo({ dir, ledger }, { prompt: words, now, isShown });
      found.push(...near.map((line) => ({ ...line, scope, dir, isForeign })));
      if (isOver()) return '';
    }
    const text = await layOut(found, { memory, isOver });
    if (text === '' || isOver()) return '';
    const request = hash('sha256', text).slice(0, 16);
    rememberRecalled(keeper, { session, request, text, now });
    return isOver() ? '' : text;
  } finally {
    for (const { ledger } of places) ledger.close();
  }
}

/** Of a prompt what the person typed, where that is enough to search by. */
function typedOf(prompt: string): string {
  const half = MOST_CHARACTERS / 2;
  const some = prompt.length <= MOST_CHARACTERS ? prompt : `${prompt.slice(0, half)}\n${prompt.slice(-half)}`;
  const typed = passagesOf(some).flatMap(({ text, isPasted }) => (isPasted ? [] : [text]));
  return typed.join('\n').trim() === '' ? some : typed.join('\n');
}

interface Placed extends NearLine {
  scope: string;
  dir: string;
  isForeign: boolean;
}

/** The section with the nearest of the lines, as many as it has room for, each place's and topic's together. */
async function layOut(found: Placed[], { memory, isOver }: { memory: string; isOver(): boolean }): Promise<string> {
  const section = await frameOf('recall-prompt', memory);
  const frames = new Map<string, (body: string) => string>();
  for (const { scope, dir } of found) {
    if (scope !== 'project' && !frames.has(dir)) frames.set(dir, await frameOf(`recall-${scope}`, dir));
  }
  const textOfAll = (lines: Placed[]) => {
    // The project's own first, as where a session begins.
    const inOrder = lines.toSorted((a, b) => Number(b.dir === memory) - Number(a.dir === memory));
    const places = [...Map.groupBy(inOrder, ({ dir }) => dir)].map(([dir, ofPlace]) => {
      const parts = [...Map.groupBy(ofPlace, ({ heading }) => heading)].map(
        ([heading, ofTopic]) => `${heading}${ofTopic.map(({ text }) => text).join('')}`,
      );
      const body = asContent(parts.join('\n'), ofPlace[0]?.isForeign ?? false);
      return frames.get(dir)?.(body) ?? body;
    });
    return lines.length === 0 ? '' : section(places.join('\n\n'));
  };
  if (found.length === 0) return '';
  // Loaded where there is something to look at: the rules for secrets take longer than all else.
  const { redact } = await import('../base/text/redact.ts');
  let shown: Placed[] = [];
  const said = new Set<string>();
  for (const line of found.sort((a, b) => b.score - a.score)) {
    if (said.has(line.said)) continue;
    const more = [...shown, line];
    if (!isWithinTokens(textOfAll(more), MOST_TOKENS)) break;
    if (isOver()) return '';
    // A line that a person wrote a secret into is told by no prompt.
    if ((await redact(line.heading + line.text)).found.length > 0) continue;
    said.add(line.said);
    shown = more;
  }
  return textOfAll(shown);
}
