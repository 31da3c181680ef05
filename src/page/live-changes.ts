// Whether something changed since a page was made, which then reads itself again: a mark that is another one afterwards, and says
// nothing of what and where. Rows tell it, and the directories, for what was edited past nocturne. A page that is seen asks every second.

import { onAppError } from '../base/errors.ts';
import { lookInto } from '../memory/commit.ts';
import type { App } from '../worker/compose.ts';

/** Of memories, of work, of who works, and of single values, those apart that the page writes itself by being opened. */
const TELLING = [
  `select id, (select max(seq) from version where version.memory = memory.id), archived_at, paused_until
    from memory where deleted_at is null and tenant = '' order by id`,
  "select max(created_at), max(ended_at), sum(case when status = 'running' then 1 else 0 end), count(*) from job",
  'select count(*), max(id), max(not_before), sum(fence), sum(attempts), sum(news) from inbox',
  'select count(*), max(started_at) from worker',
  "select key, value from setting where key not in ('looked', 'night') and key not like 'ticket:%' and key not like 'page:%' order by key",
];
/** However many pages ask, the directories are looked into no sooner again. */
const LOOK_MS = 900;

export class LiveChanges {
  readonly #app: App;
  /** Of another server nothing is known. */
  readonly #begun = Math.floor(Math.random() * 2 ** 32).toString(16);
  #rows = '';
  #changes = 0;
  #lookedMs = -LOOK_MS;

  constructor(app: App) {
    this.#app = app;
  }

  async mark(): Promise<string> {
    const rows: object[] = [];
    for (const select of TELLING) rows.push(await this.#app.db.all(select));
    const before = this.#rows;
    this.#rows = JSON.stringify(rows);
    if (before !== this.#rows) this.#changes += 1;
    return `${this.#begun}.${this.#changes}`;
  }

  async markOfFiles(): Promise<string> {
    const { memories, db } = this.#app;
    if (performance.now() - this.#lookedMs < LOOK_MS) return this.mark();
    this.#lookedMs = performance.now();
    const ours = await db.all<{ id: string }>("select id from memory where deleted_at is null and tenant = ''");
    // What keeps one from being read is told by its own view.
    for (const { id } of ours) await lookInto(memories, { memory: id, paths: 'all' }).catch(onAppError(() => {}));
    return this.mark();
  }

  /** Something was done that no row may tell. */
  changed(): void {
    this.#changes += 1;
  }
}
