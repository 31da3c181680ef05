// Redaction on both engines: what was taken out is in no row, no byte of SQLite's files, their copies, the home and the memory.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type RedactReport, redact, redactVersion } from '../../jobs/redact.ts';
import { undo } from '../../jobs/undo.ts';
import { listFiles } from '../../src/base/files/directories.ts';
import { backUp, backupsIn } from '../../src/db/backup.ts';
import type { Db, Row } from '../../src/db/sql.ts';
import type { MemoryFiles } from '../../src/memory/memory-files.ts';
import { scrubJson, scrubOf, scrubSecrets, WORDS } from '../../src/memory/redaction.ts';
import { explainLines } from '../../src/memory/rests.ts';
import { searchMemories } from '../../src/memory/search.ts';
import { dream, entryOf, LOG, learn } from '../support/acts.ts';
import { API, ENGINE_TAKEN, inWorld, JOB, NOW, skipped, USER, type World } from '../support/memory-world.ts';

const SECRET = 'quillfeather';
const SAID = `Always call the staging host ${SECRET} instead of staging.`;

interface Here extends World {
  dir: string;
  memory: string;
  files: MemoryFiles;
  read(path: string): string;
  match(text: string, more?: { isDry?: boolean; memories?: string[] }): Promise<RedactReport>;
  /** Where it is: rows as `table.column`, files as their paths; of databases once they are closed. */
  holders(text: string): Promise<string[]>;
}

/** Columns of the catalogue that can hold words or bytes, by table. */
async function columnsOf({ db }: Pick<World, 'db'>): Promise<Map<string, { name: string; isBytes: boolean }[]>> {
  const select =
    db.engine === 'sqlite'
      ? `select m.name as "table", c.name, c.type from sqlite_master m join pragma_table_info(m.name) c
         where m.type = 'table' and m.name not in ('sqlite_sequence') and substr(m.name, 1, 8) <> 'line_fts'`
      : `select table_name as "table", column_name as name, data_type as type from information_schema.columns
         where table_schema = 'public'`;
  const rows = await db.all<{ table: string; name: string; type: string }>(select);
  const words = rows.filter(({ type }) => /text|blob|bytea/i.test(type));
  return new Map(
    [...Map.groupBy(words, ({ table }) => table)].map(([table, of]) => [
      table,
      of.map(({ name, type }) => ({ name, isBytes: !/text/i.test(type) })),
    ]),
  );
}

async function rowsHolding(at: { db: Db }, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const [table, columns] of await columnsOf(at)) {
    for (const row of await at.db.all<Row>(`select * from ${table}`))
      for (const { name } of columns) if (String(row[name]).includes(text)) found.push(`${table}.${name}`);
  }
  return [...new Set(found)].sort();
}

/** Of a database that is open its file is not read: closing it again would drop SQLite's locks. */
async function filesHolding(dirs: string[], text: string, { isClosed = false } = {}): Promise<string[]> {
  const found: string[] = [];
  for (const dir of dirs)
    for (const path of listFiles(dir))
      if ((isClosed || !/nocturne\.db/.test(path)) && readFileSync(join(dir, path)).includes(text)) found.push(path);
  return found.sort();
}

