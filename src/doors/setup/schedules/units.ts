// The texts that tell a system's scheduler to run the night: a systemd user timer, a launchd agent, a line of crontab.
// Pure. They start programs by absolute paths and bring the environment that a scheduler has not; never a key.

import { dirname, join } from 'node:path';
import type { Config } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import { machineZone } from '../../../base/time.ts';
import type { Programs } from '../agents/programs.ts';

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

export const LABEL = 'nocturne.nightly';
export const CRON_MARK = '# nocturne nightly';
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
