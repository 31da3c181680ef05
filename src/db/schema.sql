-- Every table nocturne keeps, once, for SQLite and PostgreSQL alike (open-database.ts says what differs).
-- Ids are random texts (`mem_…`), instants ISO-8601 UTC, days YYYY-MM-DD, lists and flags JSON. What can be asked of rows is not stored.

-- One memory: a project's, the user's, a team's, or a store of a client. `dir`: its working copy, on `machine`.
-- `files` and `bytes` count what its limits count; `origin`: its repository's remote, without its login, and first commit.
create table memory (
  id text primary key, scope text not null, name text not null, description text not null default '', tenant text not null default '',
  dir text, machine text, metadata text not null default '{}', flags text not null default '{}', origin text,
  files integer not null default 0, bytes integer not null default 0, created_at text not null, updated_at text not null,
  archived_at text, deleted_at text);
create unique index memory_dir on memory (machine, dir) where deleted_at is null;
create index memory_list on memory (created_at, id);
-- Which directory of which machine leads to which memory.
create table place (machine text not null, path text not null, memory text not null references memory, primary key (machine, path));
-- A file. `head`: the version it is; `placed`: the version last put or seen in the working copy ('': none yet; null: there is none);
-- `seen`: how that file looked; `meta`: of a topic its name, type, description and pin; path is null once it is deleted.
create table file (
  memory text not null references memory, id text not null, path text, folded text, head text not null, placed text, seen text,
  meta text, missing_since text, created_at text not null, updated_at text not null, primary key (memory, id));
create unique index file_path on file (memory, folded);
create index file_order on file (memory, path);
create index file_behind on file (memory) where placed <> head;
-- Every state a file was in. Content is null where the file was deleted, or its text redacted.
create table version (
  seq integer primary key autoincrement, id text not null unique, memory text not null, file text not null, change text not null,
  op text not null, path text, sha text, size integer, previous text, actor_kind text not null, actor text, at text not null,
  redacted_at text, redacted_by text, content blob);
create index version_file on version (memory, file, seq);
create index version_memory on version (memory, seq);
create index version_change on version (change);
create index version_sha on version (memory, sha);
-- One commit: the unit of undo. `undone_by`: the change that took it back.
create table change (
  n integer primary key autoincrement, id text not null unique, job text not null, at text not null, undone_by text);
create index change_job on change (job);
-- What rows of turn, entry, rests and proposal were before a change.
create table undo (
  change text not null, n integer not null, tbl text not null, key text not null, before text, primary key (change, n));
create index undo_key on undo (tbl, key);
-- A conversation: a transcript of this machine, or kept as pieces where it was sent. `sent`: of each part that a client sent how many
-- messages came before it, how many it has, and its SHA-256.
create table session (
  id text primary key, name text not null, memory text not null references memory, machine text, path text, format text, cwd text,
  size integer, modified_at text, redacted text, created_at text not null, sent_by text, sent text, sent_at text);
create unique index session_name on session (memory, name);
create index session_path on session (machine, path);
create table piece (session text not null references session, n integer not null, body blob not null, primary key (session, n));
-- Coverage: what became of a range of a turn, from which of its messages (`begins`; '': from its first) through which. No row: pending.
create table turn (
  session text not null, id text not null, begins text not null, memory text not null, through text not null, state text not null,
  reason text, day text not null, job text not null, primary key (session, id, begins));
create index turn_id on turn (memory, id);
create index turn_through on turn (memory, through);
create index turn_day on turn (memory, day);
-- What was learned, with the words it rests on. `found`: which kind of lesson of the agent's own it is; `again`: the line that it
-- says again; `person`: whose wish it is, where it is not the user's.
create table entry (
  memory text not null, id text not null, session text, turn text, at text not null, day text not null, type text not null,
  strength text not null, said_by text not null, text text not null, changes text, again text, quotes text not null, prompt text,
  found text, person text, job text not null, state text not null, reason text, primary key (memory, id));
