import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import { fixedClock } from '../../../src/base/time.ts';
import { openStore } from '../../../src/memory/open.ts';
import { confine, isMemoryPath, locateFile } from '../../../src/memory/store/confine.ts';
import { anyText } from '../../support/any-text.ts';
import { tempDir } from '../../support/temp.ts';

const NFC = 'caf\u00e9.md';
const NFD = 'cafe\u0301.md';

/** A memory directory with a file, a log, a report, and a secret in the directory beside it. */
function makeMemory(): { root: string; outside: string } {
  const base = tempDir();
  const root = join(base, 'memory');
  const outside = join(base, 'outside');
  for (const dir of [join(root, 'logs/2026/11'), join(root, '.nocturne/dreams'), outside]) {
    mkdirSync(dir, { recursive: true });
  }
  writeFileSync(join(root, 'Notes.md'), 'notes\n');
  writeFileSync(join(root, 'logs/2026/11/2026-11-20.md'), 'log\n');
  writeFileSync(join(root, '.nocturne/ledger.db'), '');
  writeFileSync(join(outside, 'secret.md'), 'secret\n');
  return { root, outside };
}

function problemOf(root: string, path: string): string {
  try {
    confine(root, path);
  } catch (error) {
    if (isAppError(error, 'bad-input')) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('a path is accepted', () => {
  it.each([
    ['a.md', 'a.md'],
    ['logs/2026/11/2026-11-20.md', 'logs/2026/11/2026-11-20.md'],
    ['what about spaces, (brackets) & émojis ❤️.md', 'what about spaces, (brackets) & émojis ❤️.md'],
    ['日本語/メモ.md', '日本語/メモ.md'.normalize('NFC')],
    ['100%.md', '100%.md'],
    ['notes/MEMORY.md/a.md', 'notes/MEMORY.md/a.md'],
    ['logs/notes.md/a.md', 'logs/notes.md/a.md'],
    ['50%25 off.md', '50%25 off.md'],
    ['console.md', 'console.md'],
    ['com.md', 'com.md'],
    [Array(20).fill('d').join('/'), Array(20).fill('d').join('/')],
    ['x'.repeat(255), 'x'.repeat(255)],
  ])('%j', (path, name) => {
    const { root } = makeMemory();
    expect(confine(root, path)).toMatchObject({ path: name, absolute: join(root, name) });
  });
});

describe('a path is refused', () => {
  it.each([
    ['', 'is empty'],
    ['MEMORY.md/notes.md', 'MEMORY.md is a file'],
    ['memory.md/a', 'memory.md is a file'],
    ['index/user.md/a.md', 'index/user.md is a file'],
    ['logs/2026/11/2026-11-21.md/a.md', '2026-11-21.md is a file'],
    ['/etc/passwd', 'absolute'],
    ['//server/share', 'absolute'],
    ['\\\\server\\share', 'backslash'],
    ['a\\b.md', 'backslash'],
    ['C:/a.md', 'colon'],
    ['a.md:stream', 'colon'],
    ['..', 'the segment ..'],
    ['a/../../b.md', 'the segment ..'],
    ['./a.md', 'the segment .'],
    ['\u2025/a.md', 'is .. to programs'],
    ['\uff0e\uff0e/a.md', 'is .. to programs'],
    ['\u2024hidden.md', 'is .hidden.md to programs'],
    ['a\uff0fb.md', 'is a/b.md to programs'],
    ['a\uff3cb.md', 'is a\\b.md to programs'],
    ['\u2100.md', 'is a/c.md to programs'],
    ['c\uff1aa.md', 'is c:a.md to programs'],
    ['a//b.md', 'empty segment'],
    ['a/', 'empty segment'],
    ['.nocturne/ledger.db', 'hidden'],
    ['.NOCTURNE/ledger.db', 'hidden'],
    ['.nocturne/dreams/2026-11-20.md', 'hidden'],
    ['.git/hooks/post-commit', 'hidden'],
    ['a\0.md', 'U+0000'],
    ['a\nb.md', 'U+000A'],
    ['a\u2028b.md', 'U+2028'],
    ['a\u2029b.md', 'U+2029'],
    ['a\u202egpj.md', 'U+202E'],
    ['a\u200bb.md', 'U+200B'],
    ['\ufeffa.md', 'U+FEFF'],
    ['a\u2066b.md', 'U+2066'],
    ['a\u00adb.md', 'U+00AD'],
    ['a\ud800.md', 'U+D800'],
    ['%2e%2e%2fsecret.md', 'decoded'],
    ['%2E%2E/secret.md', 'decoded'],
    ['logs%2fa.md', 'more segments'],
    ['a%00.md', 'decoded, it holds the character U+0000'],
    ['%252e%252e%252fsecret.md', 'decoded'],
    ['%5c%5cserver', 'backslash'],
    ['%c0%ae%c0%ae/secret.md', 'decoded'],
    ['%u002e%u002e/secret.md', 'decoded'],
    ['%2enocturne/ledger.db', 'hidden'],
    ['con', 'device'],
    ['NUL.md', 'device'],
    ['a/aux.tar.gz', 'device'],
    ['com1.md', 'device'],
    ['LPT9', 'device'],
    ['lpt¹.txt', 'device'],
    ['con .md', 'device'],
    ['a./b.md', 'ends with a dot'],
    ['a.md ', 'ends with a dot or a space'],
    ['a.md\u00a0', 'ends with a dot or a space'],
    [Array(21).fill('d').join('/'), '21 segments'],
    ['x'.repeat(256), '256 bytes'],
    ['é'.repeat(128), '256 bytes'],
    [Array(5).fill('x'.repeat(250)).join('/'), '1254 bytes'],
  ])('%j', (path, problem) => {
    const { root } = makeMemory();
    expect(problemOf(root, path)).toContain(problem);
    expect(isMemoryPath(path)).toBe(false);
  });

  it('with what is allowed instead', () => {
    expect(() => confine(tempDir(), '../a.md')).toThrow(
      expect.objectContaining({
        code: 'bad-input',
        message: 'The path "../a.md" is refused: it has the segment ...',
        remedy: expect.stringContaining('1 to 20 visible names'),
      }),
    );
  });

  it('where it goes through a file, and where something else than a file stands', () => {
    const { root } = makeMemory();
    expect(problemOf(root, 'Notes.md/a.md')).toContain('Notes.md is a file, not a directory');
    expect(() => locateFile(root, 'logs')).toThrow('it is a directory');
    for (const path of ['archive', 'Index', 'logs/2027', 'logs/2027/01'])
      expect(() => locateFile(root, path)).toThrow('it is a directory');
    for (const path of ['archive.md', 'logs/notes', 'a/logs'])
      expect(locateFile(root, path)).toMatchObject({ path, kind: 'nothing' });
    expect(confine(root, 'logs').kind).toBe('directory');
    execFileSync('mkfifo', [join(root, 'pipe.md')]);
    expect(problemOf(root, 'pipe.md')).toContain('neither a file nor a directory');
  });
});

describe('spellings', () => {
  it('that differ by normalisation are one file, whichever of them is on the disk', () => {
    const { root } = makeMemory();
    expect(confine(root, NFD)).toEqual({ path: NFC, absolute: join(root, NFC), kind: 'nothing' });
    writeFileSync(join(root, NFC), 'x');
    expect(confine(root, NFD)).toEqual({ path: NFC, absolute: join(root, NFC), kind: 'file' });

    const other = makeMemory().root;
    writeFileSync(join(other, NFD), 'x');
    for (const path of [NFC, NFD]) {
      expect(confine(other, path)).toEqual({ path: NFC, absolute: join(other, NFD), kind: 'file' });
    }
  });

  it('that differ by case are the one that is there, directories too', () => {
    const { root } = makeMemory();
    expect(confine(root, 'NOTES.MD')).toMatchObject({ path: 'Notes.md', kind: 'file' });
    expect(confine(root, 'Logs/2026/new.md')).toMatchObject({ path: 'logs/2026/new.md', kind: 'nothing' });
  });

  it('of which two are there mean each itself, and a third neither', () => {
    const { root } = makeMemory();
    writeFileSync(join(root, 'NOTES.md'), 'x');
    expect(confine(root, 'Notes.md').path).toBe('Notes.md');
    expect(confine(root, 'NOTES.md').path).toBe('NOTES.md');
    expect(problemOf(root, 'notes.md')).toContain('notes.md could be NOTES.md or Notes.md');
  });

  // A file system that folds case answers for every spelling and resolves it to the stored one; so does a link.
  it('that the file system itself folds are named as they are stored', () => {
    const { root } = makeMemory();
    symlinkSync('Notes.md', join(root, 'notes.md'));
    expect(confine(root, 'notes.md')).toEqual({ path: 'Notes.md', absolute: join(root, 'Notes.md'), kind: 'file' });
  });
});

describe('a link', () => {
  it('that stays inside means the file it leads to', () => {
    const { root } = makeMemory();
    symlinkSync('logs/2026', join(root, 'year'));
    expect(confine(root, 'year/11/2026-11-20.md').path).toBe('logs/2026/11/2026-11-20.md');
    expect(confine(root, 'year/12/new.md')).toMatchObject({ path: 'logs/2026/12/new.md', kind: 'nothing' });
  });

  it.each([
    ['out of the directory', '../outside', 'out of the directory'],
    ['above the directory', '..', 'out of the directory'],
    ['nowhere', 'not-there', 'a link that leads nowhere'],
    ['nowhere outside', '../outside/new.md', 'a link that leads nowhere'],
    ['to itself', 'link', 'a link that leads nowhere'],
    ['to what is nocturne’s own', '.nocturne', '.nocturne is hidden'],
    ['to the directory itself', '.', 'the memory directory itself'],
  ])('that leads %s is refused', (_, target, problem) => {
    const { root, outside } = makeMemory();
    symlinkSync(target, join(root, 'link'));
    expect(problemOf(root, 'link')).toContain(problem);
    if (target !== '.') expect(problemOf(root, 'link/secret.md')).not.toBe('accepted');
    expect(readdirSync(outside)).toEqual(['secret.md']);
  });
});

test('only the door of jobs leads to reports, and to nothing else of nocturne’s own', () => {
  const { root } = makeMemory();
  const report = '.nocturne/dreams/2026-11-20.md';
  expect(locateFile(root, report).absolute).toBe(join(root, report));
  for (const path of ['.nocturne/ledger.db', '.nocturne/dreams/../ledger.db', '.nocturne/dreams/a/b.md', '.nocturne']) {
    expect(() => locateFile(root, path)).toThrow('is refused');
  }
});

test('the store lists no file whose path it would refuse', async () => {
  const { root } = makeMemory();
  for (const name of ['con.md', 'a:b.md', '.hidden.md', 'zero\u200bwidth.md']) writeFileSync(join(root, name), 'x');
  const store = await openStore(root, { clock: fixedClock('2026-11-20T10:00:00Z') });
  expect(await store.list()).toEqual(['Notes.md', 'logs/2026/11/2026-11-20.md']);
  store.close();
});

test('no accepted path ever resolves outside the directory, or into what is hidden', () => {
  const { root, outside } = makeMemory();
  const links = {
    out: '../outside',
    up: '..',
    year: 'logs/2026',
    own: '.nocturne',
    self: '.',
    gone: 'nowhere',
    loop: 'loop',
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
  symlinkSync(join(outside, 'new.md'), join(root, 'logs/dangling.md'));
  const piece = fc.oneof(
    fc.constantFrom(
      ...Object.keys(links),
      'logs',
      'LOGS',
      'Notes.md',
      'notes.md',
      'secret.md',
      'dangling.md',
      NFC,
      NFD,
    ),
    fc.constantFrom('.', '..', '...', '', '~', '.nocturne', '.Nocturne', 'dreams', 'ledger.db', 'con', 'outside'),
    fc.constantFrom('%2e', '%2e%2e', '%2f', '%252f', '%00', '%c0%ae', '\\', '..\\', '\0', '\u202e', '\u2024', '\uff0f'),
    anyText({ maxLength: 6 }),
  );
  const hostile = fc
    .array(fc.tuple(piece, fc.constantFrom('/', '/', '/', '', '\\', '//')), { minLength: 1, maxLength: 8 })
    .map((parts) => parts.flat().join('').replace(/\/$/, ''));
  let accepted = 0;
  fc.assert(
    fc.property(hostile, fc.boolean(), (path, reports) => {
      let place: ReturnType<typeof confine>;
      try {
        place = confine(root, path, { reports });
      } catch (error) {
        expect(isAppError(error, 'bad-input')).toBe(true);
        return;
      }
      accepted += 1;
      const real = deepest(place.absolute);
      expect(real === root || real.startsWith(root + sep)).toBe(true);
      expect(place.absolute.startsWith(root + sep)).toBe(true);
      const isReport = reports && dirname(place.path) === '.nocturne/dreams';
      expect(isReport || !/(^|\/)\./.test(place.path)).toBe(true);
      // What was accepted once is its own name.
      expect(confine(root, place.path, { reports })).toEqual(place);
    }),
    { numRuns: 5_000 },
  );
  expect(accepted).toBeGreaterThan(200);
  expect(readdirSync(outside)).toEqual(['secret.md']);
});

/** The canonical path of the deepest part of `path` that exists. */
function deepest(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return deepest(dirname(path));
  }
}

/** Every character that compatibility normalisation turns into something with a dot or a slash. */
const LOOKALIKES = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code > 0x7f && (code < 0xd800 || code > 0xdfff))
  .map((code) => String.fromCodePoint(code))
  .filter((char) => /[./\\]/.test(char.normalize('NFKC')));

test('no name that becomes a way up, or a way down, under compatibility normalisation is a file’s', () => {
  const { root } = makeMemory();
  expect(LOOKALIKES.length).toBeGreaterThan(20);
  for (const char of LOOKALIKES) {
    const plain = char.normalize('NFKC');
    const names = [`${char}${char}/x.md`, `${char}./x.md`, `.${char}/x.md`, `a/${char}${char}/x.md`, `a${char}x.md`];
    for (const name of names) {
      const parts = name.normalize('NFKC').split(/[/\\]/);
      const leads = /[/\\]/.test(plain) || parts.includes('..') || parts.includes('.');
      if (leads)
        expect(problemOf(root, name), `${JSON.stringify(name)} (U+${char.codePointAt(0)?.toString(16)})`).not.toBe(
          'accepted',
        );
    }
  }
});
