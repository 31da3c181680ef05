// The tables of the two databases, as steps: a step that was released is never changed, only followed by another.
// How many a file has taken is its `user_version` (`openDatabase` in database.ts); a wing's later steps are its own, and
// counted in `wing_version`. What the rows mean is told where they
// are read: store.ts, coverage.ts, entries.ts, inbox.ts, job-rows.ts, home.ts and their neighbours.

/** `.nocturne/ledger.db` of a memory directory. */
export const LEDGER_STEPS = [
  `
create table job (id text primary key, kind text not null, status text not null, instructions text, usage text,
  outcome text, error text, created_at text not null, ended_at text, undoes text, "commit" integer) strict;
create table session (id text primary key, path text not null, format text not null, cwd text, size integer not null,
  modified_at text not null, read_to integer, prefix_sha text) strict;
create table coverage (session text not null, turn text not null, through_message text not null, became text not null,
  day text not null, job text not null, primary key (session, turn)) strict, without rowid;
create index coverage_turn on coverage (turn);
create index coverage_through on coverage (through_message);
create index coverage_day on coverage (day);
create table entry (id text primary key, session text not null, turn text not null, at text not null, day text not null,
  type text not null, text text not null, evidence text not null, said_by text not null, strength text not null,
  prompt text not null, job text not null, state text not null) strict;
create index entry_state on entry (state);
create index entry_turn on entry (session, turn);
create table memory (id text primary key, path text unique, head text, seen_bytes integer, seen_modified real,
  seen_changed real, missing_since text) strict;
create table version (id text primary key, memory text not null, "commit" integer not null, op text not null,
  path text, previous text, sha text, size integer, content blob, actor text not null,
  at text not null, redacted_at text, redacted_by text) strict;
create index version_memory on version (memory);
create index version_commit on version ("commit");
create table "commit" (id integer primary key autoincrement, actor text not null, at text not null,
  applied integer not null) strict;
create index commit_unapplied on "commit" (applied) where applied = 0;
create table undo ("commit" integer not null, tbl text not null, key text not null, before text) strict;
create index undo_commit on undo ("commit");
create index undo_key on undo (tbl, key);
create table support (path text not null, line text not null, entry text not null,
  primary key (path, line, entry)) strict, without rowid;
create index support_entry on support (entry);
create table index_line (line text primary key) strict, without rowid;
create table inbox (id integer primary key autoincrement, kind text not null, key text not null, payload text not null,
  not_before text not null, attempts integer not null, failure text, unique (kind, key)) strict;
create table lease (key text primary key, owner text, fence integer not null, until text not null) strict;
`,
  'alter table job add column process text',
  `
create table topic_use (path text primary key, shown integer not null, shown_at text, used integer not null,
  used_at text) strict, without rowid;
create table recalled (session text not null, request text not null, text text not null, at text not null,
  primary key (session, request)) strict;
create trigger recalled_forgets_inserted after insert on entry when new.state = 'forgotten'
  begin delete from recalled; end;
create trigger recalled_forgets_updated after update of state on entry when new.state = 'forgotten'
  begin delete from recalled; end;
create trigger recalled_redacts after update of redacted_at on version when new.redacted_at is not null
  begin delete from recalled; end;
`,
  `
create table failure (kind text not null, key text not null, state text not null, code text not null,
  message text not null, attempts integer not null, failures integer not null, input text, at text not null,
  payload text not null, primary key (kind, key)) strict, without rowid;
alter table job add column session text;
alter table job add column code text;
create index job_session on job (session);
`,
  `
alter table inbox add column since text;
create table worked (kind text not null, key text not null, at text not null, primary key (kind, key)) strict, without rowid;
create table skip (kind text not null, reason text not null, times integer not null, at text not null,
  primary key (kind, reason)) strict, without rowid;
`,
  'create table held (entry text primary key, since text not null) strict, without rowid',
  `
create table topic (path text primary key, head text not null, name text not null, description text not null,
  type text, pinned integer not null, bytes integer not null, lines integer not null, changed_at text not null) strict;
create table topic_line (id integer primary key, path text not null, line text not null, due text, said text not null)
  strict;
create index topic_line_path on topic_line (path);
create index topic_line_due on topic_line (due) where due is not null;
create index topic_line_said on topic_line (said);
create virtual table topic_words using fts5(text, content = '', contentless_delete = 1,
  tokenize = 'unicode61 remove_diacritics 2');
create virtual table topic_vocabulary using fts5vocab(topic_words, row);
create table history_look (path text primary key, look text not null) strict, without rowid;
create index entry_day on entry (day);
`,
  `
create table outbox (id integer primary key autoincrement, entry text not null unique) strict;
create trigger outbox_takes_sent after insert on entry when new.state = 'sent'
  begin insert or replace into outbox (entry) values (new.id); end;
create trigger outbox_takes_changed before insert on entry
  when new.state <> 'sent' and exists (select 1 from entry where id = new.id and state = 'sent')
  begin insert or replace into outbox (entry) values (new.id); end;
create trigger outbox_takes_dropped after delete on entry when old.state = 'sent'
  begin insert or replace into outbox (entry) values (old.id); end;
create table received (entry text not null, source text not null, stands integer not null,
  primary key (entry, source)) strict, without rowid;
create table forgetting (id integer primary key check (id = 1), times integer not null) strict;
insert into forgetting values (1, 0);
create trigger forgetting_counts_inserted after insert on entry when new.state = 'forgotten'
  begin update forgetting set times = times + 1; end;
create trigger forgetting_counts_updated after update of state on entry when new.state = 'forgotten'
  begin update forgetting set times = times + 1; end;
create trigger forgetting_counts_redacted after update of redacted_at on version when new.redacted_at is not null
  begin update forgetting set times = times + 1; end;
`,
  `
create table memory_snapshot (id text primary key, created_at text not null, applied_at text not null) strict;
create table snapshot_topic (path text primary key, snapshot text not null, text text not null) strict, without rowid;
`,
  'create table unsettled (path text primary key) strict, without rowid',
  `
create table proposal (id text primary key, job text not null, at text not null, made_by text not null,
  operations text not null, forgotten text, topics text not null, entries text not null, state text not null,
  because text) strict, without rowid;
`,
  `
create trigger topic_use_follows after update of path on memory when old.path <> new.path
  begin update or replace topic_use set path = new.path where path = old.path; end;
delete from topic;
delete from topic_line;
insert into topic_words (topic_words) values ('delete-all');
`,
  `
alter table coverage rename to coverage_of_turns;
create table coverage (session text not null, turn text not null, through_message text not null, became text not null,
  day text not null, job text not null, from_message text not null default '', again integer not null default 0,
  primary key (session, turn, from_message)) strict, without rowid;
insert into coverage select *, '', 0 from coverage_of_turns;
drop table coverage_of_turns;
create index coverage_turn on coverage (turn);
create index coverage_through on coverage (through_message);
create index coverage_day on coverage (day);
update undo set key = json_insert(key, '$[#]', ''), before = json_set(before, '$.from_message', '', '$.again', 0)
  where tbl = 'coverage';
`,
  'create table lost_entry (entry text primary key, path text not null, since text not null) strict, without rowid',
  `
create table unplaced (entry text primary key, nights integer not null, since text not null, reason text not null)
  strict, without rowid;
alter table entry add column changes text;
`,
  'alter table version add column lost integer not null default 0',
  `
create table wing_version (wing text primary key, version integer not null, tables text not null) strict, without rowid;
insert into wing_version values ('review', 0, '["proposal"]'), ('snapshots', 0, '["memory_snapshot","snapshot_topic"]');
`,
  'alter table job add column started_by text',
  `
alter table memory add column created_at text;
update memory set created_at = (select min(at) from version where memory = memory.id);
create index version_at on version (at, id);
`,
  `
create table program_line (memory text not null, line text not null, actor text not null, at text not null,
  primary key (memory, line)) strict, without rowid;
create index program_line_line on program_line (line);
`,
  `
create table dropped (id integer primary key check (id = 1), through integer not null) strict;
insert into dropped select 1, coalesce((select min("commit") - 1 from undo), max(id)) from "commit"
  having max(id) is not null;
`,
];

