// What a look by `nocturne doctor` finds, whoever looks.

export interface Checked {
  /** What was looked at. */
  what: string;
  /** `warn` works, but not as well as it could; `fail` needs a person. */
  state: 'ok' | 'warn' | 'fail';
  found: string;
  /** What to do; only beside `warn` and `fail`. */
  remedy?: string;
}

export function ok(what: string, found: string): Checked {
  return { what, state: 'ok', found };
}

export function warn(what: string, found: string, remedy: string): Checked {
  return { what, state: 'warn', found, remedy };
}

export function fail(what: string, found: string, remedy: string): Checked {
  return { what, state: 'fail', found, remedy };
}

const MOST_NAMED = 20;

export function sayFirst(names: string[]): string {
  const rest = names.length - MOST_NAMED;
  return [...names.slice(0, MOST_NAMED), ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ');
}
