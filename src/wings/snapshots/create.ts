// A memory snapshot is made: topics of a memory are laid into the working tree, to be committed with it.
//
// 1. Choose the topics: those that are named, else all of the types that are about the project.
// 2. Look for secrets; where there is one nothing is written, unless it is to be taken out.
// 3. Leave alone what others made and this memory never took in, unless it is to be replaced.
// 4. Write the files, the manifest last, and enter the snapshot as applied here: its next version is a change to it.

import { join } from 'node:path';
import { AppError, isAppError } from '../../base/errors.ts';
import { readTextNow, removeFile, statNow, writeWhole } from '../../base/files/files.ts';
import { locateSecrets, redact } from '../../base/text/redact.ts';
import type { Clock } from '../../base/time.ts';
import { headVersion } from '../../memory/history/versions.ts';
import type { Store } from '../../memory/store/store.ts';
import { isTopicPath, parseTopic, partSeenOnce } from '../../memory/text/topic.ts';
import {
  buildMemorySnapshot,
  enterApplied,
  lastApplied,
  memorySnapshotDir,
  readMemorySnapshot,
  screenTopic,
  wasApplied,
} from './memory-snapshot.ts';

export interface CreateRequest {
  /** The top of the working tree. */
  tree: string;
  /** Paths of topics; none: all of type `project` and `reference`. */
  topics: string[];
  /** Take secrets out instead of refusing. */
  isRedacted: boolean;
  /** Replace a snapshot that this memory never took in, or one that is broken. */
  isReplacing: boolean;
}

export interface CreateReport {
  /** `unchanged`: the snapshot that is there holds just this. */
  outcome: 'created' | 'unchanged';
  dir: string;
  id: string;
  topics: string[];
  /** Topics from which secrets were taken out. */
  redacted: string[];
  /** Topics that others get only once they trust the snapshot, since a line of theirs tells an agent what to do. */
  commanding: { path: string; line: number; text: string }[];
}

interface FoundSecret {
  path: string;
  line: number;
  rule: string;
}

/** Throws `bad-input` where no topic is chosen, `refused` for a secret and for a snapshot that is not to be replaced. */
export async function createMemorySnapshot(
  request: CreateRequest,
  { store, clock }: { store: Store; clock: Clock },
): Promise<CreateReport> {
  // 1.
  const chosen = await chooseTopics(store, request.topics);
  // 2.
  const secrets: FoundSecret[] = [];
  const topics: { path: string; text: string }[] = [];
  for (const { path, text } of chosen) {
    secrets.push(...(await locateSecrets(text)).map((secret) => ({ path, ...secret })));
    topics.push({ path, text: (await redact(text)).text });
  }
  if (secrets.length > 0 && !request.isRedacted) throw secretsFound(secrets);
  // 3.
  const changedAt = topics.map(({ path }) => headVersion(store.ledger, path)?.at ?? '').sort();
  const { snapshot, files } = buildMemorySnapshot(topics, changedAt.at(-1) || clock.now().toISOString());
  const dir = memorySnapshotDir(request.tree);
  const before = request.isReplacing ? readOrNone(request.tree) : readMemorySnapshot(request.tree);
  const isKnown = before === null || before.id === snapshot.id || wasApplied(store.ledger, before.id);
  if (!isKnown && !request.isReplacing) throw notTakenIn(dir);
  // 4.
  let isChanged = false;
  for (const { name, text } of files) {
    const path = join(dir, name);
    // A link of the repository's is replaced, never written through.
    if (statNow(path)?.isFile && readTextNow(path) === text) continue;
    writeWhole(path, text);
    isChanged = true;
  }
  for (const { path } of before?.topics ?? []) {
    if (!files.some(({ name }) => name === path)) removeFile(join(dir, path));
  }
  if (lastApplied(store.ledger)?.id !== snapshot.id) {
    await store.commit({ actor: 'person' }, () => ({
      files: [],
      rows: (transaction) => enterApplied(transaction, { ...snapshot, appliedAt: clock.now().toISOString() }),
    }));
  }
  return {
    outcome: isChanged ? 'created' : 'unchanged',
    dir,
    id: snapshot.id,
    topics: snapshot.topics.map(({ path }) => path),
    redacted: [...new Set(secrets.map(({ path }) => path))],
    commanding: snapshot.topics.flatMap((topic) => screenTopic(topic).map((line) => ({ path: topic.path, ...line }))),
  };
}

async function chooseTopics(store: Store, named: string[]): Promise<{ path: string; text: string }[]> {
  const all: { path: string; text: string }[] = [];
  for (const path of (await store.list()).filter(isTopicPath)) all.push({ path, text: (await store.read(path)) ?? '' });
  const unknown = named.filter((path) => !all.some((topic) => topic.path === path));
  if (unknown.length > 0) {
    throw new AppError('bad-input', `There is no topic ${unknown.join(', ')} in ${store.id}.`, {
      remedy: 'nocturne list names them.',
    });
  }
  const asked = all.filter(({ path, text }) => {
    if (named.length > 0) return named.includes(path);
    const { type } = parseTopic(path, text);
    return type === 'project' || type === 'reference';
  });
  // What one session showed is for nobody else yet.
  const chosen = asked.flatMap(({ path, text }) => {
    const { text: rest, isAll } = partSeenOnce(text);
    return isAll ? [] : { path, text: rest };
  });
  if (chosen.length > 0) return chosen;
  throw new AppError('bad-input', `There is no topic of type project or reference in ${store.id}.`, {
    remedy: 'Name the topics to hand over: nocturne snapshot create TOPIC…',
  });
}

function readOrNone(tree: string) {
  try {
    return readMemorySnapshot(tree);
  } catch (error) {
    if (isAppError(error, 'bad-input')) return null;
    throw error;
  }
}

function secretsFound(secrets: FoundSecret[]): AppError {
  const places = secrets.map(({ path, line, rule }) => `${path}:${line} (${rule})`).join(', ');
  return new AppError('refused', `No memory snapshot was made: what looks like a secret is in ${places}.`, {
    remedy: 'Take it out of the memory with nocturne redact, or leave it out of the snapshot with --redacted.',
  });
}

function notTakenIn(dir: string): AppError {
  return new AppError('refused', `The memory snapshot in ${dir} holds what this memory never took in.`, {
    remedy: 'Run nocturne snapshot apply first, or replace it with --replace.',
  });
}
