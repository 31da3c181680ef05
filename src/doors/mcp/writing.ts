// The tools that write: write, edit, delete. Each is one commit of the store, checked against what stands
// there at that moment, so that several clients at once lose nothing. No secret is written that can be known as one.

import { AppError } from '../../base/errors.ts';
import { redact } from '../../base/text/redact.ts';
import { confine } from '../../memory/store/confine.ts';
import { check, notThere, type Precondition } from '../../memory/store/staging.ts';
import type { FileChange, Store } from '../../memory/store/store.ts';
import { refuseJoinedSecret, refuseSecretName, replaceIn } from '../memory-commands.ts';
import { factsOf, memoryAt, placeOf } from './reading.ts';
import type { Input, Output } from './tool-shapes.ts';

/** Who makes a change. */
interface By {
  actor: string;
}

const PLACEHOLDER = '[redacted:';

export async function writeMemory(store: Store, input: Input<'write'>, by: By): Promise<Output<'write'>> {
  const { path } = confine(store.dir, input.path);
  await refuseSecretName(path);
  const { text, redacted } = await withoutSecrets(input.content);
  await refuseLosingSecret(store, { path, text });
  const expected = input.expected_content_sha256;
  const precondition: Precondition = expected ? { contentSha256: expected } : { mustNotExist: true };
  let outcome: Output<'write'>['outcome'] = 'unchanged';
  const collided = await change(store, by, {
    path,
    change(current) {
      if (current === text) return text;
      check({ path, precondition }, current);
      outcome = current === null ? 'created' : 'modified';
      return text;
    },
  });
  return { store: input.store, ...factsOf(await memoryAt(store, path)), redacted, collided, outcome };
}

export async function editMemory(store: Store, input: Input<'edit'>, by: By): Promise<Output<'edit'>> {
  const { path: from } = placeOf(store, input.path);
  const to = input.new_path === undefined ? from : confine(store.dir, input.new_path).path;
  if (to !== from) await refuseSecretName(to);
  const { old_str, expected_content_sha256: expected } = input;
  const { text: new_str, redacted } = await withoutSecrets(input.new_str);
  const standing = old_str === undefined ? null : await store.read(from);
  if (standing !== null && old_str !== undefined && standing.split(old_str).length === 2) {
    await refuseJoinedSecret(
      from,
      standing,
      standing.replace(old_str, () => new_str),
    );
  }
  let outcome: Output<'edit'>['outcome'] = 'unchanged';
  const collided = await change(store, by, {
    path: to,
    from,
    change(current) {
      check({ path: from, precondition: expected ? { contentSha256: expected } : undefined }, current);
      if (current === null) throw notThere(input.path);
      const text = old_str === undefined ? current : replaceIn(current, { path: from, old_str, new_str }).text;
      outcome = to !== from ? 'moved' : text !== current ? 'modified' : 'unchanged';
      return text;
    },
  });
  return { store: input.store, ...factsOf(await memoryAt(store, to)), redacted, collided, outcome };
}

export async function deleteMemory(store: Store, input: Input<'delete'>, by: By): Promise<Output<'delete'>> {
  const before = await memoryAt(store, input.path);
  const { path } = before;
  const expected = input.expected_content_sha256;
  await change(store, by, {
    path,
    change(current) {
      if (current === null) throw notThere(input.path);
      check({ path, precondition: expected ? { contentSha256: expected } : undefined }, current);
      return null;
    },
  });
  return { store: input.store, ...factsOf(before), outcome: 'deleted' };
}

/** A person's own secret is shown as a placeholder; written back whole, the placeholder would take its place. */
async function refuseLosingSecret(store: Store, { path, text }: { path: string; text: string }): Promise<void> {
  const before = text.includes(PLACEHOLDER) ? await store.lookUp(path) : null;
  if (before === null || before.text === text || (await redact(before.text)).found.length === 0) return;
  throw new AppError('refused', `${path} was not replaced: it holds a secret, which ${PLACEHOLDER}…] stands for.`, {
    remedy: 'Change the other parts with memory_edit; the secret stays where it is.',
  });
}

/** Commits the change of one file; answers whether lines of it gave way to an edit made meanwhile. */
async function change(store: Store, by: By, file: FileChange): Promise<boolean> {
  const { collisions } = await store.commit(by, () => ({ files: [file] }));
  return collisions.length > 0;
}

async function withoutSecrets(given: string): Promise<{ text: string; redacted: number }> {
  const { text, found } = await redact(given);
  return { text, redacted: found.reduce((sum, { count }) => sum + count, 0) };
}
