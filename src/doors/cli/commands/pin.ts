// pin, unpin: whether jobs must leave a topic as it is.

import { pin as pinTopic } from '../../../../jobs/pin.ts';
import type { Call, CommandSpec } from '../spec.ts';
import { type CommonOptions, MEMORY, topicFile, withApp } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';

type PinCall = Call<CommonOptions & { off?: boolean }, [string]>;

const TOPIC = {
  args: [['<topic>', 'name or file of the topic']],
  json: '{ path, pinned, changed }',
} satisfies Partial<CommandSpec>;

const pin: CommandSpec<PinCall['options'], PinCall['args']> = {
  ...TOPIC,
  name: 'pin',
  about: 'keep a topic as it is: no dream changes it',
  group: 'Every day',
  options: [['--off', 'let dreams change it again'], ...MEMORY],
  examples: ['pin working-agreements', 'pin working-agreements --off'],
  run: (call) => setPinned(call, !call.options.off),
};

const unpin: CommandSpec<CommonOptions, [string]> = {
  ...TOPIC,
  name: 'unpin',
  about: 'let dreams change a topic again: pin --off',
  group: 'Older names',
  options: MEMORY,
  examples: ['unpin working-agreements'],
  run: (call) => setPinned(call, false),
};

function setPinned(call: PinCall, pinned: boolean): Promise<void> {
  return withApp(call, async (app) => {
    const path = topicFile(app.memoryDirOf({ cwd: process.cwd() }), call.args[0]);
    const store = await app.storeFor({ cwd: process.cwd() });
    const { changed } = await pinTopic({ path, pinned }, { store, clock: app.config.clock });
    const state = `${pinned ? 'pinned' : 'not pinned'}${changed ? '' : ' already'}`;
    print(call.options.json ? JSON.stringify({ path, pinned, changed }) : `${path} is ${state}.`);
  });
}

export const commands: CommandSpec[] = [pin, unpin];
