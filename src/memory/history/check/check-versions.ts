// Checks that every version in the ledger still holds what its checksum says. A damaged one is healed from the living
// file, or from another version of the same content; where neither has it, it is marked as lost. No file is changed.

import { join } from 'node:path';
import { readBytesNow } from '../../../base/files/files.ts';
import { shaOf } from '../../ledger/version-rows.ts';
import type { Store } from '../../store/store.ts';
import type { Finding } from './findings.ts';

const AT_ONCE = 200;

interface DamagedVersion {
  id: string;
  path: string | null;
  sha: string;
  content: Buffer;
  at: string;
  actor: string;
}

type Row = DamagedVersion & { n: number };

export function findDamagedVersions(store: Store): Finding[] {
  const damaged: DamagedVersion[] = [];
  const sql = `select rowid as n, id, path, sha, content, at, actor from version
    where rowid > ? and content is not null and sha is not null order by rowid limit ${AT_ONCE}`;
  for (let from = 0; ; ) {
    const rows = store.ledger.all<Row>(sql, from);
    damaged.push(...rows.filter(({ sha, content }) => shaOf(content) !== sha));
    const last = rows.at(-1);
    if (!last) break;
    from = last.n;
  }
  return damaged.map((version): Finding => {
    const { id, path, at, actor } = version;
    const { says, apply } = mendOf(store, version);
    const what = `The ledger's version ${id} (${at}, by ${actor}) no longer holds what its checksum says; the file itself is not meant.`;
    return { kind: 'version', what, where: path ?? '.nocturne/ledger.db', mend: { says, apply: async () => apply() } };
  });
}

function mendOf({ dir, ledger }: Store, { id, path, sha, content }: DamagedVersion): { says: string; apply(): void } {
  const live = path === null ? null : readBytesNow(join(dir, path));
  const heal = (bytes: Buffer, from: string) => ({
    says: `Takes its content from ${from}.`,
    apply: () => void ledger.run('update version set content = ?, size = ? where id = ?', bytes, bytes.length, id),
  });
  if (live && shaOf(live) === sha) return heal(live, 'the file');
  const others = ledger.all<{ id: string; content: Buffer }>(
    'select id, content from version where sha = ? and id <> ? and content is not null',
    sha,
    id,
  );
  const same = others.find((other) => shaOf(other.content) === sha);
  if (same) return heal(same.content, `version ${same.id}, which has the same`);
  if (live?.equals(content)) {
    const apply = () => void ledger.run('update version set sha = ? where id = ?', shaOf(content), id);
    return { says: 'Makes its checksum anew: it holds what the file holds.', apply };
  }
  const apply = () => void ledger.run('update version set content = null, lost = 1 where id = ?', id);
  return { says: 'Marks it as lost: it can no longer be shown or restored. No file is changed.', apply };
}
