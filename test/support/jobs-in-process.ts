// The jobs over a memory directory in this process, with the scripted model or one that a test plays, for tests that run
// many of them.

import { deliver } from '../../jobs/deliver.ts';
import { dream } from '../../jobs/dream.ts';
import { extract } from '../../jobs/extract.ts';
import { type ForgetRequest, forget } from '../../jobs/forget.ts';
import { type RememberRequest, remember } from '../../jobs/remember.ts';
import { reprocess } from '../../jobs/reprocess.ts';
import { listProposals } from '../../jobs/review/waiting-proposals.ts';
import { type ReviewRequest, review } from '../../jobs/review.ts';
import { undo } from '../../jobs/undo.ts';
import { runAgent as loopInProcess } from '../../src/agent/loop.ts';
import type { AgentRequest, RunAgent } from '../../src/agent/types.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { thisProcess } from '../../src/base/process.ts';
import { type Clock, fixedClock } from '../../src/base/time.ts';
import type { DreamRequest } from '../../src/doors/compose.ts';
import { type Home, openHome } from '../../src/memory/home/home.ts';
import { JobSpend } from '../../src/memory/home/spend.ts';
import { type Lease, releaseLease, takeLease } from '../../src/memory/ledger/job-rows.ts';
import { openStore } from '../../src/memory/open.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { scriptedModel } from './scripted-model.ts';
import { closeBefore, tempDir } from './temp.ts';

/** Which model is asked, and how it is reached. */
export type Model = Pick<AgentRequest, 'model' | 'access'>;

export interface InProcessOptions {
  /** The model of all jobs, or of the extraction alone; default: the scripted one. */
  all?: Model;
  extract?: Model;
  /** In place of the loop and a model. */
  runAgent?: RunAgent;
  requestTokens?: number;
  /** Of one excerpt; default: 12,000. */
  excerptTokens?: number;
  /** How much text of pending turns is held at a time. */
  heldCharacters?: number;
  /** The user scope, where entries about the user are kept; default: beside the others. */
  user?: Store;
  /** Dreams propose. */
  review?: boolean;
  /** Whose ceilings count; default: one of its own. */
  home?: Home;
}

export type JobsInProcess = Awaited<ReturnType<typeof jobsInProcess>>;

/**
 * Opens the directory as a process would that begins now, at `now`; a clock goes on as the test says. It is closed when
 * the test file is done, unless it was before.
 */
export async function jobsInProcess(
  dir = tempDir(),
  now: string | Clock = '2026-11-21T02:00:00Z',
  models: InProcessOptions = {},
) {
  const { runAgent = loopInProcess, requestTokens = 12_000, excerptTokens = 12_000 } = models;
  const { user, review: isReviewed = false } = models;
  const clock = typeof now === 'string' ? fixedClock(now) : now;
  const config = await loadConfig({}, { NOCTURNE_HOME: tempDir() });
  const { forgetDays: archiveAfterDays, holdDays } = config;
  const home = models.home ?? openHome(tempDir(), clock);
  const store = await openStore(dir, { clock });
  const tokens = 10_000_000;
  const scripted = { model: 'test-model', access: (await scriptedModel()).access };
  const common = () => ({
    clock,
    zone: 'UTC',
    agent: {
      ...(models.all ?? scripted),
      maxTurns: 5,
      maxOutputTokens: 8_000,
      requestMs: 60_000,
    },
    runAgent,
    spend: new JobSpend(home, { jobTokens: tokens, dayTokens: tokens, zone: 'UTC', clock }),
    withLease: <T>(at: Store, key: string, work: (lease: Lease) => Promise<T>) => withLease(at, { key, clock, work }),
  });
  const extraction = () => {
    const deps = common();
    return {
      ...deps,
      agent: { ...deps.agent, ...models.extract },
      quietMs: 0,
      excerptTokens,
      heldCharacters: models.heldCharacters,
      userMemoryOf: async () => user?.dir ?? null,
    };
  };
  const extractInto = (request: Parameters<typeof extract>[0]) =>
    extract(request, { ...extraction(), storeFor: async () => store });
  const close = () => {
    store.close();
    void home.close();
  };
  closeBefore(close);
  return {
    store,
    /** `reopen`: turns to be extracted again. */
    extract: (transcript: string, reopen?: Set<string>) => extractInto({ transcript, ended: true, reopen }),
    dream: async (request: DreamRequest = {}) => {
      const deps = common();
      const needsApproval = request.review ?? isReviewed;
      return dream(request, { ...deps, requestTokens, holdDays, archiveAfterDays, needsApproval, store });
    },
    /** Default: the last job. */
    undo: (request: Parameters<typeof undo>[0] = { last: true }) =>
      undo(request, {
        ...common(),
        environment: {},
        store,
      }),
    /** What waits for a person's word. */
    proposals: () => listProposals(store),
    review: (request: ReviewRequest) => review(request, { ...common(), requestTokens, store }),
    reprocess: (what: { session?: string; day?: string }) =>
      reprocess({ ...what, ended: true }, { store, extract: extractInto }),
    remember: (request: RememberRequest) => remember(request, { store, clock, zone: 'UTC' }),
    /** Confirms what is asked, unless told otherwise. */
    forget: (target: string, more?: Partial<ForgetRequest>) =>
      forget({ target, confirm: async () => true, ...more }, { ...common(), store }),
    /** Brings what waits in the outbox to the user scope, which no job here does by itself. */
    deliver: async () => user && deliver(store, { ...common(), store: user }),
    withLease: common().withLease,
    close,
  };
}

async function withLease<T>(
  store: Store,
  { key, clock, work }: { key: string; clock: Clock; work: (lease: Lease) => Promise<T> },
): Promise<T | null> {
  const lease = takeLease(store.ledger, { key, owner: `${thisProcess()}/test`, now: clock.now(), ttlMs: 60_000 });
  if (!lease) return null;
  try {
    return await work(lease);
  } finally {
    releaseLease(store.ledger, lease);
  }
}
