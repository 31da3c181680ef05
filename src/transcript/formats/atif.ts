// ATIF, Harbor's Agent Trajectory Interchange Format (1.0 to 1.7): one JSON object with `steps`.
// Steps of the system, and steps copied from another trajectory so that the model knows them, are the harness's. A
// subagent's trajectory that is embedded is read where the step that refers to it has its results.

import type { Message } from '../types.ts';
import { blockOfUrl, blocksOf } from './blocks.ts';
import { Conversation, type Utterance } from './conversation.ts';
import { mayBeObject } from './document.ts';
import { soundsFailed } from './failure.ts';
import { type Format, isObject, type JsonObject } from './format.ts';
import { textOf } from './values.ts';

const KEYS: ReadonlySet<string> = new Set(
  'schema_version session_id trajectory_id agent steps notes extra final_metrics subagent_trajectories'.split(' '),
);

export const atif: Format = {
  name: 'atif',

  async recognises(source) {
    return mayBeObject(source.head, KEYS) && isTrajectory(await source.document());
  },

  async open(source) {
    const document = await source.document();
    const trajectory = isTrajectory(document) ? document : { steps: [] };
    const named = textOf(trajectory.session_id) ?? textOf(trajectory.trajectory_id);
    return {
      id: named ?? firstOf(readSteps(trajectory, () => undefined))?.id ?? '',
      cwd: textOf(extraOf(trajectory.agent).cwd),
      async *messages(onUnreadable) {
        yield* readSteps(trajectory, onUnreadable);
      },
    };
  },
};

type Trajectory = JsonObject & { steps: unknown[] };

function isTrajectory(document: unknown): document is Trajectory {
  if (!isObject(document) || !/^ATIF-v1\.\d+$/.test(textOf(document.schema_version) ?? '')) return false;
  return Array.isArray(document.steps);
}

function readSteps(trajectory: Trajectory, onUnreadable: () => void): Generator<Message> {
  // Step numbers start anew in a trajectory that continues another under the same session, so they are no ids.
  const conversation = new Conversation(textOf(trajectory.session_id) ?? textOf(trajectory.trajectory_id));
  const cwd = extraOf(trajectory.agent).cwd;
  return read(trajectory, false);

  function* read(of: Trajectory, isSidechain: boolean): Generator<Message> {
    const embedded = subagentsOf(of);
    for (const step of of.steps) {
      if (!isObject(step) || !SOURCES.has(step.source)) {
        onUnreadable();
        continue;
      }
      const place = { at: step.timestamp, cwd: extraOf(step).cwd ?? cwd, isSidechain };
      const results = resultsOf(step);
      yield* conversation.add({ ...place, ...saidIn(step) });
      for (const subagent of results.flatMap((result) => referredIn(result, embedded))) yield* read(subagent, true);
      yield* conversation.add({ ...place, by: 'user', blocks: results.map(resultBlock) });
    }
  }
}

const SOURCES: ReadonlySet<unknown> = new Set(['user', 'agent', 'system']);

function saidIn(step: JsonObject): Pick<Utterance, 'by' | 'blocks'> {
  const blocks = contentOf(step.message);
  if (step.source === 'system' || step.is_copied_context === true) return { by: 'harness', blocks };
  if (step.source === 'user') return { by: 'user', blocks: blocks.filter(({ type }) => type !== 'tool_result') };
  const calls = Array.isArray(step.tool_calls) ? step.tool_calls.filter(isObject) : [];
  return { by: 'assistant', blocks: [...blocks, ...calls.map(callBlock)] };
}

function callBlock(call: JsonObject): JsonObject {
  return { type: 'tool_use', id: call.tool_call_id, name: call.function_name, input: call.arguments };
}

/** None in a step copied for its context: it was read where it happened. */
function resultsOf({ observation, is_copied_context: isCopied }: JsonObject): JsonObject[] {
  const results = isObject(observation) && isCopied !== true ? observation.results : [];
  return Array.isArray(results) ? results.filter(isObject) : [];
}

function resultBlock(result: JsonObject): JsonObject {
  const content = contentOf(result.content);
  const text = content.map((block) => textOf(block.text) ?? '').join('\n');
  const isError = extraOf(result).is_error === true || soundsFailed(text);
  return { type: 'tool_result', tool_use_id: result.source_call_id ?? '', is_error: isError, content };
}

/** Each embedded trajectory is taken out as it is referred to, so that none is read twice. */
function referredIn({ subagent_trajectory_ref: refs }: JsonObject, embedded: Map<string, Trajectory>): Trajectory[] {
  const ids = Array.isArray(refs) ? refs.filter(isObject).map((ref) => textOf(ref.trajectory_id) ?? '') : [];
  return ids.flatMap((id) => {
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
    return [blockOfUrl(textOf(part.source.path) ?? '', textOf(part.source.media_type))];
  });
}

function extraOf(value: unknown): JsonObject {
  return isObject(value) && isObject(value.extra) ? value.extra : {};
}

function firstOf<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}
