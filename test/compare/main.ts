// npm run compare: the same sessions and the same loopback model for nocturne and for what one would take instead, as far as
// it runs here without a service of its own. The others are installed for the run, in a temporary directory.
//   npm run compare -- [--locomo FILE] [--json FILE] [--only NAME,…] [--kills 20] [--publish]
// Prints a table in Markdown; --publish writes it into docs/evidence.md.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seeded } from '../support/random.ts';
import { publishPart } from './evidence.ts';
import { type ComparedModel, type ModelOptions, type Sent, startModel } from './model.ts';
import { type ComparedSession, chats, locomoSessions, realSessions, withInjections, withSecrets } from './sets.ts';
import { type At, bytesIn, driven, holds, nocturne, type System } from './systems.ts';

const { values: given } = parseArgs({
  options: {
    locomo: { type: 'string' },
    json: { type: 'string' },
    only: { type: 'string' },
    kills: { type: 'string', default: '20' },
    publish: { type: 'boolean', default: false },
  },
});
const SEED = 20;
const root = join(import.meta.dirname, '../..');
const shared = join(root, '../shared');
const dir = mkdtempSync(join(tmpdir(), 'nocturne-compare-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
const say = (line: string) => process.stderr.write(`${line}\n`);

/** Installed without scripts: better-sqlite3 13 carries its binaries, and mem0ai works with it although it names 12. */
const PEERS = { mem0ai: '3.3.1', 'better-sqlite3': '13.2.0', '@modelcontextprotocol/server-memory': '2026.8.31' };
const peers = join(dir, 'peers');
mkdirSync(peers);
writeFileSync(join(peers, 'package.json'), '{}');
say('Installing the peers …');
const packages = Object.entries(PEERS).map(([name, version]) => `${name}@${version}`);
execFileSync('npm', ['install', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund', ...packages], {
  cwd: peers,
  stdio: ['ignore', 'ignore', 'inherit'],
});

const mem0 = { version: PEERS.mem0ai };
const systems = [
  nocturne,
  driven(peers, 'mem0.mjs', { ...mem0, name: 'mem0, each exchange' }),
  driven(peers, 'mem0.mjs', { ...mem0, name: 'mem0, whole sessions', flags: ['--whole'] }),
  driven(peers, 'server-memory.mjs', {
    name: 'reference memory server',
    version: PEERS['@modelcontextprotocol/server-memory'],
  }),
  driven(peers, 'append.mjs', { name: 'ask once and append', version: 'ours' }),
].filter(({ name }) => !given.only || given.only.split(',').some((each) => name.startsWith(each)));

interface Worked {
  sent: Sent;
  seconds: number;
  bodies: string[];
}

let homes = 0;
/** A directory of its own, that the system's process may fill. */
const place = ({ url }: ComparedModel): At => ({ dir: join(dir, `home-${++homes}`, 'kept'), url });

async function withModel<T>(options: ModelOptions, use: (model: ComparedModel) => Promise<T>): Promise<T> {
  const model = await startModel(options);
  try {
    return await use(model);
  } finally {
    await model.close();
  }
}

async function work(system: System, sessions: ComparedSession[], at: At, model: ComparedModel): Promise<Worked> {
  mkdirSync(at.dir, { recursive: true });
  model.take();
  model.takeBodies();
  const startedAt = performance.now();
  system.give(sessions, at);
  const code = await system.work(sessions, at).ended;
  if (code !== 0) throw new Error(`${system.name} ended with ${code}.`);
  return { sent: model.take(), seconds: (performance.now() - startedAt) / 1_000, bodies: model.takeBodies() };
}

interface Row {
  system: string;
  [column: string]: string | number;
}

async function compare(system: System, sets: Awaited<ReturnType<typeof makeSets>>): Promise<Row> {
  say(`${system.name} …`);
  const { sessions, tokens } = sets;
  const per = (n: number) => Math.round(n / sessions.length);
  const all = await withModel({ latencyMs: 0 }, async (model) => {
    const at = place(model);
    const first = await work(system, sessions, at, model);
    const kept = system.facts(at).length;
    const bytes = bytesIn(at.dir);
    const again = await work(system, sessions, at, model);
    const added = system.facts(at).length - kept;
    const night = system.night?.(at);
    if (night && (await night.ended) !== 0) throw new Error(`The night of ${system.name} failed.`);
    return { first, kept, bytes, again, added, night: model.take() };
  });
  const few = sessions.slice(0, 3);
  const slow = await withModel({ latencyMs: 2_000 }, (model) => work(system, few, place(model), model));
  const sum = all.first.sent.inputTokens + all.first.sent.outputTokens + all.night.inputTokens + all.night.outputTokens;
  return {
    system: `${system.name} ${system.version}`,
    'requests a session': round(all.first.sent.requests / sessions.length),
    'requests a day beside': all.night.requests,
    'input tokens a session': per(all.first.sent.inputTokens),
    'output tokens a session': per(all.first.sent.outputTokens),
    'tokens ÷ transcript': round(sum / tokens),
    'embedding tokens a session': per(all.first.sent.embeddingTokens),
    'USD per 100 sessions': round(usd(all.first.sent, all.night) * (100 / sessions.length)),
    's a session, model 0 s': round(all.first.seconds / sessions.length),
    's a session, model 2 s': round(slow.seconds / few.length),
    'facts kept': all.kept,
    'kB on disk': Math.round(all.bytes / 1_000),
    'requests, same again': all.again.sent.requests,
    'facts added, same again': all.added,
    ...(await kills(system, sets.chats)),
    ...(await secrets(system, sets.secrets)),
    ...(await injections(system, sets.injections)),
  };
}

/** At the list price of Claude Haiku 4.5, USD per million tokens, without a cache's discount for anybody. */
const PRICE = { input: 1, output: 5 };
function usd(...parts: Sent[]): number {
  return parts.reduce((sum, each) => sum + each.inputTokens * PRICE.input + each.outputTokens * PRICE.output, 0) / 1e6;
}

/** What is lost and doubled where the process is killed: lost if its caller goes on, doubled if the caller repeats it. */
async function kills(system: System, sessions: ComparedSession[]): Promise<Record<string, number>> {
  return withModel({ latencyMs: 100 }, async (model) => {
    const whole = place(model);
    const { seconds } = await work(system, sessions, whole, model);
    const expected = system.facts(whole);
    const dice = seeded(SEED);
    let lost = 0;
    let doubled = 0;
    for (let kill = 0; kill < Number(given.kills); kill += 1) {
      const afterMs = (0.15 + dice.below(70) / 100) * seconds * 1_000;
      for (const isRepeated of system.hasInbox ? [false] : [false, true]) {
        const at = place(model);
        system.give(sessions, at);
        const process = system.work(sessions, at);
        await Promise.race([process.ended, new Promise((resolve) => setTimeout(resolve, afterMs))]);
        process.kill();
        await process.ended;
        // What has an inbox goes on by itself. Others are given what comes after the session they were killed in, or all.
        const rest = system.hasInbox || isRepeated ? sessions : sessions.slice(process.done() + 1);
        if (rest.length > 0 && (await system.work(rest, at).ended) !== 0)
          throw new Error(`${system.name} does not go on.`);
        const after = system.facts(at);
        if (!isRepeated) lost += expected.filter((fact) => !after.includes(fact)).length;
        if (isRepeated || system.hasInbox) doubled += after.length - new Set(after).size;
      }
    }
    return { 'facts a run': expected.length, 'lost in all kills': lost, 'doubled in all kills': doubled };
  });
}

async function secrets(system: System, set: Awaited<ReturnType<typeof withSecrets>>): Promise<Record<string, number>> {
  return withModel({ latencyMs: 0, gullible: set.secrets }, async (model) => {
    const at = place(model);
    const { bodies } = await work(system, set.sessions, at, model);
    const sent = bodies.join('\n');
    return {
      'secrets of 50 sent': set.secrets.filter((secret) => sent.includes(JSON.stringify(secret).slice(1, -1))).length,
      'secrets of 50 on disk': set.secrets.filter((secret) => holds(at.dir, secret)).length,
    };
  });
}

async function injections(
  system: System,
  set: Awaited<ReturnType<typeof withInjections>>,
): Promise<Record<string, number>> {
  return withModel({ latencyMs: 0, gullible: set.words }, async (model) => {
    const at = place(model);
    await work(system, set.sessions, at, model);
    const facts = system.facts(at);
    return { 'injections of 40 kept': set.words.filter((words) => facts.some((fact) => fact.includes(words))).length };
  });
}

async function makeSets() {
  const made = (name: string) => {
    mkdirSync(join(dir, name));
    return join(dir, name);
  };
  const real = await realSessions(shared, 12);
  const chatty = await chats(made('chats'), SEED);
  const long = given.locomo ? await locomoSessions(given.locomo, made('locomo')) : [];
  const sessions = [...real, ...chatty, ...long];
  return {
    sessions,
    tokens: sessions.reduce((sum, each) => sum + each.tokens, 0),
    names: `${real.length} Claude Code sessions, ${chatty.length} made chats${long.length > 0 ? `, ${long.length} of LoCoMo` : ''}`,
    chats: chatty,
    secrets: await withSecrets(made('secrets'), SEED),
    injections: await withInjections(made('injections'), 40),
  };
}

function round(n: number): number {
  return Number(n.toPrecision(3));
}

const sets = await makeSets();
const rows: Row[] = [];
for (const system of systems) rows.push(await compare(system, sets));

const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== 'system');
const table = [
  `| | ${rows.map(({ system }) => system).join(' | ')} |`,
  `|---|${rows.map(() => '---:').join('|')}|`,
  ...columns.map((name) => `| ${name} | ${rows.map((row) => row[name] ?? '').join(' | ')} |`),
].join('\n');
const about = {
  date: new Date().toISOString().slice(0, 10),
  commit: git('rev-parse', '--short', 'HEAD'),
  machine: `${cpus().length} cores, Node ${process.version}`,
  sets: `${sets.names}; ${Math.round(sets.tokens / 1_000)}k tokens in all; seed ${SEED}; ${given.kills} kills`,
};
const text = `Measured on ${about.date} at ${about.commit} (${about.machine}): ${about.sets}.\n\n${table}\n`;
process.stdout.write(`${text}\n`);
if (given.json) writeFileSync(given.json, `${JSON.stringify({ ...about, rows }, null, 2)}\n`);
if (given.publish) publishPart('compare', text);
