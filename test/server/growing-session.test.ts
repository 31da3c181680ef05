// A session that grows by what its client appends: one session to whoever asks, whatever came when.

import { expect, test } from 'vitest';
import { all, ask, served, texts, work } from './served.ts';

const said = (...contents: string[]) =>
  JSON.stringify(
    contents.flatMap((content) => [
      { role: 'user', content },
      { role: 'assistant', content: 'Noted.' },
    ]),
  );

test('what is appended names the messages there are, the same again adds nothing, and all of it is one session to its client', async () => {
  const at = await served();
  const { sdk, key } = await at.client();
  const { memoryStores } = sdk.beta;
  const { id: store } = await memoryStores.create({ name: 'notes' });
  const path = '/nocturne/v1/sessions/sesn_long';
  const extract = async () => {
    expect((await ask(at, key, `${path}/extract`, { method: 'POST' })).status).toBe(200);
    await work(at);
    return [...(await texts({ sdk }, store)).values()].join('');
  };
  const facts = ['We ship on Fridays.', 'The shop listens on port 8443.', 'Backups are kept for thirty days.'];
  const first = await ask(at, key, `/nocturne/v1/sessions?memory_store_id=${store}&id=sesn_long`, {
    ...{ method: 'POST', body: said(`Please remember: ${facts[0]}`) },
  });
  expect(first.body).toMatchObject({ id: 'sesn_long', messages: 2 });
  await extract();
  for (const [at2, fact] of facts.slice(1).entries()) {
    const after = 2 + 2 * at2;
    const append = () =>
      ask(at, key, `${path}?after=${after}`, { method: 'PATCH', body: said(`Please remember: ${fact}`) });
    for (let times = 0; times < 2; times += 1)
      expect(await append()).toMatchObject({ status: 200, body: { id: 'sesn_long', messages: after + 2 } });
    // What stands there is another's by now; the answer names how many there are.
    const late = await ask(at, key, `${path}?after=${after}`, { method: 'PATCH', body: said('Something else.') });
    expect([late.status, late.body.error.message]).toEqual([409, expect.stringContaining(`has ${after + 2} messages`)]);
    await extract();
  }
  const log = await extract();
  for (const fact of facts) expect(log.split(`**project** ${fact}`).length - 1).toBe(1);
  expect(new Set(log.match(/(?<= s=)\S+/g))).toEqual(new Set(['sesn_long']));
  const versions = await all(memoryStores.memoryVersions.list(store, { session_id: 'sesn_long' }));
  expect(versions).toHaveLength(facts.length);
  expect((await all(memoryStores.memoryVersions.list(store))).map(({ created_by: by }) => by)).toEqual(
    versions.map(() => ({ type: 'session_actor', session_id: 'sesn_long' })),
  );
  const { body } = await ask(at, key, path);
  expect(body).toMatchObject({ id: 'sesn_long', memory_store_id: store, messages: 6 });
});
