// A process that counts up in one row, a write each: `home url|- times`. It says as JSON what it counted to, how long it waited
// at most for a write, and how often one failed.

import { openDatabase } from '../../src/db/open-database.ts';

const [home = '', url, times] = process.argv.slice(2);
const db = await openDatabase({ home, url: url === '-' ? undefined : url });
const counted: number[] = [];
let worstMs = 0;
let failed = 0;
for (let n = 0; n < Number(times); n += 1) {
  const from = performance.now();
  try {
    await db.write(async (sql) => {
      const row = await sql.get<{ value: string }>(`select value from setting where key = 'n'${db.lock.wait}`);
      const next = Number(row?.value) + 1;
      await sql.run("update setting set value = ? where key = 'n'", String(next));
      counted.push(next);
    });
  } catch {
    failed += 1;
  }
  worstMs = Math.max(worstMs, performance.now() - from);
}
await db.close();
process.stdout.write(JSON.stringify({ counted, worstMs, failed }));
