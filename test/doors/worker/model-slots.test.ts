// As many requests at once as there are slots, whatever becomes of the requests and of their runs.

import { expect, test } from 'vitest';
import type { AgentPorts, AgentRequest, RunAgent } from '../../../src/agent/types.ts';
import { loadConfig } from '../../../src/base/config/config.ts';
import { boundRun, lanesFor, ModelSlots, withinSlots } from '../../../src/doors/job-bounds.ts';
import { tempDir } from '../../support/temp.ts';

const NO_USAGE = { calls: 1, inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
const request = {} as AgentRequest;

/** Ports that know how many reservations are open. */
function countingPorts() {
  const state = { open: 0, most: 0, last: 0 };
  const ports: AgentPorts = {
    callTool: async () => ({ text: '', isError: false }),
    reserve: async () => {
      state.open += 1;
      state.most = Math.max(state.most, state.open);
      state.last += 1;
      return state.last;
    },
    settle: async () => {
      state.open -= 1;
    },
  };
  return { state, ports };
}

test('twelve runs of three requests each hold no more than the slots there are, and all end', async () => {
  const { state, ports } = countingPorts();
  const run: RunAgent = async (_request, { reserve, settle }) => {
    for (let turn = 0; turn < 3; turn += 1) {
      const reservation = await reserve(1, 1);
      await new Promise(setImmediate);
      await settle(reservation, NO_USAGE);
    }
    return 'done';
  };
  const slotted = withinSlots(run, new ModelSlots(4));
  const endings = await Promise.all(Array.from({ length: 12 }, () => slotted(request, ports)));
  expect(endings).toEqual(Array.from({ length: 12 }, () => 'done'));
  expect(state).toMatchObject({ open: 0, most: 4, last: 36 });
});

test('a run that never settles, tries again and fails gives its only slot to the next', async () => {
  const { state, ports } = countingPorts();
  const slots = new ModelSlots(1);
  const unlucky: RunAgent = async (_request, { reserve }) => {
    await reserve(1, 1);
    await reserve(1, 1);
    throw new Error('reset');
  };
  await expect(withinSlots(unlucky, slots)(request, ports)).rejects.toThrow('reset');
  const lucky: RunAgent = async (_request, { reserve, settle }) => {
    await settle(await reserve(1, 1), NO_USAGE);
    return 'done';
  };
  expect(await withinSlots(lucky, slots)(request, ports)).toBe('done');
  expect(state.last).toBe(3);
});

test('a run that is ended while its request waits for a slot takes none from the others', async () => {
  const { ports } = countingPorts();
  const slots = new ModelSlots(1);
  const giveBack = await slots.take();
  const ended: RunAgent = async (_request, { reserve }) => {
    void reserve(1, 1);
    return 'done';
  };
  await withinSlots(ended, slots)(request, ports);
  giveBack();
  await new Promise(setImmediate);
  const again = slots.take();
  expect(await Promise.race([again, new Promise((resolve) => setImmediate(resolve, 'none is free'))])).toEqual(
    expect.any(Function),
  );
});

test('work for a half more than the slots is made ready, for one slot none', () => {
  expect([1, 2, 3, 10].map(lanesFor)).toEqual([1, 3, 4, 15]);
});

test('without a key no agent is started', async () => {
  const config = await loadConfig({}, { HOME: tempDir(), NOCTURNE_MODEL: 'test-model' });
  let started = 0;
  const run = boundRun(
    config,
    async () => {
      started += 1;
      return 'done';
    },
    undefined,
  );
  const asked = { ...request, model: config.model, access: config.access };
  await expect(run(asked, countingPorts().ports)).rejects.toMatchObject({ code: 'no-model' });
  expect(started).toBe(0);
});
