// Search over everything that is remembered, facts first; it answers as one types.

import { html } from 'hono/html';
import { catalogEntries } from '../../../memory/recall/catalog.ts';
import { searchMemories, standingAt } from '../../../memory/recall/search.ts';
import { KeptTexts } from '../../../memory/recall/search-texts.ts';
import { logDay } from '../../../memory/text/daily-log.ts';
import { isArchivePath, isTopicPath, lineNumbers } from '../../../memory/text/topic.ts';
import { type At, empty, type Html, type MemoryPlace, pageOf, pager, type View } from '../shell.ts';

const SIZE = 25;
/** One types letter by letter: what was read for the last is there for the next. */
const kept = new KeptTexts();
const MOST_CHARACTERS = 300;
const KINDS: Record<string, string> = {
  topic: 'fact',
  entry: 'entry',
  index: 'index',
  archive: 'archive',
  file: 'file',
};

export async function searchView(at: At): Promise<View> {
  const query = (at.url.searchParams.get('q') ?? '').slice(0, MOST_CHARACTERS);
  const page = pageOf(at.url);
  const places = at.places.all.map(({ store: { dir, ledger } }) => ({ dir, ledger }));
  const { hits, total, meant } = searchMemories(places, { query, limit: SIZE, offset: (page - 1) * SIZE }, kept);
  const items: Html[] = [];
  for (const { dir, kind, path, line, text } of hits) {
    const memory = at.places.all.find(({ store }) => store.dir === dir) as MemoryPlace;
    const href = await hrefOf(memory, { path, line });
    items.push(
      html`<li><a class="row" href="${href}"><span class="said" dir="auto">${marked(text, query)}</span></a><p class="meta"><span class="tag">${KINDS[kind]}</span> <span class="said">${path}</span> · <span class="said">${memory.name}</span></p></li>`,
    );
  }
  return {
    title: query === '' ? 'Search' : `${query.slice(0, 40)} – Search`,
    part: 'search',
    body: html`<h1>Search</h1>
<form action="/search" role="search" class="search"><label for="q" class="hidden">Words to look for</label><input id="q" type="search" name="q" value="${query}" placeholder="Words, &quot;phrases&quot;" autocomplete="off" spellcheck="false" dir="auto"><button class="primary">Search</button></form>
<div id="found" aria-live="polite">
${query === '' ? html`<p class="dim">Facts come first, then entries and logs, of all memories.</p>` : ''}
${query !== '' && total === 0 ? empty('Nothing holds these words', meant ? html`Did you mean <a href="/search?q=${encodeURIComponent(meant)}">${meant}</a>?` : 'Try fewer words, or only the beginning of one.') : ''}
${total > 0 ? html`<p class="dim">${total} found${meant ? html`. Did you mean <a href="/search?q=${encodeURIComponent(meant)}">${meant}</a>?` : ''}</p><ul class="plain list">${items}</ul>${pager(at.url, { page, size: SIZE, total })}` : ''}
</div>`,
  };
}

async function hrefOf({ id, store }: MemoryPlace, { path, line }: { path: string; line: number }): Promise<string> {
  const base = `/memory/${id}`;
  if (isTopicPath(path) || isArchivePath(path)) {
    const at = lineNumbers((await store.read(path)) ?? '').find(({ first, last }) => line >= first && line <= last);
    return `${base}/topic/${encodeURIComponent(path)}${at ? `?line=${at.id}#l-${at.id}` : ''}`;
  }
  const day = logDay(path);
  if (!day) return base;
  const said = ((await store.read(path)) ?? '').split('\n')[line - 1] ?? '';
  const entry = catalogEntries(store.dir, [path], store.ledger).find((each) =>
    said.includes(each.text.split('\n')[0] as string),
  );
  return entry ? `${base}/entry/${entry.id}` : `${base}/logs/${day}`;
}

/** The words that were looked for stand out. */
function marked(text: string, query: string): Html[] {
  let at = 0;
  const parts = standingAt(text, query).flatMap(({ from, to }) => {
    const before = text.slice(at, from);
    at = to;
    return [html`${before}`, html`<mark>${text.slice(from, to)}</mark>`];
  });
  return [...parts, html`${text.slice(at)}`];
}
