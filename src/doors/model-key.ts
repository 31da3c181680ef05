// The model's key, where it is kept outside of the environment: asked for only when a model is.

import type { RunAgent } from '../agent/types.ts';
import type { Config } from '../base/config/config.ts';
import { readAccess } from '../base/key.ts';

/** Gives every run the key. */
export function withAccess(config: Config, run: RunAgent): RunAgent {
  return async (request, ports, signal) =>
    run({ ...request, access: { ...request.access, ...(await readAccess(config)) } }, ports, signal);
}
