// The model's key, where it is kept outside of the environment: asked for only when a model is.

import type { Batches } from '../agent/batches.ts';
import type { RunAgent } from '../agent/types.ts';
import type { Config } from '../base/config/config.ts';
import { readAccess } from '../base/key.ts';

/** Gives every run the key. */
export function withAccess(config: Config, run: RunAgent): RunAgent {
  return async (request, ports, signal) =>
    run({ ...request, access: { ...request.access, ...(await readAccess(config)) } }, ports, signal);
}

/** Message Batches with the key. The SDK is loaded only where something is sent or asked after. */
export async function batchesOf(
  config: Config,
  { model, signal }: { model: string; signal?: AbortSignal },
): Promise<Batches> {
  const { openBatches } = await import('../agent/batches.ts');
  const access = { ...config.access, ...(await readAccess(config)) };
  return openBatches({ ...config, model, access }, signal);
}
