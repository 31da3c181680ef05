// nocturne serve as people call it: where it listens, who may come in, and what is refused before anything is opened.

import { AppError } from '../base/errors.ts';
import { readTextNow } from '../base/files/files.ts';
import type { CommandSpec } from './spec.ts';

export interface ServeOptions {
  host: string;
  port: number;
  socket?: string;
  projects?: boolean;
  tlsCert?: string;
  tlsKey?: string;
  behindProxy?: boolean;
  url: string[];
  cors: string[];
  creates: number;
  reads: number;
  worker: boolean;
  json?: boolean;
}

/** How numbers are read. */
type Numbers = Record<'portOf' | 'wholeNumber', (text: string) => number>;

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

/** What the command is, but for what it runs. */
export const serveSpec = ({ portOf, wholeNumber }: Numbers): Omit<CommandSpec<ServeOptions>, 'run'> => ({
  name: 'serve',
  about: 'memory stores over HTTP, as the official SDK speaks them',
  group: 'Under the hood',
  options: [
    ['--host <name>', 'where to listen', { default: '127.0.0.1' }],
    ['--port <number>', 'port; 0: a free one', { parse: portOf, default: 4114 }],
    ['--socket <path>', 'listen on a socket of the file system, for this user alone', { conflicts: ['port', 'host'] }],
    ['--projects', 'the memories of projects, too, to keys that name no stores'],
    ['--tls-cert <file>', 'certificate, PEM'],
    ['--tls-key <file>', 'its key, PEM'],
    ['--behind-proxy', 'something before it speaks TLS; allows another --host'],
    ['--url <url...>', 'an address under which clients reach it', { default: [] }],
    ['--cors <origin...>', 'an origin whose pages may ask', { default: [] }],
    [
      '--creates <number>',
      'changes that a key may ask for in a minute; 0: no limit',
      { parse: wholeNumber, default: 300 },
    ],
    [
      '--reads <number>',
      'reads that a key may ask for in a minute; 0: no limit',
      { parse: wholeNumber, default: 1_200 },
    ],
    ['--no-worker', 'start no worker; dreams wait until there is one'],
  ],
  json: '{ url, key? }',
  more: 'On a terminal it makes a key that ends with it, where there is none. It starts a worker, which outlives it, unless one of this home is alive.',
  examples: ['serve', 'serve --socket ~/.nocturne/serve.sock'],
});

/** What others can reach must not be read on its way. */
export function refuseInTheClear({ host, tlsCert, tlsKey, behindProxy, socket }: ServeOptions): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new AppError('bad-input', '--tls-cert and --tls-key belong together.');
  }
  if (socket !== undefined || LOOPBACK.includes(host) || tlsCert !== undefined || behindProxy) return;
  throw new AppError('bad-input', `--host ${host} would carry keys and memories in the clear.`, {
    remedy: 'Give --tls-cert and --tls-key, or --behind-proxy where something before it speaks TLS.',
  });
}

export function tlsOf({ tlsCert, tlsKey }: ServeOptions): { cert: string; key: string } | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const [cert, key] = [readTextNow(tlsCert), readTextNow(tlsKey)];
  if (cert !== null && key !== null) return { cert, key };
  throw new AppError('bad-input', `There is no file ${cert === null ? tlsCert : tlsKey}.`);
}
