// The settings: `config.json` in the home, with a default for each. A setting that cannot be read is an error that names
// it, never a silent default, and what is no setting is told; a configuration file inside a repository is never read.

import { join } from 'node:path';
import { z } from 'zod';
import { AppError, describeError } from '../errors.ts';
import { readTextNow } from '../files/files.ts';
import { isObject, parseWithComments } from '../text/json.ts';
import { didYouMean, distanceBetween } from '../text/wording.ts';
import { isZone } from '../time.ts';

const dollars = z.number().min(0);
const priceSchema = z.strictObject({ input: dollars, cacheRead: dollars, cacheWrite: dollars, output: dollars });

/** Who mistypes `offline` wants nobody to read. */
export const isMistyped = (model: string) =>
  model !== 'offline' && distanceBetween(model.toLowerCase(), 'offline') <= 2;

const programNames = z.enum(['claude-code', 'codex']);

/**
 * The comment of each setting is its line in docs/settings.md (test/docs/generate.ts).
 * @internal
 */
export const settingsSchema = z
  .strictObject({
    /**
     * Model id, or the program of an agent that you are logged in to (`claude-code`, `codex`, or one with a model of its own:
     * `claude-code/claude-sonnet-5-5`), or `offline`; for both jobs. `NOCTURNE_MODEL` and `--model` win.
     */
    model: z
      .string()
      .min(1)
      .refine((name) => !isMistyped(name), 'no such model (did you mean offline?)')
      .default('claude-opus-5-5'),
    /**
     * Address of another endpoint of the Messages protocol, local or not: `http://127.0.0.1:11434`. It wins over
     * `ANTHROPIC_BASE_URL`, and no key of the environment is sent there; none: Anthropic's own.
     */
    baseUrl: z.url({ protocol: /^https?$/, error: 'expected an address like http://127.0.0.1:11434' }).optional(),
    /** IANA time zone of days and of the nightly dream; default: this machine's. `NOCTURNE_ZONE` wins. */
    zone: z.string().refine(isZone, 'not a time zone').optional(),
    /** URL of a Redis that wakes workers, as `NOCTURNE_QUEUE_URL`, which wins; none: the worker looks for work itself. */
    queueUrl: z.string().optional(),
    /** PostgreSQL URL of memory that several machines share, as `NOCTURNE_DATABASE_URL`, which wins; none: all is on this machine. */
    databaseUrl: z.string().optional(),
    /** When a resident worker dreams: a cron pattern in `zone`. */
    dreamCron: z.string().default('30 3 * * *'),
    /** Sessions, and memories, that one worker is at work on at once. */
    concurrency: z.int().min(1).max(64).default(2),
    /** Tokens all jobs of all memories may use in a day: input, cached and output. */
    dayTokens: z.int().min(0).default(5_000_000),
    /** US dollars all jobs of all memories may cost in a day, for models with a price; none: no such limit. */
    dayMoneyUsd: z.number().min(0).optional(),
    /** Requests a day that agents' programs may send on your plan, where one stands as the model. */
    planRequests: z.int().min(0).default(100),
    /**
     * Programs of agents that may stand as the model, as set-up found them: the full path, and the part of the environment
     * that they need at night.
     */
    agentPrograms: z
      .partialRecord(
        programNames,
        z.strictObject({ path: z.string().min(1), environment: z.record(z.string(), z.string()).default({}) }),
      )
      .default({}),
    /** US dollars per million tokens by model id; before the built-in list prices. */
    prices: z.record(z.string(), priceSchema).default({}),
    /**
     * How long one request to the model may take, to the end of its reply; default: 240,000, of a model on this machine
     * (`ANTHROPIC_BASE_URL` on `localhost`, `127.0.0.1` or `[::1]`) 1,200,000.
     */
    requestMs: z.int().min(100).max(86_400_000).optional(),
    /** Learn by itself from sessions that no person sat at, too: `claude -p`, the Agent SDK, `codex exec`. */
    nonInteractive: z.boolean().default(false),
    /** Versions of files, and what undo needs, are kept so long; the end of a dream drops what is older. */
    versionDays: z.int().min(1).default(90),
    /** A program and its arguments that print the model's key, where neither the environment nor the key file has one. */
    keyCommand: z.array(z.string().min(1)).min(1).optional(),
    /**
     * Days after which a dream puts away in `archive/`: past dates of the project, and by type what was not
     * used, shown or changed; null: never. Use is judged only where recall is in use.
     */
    forgetDays: z
      .strictObject({
        pastDates: z.int().min(1).nullable().default(60),
        reference: z.int().min(1).nullable().default(180),
        project: z.int().min(1).nullable().default(365),
        feedback: z.int().min(1).nullable().default(730),
        user: z.int().min(1).nullable().default(730),
        /** What an agent found out, and no session found again. */
        found: z.int().min(1).nullable().default(180),
        /** A line that tells a state ("waits for review") is marked as perhaps over, and put away after as many days more. */
        state: z.int().min(1).nullable().default(14),
      })
      .prefault({}),
    /**
     * By what sessions are known as yours: the names of your homes (`/home/NAME`), the addresses of your git authors. Default: the
     * home of the memory's first session. What others say is kept with their name.
     */
    userName: z.array(z.string().min(1)).min(1).optional(),
    /** What is remembered of the user goes to the user scope, `memory/` in Claude Code's directory, for all projects. */
    userScope: z.boolean().default(false),
    /**
     * The team's memory, `.claude/memory/` at the top of the working tree: `off`; `read`, together with your own; or
     * `write`: dreams share what they keep about the project without being asked.
     */
    team: z.enum(['off', 'read', 'write']).default('read'),
    /** What a dream would change waits for `nocturne review`. */
    review: z.boolean().default(false),
    /** Where a session begins or is resumed, the agent shows you one line: what was recalled, learned, and waits for review. */
    sessionSign: z.boolean().default(true),
    /**
     * With each prompt a session is given what is near to it, in a rare word, a path or a topic's name, and it was not shown yet, up to 1,000 tokens, within 300 ms
     * or nothing. After a change run `nocturne setup` again, which adds the agents' hook or takes it out; `nocturne doctor` says where that was not done.
     */
    recallPrompts: z.boolean().default(true),
    /**
     * When a call of the agent fails for which memory knows a way (of Claude Code any call, of others a shell's), the agent is told that line, at most three in a session,
     * within 300 ms or nothing. As with `recallPrompts`, `nocturne setup` adds the hook or takes it out.
     */
    recallFailures: z.boolean().default(true),
    /** By path (`~/` is the user's directory): `{ "~/secret": { "enabled": false } }` turns a project off; the longest path counts. */
    projects: z.record(z.string().min(1), z.strictObject({ enabled: z.boolean().default(true) })).default({}),
    /** Globs of directories (`~/clients/**`): sessions that ran in or under one are left alone. */
    excludedPaths: z.array(z.string().min(1)).default([]),
    /** Work also where the agent's own memory is turned off, so that nocturne takes its place. */
    ignoreAgentSwitches: z.boolean().default(false),
  })
  .describe('config.json');

