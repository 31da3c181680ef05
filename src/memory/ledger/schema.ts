// The tables of the two databases, each as one text. What the rows mean is told where they are read: store.ts, coverage.ts,
// entries.ts, inbox.ts, job-rows.ts, home.ts and their neighbours; of the home's last ones in wings/server/rows/ and
// wings/page/visits.ts.

/**
 * A file says by it, as its `user_version`, which tables it has: another number with every change of a text below. A file of
 * an earlier number is taken in when it is opened (opening.ts), so a new column has a default or may be null.
 */
export const SCHEMA_VERSION = 101;

/** `.nocturne/ledger.db` of a memory directory. */
export const LEDGER = `
create table job (id text primary key, kind text not null, status text not null, instructions text, usage text,
  outcome text, error text, code text, created_at text not null, ended_at text, undoes text, "commit" integer, process text,
  session text, started_by text) strict;
create index job_session on job (session);
create table session (id text primary key, path text not null, format text not null, cwd text, size integer not null,
  modified_at text not null, read_to integer, prefix_sha text) strict;
create table coverage (session text not null, turn text not null, through_message text not null, became text not null,
  day text not null, job text not null, from_message text not null default '', again integer not null default 0,
  primary key (session, turn, from_message)) strict, without rowid;
create index coverage_turn on coverage (turn);
create index coverage_through on coverage (through_message);
create index coverage_day on coverage (day);
create table entry (id text primary key, session text not null, turn text not null, at text not null, day text not null,
  type text not null, text text not null, evidence text not null, said_by text not null, strength text not null,
  prompt text not null, job text not null, state text not null, changes text, again text) strict;
create index entry_state on entry (state);
create index entry_turn on entry (session, turn);
create index entry_day on entry (day);
create table memory (id text primary key, path text unique, head text, seen_bytes integer, seen_modified real,
  seen_changed real, missing_since text, created_at text) strict;
create table version (id text primary key, memory text not null, "commit" integer not null, op text not null,
  path text, previous text, sha text, size integer, content blob, actor text not null,
  at text not null, redacted_at text, redacted_by text, lost integer not null default 0) strict;
create index version_memory on version (memory);
create index version_commit on version ("commit");
create index version_at on version (at, id);
create table "commit" (id integer primary key autoincrement, actor text not null, at text not null,
  applied integer not null) strict;
create index commit_unapplied on "commit" (applied) where applied = 0;
create table undo ("commit" integer not null, tbl text not null, key text not null, before text) strict;
create index undo_commit on undo ("commit");
create index undo_key on undo (tbl, key);
create table dropped (id integer primary key check (id = 1), through integer not null) strict;
create table support (path text not null, line text not null, entry text not null,
  primary key (path, line, entry)) strict, without rowid;
create index support_entry on support (entry);
create table program_line (memory text not null, line text not null, actor text not null, at text not null,
  primary key (memory, line)) strict, without rowid;
create index program_line_line on program_line (line);
create table index_line (line text primary key) strict, without rowid;
create table unsettled (path text primary key) strict, without rowid;
create table history_look (path text primary key, look text not null) strict, without rowid;

create table inbox (id integer primary key autoincrement, kind text not null, key text not null, payload text not null,
  not_before text not null, attempts integer not null, failure text, since text, unique (kind, key)) strict;
create table lease (key text primary key, owner text, fence integer not null, until text not null) strict;
create table failure (kind text not null, key text not null, state text not null, code text not null,
  message text not null, attempts integer not null, failures integer not null, input text, at text not null,
  payload text not null, primary key (kind, key)) strict, without rowid;
create table worked (kind text not null, key text not null, at text not null, primary key (kind, key)) strict, without rowid;
create table skip (kind text not null, reason text not null, times integer not null, at text not null,
  primary key (kind, reason)) strict, without rowid;

create table held (entry text primary key, since text not null) strict, without rowid;
create table lost_entry (entry text primary key, path text not null, since text not null) strict, without rowid;
create table unplaced (entry text primary key, nights integer not null, since text not null, reason text not null)
  strict, without rowid;
create table proposal (id text primary key, job text not null, at text not null, made_by text not null,
  operations text not null, forgotten text, topics text not null, entries text not null, state text not null,
  because text) strict, without rowid;
create table memory_snapshot (id text primary key, created_at text not null, applied_at text not null) strict;
create table snapshot_topic (path text primary key, snapshot text not null, text text not null) strict, without rowid;

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

create table topic_use (path text primary key, shown integer not null, shown_at text, used integer not null,
  used_at text) strict, without rowid;
create trigger topic_use_follows after update of path on memory when old.path <> new.path
  begin update or replace topic_use set path = new.path where path = old.path; end;
create table recalled (session text not null, request text not null, text text not null, at text not null,
  primary key (session, request)) strict;
create table forgetting (id integer primary key check (id = 1), times integer not null) strict;
insert into forgetting values (1, 0);
create trigger forgets_inserted after insert on entry when new.state = 'forgotten'
  begin delete from recalled; update forgetting set times = times + 1; end;
create trigger forgets_updated after update of state on entry when new.state = 'forgotten'
  begin delete from recalled; update forgetting set times = times + 1; end;
create trigger forgets_redacted after update of redacted_at on version when new.redacted_at is not null
  begin delete from recalled; update forgetting set times = times + 1; end;

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
`;