/** SQLite's files are read as such then. */
async function closed({ db, memories }: World): Promise<void> {
  if (db.engine === 'postgres') return;
  await memories.close();
  await db.close();
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** What is no word: ids, kinds, states, hashes, times, numbers, and names that are given by who runs a server or a machine. */
const EXCUSED = new Set(
  `memory.id memory.scope memory.tenant memory.dir memory.machine memory.flags memory.created_at memory.updated_at memory.archived_at
  memory.deleted_at place.machine place.path place.memory file.memory file.id file.path file.folded file.head
  file.placed file.seen file.missing_since file.created_at file.updated_at version.id version.memory version.file version.change
  version.op version.sha version.previous version.actor_kind version.actor version.at version.redacted_at version.redacted_by
  change.id change.job change.at change.undone_by undo.change undo.tbl undo.key session.id session.name session.memory
  session.machine session.format session.modified_at session.redacted session.created_at session.sent session.sent_at session.sent_by
  piece.session turn.session turn.id turn.begins turn.memory turn.through turn.state turn.reason turn.day turn.job entry.memory
  entry.id entry.session entry.turn entry.at entry.day entry.type entry.strength entry.said_by entry.again entry.prompt entry.found
  entry.job entry.state rests.memory rests.file rests.line rests.source line.memory line.file job.id job.kind job.memory
  job.session job.status job.outcome job.code job.started_by job.actor job.process job.usage job.retry_at job.created_at
  job.started_at job.ended_at job.archived_at job.undoes inbox.kind inbox.key inbox.memory inbox.machine inbox.job inbox.state
  inbox.since inbox.not_before inbox.code inbox.owner inbox.until tenant.id day.day day.scope call.id call.day call.scope call.job
  call.model call.at call.settled_at proposal.id proposal.memory proposal.job proposal.at proposal.bases proposal.state
  proposal.decided_at recalled.session recalled.memory recalled.at topic_use.memory topic_use.file topic_use.shown_at
  topic_use.used_at snapshot_base.memory snapshot_base.snapshot api_key.id api_key.sha api_key.tenant api_key.rights api_key.memories
  api_key.created_at api_key.expires_at api_key.revoked_at worker.process worker.machine worker.started_at worker.seen_at
  setting.key setting.value`.split(/\s+/),
);
/** Treated by themselves: they are bytes, or follow from files. */
const DERIVED = ['version.path', 'version.content', 'file.meta', 'line.text', 'piece.body'];

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (name: string, work: (here: Here) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(name, () =>
      inWorld(engine, async (world) => {
        const { dir, row, files } = await world.withDirectory();
        await work({
          ...world,
          dir,
          memory: row.id,
          files,
          read: (path) => readFileSync(join(dir, path), 'utf8'),
          match: (text, more) => redact({ scrub: scrubOf(text), ...more }, world),
          holders: async (text) => [
            ...(await rowsHolding(world, text)),
            ...(await filesHolding([dir, world.home], text)),
          ],
        });
      }),
    );

  /** A memory whose secret went through entry, log, topic, undo, job, inbox, spool, log, a hand-written file and a session. */
  async function leaked(here: Here): Promise<void> {
    const { db, memory, home, dir } = here;
    await learn(here, memory, { t1: SAID, t2: 'Never commit to main directly.' });
    const night = await dream(here, memory, { hosts: [SAID], rules: ['Never commit to main directly.'] });
    const undone = await undo({ job: night }, { memories: here.memories });
    await undo({ job: undone.undo ?? '' }, { memories: here.memories });
    put(join(dir, 'notes/mine.md'), `by hand: ${SECRET}\r\nkeep`);
    await here.files.list();
    put(join(home, 'spool/1.json'), JSON.stringify({ v: 1, cwd: `/home/${SECRET}` }));
    put(join(home, 'logs/nocturne.log'), `{"msg":"read ${SECRET}"}\nmore ${SECRET}\n`);
    await db.run(
      "update job set request = ?, error = ? where kind = 'dream'",
      JSON.stringify({ say: `"${SECRET}"` }),
      SECRET,
    );
    const message = { message: { id: 'msg-1', parts: [{ text: `a "${SECRET}"` }] } };
    const body = `${JSON.stringify({ session: { cwd: `/home/${SECRET}` } })}\n${JSON.stringify(message)}\n`;
    await db.run(
      "insert into session (id, name, memory, cwd, created_at) values ('s9', 's9', ?, ?, ?)",
      memory,
      `/home/${SECRET}`,
      NOW,
    );
    await db.run("insert into piece (session, n, body) values ('s9', 0, ?)", Buffer.from(body));
  }

  it('every column of words is named or excused', async ({ db }) => {
    const named = new Set([
      ...Object.entries(WORDS).flatMap(([table, { columns }]) =>
        Object.keys(columns).map((column) => `${table}.${column}`),
      ),
      ...DERIVED,
    ]);
    const all = [...(await columnsOf({ db }))].flatMap(([table, columns]) =>
      columns.map(({ name }) => `${table}.${name}`),
    );
    expect(all.filter((column) => !named.has(column) && !EXCUSED.has(column))).toEqual([]);
    expect([...named, ...EXCUSED].filter((column) => !all.includes(column))).toEqual([]);
    expect([...named].filter((column) => EXCUSED.has(column))).toEqual([]);
  });

  it('a mark in every such column, in every file and copy is in none after', async (here) => {
    await leaked(here);
    const { db, home, dir, memory } = here;
    const MARK = 'mark-xyzzy';
    await db.run(
      "insert into proposal (id, memory, job, at, plan, bases, state) values ('p', ?, 'j', '', '{}', '[]', 'open')",
      memory,
    );
    await db.run("insert into recalled (session, memory, request, text, at) values ('s', ?, 'r', 't', '')", memory);
    await db.run("insert into snapshot_base (memory, path, snapshot, text) values (?, 'p.md', 's', 't')", memory);
    await db.run(
      "insert into inbox (kind, key, memory, payload, priority, since, not_before) values ('dream', 'k', ?, '{}', 1, '', '')",
      memory,
    );
    await db.run("insert into api_key (id, name, sha, rights, created_at) values ('apikey_1', 'n', 'x', 'read', '')");
    const marked = Object.entries(WORDS).flatMap(([table, { columns }]) =>
      Object.entries(columns).map(([column, form]) => ({ table, column, form })),
    );
    for (const { table, column, form } of marked) {
      const value =
        form === 'json' ? JSON.stringify({ [MARK]: [`a "${MARK}" b`, JSON.stringify({ deep: MARK })] }) : `a ${MARK} b`;
      await db.run(`update ${table} set ${column} = ?`, value);
    }
    await db.run('update line set text = ?', `- a ${MARK} b`);
    const [old] = await db.all<{ id: string }>('select previous as id from version where previous is not null');
    await db.run(
      'update version set content = ?, path = ? where id = ?',
      Buffer.from(MARK),
      `${MARK}.md`,
      old?.id ?? '',
    );
    await db.run('update piece set body = ?', Buffer.from(`${MARK}\n`));
    put(join(dir, 'hosts.md'), `- a ${MARK} b\n`);
    put(join(dir, '.nocturne/aside/mem_1.2.taking'), MARK);
    put(join(home, 'spool/2.json'), JSON.stringify({ [MARK]: MARK }));
    put(join(home, 'logs/worker.log.1'), `${MARK}\n`);
    if (engine === 'sqlite') await backUp(home, { now: new Date(NOW) });
    expect((await here.holders(MARK)).length).toBeGreaterThan(marked.length);
    const report = await here.match(MARK);
    expect(report.remaining).toEqual([]);
    expect(await rowsHolding(here, MARK)).toEqual([]);
    expect(await rowsHolding(here, SECRET)).not.toEqual([]);
    await closed(here);
    expect(await filesHolding([dir, home], MARK, { isClosed: true })).toEqual([]);
    expect(report.remedies.join()).toMatch(engine === 'sqlite' ? /^$/ : /vacuum full.*dumps/);
  });

  it('a secret that went everywhere is nowhere; who and when stay, and it can be done again', async (here) => {
    await leaked(here);
    const { db, memory, dir, home } = here;
    const before = await here.holders(SECRET);
    for (const place of [
      'hosts.md',
      'notes/mine.md',
      LOG,
      'spool/1.json',
      'logs/nocturne.log',
      'entry.text',
      'undo.before',
      'piece.body',
      'version.content',
      'line.text',
      'job.request',
      'session.cwd',
    ])
      expect(before).toContain(place);
    const dry = await here.match(SECRET, { isDry: true });
    expect(await here.holders(SECRET)).toEqual(before);
    expect(dry).toMatchObject({
      job: null,
      files: ['hosts.md', LOG, 'notes/mine.md'].map((path) => join(here.dir, path)),
      home: ['logs/nocturne.log', 'spool/1.json'],
      sessions: ['s9'],
    });
    const report = await here.match(SECRET);
    expect(report).toMatchObject({ files: dry.files, home: dry.home, sessions: ['s9'], remaining: [] });
    expect(report.versions).toBeGreaterThan(3);
    expect(await rowsHolding(here, SECRET)).toEqual([]);
    expect(here.read('notes/mine.md')).toBe('by hand: [redacted]\r\nkeep');
    expect(here.read('hosts.md')).toContain('- Always call the staging host [redacted] instead of staging.');
    const [session] = await db.all<{ redacted: string }>("select redacted from session where id = 's9'");
    expect(session?.redacted).toBe('yes');
    const row = await db.get('select kind, outcome, request from job where id = ?', report.job ?? '');
    expect(row).toEqual({ kind: 'redact', outcome: 'redacted', request: '{"what":"match"}' });
    expect(await here.match(SECRET)).toMatchObject({
      files: [],
      versions: 0,
      rows: 0,
      home: [],
      sessions: [],
      remaining: [],
    });
    expect((await searchMemories(db, [memory], { query: 'staging host', limit: 5 })).total).toBeGreaterThan(0);
    await closed(here);
    expect(await filesHolding([dir, home], SECRET, { isClosed: true })).toEqual([]);
  });

  it('nothing passes for edited by a person: what lines and entries rest on follows them', async (here) => {
    await leaked(here);
    const { db, memory } = here;
    await here.match(SECRET);
    const [line] = await explainLines(db, { memory, path: 'hosts.md' });
    expect(line).toMatchObject({
      isPersons: false,
      entries: [{ id: entryOf(SAID).id, state: 'placed', text: expect.stringContaining('[redacted]') }],
    });
    const { items } = await here.files.versions({ limit: 1 });
    expect(items).toMatchObject([{ actor: { kind: 'user' } }]);
    const external = await db.get("select count(*) as n from version where actor_kind = 'external' and path = ?", LOG);
    await here.files.list();
    expect(await db.get("select count(*) as n from version where actor_kind = 'external' and path = ?", LOG)).toEqual(
      external,
    );
  });

  it('copies that were made before are gone, and the new one does not hold it', async (here) => {
    if (engine === 'postgres') return;
    await leaked(here);
    const older = await backUp(here.home, { now: new Date('2026-03-01T00:00:00Z') });
    await here.match(SECRET);
    const [copy, ...others] = backupsIn(here.home);
    expect([others, existsSync(older)]).toEqual([[], false]);
    expect(readFileSync(copy ?? '').includes(SECRET)).toBe(false);
  });

  it('while git works its files wait, and what stands there is not emptied; done again it goes', async (here) => {
    const { dir, db } = here;
    await here.files.create(USER, { path: 'a.md', text: `- ${SECRET}\n` });
    put(join(dir, '.git/HEAD'), 'ref: refs/heads/main\n');
    put(join(dir, '.git/index.lock'), '');
    const first = await here.match(SECRET);
    expect(first).toMatchObject({ files: [join(dir, 'a.md')], versions: 0 });
    expect(first.remaining).toEqual(['a.md', join(dir, 'a.md')]);
    expect(first.remedies.join()).toContain('redact again');
    rmSync(join(dir, '.git/index.lock'));
    expect(await here.match(SECRET)).toMatchObject({ versions: 1, remaining: [] });
    expect(here.read('a.md')).toBe('- [redacted]\n');
    expect(await rowsHolding({ db }, SECRET)).toEqual([]);
  });

  it('a name that holds it stops the redaction before it begins; that of a deleted file goes', async (here) => {
    await here.files.create(USER, { path: `${SECRET}.md`, text: 'x\n' });
    await here.files.create(USER, { path: 'b.md', text: `${SECRET}\n` });
    await expect(here.match(SECRET)).rejects.toMatchObject({ code: 'refused' });
    expect(here.read('b.md')).toBe(`${SECRET}\n`);
    await here.files.delete(USER, { path: `${SECRET}.md` });
    await here.match(SECRET);
    expect(await here.holders(SECRET)).toEqual([]);
    await here.files.create(USER, { path: 'c.md', text: 'y\n' });
  });

  it('a pattern goes wherever it matches, ids and kinds apart; secrets by what they look like', async (here) => {
    const { db, files, dir } = here;
    await files.create(USER, { path: 'a.md', text: 'Account 4711-22 and acct 4711-33.\n' });
    await here.match('/\\b4711-\\d+|created/');
    expect(here.read('a.md')).toBe('Account [redacted] and acct [redacted].\n');
    expect((await files.versions()).items.map(({ op }) => op)).toEqual(['modified', 'created']);
    const token = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
    put(join(dir, 'keys.md'), `- The token is ${token}.\n`);
    const report = await redact({ scrub: scrubSecrets }, here);
    expect(report.files).toEqual([join(dir, 'keys.md')]);
    expect(here.read('keys.md')).toMatch(/^- The token is \[redacted:[\w-]+\]\.\n$/);
    expect(await rowsHolding({ db }, token)).toEqual([]);
  });

  it('lines that rest on redacted entries alone are named, and stay', async (here) => {
    const { db, memory } = here;
    await learn(here, memory, { t1: SAID });
    await dream(here, memory, { hosts: ['Staging has a name of its own.'] });
    const file = (await db.get<{ id: string }>("select id from file where path = 'hosts.md'"))?.id ?? '';
    const [line] = await explainLines(db, { memory, path: 'hosts.md' });
    await db.run(
      'insert into rests (memory, file, line, source) values (?, ?, ?, ?)',
      memory,
      file,
      line?.id ?? '',
      entryOf(SAID).id,
    );
    expect((await here.match(SECRET, { isDry: true })).lines).toMatchObject([{ path: 'hosts.md' }]);
    await here.match(SECRET);
    expect(here.read('hosts.md')).toContain('Staging has a name of its own.');
  });

  it('only the memories that were named are touched', async (here) => {
    const other = await here.store();
    await other.files.create(API, { path: 'a.md', text: `${SECRET}\n` });
    await here.files.create(USER, { path: 'a.md', text: `${SECRET}\n` });
    await here.match(SECRET, { memories: [other.row.id] });
    expect((await other.files.read({ path: 'a.md' }))?.text).toBe('[redacted]\n');
    expect(here.read('a.md')).toBe(`${SECRET}\n`);
    expect(await here.db.all('select id from version where redacted_at is not null')).toHaveLength(1);
  });

  it('a version loses content, hash, size and path, with all of the same text; who and when stay', async (here) => {
    const { db, memory, files } = here;
    const first = await files.create(JOB, { path: 'a.md', text: `${SECRET}\n` });
    await files.write(JOB, { path: 'a.md', text: 'clean\n' });
    await files.write(USER, { path: 'a.md', text: `${SECRET}\n` });
    const version = first.version;
    await expect(redactVersion({ memory, version }, here)).rejects.toMatchObject({
      code: 'refused',
      remedy: expect.stringContaining('--match'),
    });
    await files.write(USER, { path: 'a.md', text: 'more\n' });
    const actor = { kind: 'api', id: 'apikey_1' } as const;
    expect(await redactVersion({ memory, version }, { ...here, actor })).toMatchObject({
      versions: 2,
      remedies: engine === 'sqlite' ? [] : [expect.anything()],
    });
    expect(await files.version(version)).toMatchObject({
      ...{ text: null, sha: null, size: null, path: null, op: 'created', actor: JOB.actor, at: NOW },
      ...{ redactedAt: NOW, redactedBy: actor },
    });
    expect(await redactVersion({ memory, version }, here)).toMatchObject({ job: null, versions: 0 });
    await expect(redactVersion({ memory, version: 'memver_x' }, here)).rejects.toMatchObject({ code: 'bad-input' });
    expect(await rowsHolding({ db }, SECRET)).toEqual([]);
    expect(await filesHolding([join(here.dir, '.nocturne')], SECRET)).toEqual([]);
    await files.write(USER, { path: 'a.md', text: 'and more\n' });
  });

  it('an entry that only the redacted version of the log held is forgotten with it', async (here) => {
    const { db, memory } = here;
    await learn(here, memory, { t1: SAID });
    const [version] = (await here.files.versions({ path: LOG })).items;
    put(join(here.dir, LOG), '- The kettle is in the kitchen.\n');
    await here.files.list();
    await redactVersion({ memory, version: version?.id ?? '' }, here);
    expect(await db.all("select text, quotes, state, reason from entry where text not like '%kettle%'")).toEqual([
      { text: '[redacted]', quotes: '[]', state: 'gone', reason: 'forgotten' },
    ]);
    expect(await rowsHolding({ db }, SECRET)).toEqual([]);
  });
});

