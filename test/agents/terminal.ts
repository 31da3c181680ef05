// A pseudo-terminal of 160 columns that a program runs in, and somebody who types there: tmux with a server of its own,
// since the programs ask their terminal questions (where the cursor is, which colours it has) that `script` leaves unanswered.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Environment } from '../../src/base/config/config.ts';

/** Starts the program in a terminal. */
export function openTerminal(
  command: string[],
  { environment, cwd, dir }: { environment: Environment; cwd: string; dir: string },
) {
  const socket = join(dir, `tmux-${Math.random().toString(36).slice(2)}`);
  const tmux = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      // The server hands its own environment on.
      env: { ...environment, PATH: environment.PATH, TERM: 'xterm-256color' },
    });
    return { status, stdout, stderr };
  };
  // Words of a shell: tmux runs one.
  const words = command.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  const started = tmux('new-session', '-d', '-x', '160', '-y', '50', '-s', 'agent', '-c', cwd, `exec ${words}`);
  if (started.status !== 0) throw new Error(`tmux: ${started.stderr}`);
  const pid = Number(tmux('list-panes', '-t', 'agent', '-F', '#{pane_pid}').stdout);
  /** `Enter`, `C-c`, `Down`. */
  const press = (key: string) => void tmux('send-keys', '-t', 'agent', key);
  const isThere = () => tmux('has-session', '-t', 'agent').status === 0;
  const screen = () => tmux('capture-pane', '-p', '-t', 'agent').stdout;
  const until = async (holds: () => boolean, timeoutMs: number, failure: () => string) => {
    for (const late = performance.now() + timeoutMs; !holds(); await pause(50))
      if (performance.now() > late) throw new Error(failure());
  };
  return {
    /** What is on the screen. */
    screen,
    /** Ends the terminal with what is left in it. */
    close() {
      tmux('kill-server');
      // Not every program ends with its terminal.
      try {
        process.kill(-pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    },
    press,
    isEnded: () => !isThere(),
    /** Types words that are not on the screen yet, and Enter until `isHeard`: what has just drawn its screen may not listen yet. */
    async says(said: string, isHeard: () => boolean) {
      const isTyped = () => screen().includes(said);
      for (let tries = 0; !isTyped() && tries < 5; tries += 1) {
        tmux('send-keys', '-t', 'agent', '-l', said);
        await until(isTyped, 5_000, () => '').catch(() => {});
      }
      for (let tries = 0; !isHeard() && tries < 5; tries += 1) {
        // What comes at once with its Enter counts as pasted.
        await pause(200);
        press('Enter');
        await until(isHeard, 5_000, () => '').catch(() => {});
      }
    },
    /** Waits until the screen says it; fails with what it says instead. */
    async shows(said: string | RegExp, timeoutMs = 180_000) {
      let last = '';
      const isShown = () => {
        last = screen() || last;
        return typeof said === 'string' ? last.includes(said) : said.test(last);
      };
      await until(isShown, timeoutMs, () => `The screen never said ${said}; it says:\n${last}`);
    },
    /** Waits until the program has ended. */
    ended: (timeoutMs = 60_000) =>
      until(
        () => !isThere(),
        timeoutMs,
        () => `The program never ended; the screen says:\n${screen()}`,
      ),
  };
}
