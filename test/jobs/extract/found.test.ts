// A lesson on its way: from a transcript through the extraction's checks into its row, with what its calls show.

import { expect, test } from 'vitest';
import { entriesWhere } from '../../../src/memory/entries.ts';
import { wayOf } from '../../../src/rules/lessons.ts';
import { inJobs } from '../../support/job-world.ts';
import { ENGINE_TAKEN } from '../../support/memory-world.ts';
import { startMessagesServer } from '../../support/messages-server.ts';
import { messagesBy, obey } from '../../support/obedient.ts';
import { transcriptOf } from '../../support/transcripts.ts';

const use = (id: string, command: string) => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'Bash', input: { command } }],
});
const says = (id: string, text: string, isError: boolean) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content: text, is_error: isError }],
});
const SESSION = [
  { role: 'user', content: 'Make the api tests run' },
  use('t1', 'pnpm test'),
  says('t1', 'Exit code 1\nNo projects matched the filters in /home/kim/shop', true),
  use('t2', 'cd /home/kim/shop/services/api && pnpm test'),
  says('t2', '12 passed', false),
  { role: 'assistant', content: 'They run.' },
];

test.each(ENGINE_TAKEN)('a way is kept with its calls on %s, and one without its failure is not', async (engine) => {
  const server = await startMessagesServer(
    obey({
      record(request) {
        const [error = ''] = messagesBy(request, 'tool');
        const [, good = ''] = messagesBy(request, 'assistant');
        const way = { type: 'project', strength: 'implied', found: 'way' };
        const worked = { message: good, quote: 'services/api && pnpm test' };
        return [
          {
            ...way,
            text: 'In `services/api`: `pnpm test`; at the top: No projects matched the filters.',
            evidence: [{ message: error, quote: 'No projects matched the filters' }, worked],
          },
          { ...way, text: 'In `services/api`, `pnpm test` is the one that runs.', evidence: [worked] },
        ];
      },
    }),
  );
  try {
    await inJobs(engine, async ({ db, row, extract }) => {
      const transcript = transcriptOf(JSON.stringify(SESSION), 'session.json');
      await extract(transcript, {}, { server });
      const kept = await entriesWhere(db, row.id);
      expect(kept).toMatchObject([{ found: 'way', strength: 'implied', by: 'tool' }]);
      expect(wayOf(kept[0]?.evidence ?? [])).toMatchObject({
        ...{ programs: ['pnpm test'], error: 'No projects matched the filters' },
        works: 'cd ~/shop/services/api && pnpm test',
      });
    });
  } finally {
    await server.close();
  }
});
