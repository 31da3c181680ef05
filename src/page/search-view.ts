// Search over everything that is remembered, facts first; it answers as one types.

import { html } from 'hono/html';
import { headAt } from '../memory/file-rows.ts';
import { type Hit, searchMemories } from '../memory/search.ts';
import { searchedLines, standingAt } from '../memory/search-words.ts';
import { logDay } from '../memory/text/daily-log.ts';
import { isTopicFile, lineNumbers } from '../memory/text/topic.ts';
import { type At, empty, type Html, pageOf, pager, placeCalled, topicHref, type View } from './page-shell.ts';

const SIZE = 25;
const MOST_CHARACTERS = 300;
const KINDS: Record<string, string> = { topic: 'fact' };

export async function searchView(at: At): Promise<View> {
  const { app, places } = at;
  const query = (at.url.searchParams.get('q') ?? '').slice(0, MOST_CHARACTERS);
  const page = pageOf(at.url);
  const memories = places.map(({ id }) => id);
  const request = { query, limit: SIZE, offset: (page - 1) * SIZE };
  const { hits, total, isAtLeast } = await searchMemories(app.db, memories, request);
  const items: Html[] = [];
  for (const hit of hits) {
    const { memory, kind, path, text } = hit;
    items.push(
      html`<li><a class="row" href="${await hrefOf(at, hit)}"><span class="said" dir="auto">${marked(text.replace(/^\d\d:\d\d \*\*\w+\*\* /, ''), query)}</span></a><p class="meta"><span class="tag">${KINDS[kind] ?? kind}</span> <span class="said">${logDay(path) ?? path}</span> · <span class="said">${placeCalled(places, memory)?.title}</span></p></li>`,
    );
  }
  return {
    title: query === '' ? 'Search' : `${query.slice(0, 40)} – Search`,
    part: 'search',
    body: html`<h1>Search</h1>
<div id="found" aria-live="polite">
${query === '' ? html`<p class="dim">Type words or &quot;phrases&quot; above. Facts come first, then entries, of all memories.</p>` : ''}
${query !== '' && total === 0 ? empty('Nothing found', 'Try fewer words, or only the beginning of one.') : ''}
${total > 0 ? html`<p class="dim">${isAtLeast ? `The best ${total}: add words to narrow it down` : `${total} found`}</p><ul class="plain list">${items}</ul>${pager(at.url, { page, size: SIZE, total })}` : ''}
</div>`,
  };
}

async function hrefOf({ app }: At, { memory, path, line }: Hit): Promise<string> {
  const text = (await headAt(app.db, memory, path))?.content?.toString() ?? '';
  if (isTopicFile(path)) {
    const found = lineNumbers(text).find(({ first, last }) => line >= first && line <= last);
    return topicHref({ id: memory }, path, found?.id);
  }
  const day = logDay(path);
  if (!day) return `/memory/${memory}`;
  const entry = searchedLines(path, text).find(({ named }) => named === line)?.entry;
  return entry ? `/memory/${memory}/entry/${entry}` : `/changes?memory=${memory}`;
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
