// A topic as a person names it: by name, by file, or by a path that leads there.

import { isAbsolute, relative, sep } from 'node:path';
import { didYouMean } from '../../../base/config/nearest.ts';
import { AppError } from '../../../base/errors.ts';
import { canonicalPath } from '../../../base/files/directories.ts';
import { statNow } from '../../../base/files/files.ts';
import { catalogTopics } from '../../../memory/recall/catalog.ts';
import { isTopicPath } from '../../../memory/text/topic.ts';

/** The file of a topic in the memory directory. Throws `bad-input` that names the nearest where there is none. */
export function topicFile(dir: string, given: string): string {
  const path = isAbsolute(given) ? relative(dir, canonicalPath(given)).split(sep).join('/') : given;
  const found = [path, `${path}.md`].find((each) => isTopicPath(each) && statNow(`${dir}/${each}`)?.isFile);
  if (found) return found;
  const names = catalogTopics(dir, null).map((topic) => topic.name);
  throw new AppError('bad-input', `There is no topic ${JSON.stringify(given)} in ${dir}.`, {
    remedy: didYouMean(given, names, 'nocturne list names the topics.'),
  });
}
