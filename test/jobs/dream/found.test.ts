// What an agent found out, and lines that tell a state: marked, plain when a second session finds it, replaced by what is newer, put
// away when nobody meets it again.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { foundLines } from '../../../src/memory/rests.ts';
import { lineId } from '../../../src/memory/text/topic.ts';
import { ENGINE_TAKEN, skipped } from '../../support/memory-world.ts';
import { inNights, type Nights, put, type Said } from '../../support/night-world.ts';

const WAY = 'In `services/api`: `pnpm test`; from the top no projects matched the filters.';
const OTHER =
  'From the top: `pnpm test --filter api` tests `services/api`, as in `services/api` itself `pnpm test` fails.';
const MARKED = `Found by the agent, 2026-11-20: ${WAY}`;
const finds = (session: string, text = WAY): Said => ({
  ...({ type: 'project', strength: 'implied', found: 'way', by: 'tool' } as const),
  ...{ text, session },
});
const WAITS = 'Pull request 12 of the parser waits for review.';

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (name: string, work: (nights: Nights) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(name, () => inNights(engine, work));
  const once = ({ night }: Nights) => night([finds('one')], ([id]) => [put(id, WAY)]);

  it('a line says that an agent found it, and is plain when a second session finds it, too; the same one is none', async (here) => {
    const { night, file, db, row } = here;
    await once(here);
    expect(await file('facts.md')).toContain(`- ${MARKED}\n`);
    await night([finds('one')], ([id]) => [put(id, WAY, { out: [lineId(MARKED)] })]);
    expect(await file('facts.md')).toContain('- Found by the agent, 2026-11-20: ');
    await night([finds('two')], ([id]) => [put(id, WAY, { out: [lineId(MARKED)] })]);
    expect(await file('facts.md')).toContain(`- ${WAY}\n`);
    expect((await foundLines(db, row.id)).map(({ line, found }) => [line, found])).toEqual(
      Array(3).fill([lineId(WAY), 'way']),
    );
  });

  it('what a program only showed is found, not seen once', async ({ night, file }) => {
    const text = 'The api listens on port 4821.';
    await night([{ type: 'project', strength: 'implied', by: 'tool', text }], ([id]) => [put(id, text)]);
    expect(await file('facts.md')).toContain(`- Found by the agent, 2026-11-20: ${text}\n`);
  });

  it('a newer finding that shows the contrary takes its place, marked or plain; a habit does not', async (here) => {
    const { night, file } = here;
    await once(here);
    await night([finds('two')], ([id]) => [put(id, WAY, { out: [lineId(MARKED)] })]);
    const habit: Said = { type: 'project', strength: 'implied', text: OTHER, session: 'three' };
    await night([habit], ([id]) => [put(id, OTHER, { out: [lineId(WAY)] })]);
    expect(await file('facts.md')).toContain(`- ${WAY}\n`);
    await night([finds('four', OTHER)], ([id]) => [put(id, OTHER, { out: [lineId(WAY)] })]);
    expect(await file('facts.md')).not.toContain(WAY);
    expect(await file('facts.md')).toContain(OTHER);
  });

  it('what no session found again within 180 days goes to the archive, and not after the 30 of a habit', async (here) => {
    await once(here);
    here.wait(179);
    expect((await here.dream()).outcome).toBe('nothing-new');
    here.wait(2);
    expect((await here.dream()).operations).toMatchObject([
      { kind: 'archive', reason: 'No other session found it within 180 days.' },
    ]);
    expect(await here.file('archive/facts.md')).toContain(WAY);
  });

  it('a state is marked after 14 days and put away after 14 more, with what it rests on; told again it is fresh', async (here) => {
    const { night, file, wait, db } = here;
    await night([{ type: 'project', text: WAITS }], ([id]) => [put(id, WAITS)]);
    wait(13);
    expect((await here.dream()).outcome).toBe('nothing-new');
    wait(2);
    expect((await here.dream()).outcome).toBe('dreamed');
    const marked = `${WAITS} (as of 2026-11-20, may be over)`;
    expect(await file('facts.md')).toContain(`- ${marked}\n`);
    expect(await db.all('select source from rests where line = ?', lineId(marked))).toHaveLength(1);
    expect((await here.dream()).outcome).toBe('nothing-new');
    await night([{ type: 'project', text: WAITS }], ([id]) => [put(id, marked, { out: [lineId(marked)] })]);
    expect(await file('facts.md')).toContain(`- ${WAITS}\n`);
    wait(15);
    await here.dream();
    wait(14);
    expect((await here.dream()).operations).toMatchObject([{ kind: 'archive' }]);
    expect(await file('archive/facts.md')).toContain(WAITS);
  });

  it("a person's own line, a rule and what is not decided are no state that ages", async ({
    night,
    file,
    dir,
    wait,
    dream,
  }) => {
    const open = 'Open: whether the parser waits for review of the mill.';
    await night([{ type: 'project', text: open }], ([id]) => [put(id, open)]);
    writeFileSync(join(dir, 'facts.md'), `${await file('facts.md')}- ${WAITS}\n`);
    wait(40);
    await dream();
    expect(await file('facts.md')).not.toContain('may be over');
    expect(await file('facts.md')).toContain(WAITS);
  });
});
