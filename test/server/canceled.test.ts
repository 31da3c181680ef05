// A dream of several requests that is canceled between them: nothing of it stands.

import { ConflictError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { testModel } from '../support/app.ts';
import type { MessagesRequest } from '../support/messages-server.ts';
import { entriesShown, messagesBy, obey, shown } from '../support/obedient.ts';
import { entry } from '../support/recorder.ts';
import { all, asking, send, served, texts, work } from './served.ts';

const FACTS = Array.from({ length: 8 }, (_, at) => `The service number ${at + 1} listens on port ${4_001 + at}.`);
const isDreaming = ({ tools }: MessagesRequest) => tools.some(({ name }) => name === 'propose_operations');

/** A server, a session, and a model that is `asked` a dream's second request and answers once that is `ended`. */
async function withDreamHeld() {
  const [asked, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const reply = obey({
    record: (request) =>
      messagesBy(request, 'human').map((message) => {
        const said = shown(request, 'excerpt').split(`[${message} human`)[1] ?? '';
        const quote = /The service number .*\./.exec(said)?.[0] as string;
        return entry({ type: 'project', text: quote, evidence: [{ message, quote }] });
      }),
    propose: (request) =>
      entriesShown(request).map(({ id, text }) => ({
        ...{ kind: 'put', topic: 'services', type: 'project', description: 'Services', reason: 'New.' },
        in: [{ text, entries: [id] }],
      })),
  });
  let requests = 0;
  const model = await testModel(async (request) => {
    if (isDreaming(request) && request.messages.length === 1) {
      requests += 1;
      if (requests === 2) {
        asked.resolve();
        await ended.promise;
      }
    }
    return reply(request);
  });
  // Entries of a few hundred tokens: several requests a dream.
  const at = await served({ app: { server: model, settings: { excerptTokens: 500 } } });
  const { sdk, key } = await at.client();
  const { id: store } = await sdk.beta.memoryStores.create({ name: 'notes' });
  const talk = FACTS.flatMap((content) => [
    { role: 'user', content },
    { role: 'assistant', content: 'Noted.' },
  ]);
  const session = (await send(at, { key }, store, talk)).body.id;
  return {
    ...{ ...at, asked, ended, sdk, store, texts: () => texts({ sdk }, store), requests: () => requests },
    dream: () =>
      sdk.beta.dreams.create(
        asking(store, [session], {
          ...{ model: 'test-model', output_behavior: { type: 'update_existing', memory_store_id: store } },
        }),
      ),
    versions: async () => (await all(sdk.beta.memoryStores.memoryVersions.list(store))).map((each) => each.id),
    work: () => work(at),
  };
}

test('a dream that is canceled between two of its requests leaves no line of it, and what was extracted can be dreamed over', async () => {
  const { asked, ended, ...at } = await withDreamHeld();
  const own = await at.sdk.beta.memoryStores.memories.create(at.store, { path: '/own/note.md', content: 'Mine.\n' });
  const { id } = await at.dream();
  const working = at.work();
  await asked.promise;
  expect((await at.texts()).get('/services.md')).toContain(FACTS[0]);
  const [version] = await all(at.sdk.beta.memoryStores.memoryVersions.list(at.store, { limit: 1 }));
  expect(version?.created_by).toEqual({ type: 'session_actor', session_id: id.replace('drm_', 'sesn_') });

  const running = await at.sdk.beta.dreams.retrieve(id);
  expect(running).toMatchObject({ status: 'running', outputs: [{ memory_store_id: at.store }] });
  expect(running.usage.input_tokens).toBeGreaterThan(0);
  expect((await at.sdk.beta.dreams.cancel(id)).status).toBe('canceled');
  const [versions, texts] = [await at.versions(), await at.texts()];
  expect([...texts.keys()].toSorted()).toEqual(['/logs/2026/11/2026-11-21.md', own.path]);
  for (const fact of FACTS) expect(texts.get('/logs/2026/11/2026-11-21.md')).toContain(fact);
  ended.resolve();
  await working;
  await at.work();
  expect([await at.versions(), await at.texts()]).toEqual([versions, texts]);

  const again = await at.dream();
  await at.work();
  expect((await at.sdk.beta.dreams.retrieve(again.id)).status).toBe('completed');
  expect((await at.sdk.beta.dreams.retrieve(id)).status).toBe('canceled');
  const services = (await at.texts()).get('/services.md') ?? '';
  for (const fact of FACTS) expect(services.split(fact).length - 1).toBe(1);
  expect((await at.texts()).get('/own/note.md')).toBe('Mine.\n');
});

test('where the server ends before it could take a canceled dream back, the worker does, and only then is the store free', async () => {
  const { asked, ended, ...at } = await withDreamHeld();
  const { id } = await at.dream();
  const working = at.work();
  await asked.promise;
  // As far as a server comes that is killed in the middle of it.
  await at.stores.beginCancel(id);
  expect([...(await at.texts()).keys()]).toContain('/services.md');
  const held = await at.dream().catch((error) => error);
  expect([held instanceof ConflictError, held.error.error.type]).toEqual([true, 'conflict_error']);
  expect(held.message).toContain(id);
  ended.resolve();
  await working;
  await at.work();
  expect([...(await at.texts()).keys()]).toEqual(['/logs/2026/11/2026-11-21.md']);
  expect((await at.dream()).status).toBe('pending');
});
