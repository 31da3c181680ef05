// The page in a real browser, over an example memory: what each view shows, and what a person does there;
// what a page of strangers can do: nothing.

import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isDeep, SEED, sized, waysTaken } from '../support/depth.ts';
import { ON_POSTGRES } from '../support/temp.ts';
import { editOutside, lookedAt, putAt, teamDir, textAt } from './beside-page.ts';
import { hasBrowser, useBrowser, useVisit } from './browser.ts';
import { useExample } from './example.ts';

const TOPIC = 'working-agreements.md';
const PICTURES = join(import.meta.dirname, '../../docs/pictures');
const PICTURE = { width: 1120, height: 700 };

/** The width and height of a PNG, as they stand in its head. */
function sizeOf(png: Buffer): { width: number; height: number } {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

describe.skipIf(!hasBrowser)('the page', () => {
  const browser = useBrowser();
  const world = useExample();
  const visitor = useVisit(browser, world);
  // What is done in several tabs, and what is edited and taken back: in the quick size one of each, by the seed.
  const tabsTaken = waysTaken(['line', 'topic', 'many'] as const);
  const usual = waysTaken(['line', 'topic', 'gone', 'shared'] as const);

  test('each of the views shows what is in the memory, and addresses of before lead to them', async () => {
    const { page, memory, go, problems, asked } = visitor();
    // What is known, its lines in sight, and what they rest on in place.
    await go('/');
    expect(await page.locator('h1').innerText()).toBe('What it knows');
    await go(`/memory/${memory}`);
    const line = page.locator('.topic', { hasText: 'working-agreements' }).locator('.line', { hasText: 'pnpm' });
    expect(await line.locator('.entry').isVisible()).toBe(false);
    await line.locator('summary').press('Enter');
    expect(await line.locator('.entry').innerText()).toContain('Said by you in these words');
    await line.getByRole('link', { name: 'In the conversation' }).first().click();
    expect(await page.locator('.talk mark').first().innerText()).toContain('Always use pnpm');
    // What comes next, word for word.
    await go(`/next?memory=${memory}`);
    expect(await page.locator('.told').innerText()).toContain('Always use pnpm');
    expect(await page.locator('dl').first().innerText()).toContain('working-agreements.md');
    // What changed, with its lines and its cause, and what waits.
    await go('/review');
    expect(new URL(page.url()).pathname).toBe('/changes');
    expect(await page.locator('.proposal').count()).toBe(2);
    const night = page.locator('.change', { hasText: 'sorted what was new into topics' });
    expect(await night.locator('.operation').first().innerText()).toMatch(/added/);
    expect(await night.locator('.came').allInnerTexts()).toContainEqual(expect.stringContaining('pnpm'));
    expect(await page.locator('.change', { hasText: 'Learned from' }).count()).toBe(3);
    await night.last().getByRole('link', { name: 'Details' }).click();
    await page.locator('.diff .came').first().waitFor();
    // Beside one another what is the same stands twice, one under the other once.
    await page.setViewportSize({ width: 375, height: 800 });
    expect(await page.locator('.same').filter({ visible: true }).count()).toBe(0);
    await page.setViewportSize({ width: 1280, height: 900 });
    const job = new URL(page.url()).pathname.split('/').at(-1);
    await go(`/nights/${memory}/${job}`);
    expect(new URL(page.url()).pathname).toBe(`/changes/${job}`);
    await go(`/memory/${memory}/logs/2026-11-20`);
    expect(new URL(page.url()).search).toBe(`?memory=${memory}`);
    await go(`/memory/${memory}/archive`);
    await page.getByRole('link', { name: 'project-facts' }).click();
    expect(await page.locator('.line .what').innerText()).toContain('The orchard demo is due');
    await page.locator('.line summary').click();
    expect(await page.locator('.line').getByRole('button').count()).toBe(0);
    await go('/cost');
    expect(await page.locator('.figures').innerText()).toContain('$');
    expect(problems).toEqual([]);
    expect(asked.filter((each) => !each.startsWith(world().url))).toEqual([]);
  });

  test('search is in the bar of every view, and keys lead there, show all keys, save and leave again', async () => {
    const { page, memory, go, problems } = visitor();
    await go('/cost');
    await page.keyboard.press('/');
    await page.keyboard.type('pnpm');
    await page.locator('#found .list').waitFor();
    expect(await page.locator('#found .tag').first().innerText()).toBe('fact');
    expect(await page.locator('#q').inputValue()).toBe('pnpm');
    await page.goBack();
    await page.getByRole('heading', { name: 'Cost and health' }).waitFor();
    await page.locator('main').focus();
    await page.keyboard.press('Control+k');
    expect(await page.evaluate('document.activeElement.id')).toBe('q');
    await page.locator('main').focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('save what you write').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    // The list of memories by keys.
    await go('/');
    await page.locator('.switch summary').press('Enter');
    await page.keyboard.press('Escape');
    expect(await page.locator('.switch').getAttribute('open')).toBe(null);
    // What was opened and closed stays so while a change is read.
    await go(`/memory/${memory}`);
    const kept = page.locator('.line', { hasText: 'pnpm' }).locator('details');
    await kept.locator('summary').press('Enter');
    await editOutside(world(), TOPIC, 'the real Postgres', 'a real Postgres');
    await page.locator('.line .what', { hasText: 'a real Postgres' }).waitFor();
    expect(await kept.getAttribute('open')).toBe('');
    await editOutside(world(), TOPIC, 'a real Postgres', 'the real Postgres');
    await page.locator('.line .what', { hasText: 'the real Postgres' }).waitFor();
    // Of what is written nothing is lost by a search.
    const before = await textAt(world(), TOPIC);
    await go(`/memory/${memory}/topic/${TOPIC}`);
    await page.locator('.line', { hasText: 'pnpm' }).locator('summary').press('Enter');
    await page.locator('.line', { hasText: 'pnpm' }).getByRole('link', { name: 'Edit' }).press('Enter');
    await page.locator('textarea').fill('- Always use pnpm, by keys.');
    await page.locator('#q').pressSequentially('npm');
    expect(await page.locator('textarea').inputValue()).toBe('- Always use pnpm, by keys.');
    await page.locator('textarea').press('Control+Enter');
    await page.getByText('Saved.').waitFor();
    expect(await textAt(world(), TOPIC)).toContain('by keys');
    await page.locator('.toast button').click();
    await page.getByText('Taken back.').waitFor();
    expect(await textAt(world(), TOPIC)).toBe(before);
    expect(problems).toEqual([]);
  });

  test('pause, review and model are set as nocturne config sets them; a key is not taken', async () => {
    const { page, go } = visitor();
    const settings = () => readFileSync(join(world().app.config.home, 'config.json'), 'utf8');
    await go('/cost');
    await page.getByRole('button', { name: 'Ask me first' }).click();
    await page.getByText('Saved: it counts').waitFor();
    expect(JSON.parse(settings())).toMatchObject({ review: true });
    await page.getByRole('button', { name: 'Let nights do it' }).click();
    await page.getByText('Nights change topics by themselves.').waitFor();
    await page.getByLabel('Model').fill('claude-haiku-5-5');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('input[name=value][value="claude-haiku-5-5"]').waitFor();
    expect(JSON.parse(settings())).toMatchObject({ review: false, model: 'claude-haiku-5-5' });
    await page.getByLabel('Model').fill(`sk-ant-api03-${'aB3'.repeat(30)}AA`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('That looks like a key.').waitFor();
    expect(settings()).not.toContain('sk-ant');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('#settings ~ form', { hasText: 'Everything is paused' }).waitFor();
    await go('/next');
    await page.getByText('A session here is told nothing').waitFor();
    await go('/cost');
    await page.getByRole('button', { name: 'Go on' }).first().click();
    await page.getByText('nocturne works again.').waitFor();
    expect(await page.getByText('Everything is paused').count()).toBe(0);
  });

  test('a page on another port, which gets the cookie along, reads and changes nothing', async () => {
    const { url } = world();
    const { page, context, memory, go } = visitor();
    await go(`/memory/${memory}/topic/references.md`);
    const token = await page.locator('input[name=token]').first().getAttribute('value');
    const attack = `<body><script>
      const url = ${JSON.stringify(url)};
      const read = (init) => fetch(url + '/memory', { credentials: 'include', ...init }).then((r) => r.text()).catch((e) => 'refused');
      (async () => {
        const got = [await read({}), await read({ mode: 'no-cors' }), await fetch(url + '/do/seen', { method: 'POST', credentials: 'include', mode: 'no-cors',
          body: new URLSearchParams({ token: ${JSON.stringify(token)} }) }).then((r) => r.text()).catch(() => 'refused')];
        const frame = document.createElement('iframe'); frame.src = url + '/'; document.body.append(frame);
        await new Promise((done) => { frame.onload = done; });
        let framed = ''; try { framed = frame.contentDocument.body.innerText; } catch { framed = 'refused'; }
        document.title = JSON.stringify([...got, framed]);
      })();
    </script></body>`;
    const other = createServer((_, answer) => void answer.setHeader('content-type', 'text/html').end(attack)).listen(
      0,
      '127.0.0.1',
    );
    onTestFinished(() => void other.close());
    const before = await lookedAt(world());
    const tab = await context.newPage();
    await tab.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    await tab.waitForFunction('document.title.startsWith("[")');
    const got = JSON.parse(await tab.title()) as string[];
    for (const each of got) expect(['', 'refused']).toContain(each);
    expect(await lookedAt(world())).toBe(before);
    await page.reload();
    await page.getByRole('heading', { name: 'references' }).waitFor();
  });

  test('every view can be used by everyone, in light and in dark: axe finds nothing serious', async () => {
    const { page, memory, go } = visitor();
    const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    await go('/changes');
    const night = (await page.getByRole('link', { name: 'Details' }).last().getAttribute('href')) as string;
    const topic = `/memory/${memory}/topic/working-agreements.md`;
    const paths = ['/', `/memory/${memory}`, topic, `${topic}?edit=topic`, `/next?prompt=pnpm`, night, '/changes'];
    const found: string[] = [];
    paths.push('/search?q=pnpm', '/search?q=nowhere', '/cost', '/memory/none');
    // The quick size looks at one, by the seed.
    const isMeant = sized({ quick: (at: number) => (at + SEED) % 11 === 0, deep: () => true });
    for (const path of paths.filter((_, at) => isMeant(at))) {
      await go(path);
      const why = page.locator('.line summary').first();
      if (await why.count()) await why.click();
      // The page itself lets no script in that it did not send.
      await page.evaluate(source);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        // What does not hang on colours is the same in both.
        const only =
          colorScheme === 'light'
            ? {}
            : { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };
        const { violations } = (await page.evaluate(
          `axe.run(${JSON.stringify({ ...only, resultTypes: ['violations'], selectors: false, preload: false })})`,
        )) as { violations: { id: string; impact: string; nodes: { html: string }[] }[] };
        for (const { id, impact, nodes } of violations)
          if (['serious', 'critical'].includes(impact)) found.push(`${path}, ${colorScheme}: ${id}: ${nodes[0]?.html}`);
      }
    }
    expect(found).toEqual([]);
  });

  // PICTURES=keep takes new ones for the README.
  test.runIf(isDeep)('the pictures of the README are what the page looks like, each under 150 kB', async () => {
    const { page, memory, go } = visitor();
    await page.setViewportSize(PICTURE);
    await go(`/memory/${memory}/topic/${TOPIC}`);
    await page.locator('.line summary').first().click();
    await page.getByRole('link', { name: 'In the conversation' }).first().click();
    await page.locator('.talk').waitFor();
    await page.locator('main').focus();
    const isKept = process.env.PICTURES === 'keep';
    const schemes = ['light', 'dark'] as const;
    const nameOf = (scheme: string) => join(PICTURES, `why-${scheme}.png`);
    const check = (png: Buffer) => {
      expect(png.length).toBeLessThan(150_000);
      expect(sizeOf(png)).toEqual(PICTURE);
    };
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      check(await page.screenshot(isKept ? { path: nameOf(colorScheme) } : {}));
    }
    for (const scheme of schemes) check(readFileSync(nameOf(scheme)));
    await page.emulateMedia({ colorScheme: null });
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test.skipIf(!usual.includes('line'))(
    'a line is edited in place, a topic pinned and a line forgotten, and the word that appears takes each back',
    async () => {
      const { page, memory, go } = visitor();
      const { rows } = world();
      const file = () => textAt(world(), TOPIC);
      const before = await file();
      await go(`/memory/${memory}/topic/${TOPIC}`);
      const line = page.locator('.line', { hasText: 'pnpm' });
      await line.locator('summary').click();
      await line.getByRole('link', { name: 'Edit' }).click();
      await page.locator('textarea').fill('- Always use **pnpm** here.');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('.toast').waitFor();
      expect(await file()).toContain('- Always use **pnpm** here.\n');
      await page.locator('.toast button').click();
      await page.getByText('Taken back.').waitFor();
      expect(await file()).toBe(before);
      await page.getByRole('button', { name: 'Pin', exact: true }).click();
      await page.getByText('no dream changes it').waitFor();
      expect(await file()).toContain('pinned: true');
      await page.locator('.toast button').click();
      await page.getByText('Taken back.').waitFor();
      expect(await file()).toBe(before);
      await line.locator('summary').click();
      await line.getByRole('button', { name: 'Forget' }).click();
      await page.getByText('Forgotten: 1 line').waitFor();
      expect(await file()).not.toContain('pnpm');
      const entries: { state: string; reason?: string | null }[] = await rows('entries');
      expect(entries.some(({ state, reason }) => state === 'forgotten' || reason === 'forgotten')).toBe(true);
      await page.locator('.toast button').click();
      await page.getByText('Taken back.').waitFor();
      expect(await file()).toBe(before);
    },
  );

  test.skipIf(!usual.includes('topic'))(
    "a topic's description and body are edited in place on a phone by keys alone, and the word that appears takes it back",
    async () => {
      const { page, memory, go } = visitor();
      const file = () => textAt(world(), TOPIC);
      const before = await file();
      await page.setViewportSize({ width: 375, height: 800 });
      await go(`/memory/${memory}/topic/${TOPIC}`);
      await page.getByRole('link', { name: 'Edit topic' }).press('Enter');
      expect(await page.getByLabel('Name').inputValue()).toBe('working-agreements');
      expect(await page.getByLabel('Name').isEditable()).toBe(false);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
      expect(before.endsWith(`\n${await page.getByLabel('Text, in Markdown').inputValue()}\n`)).toBe(true);
      // The first field is where one writes at once.
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.type('How we: work here');
      await page.keyboard.press('Tab');
      await page.keyboard.press('ControlOrMeta+End');
      await page.keyboard.type('\n- Written by **hand**.');
      expect(await file()).toBe(before);
      await page.getByRole('button', { name: 'Save' }).press('Enter');
      await page.getByText('Saved.').waitFor();
      expect(await page.locator('.lead').innerText()).toBe('How we: work here');
      expect(await page.locator('.line').last().innerText()).toContain('Written by hand.');
      const described = before.replace(/^description: .*$/m, 'description: "How we: work here"');
      expect(await file()).toBe(`${described}- Written by **hand**.\n`);
      await page.locator('.toast button').click();
      await page.getByText('Taken back.').waitFor();
      expect(await file()).toBe(before);
      await page.setViewportSize({ width: 1280, height: 900 });
    },
  );

  test('a proposal is accepted and another rejected by keys, and a night is undone from the list of changes', async () => {
    const { page, memory, go } = visitor();
    await go('/changes');
    const texts = await page.locator('.proposal .statement').allInnerTexts();
    await page.keyboard.press('j');
    // The one that keys answer stands out.
    const edges = "[...document.querySelectorAll('.proposal')].map((each) => getComputedStyle(each).borderColor)";
    expect(await page.evaluate(`new Set(${edges}).size`)).toBe(2);
    await page.keyboard.press('k');
    await page.keyboard.press('a');
    await page.getByText('1 proposal accepted.').waitFor();
    await page.keyboard.press('r');
    await page.getByText('1 proposal rejected.').waitFor();
    expect(await page.locator('.proposal').count()).toBe(0);
    await go(`/search?q=${encodeURIComponent(`"${texts[0]}"`)}`);
    expect(await page.locator('#found .tag').first().innerText()).toBe('fact');
    await go(`/changes?memory=${memory}`);
    const night = page.locator('.change', { hasText: /sorted what was new into topics.*working-agreements/s });
    await night.getByRole('button', { name: /^Undo/ }).click();
    await page.getByText('Taken back.').waitFor();
    expect(await textAt(world(), TOPIC)).not.toContain('pnpm');
    await night.getByText('taken back', { exact: true }).waitFor();
    await night.getByRole('button', { name: /^Do it again/ }).click();
    await page.getByText('Done again.').waitFor();
    expect(await textAt(world(), TOPIC)).toContain('pnpm');
  });

  test.skipIf(!tabsTaken.includes('line'))(
    'of two tabs that edit one line the second is shown both, and nothing of the first is lost',
    async () => {
      const { page, tab: openTab, memory, go } = visitor();
      const at = `/memory/${memory}/topic/${TOPIC}`;
      await go(at);
      const other = await openTab(at);
      for (const tab of [page, other]) {
        await tab.locator('.line', { hasText: 'pnpm' }).locator('summary').click();
        await tab.locator('.line', { hasText: 'pnpm' }).getByRole('link', { name: 'Edit' }).click();
        await tab.locator('textarea').waitFor();
      }
      await page.locator('textarea').fill('- Always use pnpm, says the first.');
      await other.locator('textarea').fill('- Always use pnpm, says the second.');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      await other.getByRole('button', { name: 'Save' }).click();
      await other.getByRole('heading', { name: 'This line was changed meanwhile' }).waitFor();
      expect(await other.locator('.diff').innerText()).toContain('says the first');
      expect(await other.locator('textarea').inputValue()).toContain('says the second');
      expect(await textAt(world(), TOPIC)).toContain('says the first');
      await other.getByRole('button', { name: 'Save' }).click();
      await other.getByText('Saved.').waitFor();
      expect(await textAt(world(), TOPIC)).toContain('says the second');
      await other.close();
    },
  );

  test.skipIf(!tabsTaken.includes('topic'))(
    'of two tabs that edit one topic the second is shown both texts, and its own is written once it saves again',
    async () => {
      const { page, tab: openTab, memory, go } = visitor();
      const at = `/memory/${memory}/topic/${TOPIC}?edit=topic`;
      const file = () => textAt(world(), TOPIC);
      await go(at);
      const other = await openTab(at);
      const body = other.getByLabel('Text, in Markdown');
      const mine = `${await body.inputValue()}\n- The second tab adds this.`;
      await body.fill(mine);
      await page.getByLabel('Description').fill('The first tab says what it is.');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      await other.getByRole('button', { name: 'Save' }).click();
      await other.getByRole('heading', { name: 'This topic was changed meanwhile' }).waitFor();
      expect(await other.locator('.diff .gone').allInnerTexts()).toContain(
        'Description: The first tab says what it is.',
      );
      expect(await other.locator('.diff .came').allInnerTexts()).toContain('- The second tab adds this.');
      expect(await file()).toContain('The first tab');
      expect(await file()).not.toContain('The second tab');
      expect(await body.inputValue()).toBe(mine);
      await other.getByRole('button', { name: 'Save' }).click();
      await other.getByText('Saved.').waitFor();
      expect(await file()).toContain('The second tab');
      expect(await file()).not.toContain('The first tab');
      await other.close();
    },
  );

  test.skipIf(!usual.includes('gone'))(
    'a topic that is gone once it is saved is not written, and what was typed is shown; one of other bytes is for an editor',
    async () => {
      const { page, memory, go } = visitor();
      const path = 'by-hand.md';
      const at = `/memory/${memory}/topic/${path}?edit=topic`;
      await putAt(world(), path, '- Mine\n');
      await go(at);
      await page.getByLabel('Text, in Markdown').fill('- What I typed.');
      await putAt(world(), path, null);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The topic is gone.').waitFor();
      expect(await page.locator('main').innerText()).toContain('- What I typed.');
      expect(await textAt(world(), path)).toBe('');
      await putAt(world(), path, Buffer.from('- Caf\xe9\n', 'latin1'));
      await go(at);
      expect(await page.locator('main').innerText()).toContain('opens it in your editor');
      expect(await page.locator('textarea').count()).toBe(0);
      await putAt(world(), path, null);
    },
  );

  // A browser opens six connections to one place.
  test.skipIf(!tabsTaken.includes('many'))(
    'with more tabs open than a browser has connections the page still loads, and all show soon what an editor saved',
    async () => {
      const { page, tab, memory, go } = visitor();
      const at = `/memory/${memory}/topic/${TOPIC}`;
      await go(at);
      const tabs = [page];
      const most = sized({ quick: 7, deep: 10 });
      while (tabs.length < most) tabs.push(await tab(at));
      await editOutside(world(), TOPIC, 'the real Postgres', 'a real Postgres');
      for (const tab of tabs)
        await tab.locator('.line .what', { hasText: 'a real Postgres' }).waitFor({ timeout: 20_000 });
    },
  );

  test.skipIf(!usual.includes('shared'))(
    "a topic is shared with the team's memory of its repository, and the word that appears takes that back",
    async () => {
      const { page, memory, go } = visitor();
      await go(`/memory/${memory}/topic/references.md`);
      await page.getByRole('button', { name: 'Share' }).click();
      // A team's memory is a directory of its repository, of which a database of several machines knows nothing.
      if (ON_POSTGRES) return page.getByText("a team's memory is a directory of the repository").waitFor();
      await page.getByText('Shared: commit').waitFor();
      const team = await teamDir(world());
      const shared = () =>
        existsSync(join(team, 'references.md')) ? readFileSync(join(team, 'references.md'), 'utf8') : '';
      expect(shared()).toContain('the Linear project INGEST');
      await page.locator('.toast button').click();
      await page.getByText('Taken back.').waitFor();
      expect(shared()).not.toContain('INGEST');
    },
  );
});
