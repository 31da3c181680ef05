// Secrets as people write them, in forms that were written by two who had not seen the rules (test/fixtures/secret-forms.jsonl), each
// filled with values drawn anew; and harmless texts that speak of secrets. `NOCTURNE_FORMS=DIR`: other forms, of `*.jsonl` in a
// directory, those without a secret in files called harmless.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { redact } from '../../../src/base/secrets/redact-text.ts';
import { testApp, testModel } from '../../support/app.ts';
import { SEED, sized, waysTaken } from '../../support/depth.ts';
import { says } from '../../support/messages-server.ts';
import { seeded } from '../../support/random.ts';
import {
  caseOf,
  type HarmlessForm,
  harmlessOf,
  isLeft,
  linesOf,
  type SecretCase,
  type SecretForm,
} from '../../support/secret-cases.ts';
import { sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

const fixtures = join(import.meta.dirname, '../../fixtures');
const other = process.env.NOCTURNE_FORMS;
const files = (
  other
    ? readdirSync(other).map((name) => join(other, name))
    : ['secret-forms.jsonl', 'harmless-forms.jsonl'].map((name) => join(fixtures, name))
).filter((path) => path.endsWith('.jsonl'));
const isHarmless = (path: string) => /harmless[^/]*$/.test(path);
const FORMS = files
  .filter((path) => !isHarmless(path))
  .flatMap((path) => linesOf<SecretForm>(path))
  .filter((form) => !form.undetectable);
const HARMLESS = files.filter(isHarmless).flatMap((path) => linesOf<HarmlessForm>(path));
// Other forms are run as they are asked for.
const VALUES = other ? 5 : sized({ quick: 1, deep: 5 });
const TEXTS = other ? 10_000 : sized({ quick: 3_000, deep: 10_000 });

const random = seeded(SEED);
const CASES = FORMS.flatMap((form) => Array.from({ length: VALUES }, () => caseOf(form, random)));

type Session = ReturnType<typeof sessionFile>;
/** `numbered`: the text between lines by which it is found again. */
const CHANNELS: Record<string, (session: Session, numbered: string) => void> = {
  'what a human typed': (session, numbered) => session.add(numbered),
  'what a tool was given': (session, numbered) =>
    session.add('Go on, please.', [{ calls: 'Bash', input: { command: numbered }, result: 'ok' }]),
  'what a tool said': (session, numbered) =>
    session.add('Go on, please.', [{ calls: 'Bash', input: { command: 'show' }, result: numbered }]),
  'what the agent said': (session, numbered) => session.add('Go on, please.', [{ says: numbered }]),
};

/** Of each kind, how many of how many were stopped, and the forms of those that were not. */
function countKinds(cases: SecretCase[], left: SecretCase[]) {
  const kinds = new Map<number, { stopped: number; all: number }>();
  for (const each of cases) {
    const count = kinds.get(each.form.kind) ?? { stopped: 0, all: 0 };
    kinds.set(each.form.kind, { stopped: count.stopped + (left.includes(each) ? 0 : 1), all: count.all + 1 });
  }
  return [...kinds].sort(([a], [b]) => a - b);
}

function expectStopped(cases: SecretCase[], left: SecretCase[]): void {
  const kinds = countKinds(cases, left);
  const stopped = cases.length - left.length;
  const passed = [...new Set(left.map(({ form }) => form.id))].join(' ');
  const told = `${stopped} of ${cases.length}; by kind ${kinds.map(([kind, { stopped, all }]) => `${kind}: ${stopped}/${all}`).join(', ')}; passed: ${passed}`;
  if (other) console.log(told);
  expect(stopped / cases.length, told).toBeGreaterThanOrEqual(0.97);
  for (const [, { stopped, all }] of kinds) expect(stopped / all, told).toBeGreaterThanOrEqual(0.9);
}

describe.each(waysTaken(Object.entries(CHANNELS)))('%s', (_, add) => {
  test('at least 97 of 100 secrets are not in what a model is shown, and 90 of each kind', async () => {
    const model = await testModel(() => says('Nothing worth keeping.'));
    const { app } = await testApp({ server: model, settings: { excerptTokens: 60_000 } });
    // Of a long session not all that tools were given and said is shown.
    for (let from = 0; from < CASES.length; from += 40) {
      const session = sessionFile(tempDir(), {
        id: `${String(from / 40).padStart(4, '0')}0000-2222-4333-8444-555555555555`,
      });
      for (const [at, { text }] of CASES.slice(from, from + 40).entries())
        add(session, `### ${from + at} ###\n\n${text}\n\n###`);
      await app.extract({ transcript: session.path, ended: true });
    }
    const shown = new Map<number, string>();
    for (const text of stringsIn(model.requests)) {
      for (const [, at, own = ''] of text.matchAll(/### (\d+) ###([\s\S]*?)(?=### \d+ ###|$)/g))
        shown.set(Number(at), own);
    }
    const seen = CASES.filter((__, at) => shown.has(at));
    expect(seen.length).toBeGreaterThan(CASES.length * 0.8);
    expectStopped(
      seen,
      CASES.filter((each, at) => isLeft(each, shown.get(at) ?? '')),
    );
  });
});

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

test('what is remembered holds none of them either', async () => {
  const { app, store } = await testApp();
  const random = seeded(SEED + 1);
  const kinds = [...new Set(FORMS.map(({ kind }) => kind))];
  const cases = kinds.flatMap((kind) =>
    [1, 2].map(() => caseOf(random.pick(FORMS.filter((form) => form.kind === kind)), random)),
  );
  const left: SecretCase[] = [];
  for (const each of cases.filter(({ text }) => text.length < 900)) {
    const { entry } = await app.remember(store, { text: each.text, type: 'reference' });
    if (isLeft(each, entry.text)) left.push(each);
  }
  expect(left.length, left.map(({ text }) => text).join('\n')).toBeLessThanOrEqual(1);
});

test(`of ${TEXTS} harmless texts none is taken for a secret, whether they speak of secrets or not`, async () => {
  const random = seeded(SEED + 2);
  const alarms = new Map<boolean, string[]>([
    [true, []],
    [false, []],
  ]);
  for (let at = 0; at < TEXTS; at++) {
    const form = HARMLESS[at % HARMLESS.length] as HarmlessForm;
    const text = harmlessOf(form, random);
    const { text: left } = await redact(text);
    if (left !== text) alarms.get(form.speaks)?.push(`${form.id}: ${text} → ${left}`);
  }
  if (other)
    console.log(
      `alarms: ${alarms.get(true)?.length} in texts that speak of secrets, ${alarms.get(false)?.length} in others`,
    );
  expect(alarms.get(true)?.length, alarms.get(true)?.slice(0, 5).join('\n')).toBeLessThanOrEqual(3);
  expect(alarms.get(false)?.length, alarms.get(false)?.slice(0, 5).join('\n')).toBeLessThanOrEqual(1);
});

test('what is taken out is what stands under what was found, and twice is once', async () => {
  for (const { text } of CASES) {
    const once = await redact(text);
    const kept = once.text.split(/\[redacted:[a-z\d-]+\]/);
    let at = 0;
    for (const [nth, part] of kept.entries()) {
      at = nth === kept.length - 1 ? text.length - part.length : text.indexOf(part, at);
      expect(text.slice(at, at + part.length), text).toBe(part);
      at += part.length;
    }
    if (once.found.length === 0) expect(once.text).toBe(text);
    expect((await redact(once.text)).text).toBe(once.text);
  }
});
