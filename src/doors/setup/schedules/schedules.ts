// The system's own schedulers: which there is, putting the night into it, taking it out, and looking whether it is there.
// They are other people's programs: each is asked by its command, with a limit of time, and what it refuses is told.

import { execFile } from 'node:child_process';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { type Environment, userDirectory } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import { readTextNow, removeFile, statNow, writeWhole } from '../../../base/files/files.ts';
import { CRON_MARK, cronLine, LABEL, launchdPlist, type Night, systemdUnits } from './units.ts';

export const SCHEDULER_NAMES = ['systemd', 'launchd', 'cron'] as const;
export type SchedulerName = (typeof SCHEDULER_NAMES)[number];

export interface Scheduler {
  name: SchedulerName;
  /** Whether this machine has it, for this user. */
  isHere(): Promise<boolean>;
  /** The files and lines that `install` writes. */
  texts(night: Night): { path: string; text: string }[];
  install(night: Night): Promise<void>;
  /** Takes the night out; false where it was not in. */
  remove(): Promise<boolean>;
  /** `active`, what is wrong with it, or null where it is not in. */
  state(): Promise<string | null>;
}

const ANSWER_WITHIN_MS = 15_000;

export function schedulers(environment: Environment): Scheduler[] {
  const run = (program: string, args: string[], input?: string) => runProgram({ program, args, input, environment });
  return [systemd(run, environment), launchd(run, environment), cron(run)];
}

/** The first that is there. */
export async function schedulerHere(environment: Environment): Promise<Scheduler | null> {
  for (const scheduler of schedulers(environment)) if (await scheduler.isHere()) return scheduler;
  return null;
}

type Run = (program: string, args: string[], input?: string) => Promise<Ended>;

function systemd(run: Run, environment: Environment): Scheduler {
  const dir = join(
    resolve(environment.XDG_CONFIG_HOME || join(userDirectory(environment), '.config')),
    'systemd',
    'user',
  );
  const [service, timer] = [join(dir, 'nocturne.service'), join(dir, 'nocturne.timer')];
  const control = (...args: string[]) => run('systemctl', ['--user', ...args]);
  return {
    name: 'systemd',
    isHere: async () => process.platform === 'linux' && (await control('show-environment')).code === 0,
    texts(night) {
      const units = systemdUnits(night);
      return [
        { path: service, text: units.service },
        { path: timer, text: units.timer },
      ];
    },
    async install(night) {
      for (const { path, text } of this.texts(night)) writeWhole(path, text);
      refuse(await control('daemon-reload'), 'systemctl --user daemon-reload');
      refuse(await control('enable', '--now', 'nocturne.timer'), 'systemctl --user enable --now nocturne.timer');
    },
    async remove() {
      if (statNow(timer) === null && statNow(service) === null) return false;
      await control('disable', '--now', 'nocturne.timer');
      removeFile(timer);
      removeFile(service);
      await control('daemon-reload');
      return true;
    },
    async state() {
      if (statNow(timer) === null) return null;
      const { stdout, stderr } = await control('is-active', 'nocturne.timer');
      return stdout.trim() || stderr.trim() || 'systemctl does not answer';
    },
  };
}

function launchd(run: Run, environment: Environment): Scheduler {
  const path = join(userDirectory(environment), 'Library', 'LaunchAgents', `${LABEL}.plist`);
  const domain = `gui/${userInfo().uid}`;
  return {
    name: 'launchd',
    isHere: async () => process.platform === 'darwin',
    texts: (night) => [{ path, text: launchdPlist(night) }],
    async install(night) {
      // One that is loaded is not loaded again.
      await run('launchctl', ['bootout', `${domain}/${LABEL}`]);
      for (const { text } of this.texts(night)) writeWhole(path, text);
      refuse(await run('launchctl', ['bootstrap', domain, path]), `launchctl bootstrap ${domain} ${path}`);
    },
    async remove() {
      if (statNow(path) === null) return false;
      await run('launchctl', ['bootout', `${domain}/${LABEL}`]);
      removeFile(path);
      return true;
    },
    async state() {
      if (statNow(path) === null) return null;
      const { code } = await run('launchctl', ['print', `${domain}/${LABEL}`]);
      return code === 0 ? 'active' : 'not loaded';
    },
  };
}

function cron(run: Run): Scheduler {
  /** Null: this user has none. */
  const read = async () => {
    const { code, stdout } = await run('crontab', ['-l']);
    return code === 0 ? stdout : null;
  };
  const write = async (text: string) =>
    refuse(text === '' ? await run('crontab', ['-r']) : await run('crontab', ['-'], text), 'crontab');
  return {
    name: 'cron',
    isHere: async () => process.platform !== 'win32' && (await run('crontab', ['-l'])).code !== null,
    texts: (night) => [{ path: 'crontab', text: `${cronLine(night)}\n` }],
    async install(night) {
      const others = withoutNight((await read()) ?? '');
      await write(`${others}${others === '' || others.endsWith('\n') ? '' : '\n'}${cronLine(night)}\n`);
    },
    async remove() {
      const text = await read();
      if (text === null || !text.includes(CRON_MARK)) return false;
      await write(withoutNight(text));
      return true;
    },
    state: async () => ((await read())?.includes(CRON_MARK) ? 'active' : null),
  };
}

function withoutNight(crontab: string): string {
  return crontab
    .split(/(?<=\n)/)
    .filter((line) => !line.trimEnd().endsWith(CRON_MARK))
    .join('');
}

interface Ended {
  /** Null: there is no such program, or it did not end. */
  code: number | null;
  stdout: string;
  stderr: string;
}

function runProgram(ask: {
  program: string;
  args: string[];
  input?: string;
  environment: Environment;
}): Promise<Ended> {
  return new Promise((done) => {
    const options = { env: ask.environment, timeout: ANSWER_WITHIN_MS };
    const child = execFile(ask.program, ask.args, options, (error, stdout, stderr) => {
      const code = error ? error.code : 0;
      done({ code: typeof code === 'number' ? code : null, stdout, stderr });
    });
    // A program that ends without reading has told why by its exit code.
    child.stdin?.on('error', () => {});
    child.stdin?.end(ask.input ?? '');
  });
}

function refuse({ code, stderr }: Ended, command: string): void {
  if (code === 0) return;
  throw new AppError('unexpected', `${command} failed: ${stderr.trim() || `exit code ${code}`}.`, {
    remedy: 'Install with another --schedule, or with none: then the first session of a day catches up.',
  });
}

/** What stands in a file that `install` would write; the empty text for none, and for what is no file. */
export function standing(path: string): string {
  return path.includes('/') || path.includes('\\') ? (readTextNow(path) ?? '') : '';
}
