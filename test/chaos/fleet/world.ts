// What clients do in a fleet's chaos run: stores of two tenants, sessions in which every turn names a station that nobody else
// names, some of which go on later, and dreams. Each thing is asked for until it is answered, of whichever server.

import { setTimeout as after } from 'node:timers/promises';
import type { Random } from '../../support/random.ts';
import type { Answer, Client } from './client.ts';

export interface ChaosStore {
  id: string;
  nth: number;
  client: Client;
  sessions: ChaosSession[];
  dream?: { id: string; marks: string[] };
}

export interface ChaosSession {
  id: string;
  turns: number;
}

export type World = Awaited<ReturnType<typeof makeWorld>>;

const AT_ONCE = 6;

export async function makeWorld(clients: Client[], { stores: count, random }: { stores: number; random: Random }) {
  /** What clients were answered that they should not have been. */
  const refused: string[] = [];
  const stores: ChaosStore[] = [];
  let sent = 0;
  const expected = (what: string, { status, body }: Answer, statuses = [200]) => {
    if (!statuses.includes(status)) refused.push(`${what}: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  const markOf = (store: ChaosStore, session: ChaosSession, turn: number) =>
    `station ${store.nth}-${store.sessions.indexOf(session)}-${turn} is heron`;
  const turn = (store: ChaosStore, session: ChaosSession) => {
    session.turns += 1;
    return [
      { role: 'user', content: `Please remember: the code word of ${markOf(store, session, session.turns)}.` },
      { role: 'assistant', content: 'Noted.' },
    ];
  };
  const extract = async (store: ChaosStore, session: ChaosSession) => {
    const path = `/nocturne/v1/sessions/${session.id}/extract?memory_store_id=${store.id}`;
    expected('extract', await store.client.ask('POST', path));
  };
  const send = async (store: ChaosStore) => {
    const session: ChaosSession = { id: `sesn_${store.nth}_${store.sessions.length}`, turns: 0 };
    store.sessions.push(session);
    const messages = Array.from({ length: 1 + random.below(2) }, () => turn(store, session)).flat();
    const path = `/nocturne/v1/sessions?memory_store_id=${store.id}&id=${session.id}`;
    expected('session', await store.client.ask('POST', path, messages));
    await extract(store, session);
    return session;
  };
  const grow = async (store: ChaosStore, session: ChaosSession) => {
    const path = `/nocturne/v1/sessions/${session.id}?memory_store_id=${store.id}&after=${2 * session.turns}`;
    expected('more of a session', await store.client.ask('PATCH', path, turn(store, session)));
    await extract(store, session);
  };

  await atOnce(count, async (nth) => {
    const client = clients[nth % clients.length] as Client;
    const { id } = expected('store', await client.ask('POST', '/v1/memory_stores', { name: `store-${nth}` }));
    stores[nth] = { id, nth, client, sessions: [] };
  });
  /** The stations of a store, as its sessions name them. */
  const marks = (store: ChaosStore) =>
    store.sessions.flatMap((session) =>
      Array.from({ length: session.turns }, (_, at) => markOf(store, session, at + 1)),
    );
  return {
    stores,
    refused,
    marks,
    /** So many at once ask. */
    async send(sessions: number, { growth = 4 } = {}) {
      await atOnce(sessions, async () => {
        // Each store in its turn, then by chance.
        const store = (stores[sent] ?? random.pick(stores)) as ChaosStore;
        sent += 1;
        const session = await send(store);
        if (growth > 0 && random.below(growth) === 0) {
          await after(random.below(300));
          await grow(store, session);
        }
      });
    },
    /** For so many stores, of what was sent until now. */
    async dream(count: number) {
      const some = stores.filter(({ sessions, dream }) => sessions.length > 0 && !dream).slice(0, count);
      await atOnce(some.length, async (nth) => {
        const store = some[nth] as ChaosStore;
        const known = marks(store);
        const inputs = [
          { type: 'memory_store', memory_store_id: store.id },
          { type: 'sessions', session_ids: store.sessions.slice(0, 100).map(({ id }) => id) },
        ];
        const asked = {
          ...{ inputs, model: MODEL },
          output_behavior: { type: 'update_existing', memory_store_id: store.id },
        };
        const answer = await store.client.ask('POST', '/v1/dreams', asked);
        // One whose answer was lost stands in its way: only one dream at a time may write to a store.
        const id = answer.status === 409 ? await dreamOf(store) : expected('dream', answer).id;
        if (id) store.dream = { id, marks: known };
        else refused.push(`dream: ${JSON.stringify(answer.body)}, and there is none`);
      });
    },
  };

  async function dreamOf(store: ChaosStore): Promise<string | undefined> {
    const { body } = await store.client.ask('GET', '/v1/dreams?limit=100');
    const isIt = ({ inputs }: { inputs: { memory_store_id?: string }[] }) =>
      inputs.some(({ memory_store_id: id }) => id === store.id);
    return body.data.find(isIt)?.id;
  }
}

export const MODEL = 'claude-haiku-4-5';

async function atOnce(count: number, work: (nth: number) => Promise<void>): Promise<void> {
  let next = 0;
  const one = async () => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}
