// Review under random hands: people say things, edit topics and logs, accept, reject, reword and undo in any order, with
// dreams between. Whatever they do: nothing applies but what was shown, to the text it was shown for; nobody's line is
// lost; no entry waits twice, or is left out.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import { unifiedDiff } from '../../../src/memory/history/line-diff.ts';
import { sized } from '../../support/depth.ts';
import { changedLines, meaningOf, type Reviewed, reviewedMemory } from '../../support/reviewed.ts';

const SERVICES = ['Alpha', 'Beta', 'Gamma', 'Delta', 'Omega'];
/** Two topics have two services each. */
const TOPICS: Record<string, string> = { alpha: 'greek', beta: 'greek', gamma: 'more', delta: 'more', omega: 'omega' };
const LOG = 'logs/2026/11/2026-11-21.md';

type Step =
  | { does: 'say'; service: number; port: number }
  | { does: 'edit'; topic: number; how: number }
  | { does: 'withdraw' | 'forget'; entry: number }
  | { does: 'accept' | 'reject' | 'reword'; which: number }
  | { does: 'accept all' | 'dream' | 'dream at once' | 'undo' };

const any = fc.nat(30);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('say' as const),
      service: any,
      port: fc.integer({ min: 1000, max: 1020 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('edit' as const), topic: any, how: any }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('withdraw', 'forget'), entry: any }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constantFrom('accept', 'reject', 'reword'), which: any }) },
  { weight: 6, arbitrary: fc.record({ does: fc.constantFrom('accept all', 'dream', 'dream at once', 'undo') }) },
);

/** A run, and what its person may rely on. */
class Run {
  /** What became of single decisions, in this run and others. */
  readonly outcomes: Set<string>;
  readonly #memory: Reviewed;
  /** Lines that the person wrote into topics. */
  readonly #own = new Map<string, string>();
  #said = 0;

  constructor(memory: Reviewed, outcomes: Set<string>) {
    this.#memory = memory;
    this.outcomes = outcomes;
  }

  async take(step: Step): Promise<void> {
    const memory = this.#memory;
    if (step.does === 'say') await memory.say(SERVICES[step.service % SERVICES.length] as string, step.port);
    if (step.does === 'edit') this.#edit(step);
    if (step.does === 'withdraw') this.#withdraw(step.entry);
    if (step.does === 'forget') await this.#forget(step.entry);
    if (step.does === 'dream at once') await memory.dream({ review: false });
    if (step.does === 'undo') await this.#undo();
    if (step.does === 'dream') await this.#dream();
    if (step.does === 'accept' || step.does === 'reject' || step.does === 'reword') await this.#decide(step);
    if (step.does === 'accept all') await memory.review({ word: { kind: 'accept' } });
    await this.check();
  }

