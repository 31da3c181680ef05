// A line on stderr that says what is going on and what is waited for; silent where stderr is no terminal. Ctrl-C
// ends the process at once, with a word: nothing that was begun is half done, for work is committed whole.

import type { RequestNews } from '../../job-bounds.ts';
import { note } from './output.ts';

const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const FRAME_MS = 100;
const CLEARED = '\r\u001b[2K';
const STOPPED = 'Stopped. What is done stays; the rest waits for the next time.';

let tellCurrent: ((news: RequestNews) => void) | undefined;

/** Says beside the line that is shown what the model does. */
export function tellProgress(news: RequestNews): void {
  tellCurrent?.(news);
}

/** `ifStopped`: what is said at Ctrl-C. */
export function progress(text: string, ifStopped = STOPPED) {
  let said = text;
  let waitsFor = '';
  let frame = 0;
  const isShown = process.stderr.isTTY;
  const clear = () => isShown && process.stderr.write(CLEARED);
  const draw = () => {
    if (!isShown) return;
    const room = (process.stderr.columns || 80) - waitsFor.length - 4;
    const short = said.length > room ? `${said.slice(0, room)}…` : said;
    process.stderr.write(`${CLEARED}${FRAMES[frame++ % FRAMES.length]} ${short}${waitsFor}`);
  };
  const timer = setInterval(draw, FRAME_MS);
  timer.unref();
  const tell = (news: RequestNews) => {
    waitsFor = sayWaits(news);
    draw();
  };
  const stop = () => {
    clearInterval(timer);
    process.off('SIGINT', end);
    if (tellCurrent === tell) tellCurrent = undefined;
    clear();
  };
  const end = () => {
    stop();
    note(ifStopped);
    // As a process ends that heeds no signal, so that a script that called it ends, too.
    process.kill(process.pid, 'SIGINT');
  };
  process.once('SIGINT', end);
  tellCurrent = tell;
  draw();
  return {
    say(next: string): void {
      said = next;
      draw();
    },
    /** Lets `write` write to the terminal meanwhile. */
    print(write: () => void): void {
      clear();
      write();
    },
    stop,
  };
}

function sayWaits(news: RequestNews): string {
  if (news === null) return '';
  if (news === undefined) return ' · waiting for the model';
  const { status, waitMs } = news;
  const isAskedAgain = status === 408 || status === 409 || status === 429 || status >= 500;
  if (!isAskedAgain) return ` · the model refused (${status})`;
  const what = status === 529 || status === 429 ? 'the model is overloaded' : 'the model failed';
  return ` · ${what} (${status}), asked again ${waitMs === null ? 'shortly' : `in ${Math.ceil(waitMs / 1000)} s`}`;
}
