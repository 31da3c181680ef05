// What a person typed in Codex. Its apps wrap a prompt in what the editor knows, and put context of their own where a
// person's words would stand; some old rollouts hold nothing but that place.

import type { Part } from '../types.ts';
import { humanParts } from './human-text.ts';

/** Under headings an app lists files, open tabs and what its browser shows, before the prompt itself. */
const WRAPPER = /^\s*# [^\n]{1,100}:\n[\s\S]*?\n## My request for Codex:[^\S\n]*\n?/;

/** How context begins that is not wrapped in a tag. */
const INJECTED_BEGINNINGS = [
  '# AGENTS.md instructions',
  '## Summary of conversation',
  'Another language model started to solve this problem',
  'Warning: apply_patch was requested via',
  'Warning: The maximum number of unified exec processes',
];

/** The parts as the person typed them; `null` where nobody typed anything. */
export function typedParts(parts: readonly Part[]): Part[] | null {
  return humanParts(
    parts.map((part): Part => (part.kind === 'text' ? { kind: 'text', text: part.text.replace(WRAPPER, '') } : part)),
  );
}

/** The parts of an item in a person's place, without those that the program put there. */
export function withoutInjected(parts: readonly Part[]): Part[] {
  return parts.filter((part) => part.kind !== 'text' || !isInjected(part.text));
}

/** Text that is one element from end to end (`<environment_context>…`) was never typed, and neither were these. */
function isInjected(text: string): boolean {
  const trimmed = text.trim();
  if (INJECTED_BEGINNINGS.some((beginning) => trimmed.startsWith(beginning))) return true;
  const tag = /^<([a-z][\w-]*)[^<>]{0,300}>/i.exec(trimmed)?.[1];
  return tag !== undefined && trimmed.endsWith(`</${tag}>`);
}
