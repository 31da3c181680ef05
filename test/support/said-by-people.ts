// What people typed or chose in a transcript, counted by hand's rules: a few lines that look at the records alone and
// share no code with the reader that they check.

// biome-ignore lint/suspicious/noExplicitAny: the records of many versions, of any shape
type Any = any;
type Json = Record<string, Any>;

/** What a person said, one string each, in no order; white space is folded. */
export function saidInClaudeCode(text: string): string[] {
  const records = text.split('\n').flatMap(recordsOn);
  const seen = new Set<string>();
  const calls = new Map<string, Json>();
  const said: string[] = [];
  const elsewhere: string[] = [];
  const queued: string[] = [];
  const namesHumans = records.findIndex((record) => record.origin?.kind === 'human');
  for (const [at, record] of records.entries()) {
    if (record.type === 'user' && !record.message?.content) continue;
    const key = record.uuid ?? '';
    if (key !== '' && seen.has(key)) continue;
    seen.add(key);
    if (record.type === 'queue-operation' && record.operation === 'enqueue') queued.push(fold(record.content ?? ''));
    if (record.type === 'queue-operation' && record.operation === 'popAll') {
      if (record.content === undefined) queued.length = 0;
      else if (queued.includes(fold(record.content))) queued.splice(queued.indexOf(fold(record.content)), 1);
    }
    if (record.type === 'attachment' && record.attachment?.type === 'queued_command') {
      const { prompt, commandMode = 'prompt', source_uuid: source } = record.attachment;
      const words = fold(textIn(prompt));
      elsewhere.push(words);
      if (commandMode === 'prompt' && !isMachine(words) && !(source && seen.has(source))) said.push(words);
      if (source) seen.add(source);
    }
    const content = record.message?.content;
    for (const block of Array.isArray(content) ? content : []) {
      if (block.type === 'tool_use') calls.set(block.id, block);
      if (block.type !== 'tool_result' || record.isSidechain) continue;
      const call = calls.get(block.tool_use_id);
      // What a resumed session writes again answers nothing any more.
      calls.delete(block.tool_use_id);
      const answer = call && answerIn(call, textIn(block.content), record.toolUseResult, block.is_error === true);
      if (answer) said.push(fold(answer));
    }
    if (record.type !== 'user') continue;
    const typed = textIn(content).replace(/<(system-reminder|ide_\w+)>[\s\S]*?<\/\1>/g, '');
    const words = fold(typed);
    const [, name = ''] = /<command-name>([\s\S]*?)<\/command-name>/.exec(typed) ?? [];
    const [, args = ''] = /<command-args>([\s\S]*?)<\/command-args>/.exec(typed) ?? [];
    elsewhere.push(name ? fold(`${name} ${args}`) : words);
    if (record.isMeta || record.isSidechain || record.isCompactSummary || record.isVisibleInTranscriptOnly) continue;
    if (typeof record.sourceToolUseID === 'string' || record.promptSource === 'system') continue;
    if (record.origin && record.origin.kind !== 'human') continue;
    const [, shell] = /^<bash-input>([\s\S]*)<\/bash-input>$/.exec(typed) ?? [];
    if (shell) said.push(fold(`! ${shell}`));
    else if (record.planContent) said.push('approved the plan');
    else if (name) said.push(...(args.trim() ? [fold(`/${name.replace(/^\//, '')} ${args}`)] : []));
    else if (words === '' ? hasPicture(content) : !isMachine(words)) {
      const isNobodys = namesHumans !== -1 && at > namesHumans && !record.origin && record.promptSource !== 'typed';
      // A session that is resumed may be written into the same file again, with the times of what it repeats.
      const again = `${record.timestamp} ${words}`;
      if (!isNobodys && !seen.has(again)) said.push(words);
      if (/\.\d*[1-9]\d*Z$/.test(record.timestamp)) seen.add(again);
    }
  }
  const unsent = queued.filter((words) => {
    const at = elsewhere.indexOf(words);
    if (at !== -1) elsewhere.splice(at, 1);
    return at === -1 && !isMachine(words) && !/^[{[]/.test(words);
  });
  return [...said, ...unsent].sort();
}

/** The same for a rollout of Codex: the session's own, not a subagent's. */
export function saidInCodex(text: string): string[] {
  const payloads = text
    .split('\n')
    .flatMap(recordsOn)
    .map((record) => ({ of: record.type, ...record.payload }));
  const meta = payloads.find(({ of }) => of === 'session_meta') ?? {};
  if (typeof meta.source === 'object' || meta.thread_source === 'subagent') return [];
  return payloads
    .filter(({ of, type }) => of === 'event_msg' && type === 'user_message')
    .map(({ message }) => fold(message.replace(/^[\s\S]*## My request for Codex:/, '')))
    .filter((words) => !isMachine(words))
    .sort();
}

export function fold(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function recordsOn(line: string): Json[] {
  return line
    .replaceAll('}{"type"', '}\n{"type"')
    .split('\n')
    .flatMap((part) => {
      try {
        const value = JSON.parse(part);
        return typeof value === 'object' && value !== null ? [value] : [];
      } catch {
        return [];
      }
    });
}

function textIn(content: Any): string {
  if (typeof content === 'string') return content;
  return (Array.isArray(content) ? content : [])
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('\n');
}

function hasPicture(content: Any): boolean {
  return Array.isArray(content) && content.some((block) => block.type === 'image');
}

function isMachine(words: string): boolean {
  return /^(<(local-|bash-|command-|task-|user-|system|environment|turn_)|\[Request interrupted|This session is being cont|Caveat: |\[SYSTEM|Base directory|$)/.test(
    words,
  );
}

function answerIn(call: Json, result: string, outcome: Any, isError: boolean): string | null {
  if (call.name === 'ExitPlanMode' && !isError)
    return result.includes('approved your plan') ? 'approved the plan' : null;
  if (isError) {
    const [, reason = ''] = /the user said:\n([\s\S]*?)(\n\nNote: |$)/.exec(result) ?? [];
    return reason.startsWith('The user wants to clarify') ? null : reason || null;
  }
  if (call.name !== 'AskUserQuestion') return null;
  const answers = call.input.questions.map(({ question, options }: Json) => {
    const given = outcome?.answers?.[question] ?? result.split(`"${question}"="`)[1]?.split('"')[0] ?? '';
    const left = options.reduce((rest: string, { label }: Json) => rest.replace(label, ''), given);
    const notes = outcome?.annotations?.[question]?.notes ?? '';
    const noted = notes === given ? '' : notes;
    const picked = options.filter(({ label, description }: Json) => given.includes(label) && description);
    const means = picked.map(({ description }: Json) => description).join('; ');
    return /^[\s,]*$/.test(left)
      ? `${question} chose: ${given} ${means && `(${means})`} ${noted}`
      : `${given} ${noted}`;
  });
  return answers.join('\n');
}
