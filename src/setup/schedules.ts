// The system's own scheduler: a systemd user timer on Linux, a launchd agent on macOS. What tells it to run the night,
// putting that into it, taking it out, and looking whether it is there. Where there is none the hooks catch up. The texts
// start programs by absolute paths and bring the environment that a scheduler has not; never a key. It is asked by its
// command, with a limit of time, and what it refuses is told.

import { execFile } from 'node:child_process';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Config, type Environment, userDirectory } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { removeFile, statNow, writeWhole } from '../base/files/files.ts';
import { machineZone } from '../base/time.ts';
import { configDirectory, type Programs } from './agents/agents.ts';

export interface Scheduler {
  name: 'systemd' | 'launchd';
  /** The files that `install` writes. */
  texts(night: Night): { path: string; text: string }[];
  install(night: Night): Promise<void>;
  /** Takes the night out. */
  remove(): Promise<void>;
  /** `active`, what is wrong with it, or null where the night is not in. */
  state(): Promise<string | null>;
}

const ANSWER_WITHIN_MS = 15_000;

/** Null: the system has none, or none that answers to this user. */
export async function schedulerHere(environment: Environment): Promise<Scheduler | null> {
  if (process.platform === 'darwin') return launchd(environment);
  if (process.platform !== 'linux') return null;
  const { code } = await runProgram(['systemctl', '--user', 'show-environment'], environment);
  return code === 0 ? systemd(environment) : null;
}

/** The one that has the night, though it may not answer now. */
export async function schedulerWithNight(environment: Environment): Promise<Scheduler | null> {
  const scheduler = process.platform === 'darwin' ? launchd(environment) : systemd(environment);
  return (await scheduler.state()) === null ? null : scheduler;
}

/** How a scheduler is told, and asked. */
interface Words {
  name: Scheduler['name'];
  program: string[];
  files: [path: string, text: (night: Night) => string][];
  /** Told where files came or went. Without it what is loaded is not loaded again, so it is unloaded first. */
  reread?: string[];
  load: string[];
  /** Refused where nothing is loaded. */
  unload: string[];
  ask: string[];
}

function schedulerOf(environment: Environment, { name, program, files, reread, load, unload, ask }: Words): Scheduler {
  const run = (args: string[]) => runProgram([...program, ...args], environment);
  return {
    name,
    texts: (night) => files.map(([path, text]) => ({ path, text: text(night) })),
    async install(night) {
      if (!reread) await run(unload);
      for (const [path, text] of files) writeWhole(path, text(night));
      for (const args of reread ? [reread, load] : [load]) refuse(await run(args));
    },
    async remove() {
      await run(unload);
      for (const [path] of files) removeFile(path);
      if (reread) await run(reread);
    },
    async state() {
      if (files.every(([path]) => statNow(path) === null)) return null;
      const { code, stdout, stderr } = await run(ask);
      return code === 0 ? 'active' : stdout.trim() || stderr.trim() || `${name} does not answer`;
    },
  };
}

function systemd(environment: Environment): Scheduler {
  const dir = join(configDirectory(environment), 'systemd', 'user');
  const timer = 'nocturne.timer';
  return schedulerOf(environment, {
    name: 'systemd',
    program: ['systemctl', '--user'],
    files: [
      [join(dir, 'nocturne.service'), (night) => systemdUnits(night).service],
      [join(dir, timer), (night) => systemdUnits(night).timer],
    ],
    reread: ['daemon-reload'],
    load: ['enable', '--now', timer],
    unload: ['disable', '--now', timer],
    ask: ['is-active', timer],
  });
}

function launchd(environment: Environment): Scheduler {
  const path = join(userDirectory(environment), 'Library', 'LaunchAgents', `${LABEL}.plist`);
  const domain = `gui/${userInfo().uid}`;
  return schedulerOf(environment, {
    name: 'launchd',
    program: ['launchctl'],
    files: [[path, launchdPlist]],
    load: ['bootstrap', domain, path],
    unload: ['bootout', `${domain}/${LABEL}`],
    ask: ['print', `${domain}/${LABEL}`],
  });
}

interface Ended {
  words: string[];
  /** Null: there is no such program, or it did not end. */
  code: number | null;
  stdout: string;
  stderr: string;
}

async function runProgram(words: string[], environment: Environment): Promise<Ended> {
  const [program = '', ...args] = words;
  const running = promisify(execFile)(program, args, { env: environment, timeout: ANSWER_WITHIN_MS });
  const { code = 0, stdout, stderr } = await running.catch((error) => error);
  return { words, code: typeof code === 'number' ? code : null, stdout, stderr };
}

function refuse({ words, code, stderr }: Ended): void {
  if (code === 0) return;
  throw new AppError('unexpected', `${words.join(' ')} failed: ${stderr.trim() || `exit code ${code}`}.`, {
    remedy: 'Give --schedule none: then the first session of a day catches up.',
  });
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

/** Throws `bad-input` where `dreamCron` is not a time of day. */
export function nightOf(config: Config, { node, nocturne }: Programs): Night {
  const [, minute, hour] = /^(\d{1,2}) (\d{1,2}) \* \* \*$/.exec(config.dreamCron) ?? [];
  if (minute === undefined || hour === undefined || Number(minute) > 59 || Number(hour) > 23) {
    throw new AppError('bad-input', `dreamCron is "${config.dreamCron}", which is not one time a day.`, {
      remedy: 'Set one like "30 3 * * *" in config.json of the nocturne home, or give --schedule none.',
    });
  }
  return {
    hour: Number(hour),
    minute: Number(minute),
    zone: config.zone === machineZone() ? null : config.zone,
    command: [node, nocturne, 'worker', '--once', '--nightly'],
    environment: environmentOf(config, dirname(node)),
    log: join(config.home, 'night.log'),
  };
}

function environmentOf({ home, environment, keyCommand }: Config, nodeDir: string): Record<string, string> {
  const taken = TAKEN_OVER.flatMap((name) => (environment[name] ? [[name, environment[name]] as const] : []));
  // A key command is found as it is by the person who gave it; nothing else needs more than Node and the system's own.
  const path =
    (keyCommand && environment.PATH) || [...new Set([nodeDir, '/usr/local/bin', '/usr/bin', '/bin'])].join(':');
  return { NOCTURNE_HOME: home, PATH: path, ...Object.fromEntries(taken) };
}

export function systemdUnits(night: Night): { service: string; timer: string } {
  // What would begin a line of its own is written by its number.
  const byNumber = (sign: string) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`;
  const quote = (text: string) =>
    `"${text
      .replace(/["\\]/g, '\\$&')
      .replaceAll('%', '%%')
      .replace(/\p{Cc}/gu, byNumber)}"`;
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
  const dict = (values: Record<string, string>) =>
    ['<dict>', ...Object.entries(values).map(([key, value]) => `<key>${key}</key>${value}`), '</dict>'].join('\n');
  const environment = Object.entries(night.environment).map(([name, value]) => [name, string(value)] as const);
  const plist = dict({
    Label: string(LABEL),
    ProgramArguments: ['<array>', ...night.command.map(string), '</array>'].join('\n'),
    EnvironmentVariables: dict(Object.fromEntries(environment)),
    StartCalendarInterval: dict({
      Hour: `<integer>${night.hour}</integer>`,
      Minute: `<integer>${night.minute}</integer>`,
    }),
    ProcessType: string('Background'),
    LowPriorityIO: '<true/>',
    StandardOutPath: string('/dev/null'),
    StandardErrorPath: string(night.log),
  });
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
${plist}
</plist>
`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
