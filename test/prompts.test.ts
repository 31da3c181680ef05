import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { PROPOSAL_TOOL } from '../jobs/dream/dream-proposal.ts';
import { type RecordOptions, recordEntriesTool } from '../src/agent/tools.ts';
import { listFiles } from '../src/base/files/directories.ts';
import { packagePath, readTextNow } from '../src/base/files/files.ts';
import { renderPrompt } from '../src/base/prompt.ts';

const VARIABLES: Record<string, string[]> = {
  extract: [],
  'extract-input': ['today', 'zone', 'instructions', 'lookUp', 'index', 'topics', 'session', 'known', 'excerpt'],
  dream: [],
  'dream-input': ['today', 'instructions', 'sessions', 'entries', 'topics', 'others'],
  'recall-user': ['directory', 'body'],
  'recall-local': ['directory', 'body'],
  recall: ['directory', 'notes', 'body'],
  'recall-prompt': ['directory', 'body'],
  'recall-failure': ['directory', 'body'],
  'dream-refused': ['problems'],
  program: ['tool'],
  mcp: ['stores'],
  'agent-memory': ['directory', 'recalled'],
};

function valuesFor(name: string): Record<string, string> {
  return Object.fromEntries((VARIABLES[name] ?? []).map((key) => [key, `the ${key}`]));
}

test('every prompt that ships is known here', async () => {
  const names = listFiles(packagePath('prompts')).filter((file) => !file.startsWith('_'));
  expect(names).toEqual(
    Object.keys(VARIABLES)
      .map((name) => `${name}.md`)
      .sort(),
  );
});

test.each(Object.keys(VARIABLES))('%s renders with its variables and leaves no brace unfilled', async (name) => {
  const { text } = await renderPrompt(name, valuesFor(name));
  for (const value of Object.values(valuesFor(name))) expect(text).toContain(value);
  expect(text).not.toMatch(/\{\{|\}\}/);
});

test('what a prompt has a place for must be given, and nothing else', async () => {
  const { excerpt: _, ...rest } = valuesFor('extract-input');
  await expect(renderPrompt('extract-input', rest)).rejects.toThrow('excerpt');
  await expect(renderPrompt('extract', { surplus: 'x' })).rejects.toThrow('surplus');
});

test('the fingerprint names the wording, not the values', async () => {
  const once = await renderPrompt('extract-input', valuesFor('extract-input'));
  const again = await renderPrompt('extract-input', { ...valuesFor('extract-input'), excerpt: 'another excerpt' });
  expect(again.fingerprint).toBe(once.fingerprint);
});

test('the fingerprint changes with every word of a prompt and of the parts it includes', async () => {
  const { text, fingerprint } = await renderPrompt('extract', {});
  const rule = (readTextNow(packagePath('prompts', '_data.md')) ?? '').trimEnd();
  const hash = (wording: string) => createHash('sha256').update(wording).digest('hex').slice(0, 8);
  expect(text).toContain(rule);
  expect(fingerprint).toBe(hash(text));
  expect(fingerprint).not.toBe(hash(text.replace(rule, rule.replace('never', 'always'))));
});

test('both system prompts carry the same rule on what is data', async () => {
  const rule = (readTextNow(packagePath('prompts', '_data.md')) ?? '').trimEnd();
  expect(rule).toContain('never an instruction');
  for (const name of ['extract', 'dream']) expect((await renderPrompt(name, {})).text).toContain(rule);
});

test.each(['extract-input', 'dream-input'])(
  'every value of %s from outside stands between tags of its own',
  async (name) => {
    const { text } = await renderPrompt(name, valuesFor(name));
    for (const key of (VARIABLES[name] ?? []).filter((other) => !/^(?:today|zone|lookUp)$/.test(other))) {
      const tag = key === 'instructions' ? 'operator_instructions' : key;
      expect(text).toContain(`\n<${tag}>\nthe ${key}\n</${tag}>`);
    }
  },
);

test('extract-input leaves out what is empty, and the rules for it', async () => {
  const name = 'extract-input';
  const whole = (await renderPrompt(name, valuesFor(name))).text;
  const empty = { ...valuesFor(name), instructions: 'none', lookUp: '', index: 'none', topics: 'none', known: 'none' };
  const { text } = await renderPrompt(name, empty);
  for (const [tag, rule] of [
    ['operator_instructions', '<operator_instructions>\n'],
    ['topics', 'is what memory holds'],
    ['index', 'the index\n'],
    ['known', 'was recorded lately'],
  ] as const) {
    expect(whole).toContain(`</${tag}>`);
    expect(whole).toContain(rule);
    expect(text).not.toContain(`</${tag}>`);
    expect(text).not.toContain(rule);
  }
  expect(text).not.toMatch(/\n{3}/);
});

test('extract-input says what is the same for the excerpts of a memory before what is not', async () => {
  const { text } = await renderPrompt('extract-input', valuesFor('extract-input'));
  const places = ['instructions', 'index', 'topics', 'session', 'known', 'excerpt'].map((key) =>
    text.indexOf(`the ${key}\n`),
  );
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

test.each(['| {{#known}} {{/known}}', '| {{today}} {{> data}}'])(
  'the value %s is inserted as it is',
  async (excerpt) => {
    const { text } = await renderPrompt('extract-input', { ...valuesFor('extract-input'), known: 'none', excerpt });
    expect(text).toContain(excerpt);
  },
);

/** What an extraction is told of what an agent found out. */
const FOR_LESSONS = 2_900;

test('what a model is told to do is short: prompt and tool of a dream, and of an extraction', async () => {
  const charsOf = async (name: string, tool: object) =>
    (await renderPrompt(name, {})).text.length + JSON.stringify(tool).length;
  const { definition } = recordEntriesTool({} as RecordOptions);
  expect(await charsOf('dream', PROPOSAL_TOOL)).toBeLessThanOrEqual(9_500);
  expect(await charsOf('extract', definition)).toBeLessThanOrEqual(0.7 * 10_800 + FOR_LESSONS);
});
