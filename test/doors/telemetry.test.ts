// Spans as an SDK sees them that a user registered; here one that keeps them in memory.

import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { testApp, testModel } from '../support/app.ts';
import { calls, error, says } from '../support/messages-server.ts';
import { aSession } from '../support/session-file.ts';

const exporter = new InMemorySpanExporter();

beforeAll(() => {
  const storage = new AsyncLocalStorage<Context>();
  context.setGlobalContextManager({
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...args) => storage.run(active, () => work.apply(self, args)),
    bind: (_, target) => target,
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  });
  propagation.setGlobalPropagator({
    fields: () => ['traceparent'],
    inject(active, carrier, setter) {
      const { traceId = '', spanId = '' } = trace.getSpanContext(active) ?? {};
      setter.set(carrier, 'traceparent', `00-${traceId}-${spanId}-01`);
    },
    extract(active, carrier, getter) {
      const [, traceId = '', spanId = ''] = String(getter.get(carrier, 'traceparent')).split('-');
      return trace.setSpanContext(active, { traceId, spanId, traceFlags: 1, isRemote: true });
    },
  });
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
});
afterEach(() => exporter.reset());

function spans() {
  const finished = exporter.getFinishedSpans();
  const nameOf = new Map(finished.map((span) => [span.spanContext().spanId, span.name]));
  return finished.map((span) => ({
    name: span.name,
    parent: nameOf.get(span.parentSpanContext?.spanId ?? ''),
    attributes: span.attributes,
    status: span.status,
  }));
}

test('each request is a span within that of its job, without a word of the session', async () => {
  const model = await testModel([calls('memory', { command: 'view', path: '/memories' }), says('Nothing.')]);
  const { app, dir } = await testApp({ server: model, variables: { OTEL_SERVICE_NAME: 'test' } });
  await app.extract({ transcript: aSession().path, ended: true });
  const found = spans();
  expect(found.map(({ name, parent }) => [name, parent])).toEqual([
    ['chat test-model', 'nocturne extract'],
    ['chat test-model', 'nocturne extract'],
    ['nocturne extract', undefined],
  ]);
  expect(found[0]?.attributes).toMatchObject({
    'gen_ai.request.model': 'test-model',
    'gen_ai.usage.input_tokens': 100,
    'gen_ai.usage.output_tokens': 10,
  });
  expect(found[2]?.attributes).toMatchObject({
    'nocturne.outcome': 'nothing-worth-keeping',
    'nocturne.store': dir,
    'nocturne.calls': 2,
  });
  expect(JSON.stringify(found)).not.toMatch(/pnpm|Nothing\./);
});

test('a failure is told by its code alone', async () => {
  const model = await testModel([error(401, 'invalid x-api-key: password is Sommer-2019!')]);
  const { app } = await testApp({ server: model, variables: { OTEL_SERVICE_NAME: 'test' } });
  await app.extract({ transcript: aSession().path, ended: true });
  expect(spans().find((span) => span.name === 'nocturne extract')).toMatchObject({
    status: { code: 2, message: 'auth' },
    attributes: { 'error.type': 'auth', 'nocturne.failure_class': 'auth' },
  });
  expect(JSON.stringify(spans())).not.toMatch(/Sommer|x-api-key/);
});

test('with telemetry off there are no spans, whoever registered an SDK', async () => {
  const { app } = await testApp();
  await app.extract({ transcript: aSession().path, ended: true });
  expect(spans()).toEqual([]);
});
