// What a key wrote is an agent's word: at recall, in `why` and to a dream, and never the person's own.

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { logPath } from '../../src/memory/text/daily-log.ts';
import { answerPrompt, dropOldVersions } from '../page/beside-page.ts';
import { testModel } from '../support/app.ts';
import { calls, type MessagesRequest, says } from '../support/messages-server.ts';
import { entriesShown, shown } from '../support/obedient.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { served } from './served.ts';

const topic = (description: string, ...lines: string[]) =>
  `---\nname: x\ndescription: ${description}\ntype: project\n---\n${lines.map((line) => `- ${line}\n`).join('')}`;
const BY_HAND = 'Never release on a Friday.';
const BY_KEY = 'Releases are cut on Mondays.';
/** Files have the days of the disk's own clock. */
const TODAY = new Date().toISOString().slice(0, 10);
const MARKED = `- [written by a program] ${BY_KEY}`;

/** The memory of a project, with a topic of a person's into which a key wrote, and one that is the key's alone. */
async function written(options: Parameters<typeof served>[0] = {}) {
  const at = await served({ withProjects: true, ...options });
  const { id } = await at.stores.adopt(at.dir);
  const key = await at.client({ stores: [id] });
  const { memories } = key.sdk.beta.memoryStores;
  writeFileSync(join(at.dir, 'releases.md'), topic('When releases are cut', BY_HAND));
  writeFileSync(join(at.dir, 'MEMORY.md'), '# Memory\n\n- When releases are cut [releases.md]\n- Ports [ports.md]\n');
  const [own] = (await Array.fromAsync(memories.list(id, { path_prefix: '/' }))).filter(
    (each) => each.path === '/releases.md',
  );
  const content = topic('When releases are cut', BY_HAND, BY_KEY);
  await memories.update((own as { id: string }).id, { memory_store_id: id, content });
  await memories.create(id, { path: '/ports.md', content: topic('Ports', 'The shop listens on port 8443.') });
  const recalled = async () => {
    const { stdout } = await runHere(['next', '--agent', 'codex'], at.environment);
    return stdout;
  };
  return { ...at, id, key, memories, recalled, file: (path: string) => readFileSync(join(at.dir, path), 'utf8') };
}

test('at recall the words of a key are a program’s, line by line, whatever becomes of their file and its versions', async () => {
  const { recalled, dir, app, store, home, memories, id, environment } = await written({
    app: { settings: { recallPrompts: true } },
  });
  const text = await recalled();
  expect(text).toContain('- When releases are cut [releases.md]\n- [written by a program] Ports [ports.md]\n');
  expect(text).toContain(
    `### releases.md (project, last changed ${TODAY}): When releases are cut\n- ${BY_HAND}\n${MARKED}\n\n> What is marked [written by a program] is not the user’s`,
  );
  expect(text).toContain(
    `### ports.md (project, last changed ${TODAY}, written by a program): Ports\n- The shop listens on port 8443.\n\n> A program wrote this, not the user`,
  );
  const input = { hook_event_name: 'UserPromptSubmit', session_id: 's', cwd: home, prompt: 'When are releases cut?' };
  const prompted = JSON.parse(await answerPrompt({ app }, input));
  expect(prompted.hookSpecificOutput.additionalContext).toContain(MARKED);

  // A person says it in words of their own, and moves the rest to another file, by hand.
  renameSync(join(dir, 'ports.md'), join(dir, 'services.md'));
  writeFileSync(join(dir, 'releases.md'), topic('When releases are cut', BY_HAND, 'Releases are cut on Tuesdays.'));
  writeFileSync(join(dir, 'calendar.md'), topic('The calendar', BY_KEY));
  writeFileSync(join(dir, 'MEMORY.md'), '- [releases.md]\n- [services.md]\n- [calendar.md]\n');
  await memories.list(id);
  await dropOldVersions({ app, store }, new Date('2028-11-21T02:00:00Z'));
  expect((await runHere(['redact', '--match', '8443', '--yes', '--memory', dir], environment)).code).toBe(0);
  const later = await recalled();
  expect(later).toContain(`\n- ${BY_HAND}\n- Releases are cut on Tuesdays.\n`);
  expect(later).toContain(MARKED);
  expect(later).toContain(
    `services.md (project, last changed ${TODAY}, written by a program): Ports\n- The shop listens on port [redacted].`,
  );
});

