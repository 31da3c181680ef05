// Settings files as people write them: JSON with comments, trailing commas, any order, indentation and line ends.

import fc from 'fast-check';

export interface WrittenSettings {
  text: string;
  value: Record<string, unknown>;
}

const SPACES = [
  '',
  ' ',
  '\n',
  '\n  ',
  '\n\t\t',
  '  ',
  '\r\n    ',
  ' /* all of it */ ',
  ' // for now\n',
  '\n  // "hooks": []\n  ',
  '\n\n',
];

const scalar = fc.oneof(
  fc.constantFrom('opus', '', 'a "quoted" word', '// no comment', '/* none */', 'ünï 🎈', 'Bash(ls:*)', '}, ]'),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const handler = fc.record(
  {
    type: fc.constant('command'),
    command: fc.constantFrom('say done', './x.sh', 'node'),
    timeout: fc.nat(600),
    args: fc.array(scalar),
  },
  { requiredKeys: ['type', 'command'] },
);
const group = fc.record(
  { matcher: fc.string(), hooks: fc.array(handler, { maxLength: 3 }) },
  { requiredKeys: ['hooks'] },
);
const hooks = fc.dictionary(
  fc.constantFrom('SessionEnd', 'Stop', 'SessionStart', 'PreToolUse', 'PreCompact', 'AfterAgent'),
  fc.array(group, { maxLength: 3 }),
);
const permissions = fc.record(
  {
    allow: fc.array(fc.constantFrom('Bash(ls)', 'Read(~/x)', 'Edit(src/**)'), { maxLength: 3 }),
    deny: fc.array(scalar),
  },
  { requiredKeys: [] },
);
const other = fc.dictionary(
  fc.constantFrom('model', 'env', 'a', '', '__proto', '$schema', 'x y'),
  fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.dictionary(fc.string(), scalar, { maxKeys: 2 })),
);

const value = fc
  .record({
    other,
    hooks: fc.option(hooks, { nil: undefined }),
    permissions: fc.option(permissions, { nil: undefined }),
  })
  .map((made) => ({
    ...made.other,
    ...(made.hooks && { hooks: made.hooks }),
    ...(made.permissions && { permissions: made.permissions }),
  }));

/** Settings with arbitrary space and comments between all tokens. */
export const wildSettings: fc.Arbitrary<WrittenSettings> = fc
  .tuple(value, fc.array(fc.constantFrom(...SPACES), { minLength: 1, maxLength: 40 }), fc.boolean(), fc.boolean())
  .map(([settings, spaces, hasTrailingCommas, hasMark]) => {
    let at = 0;
    const space = () => spaces[at++ % spaces.length] as string;
    const write = (inner: unknown): string => {
      if (typeof inner !== 'object' || inner === null) return JSON.stringify(inner);
      const [open, close] = Array.isArray(inner) ? '[]' : '{}';
      const parts = Array.isArray(inner)
        ? inner.map((each) => space() + write(each) + space())
        : Object.entries(inner).map(
            ([key, each]) => `${space()}${JSON.stringify(key)}${space()}:${space()}${write(each)}${space()}`,
          );
      const end = parts.length > 0 && hasTrailingCommas ? `,${space()}` : parts.length === 0 ? space() : '';
      return open + parts.join(',') + end + close;
    };
    return { text: `${hasMark ? '\uFEFF' : ''}${space()}${write(settings)}${space()}`, value: settings };
  });
