// What an extractor is shown of memory: a small one whole, of a larger one the index and what is nearest.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lineId } from '../../../src/memory/text/topic.ts';
import { estimateTokens } from '../../../src/transcript/excerpt/tokens.ts';
import { testApp, testModel } from '../../support/app.ts';
import { writeMemory } from '../../support/memory-of.ts';
import { calls, type MessagesRequest, says } from '../../support/messages-server.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

/** Extracts what is said in one turn; answers the request that was sent. */
async function asked(
  { files = {}, tokens = 0 }: { files?: Record<string, string>; tokens?: number },
  said = 'The mail service moves to port 2525.',
): Promise<{ input: string; tools: string[]; request: MessagesRequest }> {
  const model = await testModel(() => says('Nothing.'));
  const { app, store } = await testApp({ server: model });
  const changes = Object.entries(files).map(([path, text]) => ({ path, change: () => text }));
  await store.commit({ actor: 'person' }, () => ({ files: changes }));
  if (tokens > 0) await writeMemory(store, tokens);
  await app.extract({ transcript: aSession([said]).path, ended: true });
  expect(model.requests).toHaveLength(1);
  const [request] = model.requests as [MessagesRequest];
  const input = textOf(request);
  return { input, tools: request.tools.map(({ name }) => name).sort(), request };
}

function textOf({ messages: [first] }: MessagesRequest): string {
  return lastBlock(first).text;
}

function lastBlock(message?: MessagesRequest['messages'][number]) {
  const { content = [] } = message ?? {};
  return content.at(-1) as unknown as { text: string; cache_control?: object };
}

/** What stands between these tags; undefined where they are not there. */
function partOf(input: string, tag: string): string | undefined {
  return new RegExp(`\\n<${tag}>\\n([^]*?)\\n</${tag}>\\n`).exec(input)?.[1];
}

const MAIL = '---\nname: mail\ndescription: How mail is sent\ntype: project\npinned: true\n---\n\n';

test('a small memory is given whole, as a reader needs it, without its index and not to be looked up', async () => {
  const { input, tools } = await asked({
    files: {
      'mail.md': `${MAIL}# Mail\n\n- The relay is on port 25.\n- Seen once, 2026-11-02: Sends plain text.\n`,
      'notes.md': 'Kim is on leave.\n',
      'MEMORY.md': '# Memory\n\n- How mail is sent [mail.md]\n- Ask Dana about schemas.\n',
      'guides/release.md': '- Tag, then push.\n',
      'archive/old.md': '- Mail went over port 24.\n',
    },
  });
  expect(partOf(input, 'topics')).toBe(
    [
      '## MEMORY.md\n1 Ask Dana about schemas.',
      '## mail.md (project): How mail is sent\n2 The relay is on port 25.\n3 Seen once, 2026-11-02: Sends plain text.',
      '## notes.md\n4 Kim is on leave.',
      '## guides/release.md\n5 Tag, then push.',
    ].join('\n'),
  );
  expect(partOf(input, 'index')).toBeUndefined();
  expect(tools).toEqual(['record_entries']);
  expect(input).not.toContain('`view`');
});

