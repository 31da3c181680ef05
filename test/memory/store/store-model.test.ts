// The store against a map in memory: 10,000 operations (the small size: 1,200) of nocturne and of people, in any order, with openings between.

import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import { fixedClock } from '../../../src/base/time.ts';
import { shaOf } from '../../../src/memory/ledger/version-rows.ts';
import { openStore } from '../../../src/memory/open.ts';
import type { Precondition, Store } from '../../../src/memory/store/store.ts';
import { sized } from '../../support/depth.ts';
import { tempDir } from '../../support/temp.ts';

const RUNS = sized({ quick: 6, deep: 50 });
const OPERATIONS = 100;
const clock = fixedClock('2026-11-20T10:00:00Z');
const by = { actor: 'tool:test' };
const root = tempDir();

const path = fc.constantFrom('a.md', 'b.md', 'c.txt', 'dir/d.md', 'dir/deep/e.md', 'logs/2026/11/2026-11-20.md');
const text = fc.constantFrom('', 'x', 'x\n', 'one\ntwo\n', 'one\r\ntwo', 'ünï\n', '---\nname: a\n---\n- b\n');
const demand = fc.constantFrom('none', 'none', 'new', 'current', 'stale');

const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), path, text, demand }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('edit' as const), path, demand }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), path, to: path, demand }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), path, demand }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('commit' as const), path, to: path, isThrown: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('look' as const), path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('list' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('write outside' as const), path, text }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove outside' as const), path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rename outside' as const), path, to: path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

class Model {
  store: Store;
  readonly files = new Map<string, string>();
  readonly ids = new Map<string, string>();
  /** Everything that was ever live. */
  readonly seen = new Set<string>();
  #count = 0;

  constructor(store: Store) {
    this.store = store;
  }

