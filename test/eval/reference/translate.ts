// What readers answered a dream whose operations were add, merge, supersede, retire, drop and rename, in the words of one
// that has put, drop and rename. What cannot be said there is named, with why; it counts as neither kept nor lost.

export interface RecordedOperation {
  kind: string;
  entries?: string[];
  [key: string]: unknown;
}

export interface Translation {
  operations: RecordedOperation[];
  left: { operation: RecordedOperation; why: string }[];
}

/** `topicOf`: the topic that holds a line; a `retire` names none. */
export function translate(recorded: RecordedOperation[], topicOf: (line: string) => string | undefined): Translation {
  const translation: Translation = { operations: [], left: [] };
  for (const operation of recorded) {
    const now = inNewWords(operation, topicOf);
    if (typeof now === 'string') translation.left.push({ operation, why: now });
    else translation.operations.push(now);
  }
  return translation;
}

/** The operation, or why there is none. */
function inNewWords(
  operation: RecordedOperation,
  topicOf: (line: string) => string | undefined,
): RecordedOperation | string {
  const {
    kind,
    entries = [],
    lines = [],
    replaces = [],
    same: _,
    ...rest
  } = operation as RecordedOperation & {
    lines?: { text: string; entries: string[] }[];
    replaces?: string[];
  };
  const cited = new Set(lines.flatMap((line) => line.entries));
  const uncited = entries.filter((id) => !cited.has(id));
  const put = {
    ...rest,
    kind: 'put',
    ...(replaces.length > 0 && { out: replaces }),
    ...(lines.length > 0 && { in: lines }),
    ...(uncited.length > 0 && { entries: uncited }),
  };
  switch (kind) {
    case 'add':
    case 'merge':
    case 'supersede':
      return put;
    case 'retire': {
      const topics = new Set(replaces.map(topicOf));
      const [topic] = topics;
      return topic === undefined || topics.size > 1 ? 'its lines are not in one topic' : { ...put, topic };
    }
    case 'drop':
      return { kind, entries, ...rest };
    case 'rename':
      return { kind, ...rest };
    default:
      return `there is no ${kind}`;
  }
}
