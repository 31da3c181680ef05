// Bounds the model requests that one worker has under way, over all its runs: so sessions can be read, checked and
// committed while others wait for the model, and the slots that are paid for by waiting stay busy.
// A slot is held from a request's reservation to its settlement, so not while tools run or answers are checked.

import type { RunAgent } from '../../agent/types.ts';

export class ModelSlots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(slots: number) {
    this.#free = slots;
  }

  /** A slot, in the order of asking; give it back once. */
  async take(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return () => {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    };
  }
}

/**
 * The same runs, with every request in a slot. A run sends one request after the other, so it holds one slot at most:
 * one whose request was never settled (its fate is unknown) serves the next try, and is given back with the run's end.
 */
export function withinSlots(run: RunAgent, slots: ModelSlots): RunAgent {
  return async (request, ports, signal) => {
    let isOver = false;
    let slot: (() => void) | undefined;
    const giveBack = () => {
      slot?.();
      slot = undefined;
    };
    const reserve: typeof ports.reserve = async (...bound) => {
      slot ??= await slots.take();
      // The run may have been ended while it waited.
      if (isOver) giveBack();
      return ports.reserve(...bound);
    };
    const settle: typeof ports.settle = (reservation, ...answered) => {
      giveBack();
      return ports.settle(reservation, ...answered);
    };
    try {
      return await run(request, { ...ports, reserve, settle }, signal);
    } finally {
      isOver = true;
      giveBack();
    }
  };
}

/** How many sessions are worked side by side so that `slots` model requests can be: half as many wait their turn. */
export function lanesFor(slots: number): number {
  return slots + Math.floor(slots / 2);
}
