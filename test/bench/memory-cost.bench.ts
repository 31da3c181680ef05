// What a memory costs that an extraction is given: estimated input tokens and requests of the extractions and nights of
// all recorded plays, with memories of several sizes, by a reader that looks nothing up, as in the plays, and by one that
// looks a topic up wherever it can and was not shown it. Run: node test/bench/memory-cost.bench.ts
// It needs ../shared/transcripts.

import { cassetteNames, readCassette, wholeCassette } from '../eval/reference/cassette.ts';
import { replay } from '../eval/reference/replay.ts';
import { hasReal } from '../support/transcripts.ts';

for (const memoryTokens of hasReal ? [0, 1_000, 3_900, 4_100, 40_000] : []) {
  for (const looksUp of memoryTokens === 0 ? [false] : [false, true]) {
    const sums = { plays: 0, single: 0, requests: 0, tokens: 0, nightRequests: 0, nightTokens: 0 };
    for (const name of cassetteNames()) {
      for (const [session, lines] of Map.groupBy(readCassette(name), (line) => line.session)) {
        const { sent } = await replay(session, wholeCassette(lines), { memoryTokens, looksUp });
        sums.plays += 1;
        sums.single += sent.extract.requests === 1 ? 1 : 0;
        sums.requests += sent.extract.requests;
        sums.tokens += sent.extract.tokens;
        sums.nightRequests += sent.dream.requests;
        sums.nightTokens += sent.dream.tokens;
      }
    }
    console.log(JSON.stringify({ memoryTokens, looksUp, ...sums }));
  }
}
