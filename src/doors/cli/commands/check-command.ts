// doctor, check: what is wrong with a memory directory, and --repair for what can be mended without a guess.

import type { CheckReport } from '../../../../jobs/check-memory.ts';
import { type Config, loadConfig } from '../../../base/config/config.ts';
import { describeError } from '../../../base/errors.ts';
import { type Checked, fail } from '../../doctor/checked.ts';
import { checkNode } from '../../doctor/checks.ts';
import { examine } from '../../doctor/examine.ts';
import type { CommandSpec } from '../spec.ts';
import { type CommonOptions, inApp, MEMORY, withApp } from '../terminal/options.ts';
import { EXIT, print } from '../terminal/output.ts';
import { plainly } from '../terminal/phrases.ts';

const check: CommandSpec<CommonOptions & { repair?: boolean }> = {
  name: 'check',
  about: 'verify the memory, and mend what needs no guess',
  group: 'Under the hood',
  options: [['--repair', 'mend what can be mended without a guess; no file is deleted'], ...MEMORY],
  json: '{ memory, findings: [{ kind, what, where, mend, isMended }] }',
  more: 'Exit code: 0 fine or mended, 1 findings remain.',
  examples: ['check --memory ./memory --repair'],
  run: inApp(async (app, { options }) => {
    const report = await app.check({ cwd: process.cwd() }, { repair: options.repair ?? false });
    print(options.json ? report : describe(report));
    process.exitCode = report.findings.every((finding) => finding.isMended) ? EXIT.fine : EXIT.failed;
  }),
};

function describe({ memory, findings }: CheckReport): string {
  if (findings.length === 0) return `${memory}: fine`;
  const open = findings.filter((finding) => !finding.isMended).length;
  const lines = findings.map(({ where, what, mend, isMended }) => {
    const next = isMended ? `mended: ${mend}` : mend ? `--repair: ${mend}` : 'by hand';
    return `${where}: ${what}\n  ${next}`;
  });
  const remain = open === 1 ? '1 finding remains' : `${open} findings remain`;
  return [`${memory}: ${remain}, ${findings.length - open} mended`, ...lines].join('\n');
}

interface DoctorOptions {
  online?: boolean;
  fix?: boolean;
  json?: boolean;
}

const doctor: CommandSpec<DoctorOptions> = {
  name: 'doctor',
  about: 'whether everything works, and what to do where not',
  group: 'Every day',
  options: [
    ['--fix', 'first mend in the memory here what needs no guess, as check --repair'],
    ['--no-online', 'do not ask the model, which is one request of a few tokens'],
    ['--online', 'ask the model', { isHidden: true }],
  ],
  json: '{ isFine, checks: [{ what, state, found, remedy? }], findings? }',
  more: 'Looks at hooks, key, queue, worker, schedule and memory directories. Exit code: 0 fine, 3 something needs a person.',
  examples: ['doctor', 'doctor --fix'],
  async run({ options, parts }) {
    const mend = () =>
      withApp({ options: {}, parts }, (app) => app.check({ cwd: process.cwd() }, { repair: !app.keeping }));
    const mended = options.fix ? await mend() : null;
    const { checked, config } = await examineAll(options);
    const say = (check: Checked) => (config ? plainly(describeChecked(check), config) : describeChecked(check));
    const isMended = mended === null || mended.findings.every((finding) => finding.isMended);
    const isFine = isMended && checked.every(({ state }) => state !== 'fail');
    if (options.json) print({ isFine, checks: checked, ...(mended && { findings: mended.findings }) });
    else print([...(mended ? [describe(mended)] : []), ...checked.map(say)].join('\n'));
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

export const commands: CommandSpec[] = [doctor, check];