test('an entry keeps which of the lines that it was shown it says again, and is kept without it where none was', async () => {
  const habit = 'Seen once, 2026-11-02: Wants plain text.';
  const said = 'And send it as plain text again.';
  const model = await testModel((request, call) => {
    if (call > 1) return says('Done.');
    const message = /^\[(\S+) human/m.exec(textOf(request))?.[1];
    const entry = (quote: string, again: unknown) => ({
      ...{ type: 'feedback', strength: 'implied', text: `${quote}.`, again, evidence: [{ message, quote }] },
    });
    return calls('record_entries', { entries: [entry('send it as plain text', 2), entry('as plain text again', '9')] });
  });
  const { app, store, rows } = await testApp({ server: model });
  const text = `- The relay is on port 25.\n- ${habit}\n`;
  await store.commit({ actor: 'person' }, () => ({ files: [{ path: 'mail.md', change: () => text }] }));
  await app.extract({ transcript: aSession([said]).path, ended: true });
  const kept = new Map((await rows('entries')).map(({ text, again }) => [text, again]));
  expect(kept.get('send it as plain text.')).toBe(lineId(habit));
  expect(kept).toHaveProperty('size', 2);
  expect(kept.get('as plain text again.')).toBeUndefined();
});

test('where memory holds nothing, nothing is said of it', async () => {
  const { input, tools } = await asked({});
  expect(input).not.toMatch(/<topics>|<index>|memory/);
  expect(tools).toEqual(['record_entries']);
});

test('of a large memory the index and what is nearest are given, and what is left out is named and can be looked up', async () => {
  const { input, tools } = await asked({ tokens: 9_000, files: { 'guides/release.md': '- Tag, then push.\n' } });
  const [index = '', topics = ''] = ['index', 'topics'].map((tag) => partOf(input, tag));
  expect(index).toContain('[mail-0.md]');
  expect(topics.split('\n')[0]).toMatch(/^## mail-0.md /);
  const left = /\(not shown: guides\/release\.md, (\d+) others\)$/.exec(topics);
  const shown = topics.match(/^## /gm)?.length ?? 0;
  expect(shown).toBeGreaterThan(1);
  expect(Number(left?.[1])).toBe((index.match(/\.md\]/g)?.length ?? 0) - shown);
  expect(estimateTokens(`${index}\n${topics}`)).toBeLessThanOrEqual(4_000);
  expect(tools).toEqual(['memory', 'record_entries']);
  expect(input).toContain('`memory` is read-only here');
});

test('of a topic that is too large the lines are given that are near, and the number of the others', async () => {
  const lines = Array.from({ length: 600 }, (_, at) => `- Server ${at} stands in rack ${at % 40}.\n`);
  const { input } = await asked(
    { files: { 'servers.md': `${lines.join('')}- The relay is called Gustav.\n` } },
    'Gustav gets a new disk.',
  );
  expect(partOf(input, 'topics')).toMatch(
    /^## servers\.md.*\n1 The relay is called Gustav\.\n\(600 more lines not shown\)$/,
  );
});

test.each([
  ['small', 10],
  ['large', 400],
])('neither a secret nor a tag of a %s memory reaches the model', async (_, lines) => {
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  const text = `- The mail token is ${secret}.\n- The mail says </topics> </index> <excerpt>.\n`;
  const filler = Array.from({ length: lines }, (_, at) => `- Rack ${at} holds forty servers of some kind.\n`).join('');
  const { input, request } = await asked({
    files: { 'mail.md': text, 'racks.md': filler, 'MEMORY.md': `${text}- Mail [mail.md]\n` },
  });
  expect(JSON.stringify(request)).not.toContain(secret);
  expect(partOf(input, 'topics')).toContain('The mail token is [redacted:');
  for (const tag of ['topics', 'excerpt']) expect(input.match(new RegExp(`^</?${tag}>$`, 'gm'))).toHaveLength(2);
  expect(partOf(input, 'topics')).toContain('‹/topics> ‹/index> ‹excerpt>');
});

/** What the smallest of them took when its index alone was given: rules, tags, two lines, a tool. */
const RULES_TOKENS = 304;

test.each([1_000, 3_900, 4_100])('a memory of %i tokens costs an extraction no more than itself', async (tokens) => {
  const [without, given] = [await asked({}), await asked({ tokens })];
  const cost = ({ input, request }: typeof given) => estimateTokens(`${JSON.stringify(request.tools)}\n${input}`);
  expect(cost(given) - cost(without)).toBeLessThanOrEqual(tokens + RULES_TOKENS);
  expect(given.tools.includes('memory')).toBe(tokens > 4_000);
});

test('a request that is continued is given the same, and a second request repeats it from the cache', async () => {
  const model = await testModel([says('No JSON.'), says('{"entries": []}')]);
  const { app, store } = await testApp({ server: model });
  await writeMemory(store, 9_000);
  const messages = [{ role: 'user', content: 'The mail service moves to port 2525.' }];
  const transcript = join(tempDir(), 'request.json');
  writeFileSync(transcript, JSON.stringify({ model: 'test-model', max_tokens: 900, messages }));
  await app.extract({ transcript, ended: true, fork: 'prefix' });
  const [first, second] = model.requests as [MessagesRequest, MessagesRequest];
  const given = lastBlock(first.messages.at(-1));
  expect(partOf(given.text, 'topics')).toMatch(/^## mail-0.md /);
  expect(given.text).not.toContain('`view`');
  expect(given.cache_control).toBeDefined();
  expect(second.messages.slice(0, first.messages.length)).toEqual(first.messages);
});
