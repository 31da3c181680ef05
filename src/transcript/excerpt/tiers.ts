// What of a turn is shown first when not all fits. It goes by form alone, since no code knows what a sentence means:
// who says it, whether a person answers it, whether it failed, what kind of tool it comes from.

import type { Row, Tier } from './rows.ts';

/** Gives all rows of a turn, in source order, their tiers. */
export function assignTiers(rows: readonly Row[]): void {
  const calls = new Map<string, Row>();
  for (const row of rows) {
    if (row.kind === 'call' && row.callId) calls.set(row.callId, row);
    row.tier = tierOf(row, row.kind === 'result' ? calls.get(row.callId ?? '') : row);
  }
  raiseFailures(rows, calls);
  raiseAnswered(rows.filter((row) => row.offered));
  raiseAnswered(rows.filter((row) => !row.offered));
}

/** `call`: of a call and of a result, the call. */
function tierOf(row: Row, call: Row | undefined): Tier {
  const { kind, speaker } = row;
  // Without it the human's words beside it say little.
  if (speaker !== 'human' && row.message.speaker === 'human' && !row.message.isSidechain) return 'answered';
  if (kind === 'words' && speaker !== 'tool') {
    if (speaker === 'human' || speaker === 'subagent') return speaker;
    return isAnnouncement(row.text) ? 'idle' : 'assistant';
  }
  if (kind === 'words') return 'trace';
  if (call?.tool !== undefined) {
    if ([BOOKKEEPING, LOOKING].some((tools) => tools.test(call.tool ?? ''))) return 'idle';
    if (row.isError) return 'trace';
    if (LISTING.test(call.text)) return 'idle';
    // What was asked is told apart from what was chosen, which the person's own message says.
    if (ASKING.test(call.tool)) return kind === 'call' ? 'asked' : 'idle';
    if (kind === 'result' && EDITING.test(call.tool)) return 'idle';
    if (kind === 'result' && AGENT.test(call.tool)) return 'subagent';
  }
  return 'trace';
}

const BOOKKEEPING =
  /^(?:todo|task_?(?:create|update|list|get|output|stop)|update_plan|write_todos|update_todo|toolsearch|report_intent|enterplanmode)/i;
const LOOKING =
  /^(?:ls|glob|grep|list_?(?:dir|files)|listdir|find_?files|read|view|open_?file|search_?(?:file|text)|notebookread)/i;
const LISTING = /"(?:command|cmd)":\[?(?:"(?:ba|z)?sh",?"-l?c",)?"(?:cd \S+ && )?(?:ls|find|tree|pwd)\b[^|&;\n]*"/;
const EDITING = /^(?:edit|multiedit|write|notebookedit|apply_?patch|replace|str_replace|create)/i;
const ASKING = /^(?:ask_?user|request_?user_?input|question$)/i;
const AGENT = /^(?:task|agent|spawn_?agent)$/i;

/** What announces the next call, or says that the last one went well. */
function isAnnouncement(text: string): boolean {
  const line = text.trim();
  if (line.length > 160 || line.includes('\n') || line.endsWith('?')) return false;
  return line.endsWith(':') || ANNOUNCES.test(line);
}

const ANNOUNCES =
  /^(?:ack\b|ok(?:ay)?\b|good\b|great\b|perfect\b|excellent\b|done\b|now\b|next\b|let(?:'|’)?s\b|let me\b|i(?:'|’)(?:ll|m going)\b|i will\b|first,|(?:updat|check|read|runn|look|fix|add|creat|commit|push)ing\b|all (?:tests|checks) (?:pass|green))/i;

/** What the program says of a call that it did not even make: the agent used its tool wrongly. */
const MISUSE =
  /^error: (?:<tool_use_error>|File (?:has not been read|has been modified|does not exist)|String to replace|Sibling tool call|Cancelled)/;

function raiseFailures(rows: readonly Row[], calls: Map<string, Row>): void {
  let isFailed = false;
  for (const row of rows) {
    if (row.tier === 'human') isFailed = false;
    if (row.kind === 'result' && row.isError && row.tier === 'trace' && !MISUSE.test(row.text)) {
      row.tier = 'failed';
      const call = calls.get(row.callId ?? '');
      if (call) call.tier = 'failed';
      isFailed = true;
    } else if (isFailed && row.kind === 'words' && row.speaker === 'assistant') {
      row.tier = 'failed';
      isFailed = false;
    }
  }
}

function raiseAnswered(rows: readonly Row[]): void {
  let last: Row | undefined;
  for (const row of rows) {
    if (row.tier === 'human') {
      if (last) {
        last.tier = 'answered';
        last.isDecidedOn = row.message.parts.some((part) => part.kind === 'text' && part.untyped === 'chosen');
      }
      last = undefined;
    } else if (row.kind === 'words' && row.speaker === 'assistant') {
      last = row;
    }
  }
  if (last) last.tier = 'answered';
}
