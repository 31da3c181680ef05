// A memory of so many tokens at most, by what its topics say: their names, types, descriptions and lines with their bullets.

import type { Store } from '../../src/memory/store/store.ts';
import { newTopic } from '../../src/memory/text/topic.ts';
import { MEMORY_TYPES } from '../../src/memory/types.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';

const AREAS = ['billing', 'search', 'mail', 'login', 'export', 'import', 'report', 'queue', 'cache', 'audit'];
const LINES_PER_TOPIC = 20;

/** Writes the topics and their index as a person would; answers them by path. */
export async function writeMemory(store: Store, tokens: number): Promise<Map<string, string>> {
  const topics = topicsOf(tokens);
  const index = topics.map(({ name, description }) => `- ${description} [${name}.md]\n`).join('');
  const texts = new Map(topics.map((topic) => [`${topic.name}.md`, newTopic(topic)]));
  const files = [...texts, ...(topics.length > 0 ? [['MEMORY.md', index] as const] : [])];
  await store.commit({ actor: 'person' }, () => ({
    files: files.map(([path, text]) => ({ path, change: () => text })),
  }));
  return texts;
}

type NewTopic = Parameters<typeof newTopic>[0];

function topicsOf(tokens: number): NewTopic[] {
  const topics: NewTopic[] = [];
  for (let at = 0; ; at += 1) {
    const area = `${AREAS[Math.floor(at / LINES_PER_TOPIC) % AREAS.length]}`;
    const name = `${area}-${Math.floor(at / LINES_PER_TOPIC / AREAS.length)}`;
    if (topics.at(-1)?.name !== name) {
      const type = MEMORY_TYPES[topics.length % MEMORY_TYPES.length] ?? 'project';
      topics.push({ name, type, description: `How the ${area} service is built and run`, lines: [] });
    }
    const last = topics.at(-1) as NewTopic;
    last.lines = [
      ...last.lines,
      `The ${area} service ${at} listens on port ${10_000 + at} and is owned by team ${at % 37}.`,
    ];
    if (tokensOf(topics) <= tokens) continue;
    last.lines = last.lines.slice(0, -1);
    return topics.filter(({ lines }) => lines.length > 0);
  }
}

function tokensOf(topics: NewTopic[]): number {
  const saying = ({ name, type, description, lines }: NewTopic) => [`${name} ${type} ${description}`, ...lines];
  return estimateTokens(topics.map((topic) => saying(topic).join('\n- ')).join('\n'));
}
