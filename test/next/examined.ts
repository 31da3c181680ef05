// What doctor looks at, by the house that a test is run on.

import { HOUSE } from '../support/temp.ts';

export const { examine } = (
  HOUSE === 'next' ? await import('../../src/next/setup/doctor.ts') : await import('../../src/doors/doctor/examine.ts')
) as Pick<typeof import('../../src/doors/doctor/examine.ts'), 'examine'>;
