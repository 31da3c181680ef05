// What programs that keep sessions of any agent write.
//
// ATIF, Harbor's Agent Trajectory Interchange Format (1.0 to 1.7): one JSON object with `steps`.
// Steps of the system, and steps copied from another trajectory so that the model knows them, are the harness's. A
// subagent's trajectory that is embedded is read where the step that refers to it has its results.
//
// Entire's compact transcript, version 1: JSON lines of any agent's session, `{ v: 1, agent, type, ts, content }`.
// A tool's result is inside the call it answers. It keeps no mark of what a program put in a person's place, but
// the id of the prompt: only the first text of a prompt can be human, what follows under the same id was put in.

import { isObject, type JsonObject, objectAt, objectsOf, textOf } from '../../base/text/json.ts';
import type { Format, Message } from '../messages.ts';
import { readObjects } from '../records.ts';
import { CLAUDES_DIALOGS } from './human-text.ts';
import { blockOfUrl, blocksOf, callBlock, MessageBuilder, resultBlock, type Utterance } from './message-builder.ts';

export const atif: Format = {
  name: 'atif',

  open({ document }) {
    const trajectory = document();
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
  const { is_error: isError } = extraOf(result);
  return resultBlock(
    result.source_call_id ?? '',
    contentOf(result.content),
    typeof isError === 'boolean' ? isError : undefined,
  );
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

const RECORD_START = '{"v":1,';

export const entire: Format = {
  name: 'entire',

  open({ path, records }) {
    if (!records.some((line) => isLine(line) && 'content' in line && isNamed(line))) return null;
    return { id: findId(path), messages: (onUnreadable) => readLines(path, onUnreadable) };
  },
};

function isLine({ v, type }: JsonObject): boolean {
  return v === 1 && textOf(type) !== undefined;
}

function isNamed({ agent, cli_version: version }: JsonObject): boolean {
  return typeof agent === 'string' || typeof version === 'string';
}

/** The file does not name its session: it is known by the first thing said in it. */
function findId(path: string): string {
  for (const message of readLines(path, () => undefined)) return message.id;
  return '';
}

function* readLines(path: string, onUnreadable: () => void): Generator<Message> {
  let builder: MessageBuilder | undefined;
  const prompts = new Set<string>();
  for (const line of readObjects(path, RECORD_START, onUnreadable)) {
    if (!isLine(line)) {
      onUnreadable();
      continue;
    }
    if (builder === undefined) {
      builder = new MessageBuilder(`${line.agent} ${line.ts}`);
      if (line.agent === 'Claude Code') builder.dialogs = CLAUDES_DIALOGS;
    }
    for (const utterance of utterancesOf(line, prompts)) yield* builder.add(utterance);
  }
}

function utterancesOf({ type, id: lineId, ts: at, content }: JsonObject, prompts: Set<string>): Utterance[] {
  const blocks = blocksOf(content) ?? [];
  const id = textOf(lineId);
  if (type === 'assistant') {
    const results = blocks.flatMap(resultOf);
    return [
      { by: 'assistant', id, at, blocks },
      { by: 'user', id: id && `${id}/results`, at, blocks: results },
    ];
  }
  if (type !== 'user') return [];
  const prompt = blocks.map((block) => textOf(block.id)).find((each) => each !== undefined);
  const isPutIn = prompt !== undefined && prompts.has(prompt);
  if (prompt !== undefined) prompts.add(prompt);
  return [{ by: isPutIn ? 'harness' : 'user', id: prompt, at, blocks: blocks.map(asText) }];
}

/** A person's text has no type in this version. */
function asText(block: JsonObject): JsonObject {
  return block.type === undefined && typeof block.text === 'string' ? { type: 'text', text: block.text } : block;
}

function resultOf({ type, id, result }: JsonObject): JsonObject[] {
  if (type !== 'tool_use' || !isObject(result)) return [];
  return [{ type: 'tool_result', tool_use_id: id, is_error: result.status === 'error', content: result.output }];
}
