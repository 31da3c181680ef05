// What the memory tools take and answer, as schemas: clients are told these, and the server checks against them.

import * as z from 'zod';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'is no SHA-256 in lower-case hex');
const text = z.string().refine((value) => value.isWellFormed(), 'holds half a character');
const path = z.string().min(1).describe('Path as memory_list shows it, or the id of a memory (mem_…).');
const newPath = z
  .string()
  .regex(/\.md$/i, 'does not end with .md')
  .describe('Path within the store: names with "/" between them, ending in .md.');
const page = z.string().optional().describe('next_page of the page before.');
const under = z.string().regex(/\/$/, 'does not end with "/"').optional();
const count = z.int().min(1);

/** The store that a call is about; it may be left out where there is one. */
function storeName(names: string[]) {
  const name = z.enum(names as [string, ...string[]]).describe('Which store.');
  return names.length === 1 ? name.default(names[0] as string) : name;
}

/** What each tool takes, where the attached stores have these names. */
export function inputShapes(names: string[]) {
  const store = storeName(names);
  return {
    list: z.strictObject({
      store,
      path_prefix: under.describe('Only what is under this directory, for example logs/2026/.'),
      depth: z.int().min(0).max(20).default(0).describe('Levels shown; deeper directories are folded. 0: all.'),
      limit: count.max(1_000).default(100),
      page,
    }),
    search: z.strictObject({
      store,
      query: z.string().min(1).max(1_000).describe('Words or how they begin, "phrases" that must be there.'),
      path_prefix: under.describe('Only under this directory.'),
      limit: count.max(100).default(20),
      page,
    }),
    read: z.strictObject({
      store,
      path,
      first_line: count.optional(),
      last_line: count.optional(),
      version: z.string().optional().describe('As it was in this version (memver_…).'),
    }),
    write: z.strictObject({
      store,
      path: newPath,
      content: text.describe('The whole new text.'),
      expected_content_sha256: sha256
        .optional()
        .describe('SHA-256 of the text that is replaced, as memory_read told. Left out: nothing may be there yet.'),
    }),
    edit: z
      .strictObject({
        store,
        path,
        old_str: text.min(1).optional().describe('Text that stands there exactly once.'),
        new_str: text.default('').describe('What takes its place; empty: it is removed.'),
        new_path: newPath.optional().describe('Moves the memory there; its id and versions go with it.'),
        expected_content_sha256: sha256.optional().describe('Nothing is changed unless this stands there.'),
      })
      .refine(({ old_str, new_path }) => old_str !== undefined || new_path !== undefined, 'needs old_str or new_path'),
    delete: z.strictObject({
      store,
      path,
      expected_content_sha256: sha256.optional().describe('Nothing is deleted unless this stands there.'),
    }),
  };
}

type Shapes = ReturnType<typeof inputShapes>;
export type Input<Tool extends keyof Shapes> = z.infer<Shapes[Tool]>;

const memory = {
  path: z.string(),
  id: z.string().nullable().describe('Null where nocturne has not seen the file yet.'),
  version: z.string().nullable().describe('Null for an edit that nocturne has not seen yet.'),
  content_sha256: z.string(),
  size_bytes: z.int(),
};
const next_page = z.string().nullable();
const changed = {
  store: z.string(),
  ...memory,
  redacted: z.int().describe('How many secrets were taken out of what was written.'),
  collided: z.boolean().describe('Somebody edited the same lines meanwhile; their edit was kept, yours is a version.'),
};

/** What each tool answers. */
export const OUTPUTS = {
  list: z.object({
    store: z.string(),
    memories: z.array(
      z.discriminatedUnion('type', [
        z.object({ type: z.literal('memory'), ...memory, modified_at: z.string() }),
        z.object({ type: z.literal('memory_prefix'), path: z.string() }),
      ]),
    ),
    next_page,
  }),
  search: z.object({
    store: z.string(),
    hits: z.array(
      z.object({
        kind: z.enum(['topic', 'entry', 'index', 'archive', 'file']),
        path: z.string(),
        line: z.int(),
        text: z.string(),
      }),
    ),
    total: z.int(),
    next_page,
  }),
  read: z.object({
    store: z.string(),
    ...memory,
    previous_version: z.string().nullable().describe('Null: there is none before it.'),
    is_current: z.boolean(),
    first_line: z.int(),
    last_line: z.int(),
    total_lines: z.int(),
    next_line: z.int().nullable().describe('First line of what is left out; null: that is all.'),
    redacted: z.int().describe('How many secrets were taken out of what is shown.'),
    content: z.string(),
  }),
  write: z.object({ ...changed, outcome: z.enum(['created', 'modified', 'unchanged']) }),
  edit: z.object({ ...changed, outcome: z.enum(['modified', 'moved', 'unchanged']) }),
  delete: z.object({ store: z.string(), ...memory, outcome: z.literal('deleted') }),
};

export type Tool = keyof typeof OUTPUTS;
export type Output<Tool extends keyof typeof OUTPUTS> = z.infer<(typeof OUTPUTS)[Tool]>;
