// Sessions that grow, are rewritten, or are caught in the middle of a write.

import { appendFileSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sessionRow } from '../../../src/memory/ledger/coverage.ts';
import { testApp, testModel } from '../../support/app.ts';
import { type MessagesRequest, says } from '../../support/messages-server.ts';
import { aSession } from '../../support/session-file.ts';

const NOW = '2026-11-21T02:00:00Z';

/** The headers of the messages that a request offers: shortened id and speaker. */
function offeredIn(request: MessagesRequest | undefined): string[] {
  const input = JSON.stringify(request?.messages[0]?.content);
  return [...input.matchAll(/\\n\[([^\]]+)\]/g)]
    .map((match) => match[1] as string)
    .filter((header) => !header.endsWith(' context'));
}

async function nothingEver(settings: object = {}) {
  const model = await testModel(() => says('Nothing.'));
  return { model, ...(await testApp({ server: model, now: NOW, settings })) };
}

/** As long ago as nothing settles, or everything. */
function touch(path: string): void {
  utimesSync(path, new Date(NOW), new Date(NOW));
}

test('what was read before is not read again, only the turn that was last', async () => {
  const { app, store, model } = await nothingEver();
  const session = aSession(['one', 'two']);
  await app.extract({ transcript: session.path, ended: true });
  const point = sessionRow(store.ledger, session.id)?.readPoint;
  const text = readFileSync(session.path, 'utf8');
  expect(text.slice(point?.byte).split('\n')[0]).toContain(session.turn(2));

  // Only what is before the hashed 64 KiB could change unseen; here all of it is hashed, so the change is seen.
  session.add('three');
  const report = await app.extract({ transcript: session.path, ended: true });
  expect(report.coverage).toEqual([{ from: session.turn(2), to: session.turn(3), became: 'nothing' }]);
  expect(offeredIn(model.requests[1])).toEqual([
    expect.stringContaining(`${session.turn(3).slice(0, 8)} human`),
    expect.stringContaining('assistant'),
  ]);
  expect(JSON.stringify(model.requests[1])).toContain('| two');
  expect(JSON.stringify(model.requests[1])).not.toContain('| one');
});

test('a file that was rewritten is read whole, and what was covered stays so', async () => {
  const { app, model } = await nothingEver();
  const session = aSession(['one', 'two']);
  await app.extract({ transcript: session.path, ended: true });
  const [first, ...rest] = readFileSync(session.path, 'utf8').split('\n');
  writeFileSync(
    session.path,
    [{ ...JSON.parse(first as string), slug: 'new' }]
      .map((r) => JSON.stringify(r))
      .concat(rest)
      .join('\n'),
  );
  session.add('three');
  const report = await app.extract({ transcript: session.path, ended: true });
  expect(report.coverage).toEqual([{ from: session.turn(1), to: session.turn(3), became: 'nothing' }]);
  expect(offeredIn(model.requests[1])).toHaveLength(2);
});

test('a half-written last line waits while the session lives, and counts once it has ended', async () => {
  const { app } = await nothingEver();
  const session = aSession(['one']);
  appendFileSync(session.path, '{"type":"user","uuid":"late","sess');
  touch(session.path);
  expect(await app.extract({ transcript: session.path, ended: false })).toMatchObject({ unreadableLines: 0 });
  appendFileSync(
    session.path,
    'ionId":"s","origin":{"kind":"human"},"message":{"role":"user","content":"hi"}}\n{"torn',
  );
  const report = await app.extract({ transcript: session.path, ended: true });
  expect(report).toMatchObject({ unreadableLines: 1, coverage: [{ from: session.turn(1), to: 'late' }] });
});

test('a turn that fails keeps the point of reading before it', async () => {
  const { app, store } = await nothingEver();
  const session = aSession(['one']);
  await app.extract({ transcript: session.path, ended: true });
  const before = sessionRow(store.ledger, session.id)?.readPoint;
  session.add('two');
  session.add('three');
  const failing = await testModel([]);
  const again = await testApp({ server: failing, dir: store.dir, now: NOW });
  expect((await again.app.extract({ transcript: session.path, ended: true })).outcome).toBe('failed');
  expect(sessionRow(store.ledger, session.id)?.readPoint).toEqual(before);
});
