// doctor: whether everything works, and what to do where not.

import { type Config, loadConfig } from '../base/config/config.ts';
import { describeError } from '../base/errors.ts';
import { type Checked, fail } from '../setup/checked.ts';
import { checkNode } from '../setup/checks.ts';
import { examine } from '../setup/doctor.ts';
import { EXIT, print } from '../terminal/output.ts';
import { plainly } from '../terminal/phrases.ts';
import type { CommandSpec } from './spec.ts';

interface DoctorOptions {
  online?: boolean;
  json?: boolean;
}

const doctor: CommandSpec<DoctorOptions> = {
  name: 'doctor',
  about: 'whether everything works, and what to do where not',
  group: 'Every day',
  options: [
    ['--no-online', 'do not ask the model, which is one request of a few tokens'],
    ['--online', 'ask the model', { isHidden: true }],
  ],
  json: '{ isFine, checks: [{ what, state, found, remedy? }] }',
  more: 'Looks at hooks, key, queue, worker, schedule and memories. Exit code: 0 fine, 3 something needs a person.',
  examples: ['doctor', 'doctor --no-online'],
  async run({ options }) {
    const { checked, config } = await examineAll(options);
    const say = (check: Checked) => (config ? plainly(describeChecked(check), config) : describeChecked(check));
    const isFine = checked.every(({ state }) => state !== 'fail');
    print(options.json ? { isFine, checks: checked } : checked.map(say).join('\n'));
    process.exitCode = isFine ? EXIT.fine : EXIT.attention;
  },
};

async function examineAll({ online }: DoctorOptions): Promise<{ checked: Checked[]; config?: Config }> {
  let config: Config;
  try {
    config = await loadConfig();
  } catch (error) {
    // Nothing else can be judged without them.
    const trouble = fail('settings', describeError(error), 'Mend config.json, then look again.');
    return { checked: [checkNode(), trouble] };
  }
  return { checked: await examine(config, { cwd: process.cwd(), isOnline: online ?? true }), config };
}

function describeChecked({ what, state, found, remedy }: Checked): string {
  return `${state.padEnd(4)}  ${what}: ${found}${remedy ? `\n      ${remedy}` : ''}`;
}

export const commands: CommandSpec[] = [doctor];