/** What were settings once and nobody changed: a config.json that has one still is read without it, and that is told. */
export const FIXED = {
  /** A line that only one session showed waits so many days for a second one, then goes to the archive. */
  holdDays: 30,
  /** Model calls with their tool results, per excerpt and per request of a dream. */
  maxTurns: 5,
  childMemoryMb: 256,
  /** Size at which the log starts over. */
  logBytes: 5_000_000,
  /** A sweep looks at sessions that changed within so many days. */
  sweepDays: 7,
  /** A dream over HTTP that is not done after so many hours fails. */
  dreamHours: 24,
  /** Bytes of a session sent over HTTP, once it is decompressed. */
  sessionBytes: 67_108_864,
  /** So many of the newest versions of each file are kept, however old they are. */
  versionsKept: 10,
  /** In one directory. */
  maxMemories: 20_000,
  /** What one memory may grow to; daily logs and the index are not counted. */
  memoryBytes: 102_400,
  /** After a session's last news its extraction waits so long: the transcript may lag behind. */
  debounceMs: 10_000,
  /** News of a session that goes on are extracted no more often than this. */
  throttleMs: 300_000,
  /** A transcript that was quiet so long has ended. */
  quietMs: 1_800_000,
  /** How long the lease of a process that cannot be seen to be dead outlasts its last renewal. */
  leaseMs: 60_000,
  /** Jobs in a row without progress after which no model is asked for a while. */
  breakerAfter: 5,
  /** Output tokens per model call. */
  maxOutputTokens: 8_000,
  /** Tokens of transcript that one extraction is shown; longer sessions are split. */
  excerptTokens: 12_000,
  /** Tokens one job may send and receive, all its requests together. */
  jobTokens: 1_000_000,
  /** Tokens that one recall may cost, by an estimate that leaves room for its error. */
  recallTokens: 16_000,
  /** What a session's start waits for at most: beyond it the database is away, or others write to it. */
  startMs: 5_000,
  /** Sessions that were sent over HTTP, or to the database that machines share, are kept so many days. */
  sessionDays: 30,
  /** Further arguments for an agent's program as the model. */
  agentArguments: {} as Partial<Record<'claude-code' | 'codex', string[]>>,
  totalMemoryBytes: 100 * 1024 * 1024,
};

