// What the memory tools answer as text, for clients that show a model no structured content: the same facts in fewer
// characters. And how a failure is told: what failed, what to do, and after a conflict what stands there now.

import type { CallToolResult } from '@modelcontextprotocol/server';
import { AppError, describeError, isAppError } from '../../base/errors.ts';
import type { OUTPUTS, Output } from './tool-shapes.ts';

/** The text of each tool's answer. */
export const TEXTS: { [Tool in keyof typeof OUTPUTS]: (output: Output<Tool>) => string } = {
  list({ memories, next_page }) {
    const rows = memories.map((item) =>
      item.type === 'memory_prefix'
        ? item.path
        : `${item.path}\t${item.size_bytes} bytes\tchanged ${item.modified_at.slice(0, 10)}`,
    );
    const more = next_page === null ? [] : [`More with page ${JSON.stringify(next_page)}.`];
    return [...(rows.length > 0 ? rows : ['Nothing is remembered there.']), ...more].join('\n');
  },
  search({ hits, total, next_page }) {
    const rows = hits.map(({ path, line, text }) => `${path}:${line}\t${text}`);
    const more = next_page === null ? [] : [`More with page ${JSON.stringify(next_page)}.`];
    return [`${total} found${hits.length < total ? `, ${hits.length} of them here` : ''}.`, ...rows, ...more].join(
      '\n',
    );
  },
  read(read) {
    const { first_line, last_line, total_lines, next_line, redacted, is_current, previous_version, content } = read;
    const about = [
      factsLine(read),
      ...(is_current ? [] : ['This is an older version.']),
      ...(previous_version === null ? [] : [`The version before it: ${previous_version}`]),
      `Lines ${first_line} to ${last_line} of ${total_lines}${next_line === null ? '' : `; the rest from first_line ${next_line}`}:`,
      ...(redacted > 0
        ? [`${redacted === 1 ? '1 secret is' : `${redacted} secrets are`} left out as [redacted:…].`]
        : []),
    ];
    return `${about.join('\n')}\n\n${content}`;
  },
  write: changeText,
  edit: changeText,
  delete: (gone) => `Deleted ${gone.path}; it is kept as version ${gone.version}.`,
};

function changeText(change: Output<'write'> | Output<'edit'>): string {
  const { outcome, path, redacted, collided } = change;
  return [
    outcome === 'unchanged' ? `${path} holds that already.` : `${path} was ${outcome}.`,
    factsLine(change),
    ...(redacted > 0 ? [`${redacted === 1 ? '1 secret was' : `${redacted} secrets were`} taken out of it.`] : []),
    ...(collided ? ['Somebody edited the same lines meanwhile, and that edit was kept: read it again.'] : []),
  ].join('\n');
}

function factsLine({
  path,
  id,
  version,
  content_sha256,
}: Pick<Output<'read'>, 'path' | 'id' | 'version' | 'content_sha256'>) {
  return `${path} · ${id ?? 'no id yet'} · ${version ?? 'no version yet'} · content_sha256 ${content_sha256}`;
}

/** A failure as a tool error; `found` is what stands there now. */
export function failure(error: unknown, found: Output<'read'> | null): CallToolResult {
  const { code, message, remedy } = isAppError(error) ? error : new AppError('unexpected', describeError(error));
  const now = found && `What stands there now:\n${TEXTS.read(found)}`;
  const text = [message, remedy, now].filter(Boolean).join('\n');
  return {
    isError: true,
    content: [{ type: 'text', text }],
    structuredContent: { error: { code, message, remedy: remedy ?? null }, found },
  };
}
