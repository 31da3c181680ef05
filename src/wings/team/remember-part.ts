// nocturne remember --share: what a person says goes into the team's memory too, into one topic for each type.

import type { RememberPart } from '../../doors/wing.ts';
import { fold } from '../../memory/text/blocks.ts';
import type { MemoryType } from '../../memory/types.ts';
import { sayShare } from './said.ts';
import type { ShareReport, ShareSource } from './share.ts';
import { orFailed, shareWithTeam, sharingOf, teamDirFor } from './sharing.ts';

export const begin: RememberPart['begin'] = async ({ redacted }, { app, own, words, type, cwd }) => {
  const at = { ...sharingOf(app, own), cwd };
  teamDirFor(at);
  return async () => {
    const request = { sources: [sourceFor(type, words)], isRedacted: redacted === true };
    const shared = await orFailed(shareWithTeam(request, at));
    return { values: { shared }, outcome: shared.outcome, lines: sayShared(shared) };
  };
};

/** The topics of a team for what no dream has sorted yet. */
const TEAM_TOPICS: Record<MemoryType, { name: string; description: string }> = {
  user: { name: 'people', description: 'Who is in the team' },
  feedback: { name: 'working-agreements', description: 'How the team works' },
  project: { name: 'project-facts', description: 'What holds for the project' },
  reference: { name: 'references', description: 'Where things are' },
};

function sourceFor(type: MemoryType, words: string): ShareSource {
  const { name, description } = TEAM_TOPICS[type];
  return { path: `${name}.md`, text: `- ${fold(words)}\n`, described: { description, type } };
}

function sayShared(shared: ShareReport): string[] {
  if (shared.outcome === 'failed') return [...sayShare(shared), 'The words were kept; say it again to share them.'];
  if (shared.outcome !== 'refused') return sayShare(shared);
  const rules = [...new Set(shared.secrets.map(({ rule }) => rule))].join(', ');
  return [`share: refused; the words hold a secret (${rules}). They were kept without it; --redacted shares them so.`];
}
