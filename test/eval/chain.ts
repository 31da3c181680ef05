// A chain: real sessions of one repository in the order of their days, in one memory, with a night after each. Kept is what
// each session was told: where it began, with each prompt, at each call that failed; the memory as it stood after each night;
// and what the model answered, so that the same play can be made again without it.

import { createHash } from 'node:crypto';
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as bodyOf } from 'node:stream/consumers';
import { addDays } from 'date-fns/addDays';
import { type Config, loadConfig } from '../../src/base/config/config.ts';
import { AppError } from '../../src/base/errors.ts';
import { dayOf } from '../../src/base/time.ts';
import { answerFailure } from '../../src/hook/failure-recall.ts';
import { failureOf } from '../../src/hook/hook-input.ts';
import { answerPrompt } from '../../src/hook/prompt-recall.ts';
import { answerHook } from '../../src/hook/start-recall.ts';
import type { Message, Part } from '../../src/transcript/messages.ts';
import { openSession } from '../../src/transcript/session.ts';
import { openApp } from '../../src/worker/compose.ts';
import type { Parts } from '../../src/worker/job-bounds.ts';
import { stepsIn } from './steps.ts';

/** What a session was told. `message`: the prompt or the failed call's result that it came with. */
export interface Told {
  session: string;
  on: 'start' | 'prompt' | 'failure';
  message: string | null;
  at: string;
  text: string;
}

export interface Play {
  /** A directory of the play's own; what was done in it before is not done again. */
  out: string;
  model: string;
  environment: NodeJS.ProcessEnv;
  parts?: Parts;
  say?(text: string): void;
}

type Call = Extract<Part, { kind: 'call' }>;

interface Link {
  id: string;
  path: string;
  messages: Message[];
  startsAt: string;
  endsAt: string;
}

/** The sessions of `dir`, by the time of their first record. */
export async function chainIn(dir: string): Promise<Link[]> {
  const links: Link[] = [];
  for (const name of readdirSync(dir).filter((each) => each.endsWith('.jsonl'))) {
    const path = join(dir, name);
    const session = await openSession(path);
    const messages = await Array.fromAsync(session.messages());
    const times = messages.flatMap(({ at }) => at ?? []).sort();
    if (times.length > 0)
      links.push({ id: session.id, path, messages, startsAt: times[0] ?? '', endsAt: times.at(-1) ?? '' });
  }
  if (links.length === 0) throw new AppError('bad-input', `${dir} holds no session with times.`);
  return links.sort((a, b) => a.startsAt.localeCompare(b.startsAt));
}

/** Plays the chain; what it is told and keeps stands in `out`: told.jsonl, after/N, answers.jsonl. */
export async function playChain(
  dir: string,
  { out, model, environment, parts, say = () => {} }: Play,
): Promise<{ sessions: number; told: Told[]; asked: number; others: number }> {
  mkdirSync(join(out, 'tree'), { recursive: true });
  const steps = stepsIn(join(out, 'steps.json'));
  const answers = await recordedModel(join(out, 'answers.jsonl'), environment.ANTHROPIC_BASE_URL);
  const at = (now: string) => configOf({ out, model, now }, { ...environment, ANTHROPIC_BASE_URL: answers.url });
  try {
    const links = await chainIn(dir);
    for (const [index, link] of links.entries()) {
      const session = `${index + 1} of ${dir}: ${link.id}`;
      const take = async (step: string, work: () => Promise<void>) => {
        if (steps.get(`${step} ${link.id}`)) return;
        say(`${session}: ${step}`);
        answers.begin(`${step} ${index + 1}`);
        await work();
        steps.set(`${step} ${link.id}`, noUsage());
      };
      await take('told', () => tellAll(link, { at, out }));
      const night = nightAfter(link.endsAt);
      const app = await openApp(await at(night), parts);
      try {
        const memory = await app.memoryFor({});
        const ended = (step: string, { outcome, error }: { outcome: string; error?: { message: string } }) => {
          if (error) throw new AppError('server-error', `${step} of ${link.id}: ${outcome}: ${error.message}`);
        };
        await take('learn', async () => ended('learn', await app.extract({ transcript: link.path, ended: true })));
        await take('dream', async () => ended('dream', await app.dream(memory, {})));
        cpSync(join(out, 'memory'), join(out, 'after', String(index + 1)), { recursive: true });
      } finally {
        await app.close();
      }
    }
    return { sessions: links.length, told: toldIn(out), ...answers.counts() };
  } finally {
    await answers.close();
  }
}

/** What the sessions of a play in `out` were told. */
export function toldIn(out: string): Told[] {
  const path = join(out, 'told.jsonl');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  return lines.map((line) => JSON.parse(line));
}

/** Asks the hooks what they tell, as the agent's program would while the session runs. */
async function tellAll(
  { id, messages, startsAt }: Link,
  { at, out }: { at(now: string): Promise<Config>; out: string },
): Promise<void> {
  // Of whom it is, and what is told of a machine, hangs on its home.
  const input = { session_id: id, cwd: messages.find(({ cwd }) => cwd)?.cwd ?? join(out, 'tree') };
  const keep = (told: Omit<Told, 'session'>) =>
    appendFileSync(join(out, 'told.jsonl'), `${JSON.stringify({ session: id, ...told })}\n`);
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
const PATIENT = { requestMs: 21_600_000 };

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
const noUsage = () => ({ calls: 0, inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 });

interface Answered {
  step: string;
  /** SHA-256 of the request: whether the code asks now what was asked then. */
  asked: string;
  type: string;
  body: string;
}

/** The model's API on loopback: answers in the order in which `path` holds them, step by step, and asks the real one beyond. */
async function recordedModel(path: string, behind: string | undefined) {
  const kept: Answered[] = existsSync(path)
    ? readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    : [];
  let [step, given, all, others] = ['', 0, 0, 0];
  const server = createServer(async (request, response): Promise<unknown> => {
    const body = await bodyOf(request);
    const { url = '/', method = 'POST', headers } = request;
    const asked = createHash('sha256').update(body).digest('hex');
    let answer = url.includes('count_tokens') ? undefined : kept.filter((each) => each.step === step)[given];
    if (answer && answer.asked !== asked) others += 1;
    if (!answer) {
      if (behind === undefined)
        return response.writeHead(400).end('No answer is recorded, and ANTHROPIC_BASE_URL is not set.');
      const { host: _, connection: __, 'content-length': ___, ...passed } = headers;
      const got = await fetch(new URL(url, behind), { method, body, headers: passed as Record<string, string> });
      answer = { step, asked, type: got.headers.get('content-type') ?? '', body: await got.text() };
      if (!got.ok || url.includes('count_tokens'))
        return response.writeHead(got.status, { 'content-type': answer.type }).end(answer.body);
      kept.push(answer);
      appendFileSync(path, `${JSON.stringify(answer)}\n`);
    }
    given += 1;
    all += 1;
    return response.writeHead(200, { 'content-type': answer.type }).end(answer.body);
  }).listen(0, '127.0.0.1');
  await new Promise((listening) => server.on('listening', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begin(name: string) {
      [step, given] = [name, 0];
    },
    /** How many requests were answered, and how many of them were others than those whose answers they got. */
    counts: () => ({ asked: all, others }),
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
