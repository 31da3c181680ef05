import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSession } from '../../../src/transcript/session.ts';
import { messageLine } from '../../support/message-line.ts';
import { collect, fixtures, lines, messagesOf, transcriptOf } from '../../support/transcripts.ts';

const fixture = join(fixtures, 'pi.jsonl');
const fixtureLines = readFileSync(fixture, 'utf8').trimEnd().split('\n');

const readLines = async (...records: unknown[]): Promise<string[]> => (await messagesOf(...records)).map(messageLine);

describe('a pi session', () => {
  test('is read along the branch that was gone on with, each by the one who said it; the other is marked', async () => {
    const session = await openSession(fixture);
    expect(session).toMatchObject({ format: 'pi', id: '5b8f6a52-2f0e-4b8c-9d55-6a1c7d2e9f10', cwd: '/home/ada/acme' });
    const messages = await collect(session.messages());
    expect(messages.map(messageLine)).toMatchInlineSnapshot(`
      [
        "> | a0000003@2026-11-02T09:00:10.000Z | human | No: tabs, please. | [image/png, 1 kB]",
        "  | a0000004@2026-11-02T09:00:20.000Z | assistant | Tabs it is. | call call_1 write {"path":"notes/style.md","content":"tabs"}",
        "  | a0000005@2026-11-02T09:00:21.000Z | tool | error call_1 EACCES: permission denied",
        "x | a0000006@2026-11-02T09:01:00.000Z | harness | Try approach A.",
        "x | a0000007@2026-11-02T09:01:10.000Z | harness | A does not work.",
        "  | a0000008@2026-11-02T09:02:00.000Z | harness | Approach A was tried.",
        "> | a0000009@2026-11-02T09:02:10.000Z | human | Try approach B.",
        "  | a0000010@2026-11-02T09:02:20.000Z/typed | human | ! ls -la",
        "  | a0000010@2026-11-02T09:02:20.000Z | harness | $ ls -la
      total 48",
        "  | a0000011@2026-11-02T09:02:21.000Z | harness | Three tasks are open.",
        "  | a0000013@2026-11-02T09:03:00.000Z | harness | The user wants tabs.",
        "> | a0000014@2026-11-02T09:03:10.000Z | human | version 2",
        "  | a0000015@2026-11-02T09:03:20.000Z | assistant | Tagged.",
      ]
    `);
    expect(messages[0]).toMatchObject({ at: '2026-11-02T09:00:10.000Z', cwd: '/home/ada/acme' });
    expect(session.unreadableLines).toBe(0);
  });

  test('that went back to its beginning marks all before as abandoned', async () => {
    const again = { type: 'message', id: 'b1', parentId: null, message: { role: 'user', content: 'From scratch.' } };
    const all = await readLines(...fixtureLines, again);
    const messages = all.filter((line) => !line.startsWith('x'));
    expect(messages).toHaveLength(1);
    expect(all.length).toBeGreaterThan(10);
    expect(messages[0]).toContain('human | From scratch.');
  });

  test('goes on behind a parent whose line is damaged', async () => {
    const torn = fixtureLines.with(9, fixtureLines[9]?.slice(0, 80) ?? '');
    const session = await openSession(transcriptOf(lines(...torn)));
    const messages = (await collect(session.messages())).map(messageLine).filter((line) => !line.startsWith('x'));
    expect(messages.some((message) => message.includes('No: tabs, please.'))).toBe(true);
    expect(messages.some((message) => message.includes('approach A'))).toBe(false);
    expect(session.unreadableLines).toBe(1);
  });

  test('keeps the ids of what was said in a copy of the branch', async () => {
    const header = { type: 'session', version: 3, id: 'copy', cwd: '/home/ada/acme', parentSession: fixture };
    const copy = await readLines(header, ...fixtureLines.slice(1, 6));
    expect(copy).toEqual((await readLines(...fixtureLines)).slice(0, copy.length));
  });

  test('of version 1, without ids, keeps its ids as it grows and in a session branched from it', async () => {
    const header = { type: 'session', id: 's1', timestamp: '2025-12-08T22:41:00.000Z', cwd: '/p', modelId: 'm' };
    const said = ['one', 'two', 'two'].map((content) => ({ type: 'message', message: { role: 'user', content } }));
    const first = await readLines(header, ...said.slice(0, 2));
    const branched = await readLines({ ...header, id: 's2', branchedFrom: '/p/s1.jsonl' }, ...said);
    expect(branched.slice(0, 2)).toEqual(first);
    expect(new Set(branched).size).toBe(3);
  });

  test('has no human where pi alone filled the prompt', async () => {
    const header = { type: 'session', id: 's1', cwd: '/p' };
    const content = '<skill name="a" location="/a">\nDo </skill> it.\n</skill>';
    const [message] = await readLines(header, { type: 'message', message: { role: 'user', content } });
    expect(message).toContain('harness | <skill');
  });
});
