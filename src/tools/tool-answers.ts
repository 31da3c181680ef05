// The answers of the tools of MCP, whatever the memory is kept in: as text for a model, as data, and as an error that a client can act on.

import type { CallToolResult } from '@modelcontextprotocol/server';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import type { AttachedStore, Input, OUTPUTS, Output } from './mcp-server.ts';

/** What is found where there is no memory. */
export const NOTHING = { list: { memories: [], next_page: null }, search: { hits: [], total: 0, next_page: null } };

/** Of one answer; a single line that is longer is shown whole. */
const MAX_CHARS = 16_000;

/** The lines that are asked for, as many of them as one answer holds. Errors: `bad-input` where there are none. */
export function pageOf(lines: string[], { first_line: from = 1, last_line: last = lines.length }: Input<'read'>) {
  const to = Math.min(last, lines.length);
  if (from > Math.max(to, 1)) {
    throw new AppError('bad-input', `There are no lines ${from} to ${last}: the memory has ${lines.length}.`, {
      remedy: 'Leave first_line and last_line out to read it from its beginning.',
    });
  }
  let content = lines[from - 1] ?? '';
  let next = Math.min(from + 1, lines.length + 1);
  while (next <= to && content.length + (lines[next - 1] as string).length <= MAX_CHARS) {
    content += lines[next - 1] as string;
    next += 1;
  }
  const next_line = next <= lines.length ? next : null;
  return {
    first_line: Math.min(from, lines.length),
    last_line: next - 1,
    total_lines: lines.length,
    next_line,
    content,
  };
}

/** Stands for a secret in what is shown. */
export const PLACEHOLDER = '[redacted:';

export function readOnly({ name }: Pick<AttachedStore, 'name'>): AppError {
  return new AppError('refused', `The store ${JSON.stringify(name)} is read-only; nothing was changed.`, {
    remedy:
      'Ask the person for access read_write in mcpStores of the settings, for :rw behind --store, or for a key that may write.',
  });
}

/** A person's own secret is shown as a placeholder; written back whole, the placeholder would take its place. */
export function losesSecret(path: string): AppError {
  return new AppError('refused', `${path} was not replaced: it holds a secret, which ${PLACEHOLDER}…] stands for.`, {
    remedy: 'Change the other parts with memory_edit; the secret stays where it is.',
  });
}

/** The number of the first hit of a page. Errors: `bad-input`. */
export function offsetOf(page: string): number {
  if (/^\d{1,6}$/.test(page)) return Number(page);
  throw new AppError('bad-input', `${JSON.stringify(page)} is no next_page of a search.`, {
    remedy: 'Leave page out to begin with the first.',
  });
}

export function isDirectoryHere(path: string): AppError {
  return new AppError('bad-input', `${path} is a directory.`, {
    remedy: `List it with the path_prefix ${JSON.stringify(`${path}/`)}.`,
  });
}

/** The text of each tool's answer. */
export const TEXTS: { [Tool in keyof typeof OUTPUTS]: (output: Output<Tool>) => string } = {
  list({ memories, next_page }) {
    const rows = memories.map((item) =>
      item.type === 'memory_prefix'
        ? item.path
        : `${item.path}\t${item.size_bytes} bytes\tchanged ${item.modified_at.slice(0, 10)}`,
    );
    return [...(rows.length > 0 ? rows : ['Nothing is remembered there.']), ...moreOf(next_page)].join('\n');
  },
  search({ hits, total, next_page }) {
    const rows = hits.map(({ path, line, text }) => `${path}:${line}\t${text}`);
    const found = `${total} found${hits.length < total ? `, ${hits.length} of them here` : ''}.`;
    return [found, ...rows, ...moreOf(next_page)].join('\n');
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

function moreOf(page: string | null): string[] {
  return page === null ? [] : [`More with page ${JSON.stringify(page)}.`];
}

function changeText(change: Output<'write' | 'edit'>): string {
  const { outcome, path, redacted, collided } = change;
  return [
    outcome === 'unchanged' ? `${path} holds that already.` : `${path} was ${outcome}.`,
    factsLine(change),
    ...(redacted > 0 ? [`${redacted === 1 ? '1 secret was' : `${redacted} secrets were`} taken out of it.`] : []),
    ...(collided ? ['Someone edited the same lines meanwhile, and that edit was kept: read it again.'] : []),
  ].join('\n');
}

function factsLine({ path, id, version, content_sha256 }: Output<'read' | 'write' | 'edit'>): string {
  return `${path} · ${id ?? 'no id yet'} · ${version ?? 'no version yet'} · content_sha256 ${content_sha256}`;
}

/**
 * A failure as a tool error; `found` is what stands there now. The data is no `structuredContent`: clients refuse what is
 * not as the tool's output schema says, and the words with it.
 */
export function failure(error: unknown, found: Output<'read'> | null): CallToolResult {
  const { code, message, remedy } = isAppError(error) ? error : new AppError('unexpected', describeError(error));
  const now = found && `What stands there now:\n${TEXTS.read(found)}`;
  const text = [message, remedy, now].filter(Boolean).join('\n');
  return {
    isError: true,
    content: [{ type: 'text', text }],
    _meta: { 'nocturne/error': { code, message, remedy: remedy ?? null, found } },
  };
}
