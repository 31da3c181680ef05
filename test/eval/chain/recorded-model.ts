// The model's API on loopback: answers in the order in which a file holds them, step by step, and asks the real one beyond
// and keeps what it says. Waits as long as that one takes.

import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text as bodyOf } from 'node:stream/consumers';

export const NO_ANSWER = 'No answer is recorded';

export interface Answered {
  step: string;
  /** SHA-256 of the request: whether the code asks now what was asked then. */
  asked: string;
  type: string;
  body: string;
}

export function answersIn(path: string): Answered[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.flatMap((line) => (line === '' ? [] : JSON.parse(line)));
}

export async function recordedModel(path: string, behind: string | undefined) {
  // A play that asks nothing has answers, too: none.
  appendFileSync(path, '');
  const kept = answersIn(path);
  let [step, given, all, others, waited] = ['', 0, 0, 0, 0];
  const server = createServer(async (request, response): Promise<unknown> => {
    const body = await bodyOf(request);
    const { url = '/', method = 'POST', headers } = request;
    const asked = createHash('sha256').update(body).digest('hex');
    let answer = url.includes('count_tokens') ? undefined : kept.filter((each) => each.step === step)[given];
    if (answer && answer.asked !== asked) others += 1;
    if (!answer) {
      if (behind === undefined) return response.writeHead(400).end(`${NO_ANSWER}, and ANTHROPIC_BASE_URL is not set.`);
      const since = performance.now();
      const got = await passOn(new URL(url, behind), { method, headers, body }).catch((error: Error) => error);
      waited += performance.now() - since;
      if (got instanceof Error) return response.writeHead(502).end(got.message);
      answer = { step, asked, type: got.type, body: got.body };
      if (got.status !== 200 || url.includes('count_tokens'))
        return response.writeHead(got.status, { 'content-type': got.type }).end(got.body);
      kept.push(answer);
      appendFileSync(path, `${JSON.stringify(answer)}\n`);
    }
    given += 1;
    all += 1;
    return response.writeHead(200, { 'content-type': answer.type }).end(answer.body);
  }).listen(0, '127.0.0.1');
  await new Promise((listening) => server.on('listening', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begin(name: string) {
      [step, given, waited] = [name, 0, 0];
    },
    /** How long the real model took since the step began. */
    waitedSeconds: () => waited / 1_000,
    /** How many requests were answered, and how many of them were others than those whose answers they got. */
    counts: () => ({ asked: all, others }),
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

interface Sent {
  method: string;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}

/** Not by `fetch`, which gives up after five minutes: a reader may take longer. */
export function passOn(
  url: URL,
  { method, headers, body }: Sent,
): Promise<{ status: number; type: string; body: string }> {
  const { host: _, connection: __, 'accept-encoding': ___, ...passed } = headers;
  const send = url.protocol === 'https:' ? overHttps : overHttp;
  return new Promise((resolve, reject) => {
    const sent = send(url, { method, headers: passed }, async (got) => {
      const type = got.headers['content-type'] ?? '';
      resolve({ status: got.statusCode ?? 502, type, body: await bodyOf(got) });
    });
    sent.on('error', reject).end(body);
  });
}
