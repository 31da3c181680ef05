// The system's own schedulers (a systemd user timer, a launchd agent, a line of crontab): which there is, the text that
// tells it to run the night, putting that into it, taking it out, and looking whether it is there. The texts start
// programs by absolute paths and bring the environment that a scheduler has not; never a key. Schedulers are other
// people's programs: each is asked by its command, with a limit of time, and what it refuses is told.

import { execFile } from 'node:child_process';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Config, type Environment, userDirectory } from '../../base/config/config.ts';
import { AppError } from '../../base/errors.ts';
import { readTextNow, removeFile, statNow, writeWhole } from '../../base/files/files.ts';
import { machineZone } from '../../base/time.ts';
import { configDirectory, type Programs } from './agents/agents.ts';

export const SCHEDULER_NAMES = ['systemd', 'launchd', 'cron'] as const;
type SchedulerName = (typeof SCHEDULER_NAMES)[number];

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
  const dir = join(configDirectory(environment), 'systemd', 'user');
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

async function runProgram(ask: {
  program: string;
  args: string[];
  input?: string;
  environment: Environment;
}): Promise<Ended> {
  const options = { env: ask.environment, timeout: ANSWER_WITHIN_MS };
  const running = promisify(execFile)(ask.program, ask.args, options);
  // A program that ends without reading has told why by its exit code.
  running.child.stdin?.on('error', () => {}).end(ask.input ?? '');
  const { code = 0, stdout, stderr } = await running.catch((error) => error);
  return { code: typeof code === 'number' ? code : null, stdout, stderr };
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

/** Everything a scheduler has to know of the night. */
export interface Night {
  hour: number;
  minute: number;
  /** IANA zone of the time, where it is not the machine's. */
  zone: string | null;
  /** Program and arguments. */
  command: string[];
  environment: Record<string, string>;
  /** What the last night said; where the system keeps no journal. */
  log: string;
}

const LABEL = 'nocturne.nightly';
const CRON_MARK = '# nocturne nightly';
/** A longer line is cut by some crons. */
const CRON_LINE_CHARS = 990;

/** What is taken over from the shell of the person who installs: where things are, never a secret. */
const TAKEN_OVER = [
  'NOCTURNE_MEMORY_DIR',
  'NOCTURNE_MODEL',
  'NOCTURNE_ZONE',
  'CLAUDE_CONFIG_DIR',
  'CODEX_HOME',
  'GEMINI_CLI_HOME',
  'XDG_DATA_HOME',
  'ANTHROPIC_BASE_URL',
];

/** Throws `bad-input` where `dreamCron` is not a time of day, and for what would not stay within its line of a unit. */
export function nightOf(config: Config, { node, nocturne }: Programs): Night {
  const [, minute, hour] = /^(\d{1,2}) (\d{1,2}) \* \* \*$/.exec(config.dreamCron) ?? [];
  if (minute === undefined || hour === undefined || Number(minute) > 59 || Number(hour) > 23) {
    throw new AppError('bad-input', `dreamCron is "${config.dreamCron}", which is not one time a day.`, {
      remedy: 'Set one like "30 3 * * *" in config.json of the nocturne home, or install with --schedule none.',
    });
  }
  const night: Night = {
    hour: Number(hour),
    minute: Number(minute),
    zone: config.zone === machineZone() ? null : config.zone,
    command: [node, nocturne, 'worker', '--once', '--nightly'],
    environment: environmentOf(config, dirname(node)),
    log: join(config.home, 'night.log'),
  };
  const unfit = [...night.command, night.log, ...Object.values(night.environment)].find((text) => /\p{Cc}/u.test(text));
  if (unfit === undefined) return night;
  throw new AppError('bad-input', `${JSON.stringify(unfit)} holds a control character, which no scheduler takes.`, {
    remedy: 'Rename what it names, or take it out of the environment; or install with --schedule none.',
  });
}

function environmentOf({ home, environment, keyCommand }: Config, nodeDir: string): Record<string, string> {
  const taken = TAKEN_OVER.flatMap((name) => (environment[name] ? [[name, environment[name]] as const] : []));
  // A key command is found as it is by the person who gave it; nothing else needs more than Node and the system's own.
  const path =
    (keyCommand && environment.PATH) || [...new Set([nodeDir, '/usr/local/bin', '/usr/bin', '/bin'])].join(':');
  return { NOCTURNE_HOME: home, PATH: path, ...Object.fromEntries(taken) };
}

export function systemdUnits(night: Night): { service: string; timer: string } {
  const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`;
  const words = night.command.map((word) => quote(word).replaceAll('$', '$$$$'));
  const environment = Object.entries(night.environment).map(
    ([name, value]) => `Environment=${quote(`${name}=${value}`)}`,
  );
  return {
    service: `[Unit]
Description=nocturne: extract what is pending, and dream

[Service]
Type=oneshot
ExecStart=${words.join(' ')}
${environment.join('\n')}
# Try again later: nothing a person has to look at.
SuccessExitStatus=75
TimeoutStartSec=4h
Nice=10
IOSchedulingClass=idle
`,
    timer: `[Unit]
Description=nocturne, every night

[Timer]
OnCalendar=*-*-* ${twoDigits(night.hour)}:${twoDigits(night.minute)}:00${night.zone ? ` ${night.zone}` : ''}
# A night that was slept through is made up for.
Persistent=true

[Install]
WantedBy=timers.target
`,
  };
}

export function launchdPlist(night: Night): string {
  const string = (text: string) => `<string>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</string>`;
  const environment = Object.entries(night.environment).map(
    ([name, value]) => `    <key>${name}</key>\n    ${string(value)}`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${night.command.map((word) => `    ${string(word)}`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${environment.join('\n')}
  </dict>
  <key>StartCalendarInterval</key>
  <dict>
    <key>Hour</key>
    <integer>${night.hour}</integer>
    <key>Minute</key>
    <integer>${night.minute}</integer>
  </dict>
  <key>ProcessType</key>
  <string>Background</string>
  <key>LowPriorityIO</key>
  <true/>
  <key>StandardOutPath</key>
  <string>/dev/null</string>
  <key>StandardErrorPath</key>
  ${string(night.log)}
</dict>
</plist>
`;
}

/** Throws `bad-input` for a line that cron would cut. */
export function cronLine(night: Night): string {
  const quote = (word: string) => (/^[\w@+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`);
  const environment = Object.entries(night.environment).map(([name, value]) => quote(`${name}=${value}`));
  const command = ['env', ...environment, ...night.command.map(quote)].join(' ');
  // To cron a bare % is the end of the line.
  const line = `${night.minute} ${night.hour} * * * ${`${command} >${quote(night.log)} 2>&1`.replaceAll('%', '\\%')} ${CRON_MARK}`;
  if (line.length <= CRON_LINE_CHARS) return line;
  throw new AppError(
    'bad-input',
    `The line for crontab would have ${line.length} characters; cron takes ${CRON_LINE_CHARS}.`,
    {
      remedy: 'Install with a shorter PATH, or with --schedule none.',
    },
  );
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
