// Servers that misbehave: one that never answers, one that says it is some other Redis, and a line that can be cut.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

async function listenOn(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Below those that the system gives to whoever asks for any: nobody gets one between its choice and its use. */
const FIRST_PORT = 20_000;
const PORTS = 12_000;
let chosen = process.pid * 97;

/** A port on which nothing listens, nor will while its server is away. */
export async function refusedPort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + (chosen++ % PORTS);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** Accepts, reads, and never says a word. */
export async function silentServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.resume().on('error', () => {}));
  });
  return { port: await listenOn(server), close: () => closeAll(server, sockets) };
}

/** A line to a real server, which can fall silent, be cut, and be mended on the same port. */
export async function lineTo(target: { host: string; port: number }) {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const open = () =>
    createServer((near) => {
      const far = connect(target);
      for (const [from, to] of [[near, far] as const, [far, near] as const]) {
        sockets.add(from);
        from.on('error', () => {});
        from.on('close', () => to.destroy());
        from.on('data', (data) => isSilent || to.write(data));
      }
    });
  let server = open();
  const port = await listenOn(server, await refusedPort());
  return {
    port,
    silence: () => {
      isSilent = true;
    },
    cut: () => closeAll(server, sockets),
    mend: async () => {
      isSilent = false;
      server = open();
      await listenOn(server, port);
    },
  };
}

async function closeAll(server: Server, sockets: Set<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  const closed = once(server, 'close');
  server.close();
  await closed;
}
