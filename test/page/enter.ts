// A visit without a browser: the cookie as a browser gets it, and the token of its forms.

import type { Served } from '../server/served.ts';
import { ticketTo } from './beside-page.ts';

export const OURS = { 'sec-fetch-site': 'same-origin' };

export async function enter({ app, url }: Pick<Served, 'app' | 'url'>) {
  const ticket = await ticketTo({ app });
  /** Tries to enter with a ticket. */
  const post = (given: string) =>
    fetch(`${url}/enter`, {
      method: 'POST',
      redirect: 'manual',
      headers: { ...OURS, origin: url },
      body: new URLSearchParams({ ticket: given }),
    });
  const setCookie = (await post(ticket)).headers.get('set-cookie') ?? '';
  const cookie = setCookie.split(';')[0] as string;
  const read = async (path: string) => (await fetch(`${url}${path}`, { headers: { ...OURS, cookie } })).text();
  const page = await read('/');
  // There is always a form for settings.
  const token = /name="token" value="([^"]+)"/.exec(await read('/cost'))?.[1] ?? '';
  return { cookie, token, page, ticket, post, setCookie };
}
