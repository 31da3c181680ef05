// npm run compare: the same sessions and the same loopback model for nocturne and for what one would take instead, as far as
// it runs here without a service of its own. The others are installed for the run, in a temporary directory.
//   npm run compare -- [--sessions DIR] [--locomo FILE] [--json] [--only NAME,…] [--set ours] [--kills 20] [--counted] [--publish]
// Prints tables in Markdown, or with --json everything as one JSON value; --publish writes the tables into docs/dev/evidence.md.
// --counted leaves out what a clock measures, --kills 0 all but the cost. Ends with 1 where one of the others is not installed or fails.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measuredOn, publishPart } from '../support/evidence.ts';
import { type Column, cost, injections, kills, secrets } from './measure.ts';
import { type Compared, describeComparison } from './report.ts';
import * as sets from './sets.ts';
import { allSystems, installPeers, PEERLESS, type System } from './systems.ts';

const { values: given } = parseArgs({
  options: {
    sessions: { type: 'string' },
    locomo: { type: 'string' },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    set: { type: 'string' },
    kills: { type: 'string', default: '20' },
    counted: { type: 'boolean', default: false },
    publish: { type: 'boolean', default: false },
  },
});
const SEED = 20;
const on = measuredOn();
const count = Number(given.kills);
if (!Number.isInteger(count) || count < 0) throw new Error(`--kills is ${given.kills}, not a whole number.`);
const dir = mkdtempSync(join(tmpdir(), 'nocturne-compare-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
const say = (line: string) => process.stderr.write(`${Math.round(performance.now() / 1_000)} s: ${line}\n`);

const isWanted = ({ name }: System) => !given.only || given.only.split(',').some((each) => name.startsWith(each));
const peers = join(dir, 'peers');
const systems = allSystems(peers).filter(isWanted);
if (systems.length === 0) throw new Error(`--only ${given.only} names none of the systems.`);
if (systems.some(({ name }) => !PEERLESS.includes(name))) {
  say('Installing the peers …');
  installPeers(peers);
}

const chats = await sets.chats(join(dir, 'chats'), SEED);
const ours = await sets.ourSessions(join(dir, 'ours'));
const beside = join(import.meta.dirname, '../../../shared/transcripts/claude-code');
const real = given.sessions ?? (existsSync(beside) ? beside : undefined);
const costed = [
  {
    key: 'ours',
    name: `sessions of this repository, ${chats.length} of them arrays of messages`,
    sessions: [...ours, ...chats],
  },
  { key: 'real', name: 'real Claude Code sessions', sessions: real ? await sets.realSessions(real, 12) : [] },
  {
    key: 'locomo',
    name: 'sessions of LoCoMo',
    sessions: given.locomo ? await sets.locomoSessions(given.locomo, dir) : [],
  },
].filter(({ key, sessions }) => sessions.length > 0 && (given.set ?? key) === key);
const planted = {
  secrets: await sets.withSecrets(join(dir, 'secrets'), SEED),
  injections: await sets.withInjections(join(dir, 'injections'), 40),
};

const tables: Compared['tables'] = costed.map(({ name, sessions }) => {
  const tokens = sessions.reduce((sum, each) => sum + each.tokens, 0);
  return { title: `Cost: ${sessions.length} ${name}, ${Math.round(tokens / 1_000)}k tokens`, columns: [] as Column[] };
});
const broken = { title: `Broken off in ${chats.length} chats, secrets, injections`, columns: [] as Column[] };
for (const system of systems) {
  for (const [at, { name, sessions }] of costed.entries()) {
    say(`${system.name}: ${sessions.length} ${name} …`);
    tables[at]?.columns.push(await cost(system, sessions, { dir, isTimed: !given.counted }));
  }
  if (count === 0) continue;
  say(`${system.name}: ${count} kills, secrets and injections …`);
  broken.columns.push({
    ...(await kills(system, chats, { dir, count, seed: SEED })),
    ...(await secrets(system, planted.secrets, dir)),
    ...(await injections(system, planted.injections, dir)),
  });
}
const compared: Compared = {
  systems: systems.map(({ name, version }) => `${name} ${version}`),
  tables: count > 0 ? [...tables, broken] : tables,
  about: { ...on, seed: SEED, kills: count },
};
const text = describeComparison(compared);
process.stdout.write(given.json ? `${JSON.stringify(compared, null, 2)}\n` : text);
if (given.publish) publishPart('compare', text);