test('an id as a whole is redacted where it is what is looked for, a part of one stays', async () => {
  const key = '4829a7c1-5d1b-4c58-9a64-1f2e3d4c5b6a';
  const part = scrubOf('4829');
  expect(await scrubOf(key)(`key ${key}`)).toBe('key [redacted]');
  expect(await scrubJson(scrubOf(key), JSON.stringify({ key }))).toBe('{"key":"[redacted]"}');
  expect(await part(`key ${key}, p=4829-1, 14829, e_48290000000000, key_482900000000`)).toBe(
    `key [redacted]${key.slice(4)}, p=[redacted]-1, 1[redacted], e_[redacted]0000000000, key_482900000000`,
  );
  expect(await scrubJson(part, JSON.stringify({ message: key, quote: `key ${key}` }))).toBe(
    `{"message":"${key}","quote":"key [redacted]${key.slice(4)}"}`,
  );
  expect(await part('The safe opens with "48294829".')).toBe('The safe opens with "[redacted][redacted]".');
  const mark = `  <!-- e_482900000000 s=${key} t=${key} p=00482900 h=482900000000 q=human -->`;
  expect(await part(mark)).toBe(mark);
});

test.each(['', ' ', '/(/', '/a*/', '/x/y'])('%j is refused as a match', (match) => {
  expect(() => scrubOf(match)).toThrow(expect.objectContaining({ code: 'bad-input' }));
});