// `startMs` never was one.
const { startMs: _, ...onceSettings } = FIXED;

/** By the name of what is no setting any more: what counts instead. */
export const FORMER: Record<string, string> = {
  ...Object.fromEntries(Object.entries(onceSettings).map(([name, value]) => [name, `always ${JSON.stringify(value)}`])),
  dreamMinEntries: 'always 1',
  fork: 'always an excerpt',
  dreamMinHours: 'always 0',
  decompressedBytes: 'always 268435456',
  wallMs: 'a minute and five times requestMs',
  jobWallMs: 'half an hour, or wallMs where that is longer',
  maxWaitingSessions: 'without a limit',
  mcpStores: 'what --store of nocturne mcp names',
  serverModels: 'the configured model',
  telemetry: 'on where the environment sets OTEL_*',
};

// Written so, a published declaration spells them out and needs no zod.
export const defaultSettings = () => settingsSchema.parse({});
export type Settings = ReturnType<typeof defaultSettings>;

/** Where the settings are. */
export function settingsPath(home: string): string {
  return join(home, 'config.json');
}

export interface ReadSettings extends Settings {
  /** What the file has that is no setting any more. */
  former: string[];
  /** What is said of what it has that never was one; nobody is kept from reading by it, and no model is asked. */
  unknown?: string;
  setsModel: boolean;
}

/** Reads a settings file; without one all is as by default. */
export async function readSettings(path: string): Promise<ReadSettings> {
  const { settings, former, issues, setsModel } = await parseSettings(readTextNow(path) ?? '{}', path);
  const unknown = issues.length > 0 ? `${issues.map(sayIssue).join('; ')}. ${remedyFor(issues)}` : undefined;
  if (settings) return { ...settings, former, unknown, setsModel };
  throw new AppError('bad-input', `${path}: ${issues.map(sayIssue).join('; ')}.`, { remedy: remedyFor(issues) });
}

/** What a text sets, where nothing is wrong but names, and all that is wrong with it. Throws for one that is not JSON. */
async function parseSettings(text: string, path: string) {
  const found = await parseWithComments(text).catch((error) => {
    throw new AppError('bad-input', `${path} is not JSON: ${describeError(error)}.`, {
      remedy: 'Correct or remove it.',
    });
  });
  const isFormer = (name: string) => Object.hasOwn(FORMER, name);
  const all = isObject(found) ? Object.entries(found) : [];
  const known = Object.fromEntries(all.filter(([name]) => !isFormer(name)));
  const { data, error } = settingsSchema.safeParse(isObject(found) ? known : found);
  const issues = error?.issues ?? [];
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    const at = issue.path.reduce<unknown>((inner, key) => Object(inner)[key], known);
    for (const key of issue.keys) delete (at as Record<string, unknown>)[key];
  }
  return {
    settings: issues.length > 0 && isObject(found) ? settingsSchema.safeParse(known).data : data,
    former: all.map(([name]) => name).filter(isFormer),
    setsModel: Object.hasOwn(known, 'model'),
    issues,
  };
}

/** What is said of settings that are none any more; undefined where there are none. */
export function sayFormer(former: string[]): string | undefined {
  const said = former.map((name) => `${name} is no longer a setting: it is ${FORMER[name]}`);
  return said.length > 0 ? `${said.join('; ')}.` : undefined;
}

/** The error of the first thing that is wrong with one text of a settings file and is not with another; else undefined. */
export async function newProblem(
  path: string,
  { from, to }: { from: string; to: string },
): Promise<AppError | undefined> {
  const [before, after] = [await parseSettings(from, path), await parseSettings(to, path)];
  const former = sayFormer(after.former.filter((name) => !before.former.includes(name)));
  if (former) return new AppError('bad-input', former);
  const known = before.issues.map(sayIssue);
  const issue = after.issues.find((each) => !known.includes(sayIssue(each)));
  return issue && new AppError('bad-input', `${sayIssue(issue)}.`, { remedy: remedyFor([issue]) });
}

function sayIssue({ path, message, ...issue }: z.core.$ZodIssue): string {
  const where = path.length > 0 ? `${z.core.toDotPath(path)}: ` : '';
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${where}${key} is not a setting`).join('; ');
  return where + message.replace(/^Invalid input: /, '').replace(/^\p{Lu}/u, (letter) => letter.toLowerCase());
}

function remedyFor(issues: z.core.$ZodIssue[]): string {
  const names = Object.keys(settingsSchema.shape);
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : [],
  );
  const meant = unknown.map((key) => didYouMean(key, names, 'nocturne config --all lists the settings.'));
  return [...new Set(meant), 'Correct or remove it.'].join(' ');
}
