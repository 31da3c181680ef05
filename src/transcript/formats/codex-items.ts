// Codex's response items → parts: calls, what came of them, and what was said.
// A call that failed is known by its exit code, by the event that ended it, or by how the tool words a failure.

import { isObject, type JsonObject, objectAt, objectsOf, parsedOr, textOf } from '../../base/text/json.ts';
import type { Call, Part } from '../messages.ts';
import { humanParts } from './human-text.ts';
import { attachmentPart, textParts } from './message-builder.ts';

/** The text and images of a message's content, or of an output that is a list. */
export function contentParts(content: unknown): Part[] {
  if (typeof content === 'string') return textParts(content);
  return objectsOf(content).flatMap((item): Part[] => {
    if (item.type === 'input_image' || item.type === 'image') return [imagePart(item.image_url)];
    if (item.type === 'local_image') return [imagePart(item.path)];
    // An image is wrapped in a tag that names it.
    return textParts(item.text).filter(({ text }) => !/^<\/?image\b[^>]{0,300}>$/.test(text));
  });
}

/** `source` is a data URL, an address or a path. */
export function imagePart(source: unknown): Part {
  if (typeof source !== 'string') return { kind: 'attachment', label: 'image' };
  const mediaType = /^data:([^;,]{1,100})/.exec(source)?.[1];
  if (mediaType === undefined) return { kind: 'attachment', label: `image, ${source}` };
  return attachmentPart(mediaType, source.slice(source.indexOf(',') + 1));
}

/** Which tool an item of each type calls, and with what. */
const CALLS = new Map<unknown, (item: JsonObject) => [tool: string, input: unknown]>([
  [
    'function_call',
    ({ namespace, name, arguments: input }) => [
      [namespace, name].filter(textOf).join('.'),
      typeof input === 'string' ? parsedOr(input) : input,
    ],
  ],
  ['custom_tool_call', ({ name, input }) => [textOf(name) ?? '', input]],
  ['local_shell_call', ({ action }) => ['local_shell', action]],
  ['tool_search_call', ({ arguments: input }) => ['tool_search', input]],
  ['web_search_call', ({ action }) => ['web_search', action]],
  ['image_generation_call', ({ revised_prompt: prompt }) => ['image_generation', textOf(prompt)]],
]);

/** The call that an item is; `null` for an item of another kind. */
export function callOf(item: JsonObject): Call | null {
  const called = CALLS.get(item.type)?.(item);
  if (!called) return null;
  const [tool, input] = called;
  return { kind: 'call', id: textOf(item.call_id) ?? textOf(item.id) ?? '', tool, input };
}

/** Calls that the model's provider answers itself: no output follows them. */
export function isAnsweredElsewhere(item: JsonObject): boolean {
  return item.type === 'web_search_call' || item.type === 'image_generation_call';
}

/** The parts of an item that ends a call: its result, and the images in it. */
export function outputOf(item: JsonObject, hasFailed: boolean): Part[] {
  const output = typeof item.output === 'string' ? parsedOutput(item.output) : item.output;
  const content = isObject(output) ? (output.content ?? output.output) : output;
  const parts = contentParts(content);
  const text = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n');
  const exitCode = isObject(output) ? objectAt(output, 'metadata').exit_code : undefined;
  const marked =
    hasFailed || (isObject(output) && output.success === false) || (typeof exitCode === 'number' && exitCode !== 0)
      ? true
      : typeof exitCode === 'number'
        ? false
        : exitedIn(HEADER.exec(text)?.[0] ?? '');
  const result = {
    kind: 'result',
    callId: textOf(item.call_id) ?? '',
    text,
    isError: marked || saysFailure(text),
  } as const;
  return [
    marked === undefined || marked !== result.isError ? { ...result, isUnmarked: true } : result,
    ...parts.filter((part) => part.kind === 'attachment'),
  ];
}

/** Some versions write what a command printed as JSON with its exit code. */
function parsedOutput(output: string): unknown {
  if (!output.startsWith('{"output":')) return output;
  const parsed = parsedOr(output);
  return isObject(parsed) && typeof parsed.output === 'string' ? parsed : output;
}

