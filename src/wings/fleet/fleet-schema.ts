// The tables of the PostgreSQL database, each once: in the schema `nocturne` what is told in stores/, work/ and transcripts/,
// in `nocturne_home` those of the home. Rows of a store go with it.
// `work_turn` has one row for each store that ever had work: whose it is, when it was served last, and an instant before
// which nothing of it is due (null: nothing waits), so that stores without work cost nobody a look. Whatever puts work in
// lowers that instant, by a trigger; only `take_work` raises it, which sees all that lowered it before.

import { HOME } from '../../memory/ledger/schema.ts';
import { CHANGE, HOME_SCHEMA, toPostgresTables } from './home/dialect.ts';

const ITS_STORE = 'store text not null references store on delete cascade';
const TEXT = 'text collate "C"';
/** The first row that fits is looked for, by the index that has them in order; the planner would rather gather all that are due. */
const BY_INDEX = 'set search_path from current set enable_seqscan to off set enable_bitmapscan to off';

/**
 * Whether nobody works on an item of `work_inbox`, its store is there to work in, and nothing of that goes first: a dream builds
 * on the extractions.
 * `at`: the SQL of an instant.
 */
export const isOpenAt = (at: string) => `(claimed_until is null or claimed_until < clock_timestamp())
      and exists (select from store where store.id = work_inbox.store and state = 'ready') and (rank < 2 or not exists (
        select from work_inbox source where source.store = work_inbox.store and source.rank < 2 and source.not_before <= ${at}
      ) and not exists (
        select from work_lease where work_lease.store = work_inbox.store and starts_with(work_lease.key, 'session:')
          and owner is not null and until > clock_timestamp()))`;

/**
 * Claims the next item to work. Those who ask at once are served one after another, each by what the one before it left:
 * otherwise they would all find the same turn.
 */
const TAKE_WORK = `
create function take_work(taker text, span_ms float8, at text) returns setof work_inbox language plpgsql ${BY_INDEX} as $$
declare
  turn_tenant text;
  turn_store text;
  item bigint;
  served_now bigint;
  first_at text;
begin
  if not exists (select from work_inbox where not_before <= at) then return; end if;
  perform pg_advisory_xact_lock(hashtext('nocturne work'));
  for turn_tenant in
    with recursive waiting as (
      (select tenant from work_turn where due_from is not null order by tenant limit 1)
      union all
      select (select tenant from work_turn where due_from is not null and tenant > waiting.tenant order by tenant limit 1)
      from waiting where waiting.tenant is not null)
    select waiting.tenant from waiting left join tenant_turn on tenant_turn.tenant = waiting.tenant
    where waiting.tenant is not null order by coalesce(tenant_turn.served, 0), waiting.tenant
  loop
    for turn_store in
      select store from work_turn
      where tenant = turn_tenant and due_from is not null and due_from <= at order by served, store
    loop
      select id into item from work_inbox
      where store = turn_store and not_before <= at and ${isOpenAt('at')}
      order by rank, id limit 1 for update skip locked;
      if found then
        served_now := nextval('work_served');
        update work_turn set served = served_now where store = turn_store;
        insert into tenant_turn values (turn_tenant, served_now)
          on conflict (tenant) do update set served = excluded.served;
        return query update work_inbox
          set claimed_by = taker, claim = served_now, claimed_until = clock_timestamp() + span_ms * interval '1 millisecond'
          where id = item returning *;
        return;
      end if;
      -- Who puts something in holds this row until it is seen.
      perform from work_turn where store = turn_store for update skip locked;
      if found then
        select min(not_before) into first_at from work_inbox where store = turn_store;
        update work_turn set due_from = first_at where store = turn_store and due_from is distinct from first_at;
      end if;
    end loop;
  end loop;
end $$`;

