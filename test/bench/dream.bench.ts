// What a dream over 20 new entries sends to the model, and how long it takes to choose that, with 10, 100, 1,000 and
// 10,000 topics of five lines, also where the entries say what they change: the tokens of the first request, system included. `node test/bench/dream.bench.ts`.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requestFor } from '../../jobs/dream/propose.ts';
import { select } from '../../jobs/dream/select.ts';
import { fixedClock } from '../../src/base/time.ts';
import { refreshTopics } from '../../src/memory/dream/topic-table.ts';
import { allEntries } from '../../src/memory/ledger/entries.ts';
import { openStore } from '../../src/memory/open.ts';
import { newTopic } from '../../src/memory/text/topic.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { record } from '../support/recorded.ts';

const ENTRIES = 20;
const clock = fixedClock('2026-11-21T02:00:00Z');
const AREAS = ['billing', 'search', 'mail', 'login', 'export', 'import', 'report', 'queue', 'cache', 'audit'];

/** Words that repeat from topic to topic as they do in a project, with numbers of their own. */
function textOf(topic: number): string {
  const area = AREAS[topic % AREAS.length];
  const lines = [
    `The ${area} service ${topic} listens on port ${10_000 + topic} in staging.`,
    `Run \`make ${area}-${topic}\` before a change of ${area} is merged.`,
    `The owner of ${area} ${topic} is team ${topic % 37}; ask in #${area}-${topic % 50}.`,
    `Since 2026-0${1 + (topic % 9)}-11 the ${area} tables of ${topic} are partitioned by month.`,
    `Flag --${area}-${topic} turns the new path on, \`src/${area}/${topic}.ts\` has it.`,
  ];
  const type = (['project', 'feedback', 'reference', 'user'] as const)[topic % 4] ?? 'project';
  return newTopic({ name: `t-${topic}`, description: `About ${area} ${topic}: ports, owners, flags`, type, lines });
}

/** Of one of `topics`: what is said, and in words of its own what it changes. */
const SAID: Record<string, (topic: number, at: number) => { text: string; changes?: string }> = {
  'that say a new value': (topic, at) => ({
    text: `The ${areaOf(topic)} service ${topic} moved to port ${20_000 + at}.`,
  }),
  'that say what they change': (topic, at) => ({
    text: `The ${areaOf(topic)} service ${topic} moved to port ${20_000 + at}.`,
    changes: `The ${areaOf(topic)} service ${topic} listened on port ${10_000 + topic} in staging.`,
  }),
  'that say vaguely what they change': (topic, at) => ({
    text: `${areaOf(topic)} in staging is on port ${20_000 + at} now, and its owner is team ${at}.`,
    changes: `The ${areaOf(topic)} service listens on another port in staging; the owner of ${areaOf(topic)} is another team.`,
  }),
  'that change four things at once': (topic, at) => ({
    text: `${areaOf(topic)} is frozen: no port, owner, flag or table of it is as it was (${at}).`,
    changes: [0, 1, 2, 3]
      .map(
        (other) =>
          `The ${areaOf(topic + other)} service listens on a port in staging; the owner of ${areaOf(topic + other)} is a team to ask.`,
      )
      .join(' '),
  }),
};

for (const [kind, saidOf] of Object.entries(SAID)) {
  console.log(`\n${ENTRIES} entries ${kind}\ntopics  tokens  of the first  choosing`);
  let first = 0;
  for (const topics of [10, 100, 1_000, 10_000]) {
    const { tokens, ms } = await measure(topics, saidOf);
    first ||= tokens;
    const columns = [
      String(topics).padStart(6),
      String(tokens).padStart(7),
      `${(tokens / first).toFixed(2)} ×`.padStart(13),
    ];
    console.log(`${columns.join(' ')}  ${ms} ms`);
  }
}

function areaOf(topic: number): string {
  return AREAS[topic % AREAS.length] ?? '';
}

async function measure(topics: number, saidOf: (topic: number, at: number) => { text: string; changes?: string }) {
  const dir = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
  for (let topic = 0; topic < topics; topic++) writeFileSync(join(dir, `t-${topic}.md`), textOf(topic));
  const store = await openStore(dir, { clock });
  try {
    const said = Array.from({ length: ENTRIES }, (_, at) => {
      const topic = (at * Math.floor(topics / 10) + 7 + at) % topics;
      return { type: 'project' as const, ...saidOf(topic, at) };
    });
    await record(store, '2026-11-20T12:00:00Z', said);
    refreshTopics(store.ledger);
    const fresh = allEntries(store.ledger);
    const from = performance.now();
    const selected = await select({ fresh, withdrawn: [] }, { store, mostTokens: 12_000 });
    const { system, input } = await requestFor(selected, { store, clock, zone: 'UTC' });
    const ms = Math.round(performance.now() - from);
    return { tokens: estimateTokens(system) + estimateTokens(input), ms };
  } finally {
    store.close();
    rmSync(dir, { recursive: true, force: true });
  }
}