const FAILURE =
  /^(aborted|error[: ]|failed |script (failed|error)|unsupported |unknown |[\w ]{1,40} (failed|rejected)\b|.{0,200}(rejected by user|verification failed))/i;

/** What Codex writes above what a command printed. */
const HEADER = /^(?:Chunk ID: |Wall time: |Exit code: |Process exited with code )[\s\S]{0,400}?\nOutput:(?:\n|$)/;

const EXIT_CODE = /^(?:Exit code:|Process exited with code) (-?\d+)/m;

/** Whether a command failed, by the exit code that stands above its output; undefined where none does. */
function exitedIn(header: string): boolean | undefined {
  const exitCode = EXIT_CODE.exec(header)?.[1];
  return exitCode === undefined ? undefined : exitCode !== '0';
}

function saysFailure(text: string): boolean {
  const [header = ''] = text.slice(0, 500).split(/^Output:/m, 1);
  return exitedIn(header) ?? FAILURE.test(header);
}

/** The call that an event says has failed. */
export function failedCall(event: JsonObject): string | undefined {
  const result = objectAt(event, 'result');
  const hasFailed =
    (typeof event.exit_code === 'number' && event.exit_code !== 0) ||
    event.success === false ||
    'Err' in result ||
    objectAt(result, 'Ok').isError === true;
  return hasFailed ? textOf(event.call_id) : undefined;
}

/** The same of an item that is recorded when it has ended, as newer versions do instead. */
export function failedItem({ id, status }: JsonObject): string | undefined {
  return status === 'failed' || status === 'declined' ? textOf(id) : undefined;
}

// What a person typed. Codex's apps wrap a prompt in what the editor knows, and put context of their own where a
// person's words would be; some old rollouts have no other record of them.

/** Under headings an app lists files, open tabs and what its browser shows, before the prompt itself. */
const WRAPPER = /^\s*# [^\n]{1,100}:\n[\s\S]*?\n## My request for Codex:[^\S\n]*\n?/;

/** How context begins that is not wrapped in a tag. */
const INJECTED_BEGINNINGS = [
  '# AGENTS.md instructions',
  '## Summary of conversation',
  'Another language model started to solve this problem',
  'Warning: apply_patch was requested via',
  'Warning: The maximum number of unified exec processes',
];

/** A file that a person put to the prompt, as the app lists it under its heading. */
const FILES = /^\s*# Files mentioned by the user:\n/;
const FILE = /^## [^\n]*?: (\S[^\n]*)$/gm;

/** The parts as the person typed them, and the files they put to them; `null` where no person typed. */
export function typedParts(parts: readonly Part[]): Part[] | null {
  const labels = parts.flatMap((part) => (part.kind === 'attachment' ? [part.label] : []));
  return humanParts(
    parts.flatMap((part): Part[] => {
      if (part.kind !== 'text') return [part];
      const [wrapper = ''] = WRAPPER.exec(part.text) ?? [];
      const paths = FILES.test(wrapper) ? [...wrapper.matchAll(FILE)].map(([, path = '']) => path) : [];
      const files = paths.filter((path) => !labels.some((label) => label.endsWith(path)));
      return [
        { kind: 'text', text: part.text.slice(wrapper.length) },
        ...files.map((path): Part => ({ kind: 'attachment', label: `file, ${path}` })),
      ];
    }),
  );
}

/** The parts of an item in a person's place, without those that the program put there. */
export function withoutInjected(parts: readonly Part[]): Part[] {
  return parts.filter((part) => part.kind !== 'text' || !isInjected(part.text));
}

/** Text that is one element from end to end (`<environment_context>…`) was never typed, and neither were these. */
function isInjected(text: string): boolean {
  const trimmed = text.trim();
  if (INJECTED_BEGINNINGS.some((beginning) => trimmed.startsWith(beginning))) return true;
  const tag = /^<([a-z][\w-]*)[^<>]{0,300}>/i.exec(trimmed)?.[1];
  return tag !== undefined && trimmed.endsWith(`</${tag}>`);
}
