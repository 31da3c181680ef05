import { mkdirSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import type { Message, Turn } from '../../../src/transcript/types.ts';
import { findMemoryWrites, type MemoryWrite, sayWrites } from '../../../src/transcript/writes/memory-writes.ts';
import { tempDir } from '../../support/temp.ts';
import { collect, hasReal, real, realFiles } from '../../support/transcripts.ts';
import { message } from '../../support/turns.ts';

interface Scene {
  memoryDir?: string;
  projectsDirs?: string[];
  cwd?: string;
  isError?: boolean;
  isAnswered?: boolean;
  more?: Partial<Message>;
}

function turnWith(tool: string, input: unknown, scene: Scene = {}): Turn {
  const { cwd = '/home/ada/acme', isError = false, isAnswered = true, more = {} } = scene;
  const call = message('a', 'assistant', [{ kind: 'call', id: 't', tool, input }], { cwd, ...more });
  const result = message('r', 'tool', [{ kind: 'result', callId: 't', text: '', isError }], { cwd, ...more });
  return { id: 'a', messages: isAnswered ? [call, result] : [call] };
}
const writes = (tool: string, input: unknown, scene: Scene = {}): MemoryWrite[] =>
  findMemoryWrites(turnWith(tool, input, scene), {
    dirs: [scene.memoryDir ?? '/home/ada/notes/memory'],
    projectsDirs: scene.projectsDirs,
    home: '/home/ada',
  });
const wrote = (tool: string, input: unknown, scene: Scene = {}): boolean =>
  writes(tool, input, scene).some(({ isHere }) => isHere);

const file = '/home/ada/notes/memory/a.md';

describe('a turn wrote memory', () => {
  test.each([
    ['Write', { file_path: file }],
    ['Edit', { file_path: file }],
    ['MultiEdit', { file_path: file }],
    ['NotebookEdit', { notebook_path: '/home/ada/notes/memory/a.ipynb' }],
    ['write', { filePath: file }],
    ['edit', { path: file, oldText: 'a', newText: 'b' }],
    ['write_file', { path: file, content: 'x' }],
    ['patch', { patchText: `*** Begin Patch\n*** Add File: ${file}\n+a\n*** End Patch` }],
    ['apply_patch', { type: 'update_file', path: file, diff: '+a' }],
    ['bash', { command: 'echo x > memory/a.md', workdir: '/home/ada/notes' }],
    ['Write', { file_path: '~/notes/memory/a.md' }],
    ['Write', { file_path: '../notes/./memory/deep/../a.md' }],
    ['apply_patch', `*** Begin Patch\n*** Update File: ${file}\n@@\n-a\n+b\n*** End Patch`],
    ['write_file', { file_path: file, content: 'x' }],
    ['replace', { file_path: file, old_string: 'a', new_string: 'b' }],
    ['create', { path: file, file_text: 'x' }],
    ['shell', { command: ['bash', '-lc', `echo x >> ${file}`] }],
    ['exec_command', { cmd: 'echo x >> a.md', workdir: '/home/ada/notes/memory' }],
    ['local_shell', { type: 'exec', command: ['tee', 'a.md'], working_directory: '/home/ada/notes/memory' }],
    ['run_shell_command', { command: 'echo x > memory/a.md', dir_path: '../notes' }],
    [
      'exec',
      `const r = await tools.exec_command({cmd:"printf \\"x\\" > a.md","workdir":"/home/ada/notes/memory"});text(r)`,
    ],
    ['exec', `await tools.exec_command({ cmd: 'ls' }); await tools.exec_command({ cmd: \`rm ${file}\` })`],
    [
      'exec',
      `const patch = "*** Begin Patch\\n*** Add File: ${file}\\n+x\\n*** End Patch";\ntext(await tools.apply_patch(patch));`,
    ],
    ['apply_patch', { input: `*** Update File: /tmp/a.md\n*** Move to: ${file}` }],
  ])('by %s %j', (tool, input) => {
    expect(wrote(tool, input)).toBe(true);
  });

  test.each([
    `echo "- tabs" >> ${file}`,
    `echo tabs>${file}`,
    `cat > "$HOME/notes/memory/my file.md" <<'EOF'\n> quoted\nEOF`,
    `printf x | tee -a ~/notes/memory/a.md`,
    'cd ~/notes && echo x > memory/a.md',
    'cd ~/notes/memory; sed -i "s/a/b/" a.md',
    `D='/home/ada/notes/memory'; cp draft.md "$D/a.md"`,
    'mv draft.md ../notes/memory/',
    `mv ${file} /tmp/`,
    `rm -f ${file}`,
    `cp -t /home/ada/notes/memory a.md b.md`,
    `if true; then echo x > ${file}; fi`,
    `bash -lc 'cd /home/ada/notes && echo x > memory/a.md'`,
    `cd ~/notes && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: memory/a.md\n+x\n*** End Patch\nEOF`,
    `git commit -m "$(cat <<'EOF'\nfix: "quoted" (again)\nEOF\n)" && echo x > ${file}`,
    `echo failed 2> ${file}`,
    `python3 -c "open('${file}', 'a').write('x')"`,
    `cd ~/notes && python - <<'EOF'\nfrom pathlib import Path\nPath("memory/a.md").write_text("x")\nEOF`,
    `python3.12 -c "import os; os.remove('${file}')"`,
    `python -c "import shutil; shutil.copy('a.md', '${file}')"`,
    `node -e "require('fs').appendFileSync('${file}', 'x')"`,
    `pwsh -Command "Set-Content -Path ${file} -Value x"`,
  ])('by the command %s', (command) => {
    expect(wrote('Bash', { command })).toBe(true);
  });

  test.each([
    `Set-Content -LiteralPath '~/notes/memory/my file.md' -Value 'x'`,
    `@'\nRemove-Item b\n'@ | Add-Content "$HOME/notes/memory/a.md"`,
    `Get-Date | Out-File -Append ../notes/memory/a.md`,
    `echo x > $env:USERPROFILE/notes/memory/a.md`,
    `Copy-Item a.md -Destination ${file} -Force`,
    `[System.IO.File]::WriteAllText("${file}", "x")`,
    `Remove-Item ${file}; ls`,
  ])('by PowerShell: %s', (command) => {
    expect(wrote('PowerShell', { command })).toBe(true);
  });

  test('by an argument list, as Codex records it', () => {
    expect(wrote('shell', { command: ['bash', '-lc', `echo "it's" > ${file}`] })).toBe(true);
  });

  test('into the own memory of the session on this disk, by the name of its project or of one above', () => {
    const own = (project: string, cwd = '/home/ada/acme/api', root = '/home/ada/.claude'): boolean =>
      wrote(
        'Write',
        { file_path: `${root}/projects/${project}/memory/a.md` },
        { cwd, projectsDirs: ['/home/ada/.claude/projects'] },
      );
    expect(own('-home-ada-acme-api')).toBe(true);
    expect(own('-home-ada-acme')).toBe(true);
    expect(own('-home-ada-other')).toBe(false);
    expect(own('-home-ada-acme', '/home/ada/acme', '/Users/x/.claude')).toBe(false);
    const long = `/home/ada/${'a.b'.repeat(80)}`;
    const cutName = `${long.replace(/\W/g, '-').slice(0, 200)}-1x9k2`;
    expect(own(cutName, long)).toBe(true);
    expect(own(cutName, long, '/Users/x/.claude')).toBe(false);
  });

  test('on Windows, whatever the case, the slashes and the shell', () => {
    const scene = { memoryDir: 'C:\\Users\\Ada\\memory', cwd: 'C:\\Users\\Ada\\acme' };
    expect(wrote('Write', { file_path: 'c:/users/ada/memory/a.md' }, scene)).toBe(true);
    expect(wrote('Write', { file_path: '..\\memory\\a.md' }, scene)).toBe(true);
    expect(wrote('Bash', { command: 'echo x > /c/Users/Ada/memory/a.md' }, scene)).toBe(true);
    expect(wrote('Write', { file_path: 'D:\\Users\\Ada\\memory\\a.md' }, scene)).toBe(false);
  });

  test('through a link to the directory, or to the own memory', () => {
    const dir = tempDir();
    symlinkSync(dir, join(dir, 'link'));
    expect(wrote('Write', { file_path: join(dir, 'link/memory/a.md') }, { memoryDir: join(dir, 'memory') })).toBe(true);
    const own = join(dir, 'projects/-home-ada-acme/memory');
    mkdirSync(own, { recursive: true });
    symlinkSync(own, join(dir, 'own'));
    const projectsDirs = [join(dir, 'projects')];
    expect(wrote('Write', { file_path: join(dir, 'own/a.md') }, { projectsDirs })).toBe(true);
  });
});

describe('what was added', () => {
  test.each([
    ['Write', { file_path: file, content: '# Rules\n\n- tabs\n' }, ['# Rules', '- tabs']],
    ['Edit', { file_path: file, old_string: '- tabs', new_string: '- tabs\n- pnpm' }, ['- pnpm']],
    [
      'MultiEdit',
      { file_path: file, edits: [{ new_string: '- a' }, { old_string: '- b', new_string: '- c' }] },
      ['- a', '- c'],
    ],
    ['apply_patch', `*** Begin Patch\n*** Update File: ${file}\n@@\n-a\n+- b\n*** End Patch`, ['- b']],
    ['apply_patch', { type: 'update_file', path: file, diff: '@@\n a\n+- b' }, ['- b']],
    ['Bash', { command: `echo "- tabs" >> ${file}` }, ['- tabs']],
    ['Bash', { command: `printf '%s\\n' '- tabs' | tee -a ${file}` }, ['- tabs']],
    ['Bash', { command: `cat > ${file} <<'EOF'\n- tabs\n- pnpm\nEOF\necho done` }, ['- tabs', '- pnpm']],
    ['Bash', { command: `python3 -c "open('${file}', 'a').write('- use tabs\\n')"` }, ['- use tabs']],
    ['PowerShell', { command: `Add-Content ${file} '- use tabs'` }, ['- use tabs']],
    ['Bash', { command: `rm ${file}` }, []],
    ['Bash', { command: `mv ${file} /tmp/` }, []],
    ['Edit', { file_path: file, old_string: '- a\n- b', new_string: '- a' }, []],
  ])('by %s %j', (tool, input, added) => {
    expect(writes(tool, input)).toMatchObject([{ path: file, isHere: true, added }]);
  });
});

describe('memory that is not here', () => {
  test.each([
    ['memory', { command: 'create', path: '/memories/a.md', file_text: '- use tabs' }],
    ['memory', { command: 'insert', path: '/memories/a.md', insert_line: 0, insert_text: '- use tabs' }],
    ['memory', { command: 'str_replace', path: '/memories/a.md', old_str: 'x', new_str: '- use tabs' }],
    ['Write', { file_path: '/Users/x/.claude/projects/-Users-x-acme/memory/a.md', content: '- use tabs' }],
    ['Bash', { command: 'echo "- use tabs" >> /Users/x/.codex/memories/a.md' }],
    ['Write', { file_path: 'C:\\Users\\x\\.claude\\projects\\C--acme\\memory\\a.md', content: '- use tabs' }],
  ])('is told apart, with what was written: %s %j', (tool, input) => {
    expect(writes(tool, input)).toMatchObject([{ isHere: false, added: ['- use tabs'] }]);
    const [asked] = turnWith(tool, input).messages;
    const said = asked && sayWrites(asked, new Set(['t']));
    expect(said?.parts).toMatchObject([{ kind: 'text', text: expect.stringMatching(/^\[wrote \S+\]\n- use tabs$/) }]);
    expect(asked && sayWrites(asked, new Set())).toBe(asked);
  });

  test('is that of the machine on which the session ran, for ~ too', () => {
    const turn = turnWith(
      'Write',
      { file_path: '~/.claude/projects/-Users-x-acme/memory/a.md' },
      { cwd: '/Users/x/acme' },
    );
    const [found] = findMemoryWrites(turn, { dirs: [], projectsDirs: [join(homedir(), '.claude/projects')] });
    expect(found).toMatchObject({ path: '/Users/x/.claude/projects/-Users-x-acme/memory/a.md', isHere: false });
  });
});

test('a write belongs with its result, but not with what a person says before that', () => {
  const [asked, answered] = turnWith('Write', { file_path: file }).messages as [Message, Message];
  const human = message('h', 'human', ['Never on Fridays.'], { beginsTurn: false });
  const find = (...messages: Message[]) =>
    findMemoryWrites({ id: 'a', messages }, { dirs: ['/home/ada/notes/memory'] });
  expect(find(asked, answered, human)).toMatchObject([{ at: 0, through: 1 }]);
  expect(find(asked, human, answered)).toMatchObject([{ at: 0, through: 0 }]);
});

describe('a turn wrote no memory', () => {
  test.each([
    ['Read', { file_path: file }],
    ['Write', { file_path: '/home/ada/notes/memory-old/a.md' }],
    ['Write', { file_path: '/home/ada/notes/memory/../a.md' }],
    ['Write', { file_path: '/home/ada/acme/memory/a.md' }],
    ['Write', {}],
    ['Write', null],
    ['Write', { file_path: `/${'x'.repeat(5000)}` }],
    ['apply_patch', { input: `*** Update File: a.md\n+*** Update File: ${file}` }],
    ['memory', { command: 'view', path: '/memories' }],
    ['Bash', { command: `cat ${file}` }],
    ['Bash', { command: `cp ${file} /tmp/` }],
    ['Bash', { command: `ls /home/ada/notes/memory > /tmp/list 2>&1` }],
    ['Bash', { command: `grep x < ${file}` }],
    ['Bash', { command: `sed "s/a/b/" ${file}` }],
    ['Bash', { command: `echo "> ${file}"` }],
    ['Bash', { command: `cat <<EOF > /tmp/a.md\n> ${file}\nrm ${file}\nEOF` }],
    ['Bash', { command: `# rm ${file}` }],
    ['Bash', { command: `python3 -c "print(open('${file}').read())"` }],
    ['Bash', { command: `python3 -c "open('/tmp/a', 'w').write(open('${file}', 'r').read())"` }],
    ['Bash', { command: `node -e "fs.copyFileSync('${file}', '/tmp/a.md')"` }],
    ['PowerShell', { command: `Get-Content ${file} | Set-Content /tmp/a.md` }],
    ['PowerShell', { command: `Copy-Item ${file} /tmp/` }],
    ['PowerShell', { command: `@'\nRemove-Item ${file}\n'@ | Out-File /tmp/a.md` }],
  ])('by %s %j', (tool, input) => {
    expect(wrote(tool, input)).toBe(false);
  });

  test('when the write failed, or nothing tells that it succeeded', () => {
    expect(wrote('Write', { file_path: file }, { isError: true })).toBe(false);
    expect(wrote('Write', { file_path: file }, { isAnswered: false })).toBe(false);
  });

  test('when a subagent did it', () => {
    expect(wrote('Write', { file_path: file }, { more: { isSidechain: true, speaker: 'subagent' } })).toBe(false);
  });
});

describe.skipIf(!hasReal)('real sessions (../shared/transcripts; skipped where they are not there)', () => {
  test('wrote to the memory of their own machines in exactly these turns', async () => {
    const found = new Set<string>();
    for (const path of await realFiles(/^claude-code\/.*\.jsonl$/)) {
      const session = await openSession(join(real, path));
      const turns = await collect(readTurns(session.messages()));
      turns.forEach((turn, at) => {
        for (const { isHere } of findMemoryWrites(turn, { dirs: ['/nowhere'], cwd: session.cwd })) {
          expect(isHere).toBe(false);
          found.add(`${session.id.slice(0, 8)} ${at + 1}`);
        }
      });
    }
    // All that INDEX.md marks as auto-memory-write or memory-write.
    expect([...found].sort()).toEqual(['1cd4e81e 6', '415c4d06 4', '4f8f5e9b 4', '5834c1ee 5', '76731dd6 2']);
  });
});
