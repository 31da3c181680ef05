// What a review wrote itself. A proposal that waits for a file of an accepted one is pinned to the text before that; it
// is pinned to the text after it where it still is the same change, and where nobody else changed the file in between.

import { type Proposal, putProposal, waitingProposals } from '../../src/memory/dream/proposals.ts';
import type { Lease } from '../../src/memory/ledger/leases.ts';
import type { Transaction } from '../../src/memory/ledger/ledger.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { type Logged, readLogged } from './list.ts';
import { renewProposal } from './proposal-checks.ts';

export class OwnWrites {
  readonly #store: Store;
  /** In order, by path: SHA-256 of a file before and after each commit. */
  readonly #steps = new Map<string, { before: string | null; after: string | null }[]>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Answers what a commit is about to write; to be added once it did. */
  read({ ledger, commit }: Transaction): () => void {
    const rows = ledger.all(
      `select version.path, version.sha, before.sha as before from version
       left join version before on before.id = version.previous where version."commit" = ?`,
      commit,
    ) as { path: string; sha: string | null; before: string | null }[];
    return () => {
      for (const { path, before, sha: after } of rows) {
        this.#steps.set(path, [...(this.#steps.get(path) ?? []), { before, after }]);
      }
    };
  }

  /** The proposal pinned to what this review made of its files; as it is where it did not, or may not be. */
  async renewed(proposal: Proposal, { rowOf }: Pick<Logged, 'rowOf'>): Promise<Proposal> {
    const shaBefore = (path: string) => proposal.topics.find((pin) => pin.path === path)?.sha ?? null;
    if (proposal.topics.every(({ path, sha }) => this.#made(path, sha) === sha)) return proposal;
    const now = await renewProposal(this.#store, proposal, { rowOf });
    const isOurs = now?.topics.every(({ path, sha }) => sha === this.#made(path, shaBefore(path)));
    return now && isOurs ? now : proposal;
  }

  /** Pins all that go on waiting, in one commit. */
  async renewWaiting(lease: Lease): Promise<void> {
    const renewed: Proposal[] = [];
    const waiting = this.#steps.size > 0 ? waitingProposals(this.#store.ledger) : [];
    const pins = waiting.flatMap(({ entries }) => entries);
    const logged = await readLogged(this.#store, pins);
    for (const proposal of waiting) {
      const now = await this.renewed(proposal, logged);
      if (now !== proposal) renewed.push(now);
    }
    if (renewed.length === 0) return;
    await this.#store.commit({ actor: 'person', lease }, () => ({
      files: [],
      rows(transaction) {
        for (const proposal of renewed) putProposal(transaction, proposal);
      },
    }));
  }

  /** What the commits of this review made of a file that had this hash. */
  #made(path: string, sha: string | null): string | null {
    const steps = this.#steps.get(path) ?? [];
    return steps.reduce((now, { before, after }) => (before === now ? after : now), sha);
  }
}
