// Parts of sessions that clients sent, in files of this machine.

import { test } from 'vitest';
import { PartFiles } from '../../../src/doors/clients/sessions.ts';
import { expectPartsKept } from '../../support/session-parts.ts';
import { tempDir } from '../../support/temp.ts';

test('parts of sessions in files are what was put, for as long as they are not removed', async () => {
  const store = 'memstore_parts';
  await expectPartsKept(new PartFiles(tempDir()), { store, id: 'sesn_one' }, { store, id: 'sesn_o' });
});
