// A process that opens a database, writes a row of its own, and says how many tables there are: `home url|- key`.

import { openDatabase } from '../../src/db/open-database.ts';

const [home = '', url, key = ''] = process.argv.slice(2);
const db = await openDatabase({ home, url: url === '-' ? undefined : url });
await db.run('insert into setting (key, value) values (?, ?)', key, 'here');
await db.close();
