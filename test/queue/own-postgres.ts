// A database of a test's own on the Postgres server, in which things befall those who are connected to it. Loads no test
// runner: the chaos run has none.

import pg from 'pg';

export const POSTGRES = process.env.DATABASE_URL ?? 'postgres://root:postgres@127.0.0.1:5432/test';

/** Makes an empty database; `close` drops it. */
export async function ownPostgres() {
  const name = `nocturne_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const admin = new pg.Client(POSTGRES);
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(POSTGRES);
  url.pathname = `/${name}`;

  /** Rows of a question to the database, by a connection of its own. */
  async function ask(question: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(url.href);
    await client.connect();
    try {
      return (await client.query(question)).rows;
    } finally {
      await client.end();
    }
  }

  return {
    url: url.href,
    ask,
    /** Ends all connections, as a server that restarts does; answers how many there were. */
    async terminate(): Promise<number> {
      const { rowCount } = await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
      );
      return rowCount ?? 0;
    },
    /** Lets nobody in, or everybody again, as a server does that is away for a while. */
    async admit(isOpen: boolean): Promise<void> {
      await admin.query(`alter database ${name} allow_connections ${isOpen}`);
    },
    /** Drops the queue's schema under whoever uses it; whoever does so by hand tries again after a deadlock, too. */
    async dropSchema(): Promise<void> {
      for (let attempt = 1; ; attempt++) {
        try {
          await ask('drop schema bullmq cascade');
          return;
        } catch (error) {
          const isDeadlock = error instanceof pg.DatabaseError && error.code === '40P01';
          if (!isDeadlock || attempt === 5) throw error;
        }
      }
    },
    /** Empties all tables of the queue, as somebody does who wants to begin anew. */
    async truncateAll(): Promise<void> {
      const tables = await ask("select tablename from pg_tables where schemaname = 'bullmq'");
      await ask(`truncate ${tables.map(({ tablename }) => `bullmq.${tablename}`).join(', ')} cascade`);
    },
    async close(): Promise<void> {
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}