create index entry_state on entry (memory, state, at);
create index entry_turn on entry (session, turn);
create index entry_day on entry (memory, day);
create index entry_job on entry (job);
create index entry_found on entry (memory, at) where found is not null;
-- What a line of a file rests on: an entry, or the program that wrote it. A line without a row is a person's.
create table rests (
  memory text not null, file text not null, line text not null, source text not null, primary key (memory, file, line, source));
create index rests_source on rests (memory, source);
-- The lines of the heads that say something, in one case, each once a file, for search (search-words.ts), of logs the quotes, too. Derived.
create table line (id integer primary key autoincrement, memory text not null, file text not null, text text not null);
create index line_file on line (memory, file);
-- What a job did: for people, the cost, undo, and clients (a dream over HTTP is one). `progress`: how many turns it covered by a
-- model's word, or operations it kept; `retry_at`: before then a server wants no further request.
create table job (
  id text primary key, kind text not null, memory text, session text, status text not null, outcome text, code text, error text,
  started_by text not null, actor text, process text, request text not null default '{}', output text, usage text,
  progress integer not null default 0, retry_at text, created_at text not null, started_at text, ended_at text, archived_at text,
  undoes text);
create index job_recent on job (created_at, id);
create index job_memory on job (memory, kind, created_at);
create index job_session on job (session, started_at);
create index job_ended on job (ended_at) where ended_at is not null;
create index job_running on job (id) where status = 'running';
-- Work that waits, is worked (claimed), or was given up (state 'failed').
create table inbox (
  id integer primary key autoincrement, kind text not null, key text not null, memory text, machine text not null default '', job text,
  payload text not null, state text not null default 'waiting', priority integer not null, turn integer not null default 0,
  since text not null, not_before text not null, news integer not null default 1, attempts integer not null default 0,
  failures integer not null default 0, code text, error text, owner text, fence integer not null default 0, until text,
  unique (kind, key));
create index inbox_due on inbox (priority, turn, id) where state = 'waiting';
create index inbox_next on inbox (not_before) where state = 'waiting';
create index inbox_memory on inbox (memory, kind);
-- Whose turn is next: `turn` is the number that a tenant's last item got; of '*', the highest that is done.
create table tenant (id text primary key, turn integer not null);
-- Ceilings of a day: `scope` '' is all, else a key or a plan. `call`: each request, reserved before it is sent, settled after.
create table day (
  day text not null, scope text not null, tokens integer not null, micro_usd integer not null, calls integer not null,
  primary key (day, scope));
create table call (
  id text primary key, day text not null, scope text not null, job text not null, model text not null, at text not null,
  reserved_tokens integer not null, reserved_usd integer not null, settled_at text, input integer, cached integer, written integer,
  output integer, micro_usd integer);
create index call_job on call (job);
create index call_day on call (day);
-- What waits for a person's word: operations, and the versions that they were made for.
create table proposal (
  id text primary key, memory text not null, job text not null, at text not null, plan text not null, bases text not null,
  state text not null, decided_at text, because text);
create index proposal_open on proposal (memory) where state = 'open';
-- What a session was told, and how often a topic was shown and used.
create table recalled (
  session text not null, memory text not null, request text not null, text text not null, at text not null,
  primary key (session, memory, request));
create table topic_use (
  memory text not null, file text not null, shown integer not null, shown_at text, used integer not null, used_at text,
  primary key (memory, file));
create table snapshot_base (memory text not null, path text not null, snapshot text not null, text text not null, primary key (memory, path));
create table api_key (
  id text primary key, name text not null, sha text not null unique, tenant text not null default '', rights text not null, memories text,
  day_usd integer, created_at text not null, expires_at text, revoked_at text);
create table worker (process text primary key, machine text not null, started_at text not null, seen_at text not null);
-- Single values: schema, zone, limits, the last night, a pause of all, what was declined, the last look of a person.
create table setting (key text primary key, value text not null);