/** Tables that are made again of what else there is, together with those for full-text search. */
export const DERIVED: readonly string[] = ['topic', 'topic_line'];

/** `home.db` of the home. */
export const HOME = `
create table store (path text primary key, added_at text not null) strict;
create table spend (day text primary key, reserved integer not null, used integer not null, calls integer not null,
  reserved_micro_usd integer not null default 0, used_micro_usd integer not null default 0, full_from text,
  skips integer not null default 0, unreadable integer not null default 0, plan_requests integer not null default 0) strict;
create table worker (process text primary key, backend text not null, started_at text not null, seen_at text) strict;
create table pause (project text primary key, until text, at text not null, assumed integer not null default 0) strict;
create table breaker (id integer primary key check (id = 1), failures integer not null, openings integer not null,
  until text, code text, reason text, prober text, probe_until text, skips integer not null, prober_seen_at text) strict;
insert into breaker values (1, 0, 0, null, null, null, null, null, 0, null);
create table nightly (id integer primary key check (id = 1), at text not null) strict;
create table look (path text primary key, size integer not null, modified_at text not null, cwd text, store text,
  verdict text not null) strict;
create table damage (id integer primary key check (id = 1), at text not null, kept text not null, looked integer not null,
  lost text not null) strict;
create table blocked (path text primary key, reason text not null, since text not null) strict;
create table declined (id integer primary key check (id = 1), before text not null) strict;
create table looked (id integer primary key check (id = 1), at text not null) strict;
create table limits (id integer primary key check (id = 1), day_tokens integer not null, day_micro_usd integer,
  zone text not null) strict;

create table memory_store (id text primary key, dir text unique, name text not null, description text not null,
  metadata text not null, created_at text not null, updated_at text not null, archived_at text, removed_at text,
  owner text, allows_secrets integer not null, tenant text) strict;
create index memory_store_created on memory_store (created_at, id);
create table api_key (id text primary key, name text not null, sha text not null unique, stores text, rights text not null,
  day_micro_usd integer, created_at text not null, revoked_at text, tenant text) strict;
create table key_spend (key text not null, day text not null, micro_usd integer not null, primary key (key, day))
  strict, without rowid;
create table server (id integer primary key check (id = 1), "user" text not null, secret text not null) strict;
create table sent_session (id text not null, store text not null, owner text not null, messages integer not null,
  created_at text not null, updated_at text not null, extract_at text, waits integer not null default 0,
  primary key (store, id)) strict;
create index sent_session_id on sent_session (id);
create index sent_session_waiting on sent_session (extract_at) where extract_at is not null;
create index sent_session_waits on sent_session (owner) where waits = 1;
create table sent_part (store text not null, session text not null, after integer not null, count integer not null,
  sha text not null, file text not null, primary key (store, session, after)) strict, without rowid;
create table dream (id text primary key, owner text not null, input text not null, target text, output text,
  updates integer not null, began_at text,
  sessions text not null, model text not null, speed text, instructions text, status text not null, error_type text,
  error_message text, input_tokens integer not null default 0, output_tokens integer not null default 0,
  cache_creation_tokens integer not null default 0, cache_read_tokens integer not null default 0, process text,
  created_at text not null, ended_at text, archived_at text, closed_at text) strict;
create index dream_created on dream (created_at, id);
create unique index dream_target on dream (target) where closed_at is null;
create table page_ticket (sha text primary key, ends_at text not null) strict;
create table page_server (process text primary key, url text not null) strict;
`;
