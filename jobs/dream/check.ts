// What a slice's operations are checked against: the context that they speak of, and what they name of the memory beside it.
// Which of them stand is decided in src/memory/text/proposed-operations.ts; what is checked can be committed as it is.

import { isAppError } from '../../src/base/errors.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import { type CheckedAgainst, ProposedOperations } from '../../src/memory/text/proposed-operations.ts';
import { editsOf } from '../../src/memory/text/topic-edits.ts';
import { linesOut, type Operation } from '../../src/rules/dream-context.ts';
import { type Checked, type CommitDeps, sizeOf } from './commit.ts';
import { readHolding, readNamed, relinked } from './draft.ts';
import type { Context, Selected } from './select.ts';

export function proposedFor({ context }: Pick<Selected, 'context'>, { store }: CommitDeps): ProposedOperations {
  context.lines ??= sizeOf(store.ledger).lines;
  return new ProposedOperations({
    context,
    limits: store.limits,
    read: (operation) => readOperation(operation, context, store),
    keepsName: (rename) => linkedBy(rename, context, store),
  });
}

/** What stands of it, as it is committed; all else is left. */
export function checkedOf(
  proposed: ProposedOperations,
  { slice: { fresh, withdrawn }, context }: Pick<Selected, 'slice' | 'context'>,
): Checked & { left: NonNullable<Checked['left']> } {
  const { standing: operations, refused, left } = proposed;
  const open = new Set(left.map(({ entry }) => entry));
  const isPlaced = ({ id }: EntryRow) => !open.has(id);
  return {
    ...{ operations, context, refused, left },
    fresh: fresh.filter(isPlaced),
    withdrawn: withdrawn.filter(isPlaced),
  };
}

/** Reads what an operation names and was not shown; answers what cannot be changed of it. */
async function readOperation(
  operation: Operation,
  { topics }: Context,
  store: CommitDeps['store'],
): ReturnType<CheckedAgainst['read']> {
  const names = operation.kind === 'drop' ? [] : [operation.topic, operation.kind === 'rename' ? operation.to : null];
  try {
    await readNamed(
      store,
      names.filter((name) => typeof name === 'string'),
      topics,
    );
    await readHolding(store, linesOut(operation), topics);
    return [];
  } catch (error) {
    // What stands there is no file of the memory: a link that leads out of it.
    if (isAppError(error, 'bad-input')) return [error.message];
    throw error;
  }
}

/** Why a topic keeps its name: a person's line links it. */
async function linkedBy(
  rename: Operation,
  context: Context,
  store: CommitDeps['store'],
): ReturnType<CheckedAgainst['keepsName']> {
  try {
    await relinked(editsOf([rename], context), store);
    return null;
  } catch (error) {
    if (isAppError(error, 'refused')) return error.message;
    throw error;
  }
}
