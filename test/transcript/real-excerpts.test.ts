// What the excerpts of real sessions hold, counted by the tokenizer itself.

import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { redact } from '../../src/redact.ts';
import { buildExcerpts, idsOf } from '../../src/transcript/excerpt.ts';
import { openSession } from '../../src/transcript/session.ts';
import { readTurns } from '../../src/transcript/turns.ts';
import { collect, hasReal, real, realFiles } from '../support/transcripts.ts';

const tokensOf = (text: string) =>
  Math.ceil(Math.max(text.length / 3, countTokens(text, { disallowedSpecial: new Set() }) * 1.53));

describe.skipIf(!hasReal)('excerpts of real sessions', () => {
  test.each([12_000, 3_000])('keep a budget of %i, and every human message whole', async (budget) => {
    for (const file of await realFiles(/^claude-code.*\.jsonl$/)) {
      const turns = await collect(readTurns((await openSession(join(real, file))).messages()));
      const shown = turns.map((turn) => ({ turn, offeredFrom: turn.messages[0]?.id ?? null }));
      const ids = turns.flatMap((turn) => idsOf(turn.messages));
      const built = buildExcerpts(() => shown, { ids, budgetTokens: budget, redact, zone: 'UTC' });
      const excerpts = await Array.fromAsync(built);
      for (const { text } of excerpts) expect(tokensOf(text), file).toBeLessThanOrEqual(budget);
      for (const message of turns.flatMap((turn) => turn.messages)) {
        if (message.speaker !== 'human' || message.isSidechain) continue;
        const offering = excerpts.filter((excerpt) => excerpt.sources.get(message.id)?.offered);
        expect(offering, `${message.id} of ${file}`).toHaveLength(1);
        const said = message.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n');
        const lines = (await redact(said)).text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/).map((line) => `| ${line}`);
        // Its header and the gap lines around it need room too.
        if (tokensOf(lines.join('\n')) > budget - 80) continue;
        for (const line of lines) expect(offering[0]?.text.includes(line), `${message.id} of ${file}`).toBe(true);
      }
    }
  });
});
