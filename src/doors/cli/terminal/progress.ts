// A line or a bar on stderr that says what is going on; silent where stderr is no terminal.

import { Presets, SingleBar } from 'cli-progress';
import yoctoSpinner from 'yocto-spinner';

export interface Progress {
  say(text: string): void;
  /** Lets `write` write to the terminal meanwhile. */
  print(write: () => void): void;
  stop(): void;
}

export function progress(text: string): Progress {
  if (!process.stderr.isTTY) return { say() {}, print: (write) => write(), stop() {} };
  const spinner = yoctoSpinner({ text, stream: process.stderr }).start();
  return {
    say(next) {
      spinner.text = next;
    },
    print(write) {
      spinner.clear();
      write();
    },
    stop() {
      spinner.stop();
    },
  };
}

export interface ProgressBar {
  start(total: number): void;
  tick(): void;
  stop(): void;
}

/** A bar with how many of `what` are done, how fast that goes, and how long it will take. */
export function progressBar(what: string): ProgressBar {
  const startedMs = performance.now();
  const bar = new SingleBar(
    {
      format: `{bar} {value}/{total} ${what} · {rate}/s · {eta_formatted} left`,
      stream: process.stderr,
      clearOnComplete: true,
    },
    Presets.shades_grey,
  );
  let done = 0;
  const rate = () => Math.round((done * 1000) / Math.max(1, performance.now() - startedMs));
  return {
    start: (total) => bar.start(total, 0, { rate: 0 }),
    tick() {
      done += 1;
      bar.update(done, { rate: rate() });
    },
    stop: () => bar.stop(),
  };
}
