// mem0ai as its documents say: a memory for one user, kept in SQLite, given each exchange as it happens (or, with
// `--whole`, a session at once). Prints `done N` after each session.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [peers, dir, url, list, ...flags] = process.argv.slice(2);
process.env.MEM0_TELEMETRY = 'false';
const { Memory } = await import(pathToFileURL(createRequire(join(peers, 'package.json')).resolve('mem0ai/oss')).href);
const openai = { apiKey: 'loopback', baseURL: `${url}/v1`, url: `${url}/v1` };
const memory = new Memory({
  embedder: { provider: 'openai', config: { ...openai, model: 'text-embedding-3-small' } },
  vectorStore: {
    provider: 'memory',
    config: { collectionName: 'compare', dimension: 1536, dbPath: join(dir, 'vectors.db') },
  },
  llm: { provider: 'openai', config: { ...openai, model: 'loopback' } },
  historyDbPath: join(dir, 'history.db'),
});
if (flags.includes('--list')) {
  const { results } = await memory.getAll({ filters: { user_id: 'compare' }, topK: 100_000 });
  console.log(JSON.stringify(results.map((each) => each.memory)));
  process.exit(0);
}
for (const [at, { messages }] of JSON.parse(readFileSync(list, 'utf8')).entries()) {
  // It takes what is said by the two who speak.
  const said = messages.filter(({ role }) => role !== 'tool');
  for (const some of flags.includes('--whole') ? [said] : exchanges(said)) {
    if (some.some(({ content }) => content.trim() !== '')) await memory.add(some, { userId: 'compare' });
  }
  console.log(`done ${at}`);
}
process.exit(0);

/** What a person said, and what was answered until they spoke again. */
function exchanges(messages) {
  const found = [];
  for (const message of messages) {
    if (message.role === 'user' || found.length === 0) found.push([]);
    found.at(-1).push(message);
  }
  return found;
}
