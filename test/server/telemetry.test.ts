// Spans of requests as an SDK sees them that a user registered; here one that keeps them in memory.

import { trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { expect, onTestFinished, test } from 'vitest';
import { served } from './served.ts';

test('with telemetry on each request is a span with its route, status and id, and no word of what it carries', async () => {
  const exporter = new InMemorySpanExporter();
  trace.disable();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  onTestFinished(() => {
    trace.disable();
  });
  const at = await served({ app: { variables: { OTEL_SERVICE_NAME: 'test' } } });
  const { key } = await at.client();
  const answer = await fetch(`${at.url}/v1/memory_stores/memstore_secret`, { headers: { 'x-api-key': key } });
  const spans = exporter.getFinishedSpans().filter(({ name }) => name === 'nocturne request');
  expect(spans.map(({ attributes }) => attributes)).toEqual([
    {
      'http.request.method': 'GET',
      'http.route': '/v1/memory_stores/{store}',
      'http.response.status_code': 404,
      'nocturne.request': answer.headers.get('request-id'),
    },
  ]);
});
