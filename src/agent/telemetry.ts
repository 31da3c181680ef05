// OpenTelemetry through the API package alone: spans around jobs, runs of the agent and requests to the model, and
// metrics. They go where the SDK sends them that a user registers (`node --import ./otel.mjs`), and nowhere without one.
// Promises: no text of a transcript, a prompt or a reply is in a span, and no name of a store, a session or a person in a
// metric; figures are read only when a reader asks for them, and not again within 15 s; with telemetry off nothing is loaded.

import type { Context, Meter, Span, Tracer } from '@opentelemetry/api';
import type { Usage } from '../base/config/prices.ts';
import { ERRORS, type Failure, failureOf } from '../base/errors.ts';
import type { Clock } from '../base/time.ts';
import type { AgentPorts, RunAgent } from './agent-types.ts';

interface Tracing {
  /** Runs a job within a span of its own; where it works, and what it used, may only be known at its end. */
  job<T extends JobReport>(name: string, at: { id?: string; spend?: JobSpend }, work: () => Promise<T>): Promise<T>;
  /** The same `RunAgent`, with a span for each run and for each request. */
  run(run: RunAgent): RunAgent;
}

interface JobReport {
  outcome: string;
  session?: string;
  error?: Failure;
  spend?: JobSpend;
}

type JobSpend = Pick<Usage, 'calls' | 'inputTokens' | 'cachedInputTokens' | 'outputTokens'>;

const NO_TRACING: Tracing = { job: (_name, _at, work) => work(), run: (run) => run };

export function tracing(isOn: boolean): Tracing {
  if (!isOn) return NO_TRACING;
  const loading = import('@opentelemetry/api');
  return {
    async job(name, at, work) {
      const { trace } = await loading;
      return trace.getTracer('nocturne').startActiveSpan(`nocturne ${name}`, (span) =>
        within(span, async () => {
          const report = await work();
          const spend = report.spend ?? at.spend;
          span.setAttributes({
            'nocturne.store': at.id,
            'nocturne.outcome': report.outcome,
            'nocturne.session': report.session,
            'nocturne.calls': spend?.calls,
            'gen_ai.usage.input_tokens': spend && spend.inputTokens + spend.cachedInputTokens,
            'gen_ai.usage.output_tokens': spend?.outputTokens,
          });
          if (report.error) fail(span, report.error);
          return report;
        }),
      );
    },
    run: (run) => async (request, ports, signal) => {
      const { context, trace } = await loading;
      const attributes = { 'gen_ai.request.model': request.model, 'nocturne.max_turns': request.maxTurns };
      return trace.getTracer('nocturne').startActiveSpan('nocturne agent', { attributes }, (span) =>
        within(span, async () => {
          const parent = trace.setSpan(context.active(), span);
          const requests = requestSpans(trace.getTracer('nocturne'), { parent, model: request.model });
          try {
            return await run(request, requests.around(ports), signal);
          } finally {
            requests.end();
          }
        }),
      );
    },
  };
}

/** One span per HTTP request: from its reservation to its settlement, or to the end of the run. */
function requestSpans(tracer: Tracer, { parent, model }: { parent: Context; model: string }) {
  const open = new Map<number, Span>();
  return {
    around: (ports: AgentPorts): AgentPorts => ({
      ...ports,
      reserve: async (bound, outputTokens, paid) => {
        const reservation = await ports.reserve(bound, outputTokens, paid);
        const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model, 'nocturne.bound': bound };
        open.set(reservation, tracer.startSpan(`chat ${model}`, { attributes }, parent));
        return reservation;
      },
      settle: async (reservation, usage, refused) => {
        const span = open.get(reservation);
        open.delete(reservation);
        span?.setAttributes({
          'gen_ai.usage.input_tokens': usage.inputTokens + usage.cachedInputTokens,
          'gen_ai.usage.output_tokens': usage.outputTokens,
        });
        span?.end();
        await ports.settle(reservation, usage, refused);
      },
    }),
    /** What was never settled is a request whose fate is unknown. */
    end() {
      for (const span of open.values()) {
        fail(span, { code: 'network' });
        span.end();
      }
    },
  };
}

async function within<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    fail(span, failureOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** The code alone: a message may quote what was said. */
function fail(span: Span, { code }: Pick<Failure, 'code'>): void {
  // 2 is `SpanStatusCode.ERROR`, whose package is loaded only where telemetry is on.
  span.setStatus({ code: 2, message: code });
  span.setAttributes({ 'error.type': code, 'nocturne.failure_class': ERRORS[code].class });
}

/** What is true now of all memory that a worker works for. */
export interface Figures {
  waiting: number;
  /** Since when the oldest of what waits does; ISO-8601. */
  oldestSince: string | null;
  /** Keys that someone works on. */
  leases: number;
  /** What counts against today's ceilings: used, and reserved for requests under way. */
  tokens: number;
  microUsd: number;
}

const READ_AT_MOST_EVERY_MS = 15_000;

/** Offers figures to whatever reads metrics; answers what ends that. Where they cannot be read the reader is told why. */
export async function observeFigures(read: () => Promise<Figures>, clock: Clock): Promise<() => void> {
  const meter = (await import('@opentelemetry/api')).metrics.getMeter('nocturne');
  const gauge = (name: string, description: string, unit: string) =>
    meter.createObservableGauge(`nocturne.${name}`, { description, unit });
  const waiting = gauge('work.waiting', 'items that wait in the inboxes', '{item}');
  const oldest = gauge('work.oldest', 'how long the oldest of them waits', 's');
  const tokens = gauge('spend.tokens', "what counts against today's ceiling of tokens", '{token}');
  const usd = gauge('spend.usd', "what counts against today's ceiling of money", 'USD');
  const leases = gauge('leases', 'keys that someone works on', '{lease}');
  const all = [waiting, oldest, tokens, usd, leases];
  let last: { figures: Promise<Figures>; atMs: number } | undefined;
  const figuresAt = (nowMs: number) => {
    if (!last || Math.abs(nowMs - last.atMs) >= READ_AT_MOST_EVERY_MS) {
      const reading = { figures: read(), atMs: nowMs };
      last = reading;
      reading.figures.catch(() => {
        if (last === reading) last = undefined;
      });
    }
    return last.figures;
  };
  const observe: Parameters<Meter['addBatchObservableCallback']>[0] = async (result) => {
    const nowMs = clock.now().getTime();
    const found = await figuresAt(nowMs);
    const sinceMs = found.oldestSince === null ? nowMs : Date.parse(found.oldestSince);
    result.observe(waiting, found.waiting);
    result.observe(oldest, Math.max(0, nowMs - sinceMs) / 1_000);
    result.observe(tokens, found.tokens);
    result.observe(usd, found.microUsd / 1e6);
    result.observe(leases, found.leases);
  };
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}
