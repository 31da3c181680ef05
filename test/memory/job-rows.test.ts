// The rows of jobs: they end once, by themselves or by who finds their process dead, and say what their requests used.

import { describe, expect, test } from 'vitest';
import { insert, type Sql } from '../../src/db/sql.ts';
import { beginJob, endInterrupted, endJob } from '../../src/memory/job-rows.ts';
import { ENGINE_TAKEN, inWorld, NOW, skipped } from '../support/memory-world.ts';

const LATER = '2026-03-02T09:05:00.000Z';
const rowOf = (sql: Sql, id: string) => sql.get('select * from job where id = ?', id);

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('a job ends with what its requests used, and ends once', () =>
    inWorld(engine, async ({ db }) => {
      const id = await beginJob(db, { kind: 'extract', startedBy: 'hook', at: NOW });
      const call = {
        day: '2026-03-02',
        scope: '',
        job: id,
        model: 'm',
        at: NOW,
        reserved_tokens: 900,
        reserved_usd: 7,
      };
      const used = { settled_at: NOW, input: 500, cached: 30, written: 20, output: 40, micro_usd: 6 };
      await insert(db, 'call', [{ id: 'call_1', ...call, ...used }]);
      await insert(db, 'call', [{ id: 'call_2', ...call }]);
      const error = { code: 'overloaded', message: 'Come later.', retryAfterMs: 60_000 } as const;
      await endJob(db, id, { outcome: 'failed', error, progress: 2, at: LATER });
      await endJob(db, id, { outcome: 'extracted', at: LATER });
      const row = await rowOf(db, id);
      expect(row).toMatchObject({
        status: 'failed',
        outcome: 'failed',
        code: 'overloaded',
        progress: 2,
        ended_at: LATER,
      });
      expect(row?.retry_at).toBe('2026-03-02T09:06:00.000Z');
      expect(JSON.parse(String(row?.usage))).toEqual({
        ...{ calls: 2, inputTokens: 500, cachedInputTokens: 30, cacheWriteTokens: 20, outputTokens: 40, microUsd: 6 },
      });
    }));

  it('a job whose process died is interrupted; one that lives, or was canceled, is left as it is', () =>
    inWorld(engine, async ({ db }) => {
      const begin = (process: string) => beginJob(db, { kind: 'dream', startedBy: 'program', process, at: NOW });
      const [dead, alive, canceled] = [await begin('here:1:'), await begin('here:2:'), await begin('here:1:')];
      await endJob(db, canceled, { outcome: 'canceled', status: 'canceled', at: NOW });
      await endInterrupted(db, new Date(LATER), (process) => process === 'here:1:');
      expect(await rowOf(db, dead)).toMatchObject({ status: 'failed', outcome: 'interrupted', ended_at: LATER });
      expect(await rowOf(db, alive)).toMatchObject({ status: 'running', ended_at: null });
      expect(await rowOf(db, canceled)).toMatchObject({ status: 'canceled', ended_at: NOW });
    }));

  it('what a client asked for and waits is begun as the same job', () =>
    inWorld(engine, async ({ db }) => {
      const asked = { id: 'drm_1', kind: 'dream', status: 'pending', started_by: 'api', created_at: NOW };
      await insert(db, 'job', [{ ...asked, request: '{"model":"m"}' }]);
      await beginJob(db, { id: 'drm_1', kind: 'dream', startedBy: 'program', at: LATER });
      const row = await rowOf(db, 'drm_1');
      expect(row).toMatchObject({ status: 'running', started_by: 'api', created_at: NOW, started_at: LATER });
      expect(row?.request).toBe('{"model":"m"}');
    }));
});