/** What a wing keeps in a ledger, or in the home. */
export interface WingSchema {
  name: string;
  /** Tables that hold its rows; where the wing is not there, `status` names those that are not empty. */
  tables?: string[];
  /** Its own steps, counted in `wing_version`; a ledger takes them when it is opened with the wing, the home when asked. */
  schema?: string[];
}

let wingSchemas: readonly WingSchema[] = [];

/** From now on ledgers are opened with these wings. */
export function setWingSchemas(list: readonly WingSchema[]): void {
  wingSchemas = list.filter(({ tables, schema }) => tables || schema);
}

/** Of the wings that are there. */
export function getWingSchemas(): readonly WingSchema[] {
  return wingSchemas;
}

/** `home.db` of the home. */
export const HOME_STEPS = [
  `
create table store (path text primary key, added_at text not null) strict;
create table spend (day text primary key, reserved integer not null, used integer not null, calls integer not null) strict;
create table worker (process text primary key, backend text not null, started_at text not null) strict;
`,
  `
create table pause (project text primary key, until text, at text not null) strict;
`,
  `
alter table spend add column reserved_micro_usd integer not null default 0;
alter table spend add column used_micro_usd integer not null default 0;
alter table spend add column full_from text;
alter table spend add column skips integer not null default 0;
create table breaker (id integer primary key check (id = 1), failures integer not null, openings integer not null,
  until text, code text, reason text, prober text, probe_until text, skips integer not null) strict;
insert into breaker values (1, 0, 0, null, null, null, null, null, 0);
`,
  `
alter table worker add column seen_at text;
create table nightly (id integer primary key check (id = 1), at text not null) strict;
`,
  `
create table look (path text primary key, size integer not null, modified_at text not null, cwd text, store text,
  verdict text not null) strict;
`,
  `
create table reservation (id text primary key, day text not null, tokens integer not null, micro_usd integer not null)
  strict, without rowid;
`,
  `
create table damage (id integer primary key check (id = 1), at text not null, kept text not null, looked integer not null,
  lost text not null) strict;
alter table spend add column unreadable integer not null default 0;
alter table pause add column assumed integer not null default 0;
`,
  // A look that failed for settings counted for as long as the file stayed as it was.
  `
create table blocked (path text primary key, reason text not null, since text not null) strict;
create table declined (id integer primary key check (id = 1), before text not null) strict;
delete from look where verdict = 'unreadable';
`,
  'create table wing_version (wing text primary key, version integer not null, tables text not null) strict, without rowid',
  'create table looked (id integer primary key check (id = 1), at text not null) strict',
  // Both only where several machines share the home: the limits that count for all, and when the one that tries was seen.
  `
create table limits (id integer primary key check (id = 1), day_tokens integer not null, day_micro_usd integer,
  zone text not null) strict;
alter table breaker add column prober_seen_at text;
`,
  'alter table spend add column plan_requests integer not null default 0',
];
