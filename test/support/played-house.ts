// The jobs over a memory of their own, for plays.

import { dream } from '../../jobs/dream.ts';
import { headsOf } from '../../src/memory/file-rows.ts';
import { isTopicPath, parseTopic } from '../../src/memory/text/topic.ts';
import type { HouseOptions, PlayedHouse } from '../eval/reference/replay.ts';
import { extractInto } from './job-world.ts';
import { type Engine, openWorld } from './memory-world.ts';
import { dreamDeps } from './night-world.ts';

/** Opens one on an engine. */
export function playedHouse(engine: Engine): (options: HouseOptions) => Promise<PlayedHouse> {
  return async ({ access, excerptTokens, now }) => {
    const { world, close } = await openWorld(engine, { clock: { now } });
    const { row, dir } = await world.withDirectory();
    const server = { access };
    return {
      dir,
      extract: (transcript) => extractInto(row, world, { transcript }, { server, excerptTokens }),
      dream: () => dream({ startedBy: 'person' }, dreamDeps(world, row, { server })),
      entries: () => world.db.all('select text from entry where memory = ? order by at, id', row.id),
      async lines() {
        const heads = (await headsOf(world.db, row.id)).filter(({ path }) => path !== null && isTopicPath(path));
        return heads.flatMap(({ path, content }) =>
          parseTopic(path as string, content?.toString() ?? '').lines.map(({ text }) => text),
        );
      },
      close,
    };
  };
}
