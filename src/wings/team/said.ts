// What sharing says on the command line.

import type { ShareReport } from './share.ts';

/** What was shared with the team, or why nothing was. */
export function sayShare(report: ShareReport, { dryRun = false } = {}): string[] {
  const { outcome, memory, author, topics, secrets, personalPaths, job, isIgnored, error } = report;
  const warnings = personalPaths.map(({ path, line }) => `  note: ${path}:${line} names a directory of a person`);
  if (isIgnored) warnings.push('  note: git ignores it; take .claude out of .gitignore, or nobody else gets it');
  if (outcome === 'failed') return [`share: failed; ${error?.message ?? ''}`];
  if (outcome === 'known') return [`share: nothing new for ${memory}`, ...warnings];
  if (outcome === 'refused') {
    const where = secrets.map(({ path, line, rule }) => `  ${path}:${line} holds a secret (${rule})`);
    return ['share: refused, nothing was shared; take the secrets out, or give --redacted', ...where, ...warnings];
  }
  const lines = topics.flatMap((topic) => [
    `  ${topic.path}${topic.isNew ? ' (new)' : ''}`,
    ...topic.lines.map((line) => `    ${line.replaceAll('\n', '\n    ')}`),
    ...topic.replaced.map((line) => `    no longer: ${line}`),
  ]);
  const verb = dryRun ? 'would share' : 'shared';
  const undo = job ? [`nocturne undo ${job} --scope local takes it back.`] : [];
  return [`share: ${verb} with the team in ${memory}, as ${author}`, ...lines, ...warnings, ...undo];
}
