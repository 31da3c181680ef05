// Forked children between their runs. A start costs several times what a run does apart from the model.
// Promises: a child is given out for the memory directory it has served, and for no other; at most so many runs and so
// long idle; one that says a word or ends while it is idle is not given out again; idle ones keep no process alive.

import type { ChildProcess } from 'node:child_process';

export interface WarmOptions {
  /** How many may be idle at once. */
  most: number;
  /** Runs of one child. */
  runs: number;
  idleMs: number;
}

export interface Child {
  process: ChildProcess;
  /** The memory directory; undefined: it is not kept. */
  memory: string | undefined;
  /** How many runs were begun. */
  runs: number;
}

interface Idle {
  child: Child;
  /** From here on it is no idle child any more. */
  leave(): void;
}

export class WarmChildren {
  /** The longest idle first. */
  readonly #idle: Idle[] = [];
  readonly #options: WarmOptions;

  constructor(options: WarmOptions) {
    this.#options = options;
  }

  /** One that has served this directory, the last used; undefined: there is none. */
  take(memory: string): Child | undefined {
    const found = this.#idle.findLast(({ child }) => child.memory === memory);
    found?.leave();
    return found?.child;
  }

  /** Takes one back after a run that ended well, or ends it. */
  giveBack(child: Child): void {
    const { most, runs, idleMs } = this.#options;
    const { process, memory } = child;
    if (memory === undefined || child.runs >= runs || most === 0) {
      process.kill('SIGKILL');
      return;
    }
    const end = () => {
      idle.leave();
      process.kill('SIGKILL');
    };
    const timer = setTimeout(end, idleMs).unref();
    const events = ['message', 'error', 'exit', 'disconnect'] as const;
    const hold = (isHeld: boolean) => {
      for (const each of [process, process.channel, process.stderr as { ref?(): void; unref?(): void } | null]) {
        if (isHeld) each?.ref?.();
        else each?.unref?.();
      }
    };
    const idle: Idle = {
      child,
      leave: () => {
        clearTimeout(timer);
        for (const event of events) process.off(event, end);
        this.#idle.splice(this.#idle.indexOf(idle), 1);
        hold(true);
      },
    };
    for (const event of events) process.on(event, end);
    hold(false);
    this.#idle.push(idle);
    if (this.#idle.length > most) this.#endFirst();
  }

  /** Ends all that are idle. */
  close(): void {
    while (this.#idle.length > 0) this.#endFirst();
  }

  #endFirst(): void {
    const [first] = this.#idle;
    first?.leave();
    first?.child.process.kill('SIGKILL');
  }
}
