import { expect, test } from 'vitest';
import { decideEnablement, type Switches, type Whereabouts } from '../../src/memory/paths.ts';

const SETTINGS = '/home/ada/.claude/settings.json';
const AT: Whereabouts = ['/work/app/src', '/work/app'];

type Scene = Partial<Omit<Switches, 'agent'>> & { agent?: Partial<Omit<Switches['agent'], 'settings'>>; own?: object };

function standing(scene: Scene, at: Whereabouts = AT) {
  return decideEnablement(switchesOf(scene), at);
}

function switchesOf({ agent, own, ...rest }: Scene): Switches {
  return {
    ignoreAgentSwitches: false,
    hasMemoryDir: false,
    projects: {},
    excludedPaths: [],
    pauses: [],
    userDir: '/home/ada',
    ...rest,
    agent: { isSimple: false, isRemote: false, ...agent, settings: { path: SETTINGS, ...own } },
  };
}

test.each<[string, Scene]>([
  ['nothing is set', {}],
  [
    'CLAUDE_CODE_DISABLE_AUTO_MEMORY=0, whatever the settings say',
    { agent: { isDisabled: false }, own: { autoMemoryEnabled: false } },
  ],
  ['autoMemoryEnabled is true', { own: { autoMemoryEnabled: true } }],
  ['a remote machine has a memory directory', { agent: { isRemote: true }, hasMemoryDir: true }],
  ['another project is turned off', { projects: { '/work/other': { enabled: false } } }],
  ['a project whose name begins alike is turned off', { projects: { '/work/ap': { enabled: false } } }],
  [
    'a project inside of one that is turned off is turned on',
    { projects: { '/work': { enabled: false }, '/work/app': { enabled: true } } },
  ],
  ['another path is excluded', { excludedPaths: ['/clients/**', '*/tmp'] }],
  ['another project is paused', { pauses: [{ project: '/work/other', until: null }] }],
  [
    'the agent’s memory is off and nocturne takes its place',
    {
      agent: { isDisabled: true, isSimple: true, isRemote: true },
      own: { autoMemoryEnabled: false },
      ignoreAgentSwitches: true,
    },
  ],
])('nocturne works where %s', (_, scene) => {
  expect(standing(scene)).toEqual({ enabled: true, reason: 'nothing turns it off' });
});

test.each<[string, Scene, string]>([
  ['CLAUDE_CODE_DISABLE_AUTO_MEMORY', { agent: { isDisabled: true } }, 'CLAUDE_CODE_DISABLE_AUTO_MEMORY is set'],
  ['CLAUDE_CODE_SIMPLE', { agent: { isSimple: true } }, 'CLAUDE_CODE_SIMPLE is set'],
  ['CLAUDE_CODE_REMOTE', { agent: { isRemote: true } }, 'CLAUDE_CODE_REMOTE is set and no memory directory is'],
  ['autoMemoryEnabled', { own: { autoMemoryEnabled: false } }, `autoMemoryEnabled is false in ${SETTINGS}`],
  [
    'the project',
    { projects: { '/work/app': { enabled: false } } },
    'the project /work/app is turned off in config.json',
  ],
  [
    'a directory above the project',
    { projects: { '/work': { enabled: false } } },
    'the project /work is turned off in config.json',
  ],
  [
    'the project, although the agent’s switches are ignored',
    { projects: { '/work/app': { enabled: false } }, ignoreAgentSwitches: true },
    'the project /work/app is turned off in config.json',
  ],
  ['an excluded path', { excludedPaths: ['/work/**'] }, '/work/app/src is under the excluded path /work/**'],
  ['an excluded directory', { excludedPaths: ['/work/app'] }, '/work/app/src is under the excluded path /work/app'],
  ['an excluded name anywhere', { excludedPaths: ['**/app'] }, '/work/app/src is under the excluded path **/app'],
  [
    'an excluded pattern of names',
    { excludedPaths: ['/work/a*'] },
    '/work/app/src is under the excluded path /work/a*',
  ],
])('%s turns it off', (_, scene, reason) => {
  expect(standing(scene)).toEqual({ enabled: false, reason });
});

test('settings that cannot be read turn it off as long as nobody can tell, which is not for good', () => {
  const reason = 'autoMemoryEnabled cannot be read: x is not JSON';
  expect(standing({ own: { problem: 'x is not JSON.' } })).toEqual({ enabled: false, reason, isUnknown: true });
});

test('~/ in a project and an excluded path is the user’s directory', () => {
  const at: Whereabouts = ['/home/ada/clients/acme'];
  expect(standing({ excludedPaths: ['~/clients/*'] }, at).enabled).toBe(false);
  expect(standing({ projects: { '~/clients': { enabled: false } } }, at).enabled).toBe(false);
});

test('a pause says until when, of everything or of the project', () => {
  const until = '2026-11-21T08:00:00.000Z';
  expect(standing({ pauses: [{ project: null, until }] })).toEqual({
    enabled: false,
    reason: `nocturne is paused until ${until}`,
    pausedUntil: until,
  });
  expect(standing({ pauses: [{ project: '/work/app', until: null }], ignoreAgentSwitches: true })).toEqual({
    enabled: false,
    reason: 'nocturne is paused for /work/app until nocturne pause --off --project',
    pausedUntil: null,
    pausedProject: '/work/app',
  });
});

test('what belongs to no project is only turned off as a whole', () => {
  const scene: Scene = {
    projects: { '/work/app': { enabled: false } },
    excludedPaths: ['**'],
    pauses: [{ project: '/work/app', until: null }],
  };
  expect(decideEnablement(switchesOf(scene)).enabled).toBe(true);
});
