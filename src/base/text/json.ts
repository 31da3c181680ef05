// JSON of others, which may be none. What a value looks like is the business of whoever asked for it.

/** The value that the text is the JSON of; undefined where it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
