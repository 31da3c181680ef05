// A file in which git left conflict markers, without them: with what both sides say, as the store settles it
// (settle-merges.ts), for those who look before it has. Nothing is changed.

import type { Ledger } from '../ledger/ledger.ts';
import { headAt, shaOf, versionOf } from '../ledger/version-rows.ts';
import { isArchivePath, isTopicPath } from '../text/topic.ts';
import { type Sides, sidesOf } from './conflict.ts';
import { reconcile, tidyFrontmatter, tidyTopic } from './reconcile.ts';

/** The two sides and the one text of them; null without a conflict. `before`: the file before git merged it. */
export function withoutMarkers(
  text: string,
  { path, before }: { path: string; before: string | null },
): { sides: Sides; text: string } | null {
  const sides = sidesOf(text, { before });
  if (!sides) return null;
  const merged = tidyFrontmatter(reconcile(sides));
  return { sides, text: isTopicPath(path) || isArchivePath(path) ? tidyTopic(merged) : merged };
}

/** The text of a file as readers are shown it; `ledger` is null where nocturne has not worked. */
export function shownText(text: string, { path, ledger }: { path: string; ledger: Ledger | null }): string {
  if (!text.includes('<<<<<<<')) return text;
  return withoutMarkers(text, { path, before: ledger && textBefore(ledger, { path, text }) })?.text ?? text;
}

/** The file before this text; null where the ledger does not know. */
function textBefore(ledger: Ledger, { path, text }: { path: string; text: string }): string | null {
  const head = headAt(ledger, path);
  if (head?.sha !== shaOf(text)) return head?.content?.toString() ?? null;
  return head.previous === null ? null : (versionOf(ledger, head.previous).content?.toString() ?? null);
}
