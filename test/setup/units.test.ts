import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { launchdPlist, type Night, nightOf, systemdUnits } from '../../src/setup/schedules.ts';
import { tempDir } from '../support/temp.ts';

const NIGHT: Night = {
  hour: 3,
  minute: 5,
  zone: null,
  command: ['/opt/node 24/bin/node', '/opt/100%/$x/nocturne.js', 'worker', '--once', '--nightly'],
  environment: { NOCTURNE_HOME: "/home/k/it's", PATH: '/usr/bin:/bin' },
  log: "/home/k/it's/night.log",
};
const PROGRAMS = {
  node: '/opt/node/bin/node',
  hook: '/opt/nocturne/dist/hook.js',
  nocturne: '/opt/nocturne/nocturne.js',
};

test('the systemd units start the night by absolute paths, with what a user manager does not know', () => {
  const { service, timer } = systemdUnits(NIGHT);
  expect(service).toBe(`[Unit]
Description=nocturne: extract what is pending, and dream

[Service]
Type=oneshot
ExecStart="/opt/node 24/bin/node" "/opt/100%%/$$x/nocturne.js" "worker" "--once" "--nightly"
Environment="NOCTURNE_HOME=/home/k/it's"
Environment="PATH=/usr/bin:/bin"
# Try again later: nothing a person has to look at.
SuccessExitStatus=75
TimeoutStartSec=4h
Nice=10
IOSchedulingClass=idle
`);
  expect(timer).toContain('OnCalendar=*-*-* 03:05:00\n');
  expect(systemdUnits({ ...NIGHT, zone: 'Asia/Tokyo' }).timer).toContain('OnCalendar=*-*-* 03:05:00 Asia/Tokyo\n');
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

test.skipIf(!hasSystemd)('systemd itself finds nothing wrong with the units', () => {
  const dir = tempDir();
  const units = systemdUnits({ ...NIGHT, command: [process.execPath, ...NIGHT.command.slice(1)], zone: 'Asia/Tokyo' });
  const [service, timer] = [join(dir, 'nocturne.service'), join(dir, 'nocturne.timer')];
  writeFileSync(service, units.service);
  writeFileSync(timer, units.timer);
  // Its runtime directory keeps it from asking for the user's own.
  const env = { ...process.env, XDG_RUNTIME_DIR: dir, HOME: dir };
  const checked = spawnSync('systemd-analyze', ['--user', '--man=no', 'verify', service, timer], {
    env,
    encoding: 'utf8',
  });
  expect({ status: checked.status, said: checked.stderr }).toEqual({ status: 0, said: '' });
});

test('the launchd agent is a property list with the same night', () => {
  const plist = launchdPlist({ ...NIGHT, environment: { A: 'x<y & z' } });
  expect(plist).toContain('<string>/opt/node 24/bin/node</string>\n<string>/opt/100%/$x/nocturne.js</string>');
  expect(plist).toContain('<key>A</key><string>x&lt;y &amp; z</string>');
  expect(plist).toContain('<key>Hour</key><integer>3</integer>\n<key>Minute</key><integer>5</integer>');
  const read = spawnSync(
    'python3',
    ['-c', 'import plistlib,sys,json;print(json.dumps(plistlib.load(sys.stdin.buffer)))'],
    { input: plist, encoding: 'utf8' },
  );
  // Read by somebody else's parser where there is one.
  if (read.status === 0) {
    expect(JSON.parse(read.stdout)).toEqual({
      Label: 'nocturne.nightly',
      ProgramArguments: NIGHT.command,
      EnvironmentVariables: { A: 'x<y & z' },
      StartCalendarInterval: { Hour: 3, Minute: 5 },
      ProcessType: 'Background',
      LowPriorityIO: true,
      StandardOutPath: '/dev/null',
      StandardErrorPath: NIGHT.log,
    });
  }
});

test('the night takes over where things are, and never a key', async () => {
  const home = tempDir();
  const env = {
    NOCTURNE_HOME: home,
    NOCTURNE_MODEL: 'm',
    ANTHROPIC_API_KEY: 'sk-secret',
    ANTHROPIC_AUTH_TOKEN: 'token-secret',
    REDIS_URL: 'redis://:pass-secret@h',
    PATH: '/mine',
  };
  const night = nightOf(await loadConfig({}, env), PROGRAMS);
  expect(night).toMatchObject({
    hour: 3,
    minute: 30,
    zone: null,
    environment: { NOCTURNE_HOME: home, NOCTURNE_MODEL: 'm', PATH: '/opt/node/bin:/usr/local/bin:/usr/bin:/bin' },
  });
  expect(JSON.stringify(night)).not.toContain('secret');
  writeFileSync(join(home, 'config.json'), '{ "keyCommand": ["op", "read"], "zone": "Pacific/Chatham" }');
  const keyed = nightOf(await loadConfig({}, env), PROGRAMS);
  expect(keyed).toMatchObject({ zone: 'Pacific/Chatham', environment: { PATH: '/mine' } });
  writeFileSync(join(home, 'config.json'), '{ "dreamCron": "0 3 * * 1" }');
  const weekly = await loadConfig({}, env);
  expect(() => nightOf(weekly, PROGRAMS)).toThrow('not one time a day');
});

test.each(['\n', '\r', '\u0085'])('what holds %j begins no line of its own in a unit', (end) => {
  const place = `/srv/m${end}ExecStartPre=/bin/evil`;
  const { service } = systemdUnits({
    ...NIGHT,
    command: ['/bin/node', place],
    environment: { CLAUDE_CONFIG_DIR: place },
  });
  expect(service.split(/[\n\r\u0085]/).filter((line) => line.startsWith('ExecStartPre'))).toEqual([]);
});
