// A way to the database that a test can cut: before what was sent reaches it, or before the answer comes back.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Ends what is asked: it may come in several parts. */
const SYNC = Buffer.from('S\0\0\0\u0004');

export interface Line {
  url: string;
  /**
   * From the next bytes on: `request`: they are lost; `answer`: they arrive, and what answers them is lost, when it comes or
   * once `before` has resolved. Then it is whole again.
   */
  cutAt(what: 'request' | 'answer', before?: () => Promise<unknown>): void;
  /** Resolves when it was cut. */
  cut: Promise<void>;
  /** Nobody can connect any more. */
  close(): void;
}

export async function lineTo(url: string, port = 0): Promise<Line> {
  const to = new URL(url);
  const sockets = new Set<Socket>();
  const { promise: cut, resolve } = Promise.withResolvers<void>();
  let next: 'request' | 'answer' | null = null;
  let before: (() => Promise<unknown>) | undefined;
  const cutNow = () => {
    next = null;
    for (const socket of sockets) socket.destroy();
    resolve();
  };
  const server = createServer((client) => {
    const database = connect(Number(to.port || 5432), to.hostname);
    let isLost = false;
    client.on('data', (bytes) => {
      if (next === 'request') return cutNow();
      database.write(bytes);
      // The client is told nothing more; what it sent is on its way.
      if (next === 'answer' && bytes.subarray(-SYNC.length).equals(SYNC)) {
        next = null;
        const cutAnswer = () => {
          sockets.delete(database);
          database.end();
          cutNow();
        };
        isLost = true;
        const answered = before?.() ?? once(database, 'data');
        void answered.then(cutAnswer, cutAnswer);
      }
    });
    database.on('data', (bytes) => isLost || client.write(bytes));
    for (const [one, other] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        if (one === database || sockets.has(other)) other.destroy();
      });
    }
  });
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  const via = new URL(url);
  via.hostname = '127.0.0.1';
  via.port = String((server.address() as { port: number }).port);
  return {
    url: via.href,
    cutAt(what, when) {
      next = what;
      before = when;
    },
    cut,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
