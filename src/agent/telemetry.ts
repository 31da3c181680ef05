// OpenTelemetry through the API package alone: spans around jobs and requests to the model, and metrics. They go where the SDK sends them that a user registers (`node --import ./otel.mjs`), and nowhere without one.
// Promises: no text of a transcript, a prompt or a reply is in a span, and no name of a store, a session or a person in a
// metric; figures are read only when a reader asks for them; with telemetry off nothing is loaded.

import type { Meter, Span } from '@opentelemetry/api';
import type { Usage } from '../base/config/prices.ts';
import { ERRORS, type Failure, failureOf } from '../base/errors.ts';
import type { Clock } from '../base/time.ts';
import { aroundRequests, type RunAgent } from './agent-types.ts';

interface Tracing {
  /** Runs a job within a span of its own; where it works, and what it used, may only be known at its end. */
  job<T extends JobReport>(name: string, at: { id?: string; spend?: JobSpend }, work: () => Promise<T>): Promise<T>;
  /** The same `RunAgent`, with a span for each request. */
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
      const { trace } = await loading;
      const tracer = trace.getTracer('nocturne');
      const { model } = request;
      // One per HTTP request: from its reservation to its settlement, or to the end of the run.
      const open = new Map<number, Span>();
      const traced = aroundRequests(run, {
        reserved(id, bound) {
          const asked = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model, 'nocturne.bound': bound };
          open.set(id, tracer.startSpan(`chat ${model}`, { attributes: asked }));
        },
        settled(usage, _, id) {
          const request = open.get(id);
          open.delete(id);
          request?.setAttributes({
            'gen_ai.usage.input_tokens': usage.inputTokens + usage.cachedInputTokens,
            'gen_ai.usage.output_tokens': usage.outputTokens,
          });
          request?.end();
        },
      });
      try {
        return await traced(request, ports, signal);
      } finally {
        // What was never settled is a request whose fate is unknown.
        for (const request of open.values()) {
          fail(request, { code: 'network' });
          request.end();
        }
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

function waitedS({ oldestSince }: Figures, nowMs: number): number {
  return oldestSince === null ? 0 : Math.max(0, nowMs - Date.parse(oldestSince)) / 1_000;
}

const GAUGES: [name: string, description: string, unit: string, value: (found: Figures, nowMs: number) => number][] = [
  ['work.waiting', 'items that wait in the inboxes', '{item}', ({ waiting }) => waiting],
  ['work.oldest', 'how long the oldest of them waits', 's', waitedS],
  ['spend.tokens', "what counts against today's ceiling of tokens", '{token}', ({ tokens }) => tokens],
  ['spend.usd', "what counts against today's ceiling of money", 'USD', ({ microUsd }) => microUsd / 1e6],
  ['leases', 'keys that someone works on', '{lease}', ({ leases }) => leases],
];

/** Offers figures to whatever reads metrics; answers what ends that. Where they cannot be read the reader is told why. */
export async function observeFigures(read: () => Promise<Figures>, clock: Clock): Promise<() => void> {
  const meter = (await import('@opentelemetry/api')).metrics.getMeter('nocturne');
  const gauges = GAUGES.map(([name, description, unit]) =>
    meter.createObservableGauge(`nocturne.${name}`, { description, unit }),
  );
  const observe: Parameters<Meter['addBatchObservableCallback']>[0] = async (result) => {
    const nowMs = clock.now().getTime();
    const found = await read();
    for (const [at, gauge] of gauges.entries()) result.observe(gauge, GAUGES[at]?.[3](found, nowMs) ?? 0);
  };
  meter.addBatchObservableCallback(observe, gauges);
  return () => meter.removeBatchObservableCallback(observe, gauges);
}
