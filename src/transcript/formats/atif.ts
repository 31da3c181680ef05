// ATIF, Harbor's Agent Trajectory Interchange Format (1.0 to 1.7): one JSON object with `steps`.
// Steps of the system, and steps copied from another trajectory so that the model knows them, are the harness's. A
// subagent's trajectory that is embedded is read where the step that refers to it has its results.

import { isObject, type JsonObject, objectAt, objectsOf, textOf } from '../../base/text/json.ts';
import type { Message } from '../types.ts';
import { type Format, mayBeObject } from './format.ts';
import { blockOfUrl, blocksOf, callBlock, MessageBuilder, resultBlock, type Utterance } from './message-builder.ts';

const KEYS: ReadonlySet<string> = new Set(
  'schema_version session_id trajectory_id agent steps notes extra final_metrics subagent_trajectories'.split(' '),
);

export const atif: Format = {
  name: 'atif',

  async open({ head, document }) {
    const trajectory = mayBeObject(head, KEYS) ? await document() : undefined;
    if (!isTrajectory(trajectory)) return null;
    const id = textOf(trajectory.session_id) ?? textOf(trajectory.trajectory_id);
    const read = (onUnreadable: () => void) => readSteps(trajectory, id, onUnreadable);
    return {
      id: id ?? read(() => undefined).next().value?.id ?? '',
      cwd: textOf(extraOf(trajectory.agent).cwd),
      messages: read,
    };
  },
};

type Trajectory = JsonObject & { steps: unknown[] };

function isTrajectory(document: unknown): document is Trajectory {
  if (!isObject(document) || !/^ATIF-v1\.\d+$/.test(textOf(document.schema_version) ?? '')) return false;
  return Array.isArray(document.steps);
}

function readSteps(trajectory: Trajectory, id: string | undefined, onUnreadable: () => void): Generator<Message, void> {
  // Step numbers restart in a trajectory that continues another under the same session, so they are no ids.
  const builder = new MessageBuilder(id);
  const cwd = extraOf(trajectory.agent).cwd;
  return read(trajectory, false);

  function* read(of: Trajectory, isSidechain: boolean): Generator<Message, void> {
    const embedded = subagentsOf(of);
    for (const step of of.steps) {
      if (!isObject(step) || !SOURCES.has(step.source)) {
        onUnreadable();
        continue;
      }
      const place = { at: step.timestamp, cwd: extraOf(step).cwd ?? cwd, isSidechain };
      const results = resultsOf(step);
      yield* builder.add({ ...place, ...saidIn(step) });
      for (const subagent of results.flatMap((result) => referredIn(result, embedded))) yield* read(subagent, true);
      yield* builder.add({ ...place, by: 'user', blocks: results.map(toldBy) });
    }
  }
}

const SOURCES: ReadonlySet<unknown> = new Set(['user', 'agent', 'system']);

function saidIn(step: JsonObject): Pick<Utterance, 'by' | 'blocks'> {
  const blocks = contentOf(step.message);
  if (step.source === 'system' || step.is_copied_context === true) return { by: 'harness', blocks };
  if (step.source === 'user') return { by: 'user', blocks: blocks.filter(({ type }) => type !== 'tool_result') };
  const calls = objectsOf(step.tool_calls).map(({ tool_call_id: id, function_name: name, arguments: input }) => {
    return callBlock(id, name, input);
  });
  return { by: 'assistant', blocks: [...blocks, ...calls] };
}

/** None in a step copied for its context: it was read where it happened. */
function resultsOf(step: JsonObject): JsonObject[] {
  return step.is_copied_context === true ? [] : objectsOf(objectAt(step, 'observation').results);
}

function toldBy(result: JsonObject): JsonObject {
  return resultBlock(result.source_call_id ?? '', contentOf(result.content), extraOf(result).is_error === true);
}

/** Each embedded trajectory is taken out as it is referred to, so that none is read twice. */
function referredIn({ subagent_trajectory_ref: refs }: JsonObject, embedded: Map<string, Trajectory>): Trajectory[] {
  return objectsOf(refs).flatMap((ref) => {
    const id = textOf(ref.trajectory_id) ?? '';
    const trajectory = embedded.get(id);
    embedded.delete(id);
    return trajectory ? [trajectory] : [];
  });
}

function subagentsOf({ subagent_trajectories: embedded }: Trajectory): Map<string, Trajectory> {
  const trajectories = Array.isArray(embedded) ? embedded.filter(isTrajectory) : [];
  return new Map(trajectories.map((trajectory) => [textOf(trajectory.trajectory_id) ?? '', trajectory]));
}

function contentOf(content: unknown): JsonObject[] {
  return (blocksOf(content) ?? []).flatMap((part) => {
    if (part.type === 'text') return [part];
    if (part.type !== 'image' || !isObject(part.source)) return [];
    const { path, media_type: mediaType } = part.source;
    return [blockOfUrl(textOf(path) ?? '', textOf(mediaType))];
  });
}

function extraOf(value: unknown): JsonObject {
  return isObject(value) ? objectAt(value, 'extra') : {};
}
