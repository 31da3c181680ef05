// OpenTelemetry spans around jobs, runs of the agent and requests to the model, through the API package alone: they
// go where the SDK sends them that a user registers (`node --import ./otel.mjs`), and nowhere without one.
// Promises: no text of a transcript, a prompt or a reply is in a span; with telemetry off nothing is loaded.

import type { Context, Span, Tracer } from '@opentelemetry/api';
import type { AgentPorts, RunAgent } from '../agent/types.ts';
import { ERRORS, type Failure, failureOf } from '../base/errors.ts';

interface Tracing {
  /** Runs a job within a span of its own; where it works may only be known at its end. */
  job<T extends JobReport>(name: string, at: { id?: string }, work: () => Promise<T>): Promise<T>;
  /** The same `RunAgent`, with a span for each run and for each request. */
  run(run: RunAgent): RunAgent;
}

interface JobReport {
  outcome: string;
  session?: string;
  error?: Failure;
  spend: { calls: number; inputTokens: number; cachedInputTokens: number; outputTokens: number };
}

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
          const { calls, inputTokens, cachedInputTokens, outputTokens } = report.spend;
          span.setAttributes({
            'nocturne.store': at.id,
            'nocturne.outcome': report.outcome,
            'nocturne.session': report.session,
            'nocturne.calls': calls,
            'gen_ai.usage.input_tokens': inputTokens + cachedInputTokens,
            'gen_ai.usage.output_tokens': outputTokens,
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

/** Counts bytes of pages and files that a check-in sent to the database; none with telemetry off. */
export function checkedInCounter(isOn: boolean): ((bytes: number) => Promise<void>) | undefined {
  if (!isOn) return undefined;
  const loading = import('@opentelemetry/api');
  return async (bytes) => {
    const options = { description: 'bytes of memory that commits sent to the database', unit: 'By' };
    (await loading).metrics.getMeter('nocturne').createCounter('nocturne.fleet.checked_in', options).add(bytes);
  };
}

/** One span per HTTP request: from its reservation to its settlement, or to the end of the run. */
function requestSpans(tracer: Tracer, { parent, model }: { parent: Context; model: string }) {
  const open = new Map<number, Span>();
  return {
    around: (ports: AgentPorts): AgentPorts => ({
      callTool: (name, input) => ports.callTool(name, input),
      reserve: async (bound, outputTokens) => {
        const reservation = await ports.reserve(bound, outputTokens);
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
