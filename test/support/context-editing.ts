// What the API does with `context_management` before a model sees a request, as its documentation tells: what stands
// before a compaction block is dropped, old results of tools are cleared, what is still too long is compacted.

import type { ContentBlock, MessagesRequest } from './messages-server.ts';

interface ClearEdit {
  type: 'clear_tool_uses_20250919';
  trigger: { value: number };
  keep: { value: number };
  exclude_tools?: string[];
}

interface CompactEdit {
  type: 'compact_20260112';
  trigger: { value: number };
}

/** A call of a tool as the model sees it; null for a result that was cleared. */
export interface SeenCall {
  tool: string;
  input: Record<string, unknown>;
  result: string | null;
}

export type SeenContext = ReturnType<typeof contextOf>;

/** What a model sees of a request, in a context where each character counts for so many tokens. */
export function contextOf(request: MessagesRequest, tokensPerCharacter: number) {
  const edits = (request.context_management as { edits: (ClearEdit | CompactEdit)[] } | undefined)?.edits ?? [];
  let calls = callsIn(sinceCompaction(request));
  const tokens = () => JSON.stringify(calls).length * tokensPerCharacter;
  /** For the reply. */
  const appliedEdits: object[] = [];
  /** The block that the reply begins with, where the context was compacted: then nothing else is seen. */
  let compaction: ContentBlock | null = null;
  for (const edit of edits) {
    const before = tokens();
    if (before <= edit.trigger.value) continue;
    if (edit.type === 'compact_20260112') {
      compaction = {
        type: 'compaction',
        content: 'Files are being gone through.',
        encrypted_content: `kept-${before}`,
      };
      calls = [];
      continue;
    }
    const clearable = calls.filter(({ tool }) => !edit.exclude_tools?.includes(tool));
    const old = new Set(clearable.slice(0, Math.max(clearable.length - edit.keep.value, 0)));
    calls = calls.map((call) => (old.has(call) ? { ...call, result: null } : call));
    const cleared = { cleared_tool_uses: old.size, cleared_input_tokens: before - tokens() };
    if (old.size > 0) appliedEdits.push({ type: edit.type, ...cleared });
  }
  return { calls, appliedEdits, compaction };
}

function sinceCompaction({ messages }: MessagesRequest): ContentBlock[] {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  return blocks.slice(blocks.findLastIndex((block) => block.type === 'compaction') + 1);
}

function callsIn(blocks: ContentBlock[]): SeenCall[] {
  return blocks
    .filter((block) => block.type === 'tool_use')
    .flatMap((use) => {
      const result = blocks.find((block) => block.type === 'tool_result' && block.tool_use_id === use.id);
      if (!result) return [];
      const { name, input } = use as { name?: string; input?: Record<string, unknown> };
      return [{ tool: name ?? '', input: input ?? {}, result: textOf(result.content) }];
    });
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return (content as { text?: string }[]).map(({ text = '' }) => text).join('');
}
