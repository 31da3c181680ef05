// Reads a dream's input as prompts/dream-input.md lays it out: entries as JSON lines, topics as headings and lines.
// What it cannot read it passes over; nothing here throws.

/** The parts of a dream's input, as prompts/dream-input.md fences them. */
export interface DreamInput {
  entries: string;
  withdrawn: string;
  topics: string;
  others: string;
}

export interface GivenEntry {
  id: string;
  type: string;
  strength: string;
  at: string;
  /** A name for the session it was said in. */
  session: string;
  text: string;
}

export interface ShownLine {
  id: string;
  text: string;
  isPersons: boolean;
  withdrawn: string[];
}

export interface ShownTopic {
  name: string;
  type: string;
  description: string;
  lines: ShownLine[];
}

/** The entries of JSON lines; of an id that comes twice the last. */
export function entriesOf(jsonLines: string): GivenEntry[] {
  const entries = new Map<string, GivenEntry>();
  for (const line of jsonLines.split('\n')) {
    const entry = line.startsWith('{') ? parseEntry(line) : null;
    if (entry !== null) entries.set(entry.id, entry);
  }
  return [...entries.values()];
}

function parseEntry(line: string): GivenEntry | null {
  try {
    const { id, type, strength, at, session, text } = JSON.parse(line) as Record<string, unknown>;
    if (typeof id !== 'string' || typeof text !== 'string') return null;
    return {
      id,
      text,
      type: String(type),
      strength: String(strength),
      at: String(at ?? ''),
      session: String(session ?? ''),
    };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The topics shown, with their lines. */
export function topicsOf(shown: string): ShownTopic[] {
  const topics: ShownTopic[] = [];
  for (const row of shown.split('\n')) {
    const heading = /^### (.+)\.md \((\w+)\)(?: — (.*))?$/.exec(row);
    const line = /^\[([0-9a-f]{8})(?: seen once \S+)?( person)?(?: withdrawn ([^\],]+)[^\]]*)?\] (.*)$/.exec(row);
    if (heading !== null) {
      const [, name = '', type = '', description = ''] = heading;
      topics.push({ name, type, description, lines: [] });
    } else if (line !== null) {
      const [, id = '', person, withdrawn = '', text = ''] = line;
      const sources = withdrawn.split(/[\s,]+/).filter((source) => source !== '');
      topics.at(-1)?.lines.push({
        id,
        text,
        isPersons: person !== undefined,
        withdrawn: sources,
      });
    }
  }
  return topics;
}
