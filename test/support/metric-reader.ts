// A reader of metrics that a user registered; one that keeps them in memory, by the API's own interfaces.

import {
  type BatchObservableCallback,
  createNoopMeter,
  type Meter,
  type MetricOptions,
  metrics,
  type Observable,
} from '@opentelemetry/api';
import { beforeAll } from 'vitest';

/** A meter that asks its callbacks when it is read, as an SDK's reader does. */
export function metricReader() {
  const callbacks = new Set<BatchObservableCallback>();
  const sums = new Map<string, number>();
  const units = new Map<string, string | undefined>();
  const named = new Map<Observable, string>();
  const meter: Meter = Object.assign(createNoopMeter(), {
    createObservableGauge(name: string, { unit }: MetricOptions = {}) {
      const gauge = { addCallback() {}, removeCallback() {} };
      named.set(gauge, name);
      units.set(name, unit);
      return gauge;
    },
    createCounter(name: string, { unit }: MetricOptions = {}) {
      units.set(name, unit);
      return { add: (value: number) => void sums.set(name, (sums.get(name) ?? 0) + value) };
    },
    addBatchObservableCallback: (callback: BatchObservableCallback) => void callbacks.add(callback),
    removeBatchObservableCallback: (callback: BatchObservableCallback) => void callbacks.delete(callback),
  });
  beforeAll(() => {
    metrics.setGlobalMeterProvider({ getMeter: () => meter });
    return () => metrics.disable();
  });
  return {
    units,
    async collect(): Promise<Record<string, number>> {
      const found = new Map(sums);
      const observe = (of: Observable, value: number) => void found.set(named.get(of) ?? '', value);
      for (const callback of callbacks) await callback({ observe });
      return Object.fromEntries(found);
    },
  };
}
