// Two wrote one line, or one topic: both are shown, and nothing is written before the person has looked.

import { html } from 'hono/html';
import { shownLine, shownTopic } from '../../../../jobs/edit.ts';
import { locateLines } from '../../../memory/text/topic.ts';
import { diffOfTexts } from '../diff.ts';
import type { MemoryPlace } from '../memory-places.ts';
import type { At, Html, View } from '../shell.ts';
import { editForm, topicForm } from './topic-view.ts';

/** What standing at the same place counts, in words in common. */
const SAME_PLACE = 0.3;

export async function conflictView(
  at: At,
  {
    memory,
    path,
    shown,
    index,
    text,
  }: { memory: MemoryPlace; path: string; shown: string; index: number; text: string },
): Promise<View> {
  const raw = (await memory.store.read(path)) ?? '';
  const lines = locateLines(raw);
  // What became of the line, as far as anybody can tell: the one most like it, or at its place.
  const near = lines
    .map((each, place) => ({ each, score: likeness(shown, shownLine(raw, each)) + (place === index ? SAME_PLACE : 0) }))
    .sort((a, b) => b.score - a.score)[0];
  const now = near && near.score >= SAME_PLACE ? near.each : undefined;
  const current = now ? shownLine(raw, now) : '';
  return changedMeanwhile('This line was changed meanwhile', {
    diff: diffOfTexts(path, `${current}\n`, `${text}\n`),
    yours: now
      ? html`<h2>Yours, to be put in its place</h2>${await editForm(at, memory, { path, line: now.id, index: lines.indexOf(now), shown: current, text })}`
      : goneView(memory, { what: 'line', path, text }),
  });
}

export async function topicConflictView(
  at: At,
  { memory, path, description, body }: { memory: MemoryPlace; path: string; description: string; body: string },
): Promise<View> {
  const raw = await memory.store.read(path);
  const now = shownTopic(raw ?? '');
  const textOf = (of: { description: string; body: string }) =>
    `Description: ${of.description}\n\n${of.body.replaceAll('\r\n', '\n').trim()}\n`;
  return changedMeanwhile('This topic was changed meanwhile', {
    diff: diffOfTexts(path, raw === null ? null : textOf(now), textOf({ description, body })),
    yours:
      raw === null
        ? goneView(memory, { what: 'topic', path, text: textOf({ description, body }) })
        : html`<h2>Yours, to be put in its place</h2>${topicForm(at, memory, { path, raw, typed: { description, body } })}`,
  });
}

function changedMeanwhile(title: string, { diff, yours }: { diff: Html; yours: Html | Promise<Html> }): View {
  return {
    title: 'Changed meanwhile',
    part: 'memory',
    status: 409,
    body: html`<h1>${title}</h1>
<p class="lead dim">Nothing of yours was written. On the left is what stands there now, on the right what you wrote.</p>
${diff}
${yours}`,
  };
}

function goneView(memory: MemoryPlace, { what, path, text }: { what: string; path: string; text: string }): Html {
  const back =
    what === 'line'
      ? html`<a class="button" href="/memory/${memory.id}/topic/${encodeURIComponent(path)}">Back to the topic</a>`
      : html`<a class="button" href="/memory/${memory.id}">Back to the topics</a>`;
  return html`<p>The ${what} is gone. What you wrote:</p><pre><code>${text}</code></pre><p>${back}</p>`;
}

/** The share of words that two texts have in common. */
function likeness(a: string, b: string): number {
  const [one, other] = [a, b].map((text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])) as [
    Set<string>,
    Set<string>,
  ];
  return one.intersection(other).size / Math.max(1, one.union(other).size);
}