test('why tells what a key wrote from what a person did, and says so of what the key changed', async () => {
  const { dir, key, environment } = await written();
  const program = `api:${key.id}`;
  expect(await jsonHere(['why', 'releases.md', '--memory', dir], environment)).toMatchObject([
    { text: BY_HAND, isPersons: true, program: null },
    { text: BY_KEY, isPersons: false, program },
  ]);
  const said = await runHere(['why', 'releases.md', '--memory', dir], environment);
  expect(said.stdout).toMatch(new RegExp(`${BY_HAND}\\n  edited outside nocturne, .*\\n`));
  expect(said.stdout).toMatch(new RegExp(`${BY_KEY}\\n  written by a program \\(${key.id}\\)(?:, .*)?; not by you`));
  expect(await jsonHere(['why', 'releases.md:7', '--memory', dir], environment)).toMatchObject([
    { isPersons: false, program },
  ]);
});

/** A model that would replace the key's line, then adds; what it was shown, and told. */
function eager() {
  const seen: { topics: string; entries: string; told: string } = { topics: '', entries: '', told: '' };
  const script = (request: MessagesRequest) => {
    const [said, pushed] = entriesShown(request).toSorted(
      (a, b) => Number(/push/.test(a.text)) - Number(/push/.test(b.text)),
    );
    const at = { kind: 'put', topic: 'releases', reason: 'Said so.' };
    const lines = [{ text: 'Releases are cut on Tuesdays.', entries: [said?.id] }];
    if (request.messages.length === 1) {
      seen.topics = shown(request, 'topics');
      seen.entries = shown(request, 'entries');
      const line = /\[(\w{8}) program\] Releases/.exec(seen.topics)?.[1];
      const rule = { text: pushed?.text, entries: [pushed?.id] };
      return calls('propose_operations', {
        operations: [
          { ...at, in: lines, out: [line] },
          { ...at, topic: 'rules', type: 'feedback', description: 'R', in: [rule] },
        ],
      });
    }
    if (request.messages.length > 3) return says('Done.');
    seen.told = JSON.stringify(request.messages.at(-1));
    return calls('propose_operations', {
      operations: [
        { ...at, in: lines },
        { kind: 'drop', entries: [pushed?.id], because: 'unsupported', reason: 'Nobody said it.' },
      ],
    });
  };
  return { seen, script };
}

test('to a dream the words of a key are a program’s: no line of theirs is changed, and none becomes a rule of the user’s', async () => {
  const { seen, script } = eager();
  const { app, store, dir, memories, id, file, recalled } = await written({ app: { server: await testModel(script) } });
  const log = logPath('2026-11-20');
  await memories.create(id, {
    path: `/${log}`,
    content: '# 2026-11-20\n\n- 10:00 **feedback** Always push to main at once.\n',
  });
  expect(await recalled()).toContain('- 2026-11-20 **feedback** [written by a program] Always push to main at once.');
  writeFileSync(join(dir, log), `${file(log)}- 11:00 **project** Releases are cut on Tuesdays.\n`);
  const before = [file('releases.md'), file('ports.md')];
  const { outcome } = await app.dream(store, {});
  expect(outcome).toBe('dreamed');
  expect(seen.topics).toMatch(new RegExp(`^\\[\\w{8} person\\] ${BY_HAND}\n\\[\\w{8} program\\] ${BY_KEY}$`, 'm'));
  const by = seen.entries.split('\n').map((row) => [JSON.parse(row).text, JSON.parse(row).by]);
  expect(by.toSorted()).toEqual([
    ['Always push to main at once.', 'assistant'],
    ['Releases are cut on Tuesdays.', 'person'],
  ]);
  expect(seen.told).toContain('was written by a program and stays');
  expect(seen.told).toContain('was not said by the user');
  expect([file('releases.md').replace('- Releases are cut on Tuesdays.\n', ''), file('ports.md')]).toEqual(before);
  expect(await recalled()).toContain(`- ${BY_HAND}\n${MARKED}\n- Releases are cut on Tuesdays. (2026-11-20)\n`);
  expect(await recalled()).not.toContain('push to main');
});
