// The page in a real browser, over an example memory: what each view shows, and what a person does there;
// what a page of strangers can do: nothing.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pausesOf } from '../../src/queue/pauses.ts';
import { isDeep, SEED, sized } from '../support/depth.ts';
import { textAt, ticketTo } from './beside-page.ts';
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

  test('each of the views shows what is in the memory', async () => {
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
    await go('/changes');
    expect(await page.locator('.proposal').count()).toBe(2);
    const night = page.locator('.change', { hasText: 'sorted what was new into topics' });
    expect(await night.locator('.operation').first().innerText()).toMatch(/added/);
    expect(await night.locator('.came').allInnerTexts()).toContainEqual(expect.stringContaining('pnpm'));
    expect(await page.locator('.change', { hasText: 'Learned from' }).count()).toBe(3);
    await night.last().getByRole('link', { name: 'Details' }).click();
    await page.getByRole('heading', { name: 'Change', exact: true }).waitFor();
    expect(await page.locator('.change .came').count()).toBeGreaterThan(5);
    await go(`/memory/${memory}/archive`);
    await page.getByRole('link', { name: 'orchard-demo' }).click();
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
    await page.keyboard.press('Enter');
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
    // What was opened stays so while a form is sent.
    await go(`/memory/${memory}`);
    const kept = page.locator('.line', { hasText: 'pnpm' }).locator('details');
    await kept.locator('summary').press('Enter');
    const other = page.locator('.line', { hasText: 'the real Postgres' });
    await other.locator('summary').press('Enter');
    await other.getByRole('button', { name: 'Forget' }).click();
    await page.getByText('Forgotten: 1 line').waitFor();
    expect(await kept.getAttribute('open')).toBe('');
    await page.locator('.toast button').click();
    await page.getByText('Taken back.').waitFor();
    expect(await kept.getAttribute('open')).toBe('');
    // What is written is saved by keys, too.
    const before = await textAt(world(), TOPIC);
    await go(`/memory/${memory}/topic/${TOPIC}`);
    await page.locator('.line', { hasText: 'pnpm' }).locator('summary').press('Enter');
    await page.locator('.line', { hasText: 'pnpm' }).getByRole('link', { name: 'Edit' }).press('Enter');
    await page.locator('textarea').fill('- Always use pnpm, by keys.');
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

  test('without scripts one enters by typing the key, reads, and does what a form does', async () => {
    const context = await browser().newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(world().url);
    await page.getByLabel('Key').fill(await ticketTo(world()));
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('link', { name: 'Cost and health' }).click();
    await page.getByRole('button', { name: 'Ask me first' }).click();
    expect(await page.getByText('Saved: it counts').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Let nights do it' }).click();
    await context.close();
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
        const got = [await read({}), await read({ mode: 'no-cors' }), await fetch(url + '/do/pause', { method: 'POST', credentials: 'include', mode: 'no-cors',
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
    const pauses = () => pausesOf(world().app.db, world().app.clock.now());
    const tab = await context.newPage();
    await tab.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    await tab.waitForFunction('document.title.startsWith("[")');
    const got = JSON.parse(await tab.title()) as string[];
    for (const each of got) expect(['', 'refused']).toContain(each);
    expect(await pauses()).toEqual([]);
    await page.reload();
    await page.getByRole('heading', { name: 'references' }).waitFor();
  });

  test('every view can be used by everyone, in light and in dark: axe finds nothing serious', async () => {
    const { page, memory, go } = visitor();
    const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    await go('/changes');
    const night = (await page.getByRole('link', { name: 'Details' }).last().getAttribute('href')) as string;
    const topic = `/memory/${memory}/topic/working-agreements.md`;
    await go(topic);
    const line = (await page.locator('.line').first().getAttribute('id'))?.slice(2);
    const paths = ['/', `/memory/${memory}`, topic, `${topic}?edit=${line}`, `/next?prompt=pnpm`, night, '/changes'];
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

  test('a line is edited in place, a topic pinned and a line forgotten, and the word that appears takes each back', async () => {
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
    // The line that was edited stays open.
    await line.getByRole('button', { name: 'Forget' }).click();
    await page.getByText('Forgotten: 1 line').waitFor();
    expect(await file()).not.toContain('pnpm');
    const entries: { state: string; reason?: string | null }[] = await rows('entries');
    expect(entries.some(({ state, reason }) => state === 'forgotten' || reason === 'forgotten')).toBe(true);
    await page.locator('.toast button').click();
    await page.getByText('Taken back.').waitFor();
    expect(await file()).toBe(before);
  });

  test('a proposal is accepted and another rejected by keys, and a night is undone from the list of changes', async () => {
    const { page, memory, go } = visitor();
    await go('/changes');
    const texts = await page.locator('.proposal .statement').allInnerTexts();
    await page.getByRole('button', { name: 'Accept', exact: true }).first().press('Enter');
    await page.getByText('1 proposal accepted.').waitFor();
    await page.getByRole('button', { name: 'Reject' }).press('Enter');
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

  test('of two tabs that edit one line the second is shown both, and nothing of the first is lost', async () => {
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
    expect(await other.locator('.prose').innerText()).toContain('says the first');
    expect(await other.locator('textarea').inputValue()).toContain('says the second');
    expect(await textAt(world(), TOPIC)).toContain('says the first');
    await other.getByRole('button', { name: 'Save' }).click();
    await other.getByText('Saved.').waitFor();
    expect(await textAt(world(), TOPIC)).toContain('says the second');
    await other.close();
  });
});
