// Our own rules (own-rules.json), a row each: what it is for, what is near to that, and what either costs where a text is made of it.

import { expect, test } from 'vitest';
import own from '../../../src/base/secrets/own-rules.json' with { type: 'json' };
import { redact } from '../../../src/base/secrets/redact-text.ts';
import { waysTaken } from '../../support/depth.ts';

const ROWS = [...own.places, ...own.names];

test('each row takes a secret out of its example and leaves its near miss as it is', async () => {
  const wrong: string[] = [];
  for (const { example, near } of ROWS) {
    if ((await redact(example)).text === example) wrong.push(`left: ${example}`);
    const left = (await redact(near)).text;
    if (left !== near) wrong.push(`taken: ${near} → ${left}`);
  }
  expect(wrong).toEqual([]);
});

const LETTERS = 200_000;
const SECONDS = 1;

test(`${LETTERS / 1000} kB made of a row's example, its near miss or its words alone cost less than a second of CPU`, async () => {
  const slow: string[] = [];
  const groups = Array.from({ length: 24 }, (_, at) => at);
  const taken = new Set(waysTaken(groups));
  const units = [
    ...ROWS.flatMap(({ example, near }) => [example, near]),
    ...own.places.flatMap(({ words }) => words.split('·')),
  ];
  for (const unit of units.filter((_, at) => taken.has(at % groups.length))) {
    const cpu = process.cpuUsage();
    await redact(`${unit} `.repeat(LETTERS / (unit.length + 1)));
    const seconds = process.cpuUsage(cpu).user / 1e6;
    if (seconds > SECONDS) slow.push(`${seconds}: ${unit}`);
  }
  expect(slow).toEqual([]);
});
