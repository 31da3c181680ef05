// A session that shows otherwise than memory says: the line stands before the model that learns from it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testApp, testModel } from '../support/app.ts';
import { answer } from '../support/scripted-model.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

test('of 400 topics the line that a call of the session names is shown to the model that learns', async () => {
  const line = 'Rows of the ledger are written out with `bin/export -X`, which keeps the order.';
  const inputs: string[] = [];
  const model = await testModel((asked) => {
    inputs.push(JSON.stringify(asked.messages[0]));
    return answer(asked, () => []);
  });
  const testing = await testApp({ server: model });
  const write = (name: string, lines: string[]) =>
    writeFileSync(join(testing.dir, `${name}.md`), `# About ${name}\n\n${lines.map((each) => `- ${each}\n`).join('')}`);
  for (let n = 0; n < 400; n++)
    write(
      `service-${n}`,
      Array.from({ length: 10 }, (_, k) => `Service ${n} writes rows of kind ${k} out at hour ${n + k}, in order.`),
    );
  write('ledger', [line]);
  const session = sessionFile(tempDir());
  session.add('Please do the usual run before lunch, with the tables in order.', [
    { calls: 'Bash', input: { command: 'bin/export -X' }, result: 'Exit code 2\nunknown option: -X', fails: true },
    { calls: 'Bash', input: { command: 'bin/export --all' }, result: '40 rows' },
    { says: 'All is done: it has another name now.' },
  ]);
  expect(await testing.nocturne('learn', session.path)).toMatchObject({ code: 0 });
  expect(inputs[0]).toContain(line);
});

test('the model that learns is told which line a call may have overtaken, and once', async () => {
  const inputs: string[] = [];
  const model = await testModel((asked) => {
    inputs.push(JSON.stringify(asked.messages[0]));
    return answer(asked, () => []);
  });
  const testing = await testApp({ server: model });
  writeFileSync(
    join(testing.dir, 'layout.md'),
    '# Layout\n\n- Go is at 1.25.\n- The skills live in `plugins/skills/`.\n',
  );
  const session = sessionFile(tempDir());
  session.add('Please make the repository flat.', [
    { calls: 'Bash', input: { command: 'git mv plugins/skills skills' }, result: '(no output)' },
    { says: 'Done.' },
  ]);
  expect(await testing.nocturne('learn', session.path)).toMatchObject({ code: 0 });
  expect(inputs[0]).toContain(
    'Perhaps overtaken by calls of this session:\\n| 2: git mv plugins/skills skills\\n</topics>',
  );
  session.add('Thanks. Where do they live now?', [{ says: 'In `skills/`.' }]);
  expect(await testing.nocturne('learn', session.path)).toMatchObject({ code: 0 });
  expect(inputs[1]).toContain('make the repository flat');
  expect(inputs[1]).not.toContain('Perhaps overtaken by');
});
