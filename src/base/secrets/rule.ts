// The shape of a rule that a pattern finds.

import type { Found } from './token-forms.ts';

/** One way to recognise a secret. */
export interface SecretRule {
  id: string;
  /** Global. The group `secret`, `quoted` or `bare`, else the whole match, is replaced; it ends where `tail` begins. */
  pattern: RegExp;
  /** `before` is what stands left of the match, up to 80 characters of its line. */
  isSecret?(value: string, groups: Record<string, string | undefined>, before: string): boolean;
}

export const PLACEHOLDER = '[redacted:';

export function findByRule(text: string, rule: SecretRule): Found[] {
  const spans: Found[] = [];
  for (const match of text.matchAll(rule.pattern)) {
    const groups = match.groups ?? {};
    const value = groups.secret ?? groups.quoted ?? groups.bare ?? match[0];
    if (value.includes(PLACEHOLDER)) continue;
    const before = text.slice(Math.max(0, match.index - 80), match.index);
    if (rule.isSecret?.(value, groups, before) === false) continue;
    const end = match.index + match[0].length - (groups.tail?.length ?? 0);
    spans.push({ rule: rule.id, start: end - value.length, end });
  }
  return spans;
}