// `lineage` of a store: another after the database was restored, so that no copy is brought on from a revision that is gone.
// `tenant`: whose it is, where several take turns; null: no one tenant's. `forgotten`: how often something was forgotten in it, as
// its ledger counts. `checkin`: the commits that were checked in, which a worker asks whose answer was lost. `member`:
// processes that are alive.
const STORES = `
create table store (id text primary key, name text not null unique, source text unique, source_sum text, state text not null,
  revision int not null, lineage text not null default gen_random_uuid()::text, pages int not null, page_bytes int not null,
  fence int not null default 0, owner text, until timestamptz, created_at timestamptz not null default clock_timestamp(),
  tenant text, forgotten int not null default 0);
create table page (store text not null, number int not null, revision int not null, bytes bytea not null,
  primary key (store, number));
create index page_revision on page (store, revision);
create table file (store text not null, path ${TEXT} not null, revision int not null, bytes bytea not null,
  primary key (store, path));
create index file_revision on file (store, revision);
create table checkin (store text not null, id text not null, revision int not null,
  at timestamptz not null default clock_timestamp(), primary key (store, id));
create table member (id text primary key, seen_at timestamptz not null);
create table topic_use (${ITS_STORE}, memory text not null, shown int not null, shown_at text, used int not null,
  used_at text, primary key (store, memory));
create table recalled (${ITS_STORE}, session ${TEXT} not null, request text not null, text text not null, at ${TEXT} not null,
  primary key (store, session, request));
`;

// `payload` is JSON as it was given: of the types for it one changes it, and both refuse to look into some of it. A store of
// no tenant is of the tenant ''.
const WORK = `
create table work_lease (${ITS_STORE}, key ${TEXT} not null, owner text, fence bigint not null, until timestamptz not null,
  primary key (store, key));
create table work_inbox (id bigserial primary key, ${ITS_STORE}, kind text not null, key ${TEXT} not null,
  payload text not null, not_before ${TEXT} not null, attempts int not null default 0, failure text, since ${TEXT},
  rank smallint not null generated always as (case kind when 'extract' then 0 when 'reprocess' then 1 else 2 end) stored,
  claimed_by text, claimed_until timestamptz, claim bigint, unique (store, kind, key));
create index work_inbox_order on work_inbox (store, rank, id);
create index work_inbox_due on work_inbox (not_before, id);
create table worked (${ITS_STORE}, kind text not null, key ${TEXT} not null, at ${TEXT} not null,
  primary key (store, kind, key));
create table skip (${ITS_STORE}, kind text not null, reason ${TEXT} not null, times int not null, at ${TEXT} not null,
  primary key (store, kind, reason));
create table failure (${ITS_STORE}, kind text not null, key ${TEXT} not null, state text not null, code text not null,
  message text not null, attempts int not null, failures int not null, input text, at ${TEXT} not null,
  payload text not null, primary key (store, kind, key));
create table work_turn (store text primary key references store on delete cascade, tenant ${TEXT} not null,
  served bigint not null default 0, due_from ${TEXT});
create index work_turn_order on work_turn (tenant, served, store) where due_from is not null;
create table tenant_turn (tenant ${TEXT} primary key, served bigint not null);
create sequence work_served;
create function note_due() returns trigger language plpgsql set search_path from current as $$
  begin
    insert into work_turn (store, tenant, due_from)
      select id, coalesce(tenant, ''), new.not_before from store where id = new.store
      on conflict (store) do update
        set due_from = least(work_turn.due_from, excluded.due_from), tenant = excluded.tenant;
    return null;
  end $$;
create trigger work_due after insert or update of not_before on work_inbox
  for each row execute function note_due();
${TAKE_WORK};
`;

// `name` of a transcript: by which what is sent again is known. `pieces`: their sums, in order. `size_bytes`, `modified_at`: of
// the file that was read. `redacted`: sums of ids of messages in which a person redacted something.
const TRANSCRIPTS = `
create table transcript (id text primary key, ${ITS_STORE}, kind text not null,
  name text not null, session text not null, format text not null, state text not null default 'arriving',
  head text not null default '', tail text not null default '', pieces text[] not null default '{}', bytes bigint not null default 0,
  size_bytes bigint not null default 0, modified_at text not null default '', redacted text[] not null default '{}',
  fence int not null default 1, until timestamptz, created_at timestamptz not null default clock_timestamp(),
  sent_at timestamptz not null default clock_timestamp(), unique (store, kind, name));
create index transcript_sent on transcript (sent_at);
create table transcript_piece (transcript text not null references transcript (id) on delete cascade, sha text not null,
  bytes bytea not null, primary key (transcript, sha));
create table alone (name text primary key, owner text not null, until timestamptz not null);
`;

/** Where the tables are, and what is noted of them all. */
export const SCHEMA = 'nocturne';

/** The statements that make all tables, by the schema in which they are. */
export function tablesBySchema(): [schema: string, statements: string][] {
  return [
    [SCHEMA, STORES + WORK + TRANSCRIPTS],
    [HOME_SCHEMA, CHANGE + toPostgresTables(HOME)],
  ];
}