  async run(operation: Operation): Promise<void> {
    switch (operation.do) {
      case 'write': {
        const wanted = this.#unique(operation.text);
        const { path } = operation;
        await this.#expect(this.store.write(by, { path, text: wanted, precondition: this.#demand(operation) }), () => {
          if (this.files.get(path) !== wanted && !this.#isMet(operation)) return 'conflict';
          this.#set(path, wanted);
          return null;
        });
        break;
      }
      case 'edit': {
        const { path } = operation;
        const current = this.files.get(path) ?? '';
        const line = this.#unique('line');
        const edit = { path, old: current, new: `${current}${line}`, precondition: this.#demand(operation) };
        await this.#expect(this.store.edit(by, edit), () => {
          if (!this.#isMet(operation)) return 'conflict';
          if (current === '') return 'bad-input';
          this.#set(path, `${current}${line}`);
          return null;
        });
        break;
      }
      case 'rename': {
        const { path, to } = operation;
        const rename = { from: path, to, precondition: this.#demand(operation) };
        await this.#expect(this.store.rename(by, rename), () => {
          const current = this.files.get(path);
          if (current === undefined) return 'bad-input';
          if (path === to) return null;
          if (!this.#isMet(operation) || this.files.has(to)) return 'conflict';
          this.#move(path, to);
          return null;
        });
        break;
      }
      case 'remove': {
        const { path } = operation;
        await this.#expect(this.store.remove(by, { path, precondition: this.#demand(operation) }), () => {
          if (!this.files.has(path)) return 'bad-input';
          if (!this.#isMet(operation)) return 'conflict';
          this.files.delete(path);
          return null;
        });
        break;
      }
      case 'commit': {
        const { path, to, isThrown } = operation;
        if (path === to) return;
        const wanted = this.#unique('both\n');
        const commit = this.store.commit(by, () => ({
          files: [path, to].map((path) => ({ path, change: () => wanted })),
          rows() {
            if (isThrown) throw new Error('thrown');
          },
        }));
        if (isThrown) return expect(commit).rejects.toThrow('thrown');
        await commit;
        for (const at of [path, to]) this.#set(at, wanted);
        break;
      }
      case 'look': {
        const found = await this.store.lookUp(operation.path);
        const known = this.files.get(operation.path);
        expect(await this.store.read(operation.path)).toBe(known ?? null);
        expect(found?.text).toBe(known);
        expect(found?.contentSha256).toBe(known === undefined ? undefined : shaOf(known));
        const id = this.ids.get(operation.path);
        if (found && id) expect(found.id).toBe(id);
        if (found) this.ids.set(operation.path, found.id);
        break;
      }
      case 'list':
        expect(await this.store.list()).toEqual([...this.files.keys()].sort());
        break;
      case 'write outside': {
        const known = this.store.ledger.get('select 1 from memory where path = ?', operation.path);
        if (!operation.path.endsWith('.md') && !known) return;
        const target = join(this.store.dir, operation.path);
        mkdirSync(dirname(target), { recursive: true });
        const wanted = this.#unique(operation.text);
        writeFileSync(target, wanted);
        this.#set(operation.path, wanted);
        break;
      }
      case 'remove outside':
        rmSync(join(this.store.dir, operation.path), { force: true });
        this.files.delete(operation.path);
        break;
      case 'rename outside': {
        const { path, to } = operation;
        if (!this.files.get(path) || this.files.has(to) || !to.endsWith('.md')) return;
        mkdirSync(dirname(join(this.store.dir, to)), { recursive: true });
        renameSync(join(this.store.dir, path), join(this.store.dir, to));
        const isOnlyOne = [...this.files.values()].filter((text) => text === this.files.get(path)).length === 1;
        this.#move(path, to);
        if (!isOnlyOne) this.ids.delete(to);
        break;
      }
      case 'reopen': {
        const { dir } = this.store;
        this.store.close();
        this.store = await openStore(dir, { clock });
      }
    }
    // One loss at a time is no accident: the store may believe each, save a log that was emptied or is gone.
    if (operation.do.endsWith('outside')) {
      expect((await this.store.missing()).filter((path) => !path.startsWith('logs/'))).toEqual([]);
    }
  }

  #set(path: string, text: string): void {
    if (!this.files.has(path)) this.ids.delete(path);
    this.files.set(path, text);
    this.seen.add(text);
  }

  #move(from: string, to: string): void {
    this.files.set(to, this.files.get(from) ?? '');
    this.files.delete(from);
    const id = this.ids.get(from);
    this.ids.delete(from);
    this.ids.delete(to);
    if (id) this.ids.set(to, id);
  }

  async #expect(done: Promise<unknown>, model: () => 'conflict' | 'bad-input' | null): Promise<void> {
    const code = await done.then(
      () => null,
      (error: unknown) => (isAppError(error) ? error.code : error),
    );
    expect(code).toBe(model());
  }

  #demand({ path, demand }: { path: string; demand: string }): Precondition | undefined {
    if (demand === 'none') return undefined;
    if (demand === 'new') return { mustNotExist: true };
    return { contentSha256: shaOf(demand === 'current' ? (this.files.get(path) ?? '') : 'stale') };
  }

  #isMet({ path, demand }: { path: string; demand: string }): boolean {
    return demand === 'none' || demand === (this.files.has(path) ? 'current' : 'new');
  }

  /** Mostly a text that never was before, so that nothing is mistaken for something else. */
  #unique(text: string): string {
    this.#count += 1;
    return text === '' || text === 'x' ? text : `${this.#count} ${text}`;
  }
}

test('does what a map would do, keeps every text as a version, and leaves nothing behind', async () => {
  const histories = fc.array(operation, { minLength: OPERATIONS, maxLength: OPERATIONS });
  await fc.assert(
    fc.asyncProperty(histories, async (operations) => {
      const dir = mkdtempSync(join(root, 'model-'));
      const model = new Model(await openStore(dir, { clock }));
      for (const operation of operations) await model.run(operation);
      model.store.close();
      const store = await openStore(dir, { clock });
      expect(await store.list()).toEqual([...model.files.keys()].sort());
      for (const [path, text] of model.files) expect(await store.read(path)).toBe(text);
      const kept = new Set(store.ledger.all('select content from version').map((row) => String(row.content ?? '')));
      for (const text of model.seen) expect(kept).toContain(text);
      store.close();
      rmSync(dir, { recursive: true });
    }),
    { numRuns: RUNS },
  );
});
