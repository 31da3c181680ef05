// nocturne as a system that is played: its hooks tell, its jobs learn and dream, in a home of the play's own.

import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import { type Config, loadConfig } from '../../../src/base/config/config.ts';
import { AppError } from '../../../src/base/errors.ts';
import { dayOf } from '../../../src/base/time.ts';
import { answerFailure } from '../../../src/hook/failure-recall.ts';
import { failureOf } from '../../../src/hook/hook-input.ts';
import { answerPrompt } from '../../../src/hook/prompt-recall.ts';
import { answerHook } from '../../../src/hook/start-recall.ts';
import type { Part } from '../../../src/transcript/messages.ts';
import { type App, openApp } from '../../../src/worker/compose.ts';
import type { Link } from './links.ts';
import { PATIENCE_MS, type System, type SystemAt, type Told } from './system.ts';

type Call = Extract<Part, { kind: 'call' }>;

export function nocturne({ out, model, environment, parts }: SystemAt): System {
  const at = (now: string) => configOf({ out, model, now }, environment);
  const atNight = async (link: Link, work: (app: App) => Promise<Ended>) => {
    const night = nightAfter(link.endsAt);
    const app = await openApp(await at(night), parts);
    try {
      const { outcome, error } = await work(app);
      if (error) throw new AppError('server-error', `${link.id}: ${outcome}: ${error.message}`);
    } finally {
      await setTimes(app, { dir: join(out, 'memory'), night });
      await app.close();
    }
  };
  return {
    tell: (link, keep) => tellAll(link, { at, out, keep }),
    learn: (link) => atNight(link, (app) => app.extract({ transcript: link.path, ended: true })),
    dream: (link) => atNight(link, async (app) => app.dream(await app.memoryFor({}), {})),
  };
}

/** As if the files of a night were written in it, one behind the other: what changed last is told first, on a fast disk too. */
async function setTimes({ db }: App, { dir, night }: { dir: string; night: string }): Promise<void> {
  const rows = await db.all<{ path: string; seq: number }>(
    'select file.path, version.seq from file join version on version.id = file.head where file.path is not null and version.at = ?',
    new Date(night).toISOString(),
  );
  for (const { path, seq } of rows) {
    const then = new Date(Date.parse(night) + seq);
    utimesSync(join(dir, path), then, then);
  }
}

interface Ended {
  outcome: string;
  error?: { message: string };
}

/** Asks the hooks what they tell, as the agent's program would while the session runs. */
async function tellAll(
  { id, messages, startsAt }: Link,
  { at, out, keep }: { at(now: string): Promise<Config>; out: string; keep(told: Told): void },
): Promise<void> {
  // Of whom it is, and what is told of a machine, hangs on its home.
  const input = { session_id: id, cwd: messages.find(({ cwd }) => cwd)?.cwd ?? join(out, 'tree') };
  const said = await answerHook(await at(startsAt), {
    input: { ...input, hook_event_name: 'SessionStart', source: 'startup' },
  });
  keep({ on: 'start', message: null, at: startsAt, text: said });
  let now = startsAt;
  const isOver = () => false;
  const calls = new Map<string, Call>();
  for (const { id: message, speaker, parts, at: when, isSidechain, cwd } of messages) {
    now = when ?? now;
    if (isSidechain) continue;
    for (const part of parts) {
      if (part.kind === 'call') calls.set(part.id, part);
      const call = part.kind === 'result' && part.isError ? calls.get(part.callId) : undefined;
      if (part.kind !== 'result' || !call) continue;
      const of = { tool_name: call.tool, tool_input: call.input, error: part.text };
      // A way is told in the repository in which it was found.
      const failed = { ...input, cwd: cwd ?? input.cwd, hook_event_name: 'PostToolUseFailure', ...of };
      const failure = failureOf(failed);
      const text = failure ? await answerFailure(await at(now), { input: failed, failure, isOver }) : '';
      if (text !== '') keep({ on: 'failure', message, at: now, text });
    }
    if (speaker !== 'human') continue;
    const prompt = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n');
    const prompted = { ...input, hook_event_name: 'UserPromptSubmit', prompt };
    const text = await answerPrompt(await at(now), { input: prompted, isOver });
    if (text !== '') keep({ on: 'prompt', message, at: now, text });
  }
}

/** A reader may stand behind the model's API, and take their time. */
const PATIENT = { requestMs: PATIENCE_MS, wallMs: 2 * PATIENCE_MS, jobWallMs: 4 * PATIENCE_MS, startMs: PATIENCE_MS };

async function configOf(
  { out, model, now }: { out: string; model: string; now: string },
  environment: NodeJS.ProcessEnv,
): Promise<Config> {
  const home = join(out, 'home');
  const own = { HOME: home, USERPROFILE: home, CLAUDE_CONFIG_DIR: home, NOCTURNE_HOME: home };
  const config = await loadConfig(
    { memoryDir: join(out, 'memory'), queueUrl: '', model },
    { ...environment, ...own, NOCTURNE_ZONE: 'UTC', NOCTURNE_NOW: now },
  );
  return { ...config, ...PATIENT };
}

const nightAfter = (at: string) => `${dayOf(addDays(new Date(at), 1), 'UTC')}T03:30:00Z`;