  async check(): Promise<void> {
    const proposals = await this.#memory.proposals();
    const waiting = proposals.flatMap(({ entries }) => entries.map(({ id }) => id));
    expect(waiting.length).toBe(new Set(waiting).size);
    expect(new Set(proposals.map(meaningOf)).size).toBe(proposals.length);
    for (const [line, path] of this.#own) expect(this.#memory.file(path)).toContain(line);
  }

  /** To the end: everything is decided. */
  async finish(): Promise<void> {
    for (let round = 0; round < 6; round += 1) {
      await this.#dream();
      await this.#memory.review({ word: { kind: 'accept' } });
      await this.check();
      if ((await this.#memory.proposals()).length === 0) break;
    }
    expect(await this.#memory.proposals()).toEqual([]);
    expect(await this.#memory.dream()).toMatchObject({ outcome: 'nothing-new' });
    expect(Object.values(this.#memory.states())).not.toContain('new');
  }

  async #dream(): Promise<void> {
    const report = await this.#memory.dream();
    expect([report.outcome, report.error?.message]).toEqual([
      expect.stringMatching(/proposed|dreamed|nothing-new/),
      undefined,
    ]);
    const proposals = await this.#memory.proposals();
    const waiting = proposals.flatMap(({ entries }) => entries.map(({ id }) => id));
    const unsorted = Object.entries(this.#memory.states()).flatMap(([id, state]) => (state === 'new' ? id : []));
    expect(unsorted.filter((id) => !waiting.includes(id))).toEqual([]);
    expect(proposals.filter(({ state }) => state === 'stale')).toEqual([]);
    expect(await this.#memory.dream()).toMatchObject({ outcome: 'nothing-new' });
  }

  async #decide({ does, which }: { does: 'accept' | 'reject' | 'reword'; which: number }): Promise<void> {
    const memory = this.#memory;
    const proposals = await memory.proposals();
    const proposal = proposals[which % Math.max(proposals.length, 1)];
    if (!proposal) return;
    const before = await this.#topics();
    const text = proposal.lines[0]?.replace('listens on', 'listens, so to speak, on') ?? 'Left out, but kept.';
    const word = {
      accept: { kind: 'accept' },
      reject: { kind: 'reject' },
      reword: { kind: 'edit', text, topic: 'omega' },
    } as const;
    const { decided } = await memory.review({ ids: [proposal.id], word: word[does] });
    const [outcome] = decided.map((each) => each.outcome);
    this.outcomes.add(`${outcome}`);
    const after = await this.#topics();
    const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
    const changes = paths.flatMap((path) =>
      changedLines(
        unifiedDiff({ name: 'a', text: before.get(path) ?? '' }, { name: 'b', text: after.get(path) ?? '' }),
      ),
    );
    if (does === 'reject') expect([outcome, changes]).toEqual(['rejected', []]);
    else if (proposal.state === 'stale') expect([outcome, changes]).toEqual(['stale', []]);
    else if (outcome === 'accepted') expect(changes).toEqual(changedLines(proposal.diff));
    else if (outcome !== 'edited') expect([outcome, changes]).toEqual(['refused', []]);
  }

  #edit({ topic, how }: { topic: number; how: number }): void {
    const path = `${['greek', 'more', 'omega'][topic % 3]}.md`;
    if (!existsSync(join(this.#memory.dir, path))) return;
    this.#said += 1;
    const line = `- A person wrote this ${this.#said}.`;
    const kinds: (() => void)[] = [
      () => this.#memory.edit(path, (text) => `${text.trimEnd()}\n${line}\n`),
      () => this.#memory.edit(path, (text) => text.replace(/port 10\d\d/, 'port 9')),
      () => this.#memory.edit(path, (text) => text.replace(/^- .* listens .*\n/m, '')),
      () => this.#memory.edit(path, (text) => text.replace(/^description: .*/m, `description: Mine ${this.#said}`)),
      () => this.#hasOwn(path) || rmSync(join(this.#memory.dir, path)),
    ];
    kinds[how % kinds.length]?.();
    if (how % kinds.length === 0) this.#own.set(line, path);
  }

  #hasOwn(path: string): boolean {
    return [...this.#own.values()].includes(path);
  }

  #withdraw(entry: number): void {
    if (!existsSync(join(this.#memory.dir, LOG))) return;
    this.#memory.edit(LOG, (log) => {
      const blocks = log.split(/^(?=- )/m);
      // More at once would stop the dream, which asks.
      return blocks.length < 8 ? log : blocks.toSpliced(1 + (entry % (blocks.length - 1)), 1).join('');
    });
  }

  async #forget(entry: number): Promise<void> {
    const ids = Object.keys(this.#memory.states());
    await this.#memory.forget(ids[entry % ids.length] as string);
  }

  /** What later work rests on is refused, and what is too little to undo is said. */
  async #undo(): Promise<void> {
    try {
      await this.#memory.undo();
    } catch (error) {
      if (!isAppError(error)) throw error;
    }
  }

  async #topics(): Promise<Map<string, string>> {
    const { store, file } = this.#memory;
    const paths = (await store.list()).filter((path) => !path.includes('/') && path !== 'MEMORY.md');
    return new Map(paths.map((path) => [path, file(path)]));
  }
}

test('whatever happens between proposing and deciding, only what was shown is done, and all is accounted for', async () => {
  const outcomes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 22 }), async (steps) => {
      const memory = await reviewedMemory({ topicOf: (service) => TOPICS[service] ?? service });
      const run = new Run(memory, outcomes);
      for (const [at, service] of SERVICES.entries()) await memory.say(service, 1100 + at);
      await memory.dream({ review: false });
      for (const [at, service] of SERVICES.slice(0, 4).entries()) await memory.say(service, 1200 + at);
      await memory.dream();
      for (const each of steps) await run.take(each);
      await run.finish();
    }),
    { numRuns: sized({ quick: 5, deep: 12 }) },
  );
  expect([...outcomes]).toEqual(expect.arrayContaining(['accepted', 'rejected', 'edited']));
});
