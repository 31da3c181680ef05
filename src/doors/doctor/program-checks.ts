// What `nocturne doctor` says of an agent's program that stands as the model: which file it is, its version, how it pays,
// whether it is logged in, and what of the person's files it sends along. It is tried as the schedule would start it, with
// that environment and no other: what works in a shell may not work at night.

import { join } from 'node:path';
import { programNamed, programOf } from '../../agent/programs/programs.ts';
import { type Config, loadConfig } from '../../base/config/config.ts';
import { attempt } from '../../base/errors.ts';
import { statNow } from '../../base/files/files.ts';
import { directoryOf, findProgram } from '../model-programs.ts';
import { findPrograms } from '../setup/agents/agents.ts';
import { nightOf } from '../setup/schedules.ts';
import { type Checked, fail, ok, warn } from '../wing.ts';

const WHAT = 'program';

/** The settings as the schedule's process has them, where a program stands as the model; else as they are. */
export async function asAtNight(config: Config): Promise<Config> {
  if (programOf(config.model) === null) return config;
  const night = attempt(
    () => nightOf(config, findPrograms(config.environment)),
    () => null,
  );
  if (night === null) return config;
  const { userDir, clock, model } = config;
  return { ...(await loadConfig({ model }, { ...night.environment, HOME: userDir, USERPROFILE: userDir })), clock };
}

/** Sends no request. */
export async function checkProgram(config: Config): Promise<Checked[]> {
  const name = programOf(config.model)?.name;
  if (name === undefined) return [];
  const night = await asAtNight(config);
  const { title, path, version, login, movedFrom, problem } = await findProgram(name, night, { isFresh: true });
  const shown = programNamed(name).alsoShown.map((file) => join(directoryOf(name, night), file));
  const moved = movedFrom ? `; ${movedFrom}, where set-up found it, is gone` : '';
  const again = `Run nocturne setup --model ${config.model}, which keeps where it is now.`;
  if (problem) {
    const isNightly = !(await findProgram(name, config, { isFresh: true })).problem;
    const why = `${problem.message.replace(/\.$/, '')}${moved}`;
    const remedy = problem.remedy ?? 'Mend it.';
    if (!isNightly) return [fail(WHAT, why, remedy)];
    const found = `as the schedule starts it: ${why}; from this shell it can be asked`;
    return [fail(WHAT, found, path === null ? again : remedy)];
  }
  const paid = login?.paidBy === 'plan' ? `on your plan, ${login.said}` : `by ${login?.said}, which costs money`;
  const found = `${title} ${version}, ${path}, ${paid}`;
  return [
    movedFrom ? warn(WHAT, `${found}${moved}`, again) : ok(WHAT, found),
    ...shown
      .filter((file) => statNow(file) !== null)
      .map((file) => ok(WHAT, `it sends ${file} along with each request`)),
  ];
}
