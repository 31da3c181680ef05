// How old a memory may be before one should look again, and which things it names that can be looked for.
// Pure. What a project is about changes within days, where something is found within weeks, people hardly.

import type { MemoryType } from '../types.ts';

const DAY_MS = 86_400_000;

/** From so many whole days on a memory of the type is marked; a file without a type counts as a project's. */
export const STALE_DAYS: Record<MemoryType, number> = { project: 1, reference: 7, user: 30, feedback: 60 };

const CAVEATS: Record<MemoryType, string> = {
  project: 'Plans, dates and code may have moved on: check before relying on it.',
  reference: 'What it points at may have moved: look before relying on it.',
  user: 'It may have changed since: go by what the user says now.',
  feedback: 'Ways of working may have changed since: go by what the user says now.',
};

/** Whole days since a change; 0 for one that lies in the future. */
export function ageDays(changed: Date, now: Date): number {
  return Math.max(0, Math.floor((now.getTime() - changed.getTime()) / DAY_MS));
}

/** `today`, `1 day ago`, `12 days ago`. */
export function sayAge(days: number): string {
  if (days === 0) return 'today';
  return days === 1 ? '1 day ago' : `${days} days ago`;
}

/** What to say of a memory of this age, or null while it is fresh. */
export function ageCaveat(type: MemoryType | undefined, days: number): string | null {
  return days >= STALE_DAYS[type ?? 'project'] ? CAVEATS[type ?? 'project'] : null;
}

/** A file, flag or function that a text names. */
export interface NamedThing {
  kind: 'path' | 'word';
  /** As it stands in the text. */
  shown: string;
  /** The path with `/`, or the words of which one stands in code that has the thing. */
  search: string[];
}

const EXTENSION =
  /\.(?:[cm]?[jt]sx?|json[c5]?|ya?ml|toml|mdx?|py|rb|go|rs|java|kts?|swift|[ch]|cc|[ch]pp|cs|php|(?:ba|z)?sh|sql|s?css|html?|vue|svelte|proto|tf|lock|gradle|xml|ini|cfg|txt)$/i;
const BARE_PATH = /(?<![\w@/.:~`-])(?:\.\/)?(?:[\w@.-]+\/)+[\w.-]+\.[a-z]\w{0,5}(?![\w/`])/gi;

/** The files, flags and functions that `text` names, each once. What may well be somebody else's is left out. */
export function namedThings(text: string): NamedThing[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '').replace(/\b\w+:\/\/[^\s`)>\]]+/g, '');
  const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '');
  const bare = prose.match(BARE_PATH) ?? [];
  const things = new Map<string, NamedThing>();
  for (const thing of [...spans.map(thingOf), ...bare.map(pathOf)]) if (thing) things.set(thing.shown, thing);
  return [...things.values()];
}

function thingOf(span: string): NamedThing | null {
  const shown = span.trim();
  return pathOf(shown) ?? flagOf(shown) ?? functionOf(shown);
}

function pathOf(shown: string): NamedThing | null {
  const path = shown.replace(/^\.\//, '').replace(/:\d+(?:[-:]\d+)?$/, '');
  if (/[\s*?{}<>$|"'\\(),;=]/.test(path) || /^(?:[/~@]|\.\.)|(?:^|\/)(?:\.\.|node_modules)\//.test(path)) return null;
  if (!EXTENSION.test(path) && !/^[\w.-]+\/(?:[\w.-]+\/)*$/.test(path)) return null;
  return { kind: 'path', shown, search: [path.replace(/\/$/, '')] };
}

/** Options are written in code with dashes, underscores or humps. */
function flagOf(shown: string): NamedThing | null {
  const name = /^--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?:[= ].*)?$/i.exec(shown)?.[1];
  if (!name || name.length < 3) return null;
  const humps = name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return { kind: 'word', shown, search: [...new Set([name, name.replaceAll('-', '_'), humps])] };
}

/** A name counts as code by its brackets, its humps, its underscores or its owner. */
function functionOf(shown: string): NamedThing | null {
  const [, owner, name, brackets] = /^((?:[A-Za-z_$][\w$]*(?:\.|::|#))*)([A-Za-z_$][\w$]*)(\(.*\))?$/.exec(shown) ?? [];
  if (!name || name.length < 3 || /^[A-Z0-9_]+$/.test(name)) return null;
  const isCode = brackets || /[a-z\d][A-Z]|\w_\w/.test(name) || /::|#/.test(owner ?? '');
  return isCode ? { kind: 'word', shown, search: [name] } : null;
}
