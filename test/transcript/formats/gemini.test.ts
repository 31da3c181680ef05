import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/transcript/messages.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { brief } from '../../support/brief.ts';
import { tempDir } from '../../support/temp.ts';
import { collect, fixtures, lines, messagesAt, transcriptOf } from '../../support/transcripts.ts';

const fixture = join(fixtures, 'gemini.jsonl');
const legacy = join(fixtures, 'gemini-legacy.json');

const metadata = { sessionId: '7c1f0a3e-0000', projectHash: 'ab12', kind: 'main' };
const said = (id: string, type: string, text: string, more: object = {}): object => ({
  id,
  type,
  content: [{ text }],
  ...more,
});

async function read(...records: unknown[]): Promise<Message[]> {
  return messagesAt(transcriptOf(lines(metadata, ...records)));
}

describe('a session of Gemini CLI', () => {
  test('is folded into what was said, each by the one who said it', async () => {
    const session = await openSession(fixture);
    expect((await collect(session.messages())).map(brief)).toMatchInlineSnapshot(`
      [
        "  | harness | "<session_context>\\nThis is the Gemini CLI"",
        "  | harness | "Update available."",
        "> | human | "Describe @logo.png in one word" | [image/png, 1 kB]",
        "  | assistant | "I read it." | call read_file {"file_path":"logo.png"} | call run_shell_command {"command":"file logo.png"}",
        "  | tool | result "binary" | error "Command: file logo.png\\nOutput:"",
        "  | assistant | "Apple."",
        "  | harness | "/chat save logo"",
        "x | harness | "Paint it red"",
        "x | harness | "Red it is."",
        "> | human | "Paint it green"",
        "  | assistant | "Which green?" | call ask_user {"questions":[{"question":"Which?","options":[{"label":"Light"},{"label":"Dark"}]}]}",
        "  | tool | result "{\\"answers\\":{\\"0\\":\\"like moss\\"}}"",
        "  | human | "like moss"",
        "  | harness | "System: Please continue."",
        "  | harness | "Quota exceeded."",
        "  | harness | "<state_snapshot>The user likes moss.</st"",
        "  | assistant | "Got it."",
        "> | human | "Done, thanks."",
      ]
    `);
    expect(session).toMatchObject({
      id: '7c1f0a3e-5b2d-4e8f-9a61-2d4c8b000001',
      format: 'gemini',
      cwd: '/home/ada/acme',
      unreadableLines: 1,
    });
  });

  test('is read the same from the older document', async () => {
    const session = await openSession(legacy);
    expect((await collect(session.messages())).map(brief)).toMatchInlineSnapshot(`
      [
        "> | human | "Always use tabs."",
        "  | assistant | call write_file {"file_path":"/home/ada/acme/.editorconfig","content":"x"}",
        "  | tool | error "The user cancelled."",
        "  | harness | "Context is nearly full."",
        "> | human | "Then by hand."",
      ]
    `);
    const onOneLine = transcriptOf(JSON.stringify(JSON.parse(readFileSync(legacy, 'utf8'))), 'x.txt');
    expect(await messagesAt(onOneLine)).toEqual(await collect(session.messages()));
    expect((await openSession(onOneLine)).id).toBe(session.id);
  });

  describe('of whose project it names only the hash', () => {
    const inProject = (root: string, more: object = {}) => ({
      ...metadata,
      projectHash: hash('sha256', root),
      ...more,
    });
    const calls = (name: string, args: object, output = '') => ({
      ...said('g-2', 'gemini', 'I look.'),
      toolCalls: [
        { id: 'c-1', name, args, status: 'success', result: [{ functionResponse: { response: { output } } }] },
      ],
    });
    const cwdOf = async (...records: unknown[]) => (await openSession(transcriptOf(lines(...records)))).cwd;

    test.each([
      ['a call writes into it', '/home/ada/my shop', calls('write_file', { file_path: '/home/ada/my shop/src/a.ts' })],
      ['a call lists it', '/home/ada/shop', calls('list_directory', { path: '/home/ada/shop/' })],
      [
        'a tool says where it is',
        '/srv/läden/shop',
        calls('run_shell_command', { command: 'pwd' }, 'It is /srv/läden/shop.'),
      ],
      ['it is in Windows', 'C:\\Users\\ada\\shop', calls('read_file', { file_path: 'C:\\Users\\ada\\shop\\a.ts' })],
    ])('is in that directory where %s', async (_, root, call) => {
      expect(await cwdOf(inProject(root), said('g-1', 'user', 'Look around'), call)).toBe(root);
    });

    test('is in none that has another hash, nor in one that was only added', async () => {
      const added = inProject('/home/ada/shop', { directories: ['/home/ada/library'] });
      const call = calls('read_file', { file_path: '/home/ada/library/a.ts' }, '/home/ada/shopping/a.ts');
      expect(await cwdOf(added, said('g-1', 'user', 'Look around'), call)).toBeUndefined();
    });

    test('is in the one that Gemini CLI notes beside its sessions, a subagent too, if it has the hash', async () => {
      const noted = async (root: string, place: string) => {
        const project = tempDir();
        const path = join(project, place);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, lines(inProject('/home/ada/shop'), said('g-1', 'user', 'Hello')));
        writeFileSync(join(project, '.project_root'), `${root}\n`);
        return (await openSession(path)).cwd;
      };
      expect(await noted('/home/ada/shop', 'chats/session-1.jsonl')).toBe('/home/ada/shop');
      expect(await noted('/home/ada/shop', 'chats/7c1f0a3e/agent.jsonl')).toBe('/home/ada/shop');
      expect(await noted('/home/ada/other', 'chats/session-1.jsonl')).toBeUndefined();
    });

    test('costs little where a text is made of paths alone', async () => {
      const deep = '/a'.repeat(240);
      const texts = Array.from({ length: 100 }, (_, at) => `${deep}${at} ${'/*'.repeat(50_000)}`);
      const startedMs = process.cpuUsage().user / 1000;
      expect(
        await cwdOf(inProject('/home/ada/shop'), ...texts.map((text, at) => said(`g-${at}`, 'user', text))),
      ).toBeUndefined();
      expect(process.cpuUsage().user / 1000 - startedMs).toBeLessThan(2_000);
    });
  });

  test('says once what is kept for the model under new ids, and keeps what was said before', async () => {
    const messages = await read(
      said('a', 'user', 'one'),
      said('b', 'gemini', 'two', { toolCalls: [{ id: 'c', name: 'ls', status: 'success', result: [] }] }),
      {
        $set: {
          messages: [
            said('x', 'user', '<state_snapshot>The user counts.</state_snapshot>'),
            { id: 'y', type: 'gemini', content: [{ text: 'two' }, { functionCall: { id: 'c', name: 'ls' } }] },
          ],
        },
      },
      said('d', 'user', 'three'),
    );
    expect(messages.filter(({ speaker }) => speaker !== 'harness').map(({ id }) => id.slice(0, 1))).toHaveLength(4);
    expect(messages.filter(({ speaker }) => speaker === 'human').map(({ id }) => id)).toEqual(['a', 'd']);
    expect(messages.filter(({ speaker }) => speaker === 'assistant').map(({ id }) => id)).toEqual(['b']);
  });

  test('lets a list that replaces the messages bring some and change some', async () => {
    const messages = await read(
      said('a', 'user', 'one'),
      said('b', 'gemini', 'two'),
      said('c', 'user', 'cancelled'),
      said('d', 'gemini', 'never mind'),
      { $set: { messages: [said('a', 'user', 'one'), said('b', 'gemini', 'two!'), said('e', 'user', 'three')] } },
    );
    expect(messages.map(brief)).toEqual([
      '> | human | "one"',
      '  | assistant | "two!"',
      '> | human | "cancelled"',
      '  | assistant | "never mind"',
      '> | human | "three"',
    ]);
  });

  test('counts a rewind to nothing as unreadable, and goes on', async () => {
    const session = await openSession(transcriptOf(lines(metadata, said('a', 'user', 'one'), { $rewindTo: 'gone' })));
    expect((await collect(session.messages())).map(brief)).toEqual(['> | human | "one"']);
    expect(session.unreadableLines).toBe(1);
  });

  test.each([
    '/help',
    '/chat save logo',
    '?',
    'Please continue.',
    'System: Please continue.',
    '<state_snapshot>x</state_snapshot>',
    'I ran the following shell command:\n```sh\nls\n```',
  ])('does not take %j for a person’s words', async (text) => {
    expect(await read(said('a', 'user', text))).toMatchObject([{ speaker: 'harness', beginsTurn: false }]);
  });

  test('holds what was typed behind a command that the model was sent something for', async () => {
    const command = said('a', 'user', 'Commit with the message: fix', {
      displayContent: [{ text: '/git:commit fix' }],
    });
    expect(await read(command)).toMatchObject([
      { id: 'a', speaker: 'human', beginsTurn: false, parts: [{ kind: 'text', text: '/git:commit fix' }] },
    ]);
  });

  test('takes a path for words', async () => {
    expect(await read(said('a', 'user', '/etc/hosts is broken'))).toMatchObject([{ speaker: 'human' }]);
  });

  test('of a subagent names its parent, and nobody in it is human', async () => {
    const text = lines({ ...metadata, kind: 'subagent' }, said('a', 'user', 'Look.'), said('b', 'gemini', 'Seen.'));
    const session = await openSession(transcriptOf(text));
    expect(session.subagent).toMatchObject({ agent: '7c1f0a3e-0000' });
    expect((await collect(session.messages())).map(brief)).toEqual(['~ | harness | "Look."', '~ | subagent | "Seen."']);
  });
});
