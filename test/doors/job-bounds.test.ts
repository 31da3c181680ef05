// What bounds a job: as many requests at once as there are slots, whatever becomes of them.

import { expect, test } from 'vitest';
import type { AgentRequest, RunAgent } from '../../src/agent/agent-types.ts';
import { ModelSlots, withinSlots } from '../../src/worker/job-bounds.ts';
import { recordingPorts } from '../support/agent-ports.ts';

const NO_USAGE = { calls: 1, inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
const request = {} as AgentRequest;

test('a run that never settles, tries again and fails gives its only slot to the next', async () => {
  const ports = recordingPorts();
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
  expect(ports.reserved).toHaveLength(3);
});

test('a run that is ended while its request waits for a slot takes none from the others', async () => {
  const ports = recordingPorts();
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
