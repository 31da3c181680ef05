// A mark, a word that stands nowhere else, in every file from which a program takes settings, memory, hooks, plugins, agents,
// skills and MCP servers: those of the person, and those of a working tree, which the person's HOME is, too (some keep
// it in git). What of a mark reaches a request reached the model.

import { join } from 'node:path';
import type { ProgramName } from '../../src/agent/programs/programs.ts';

/** What a person's own run is told of these, else they would prove nothing; `anyway`: what nothing holds off. */
export interface Marks {
  files: Record<string, object | string>;
  planted: string[];
  anyway: string[];
}

const skill = (name: string, mark: string) => `---\nname: ${name}\ndescription: ${mark}\n---\n${mark}\n`;
const hook = (command: string) => [{ hooks: [{ type: 'command', command }] }];

/** An MCP server that tells its mark as instructions and as a tool. */
const MCP = `import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answers = {
    initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'm', version: '1' }, instructions: 'mark-mcp' }),
    'tools/list': () => ({ tools: [{ name: 'marked', description: 'mark-mcp-tool', inputSchema: { type: 'object' } }] }),
  };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method]?.() ?? {} }));
});
`;

const HEAD = 'ref: refs/heads/main\n';
/** The HOME is one, and in it the project of the session, whose memory is its own. */
const CHECKOUTS = { '.git/HEAD': HEAD, '.git/objects/.keep': '', '.git/refs/.keep': '', 'work/.git/HEAD': HEAD };

export const MARKS: Record<ProgramName, (home: string) => Marks> = {
  'claude-code': (home) => {
    const server = { command: process.execPath, args: [join(home, 'mcp.mjs')] };
    const slug = (path: string) => path.replaceAll(/[^a-zA-Z0-9]/g, '-');
    const plugin = '.claude/plugins/cache/shop/gadget/1.0.0';
    const at = { installedAt: '2026-01-01T00:00:00Z', lastUpdated: '2026-01-01T00:00:00Z' };
    return {
      planted: [
        ...['mark-user-md', 'mark-home-md', 'mark-settings-hook', 'mark-settings-header', 'mark-agent', 'mark-command'],
        ...['mark-prompt-hook', 'mark-skill', 'mark-style', 'mark-rule', 'mark-memory', 'mark-mcp', 'mark-mcp-tool'],
      ],
      anyway: [],
      files: {
        ...CHECKOUTS,
        'mcp.mjs': MCP,
        'CLAUDE.md': 'mark-home-md\n',
        'CLAUDE.local.md': 'mark-home-local-md\n',
        'AGENTS.md': 'mark-home-agents-md\n',
        '.mcp.json': { mcpServers: { treeserver: server } },
        '.claude.json': {
          hasCompletedOnboarding: true,
          mcpServers: { ownserver: server },
          projects: { [home]: { hasTrustDialogAccepted: true, enableAllProjectMcpServers: true } },
        },
        '.claude/CLAUDE.md': 'mark-user-md\n',
        '.claude/settings.json': {
          env: { ANTHROPIC_CUSTOM_HEADERS: 'X-Mark: mark-settings-header' },
          language: 'mark-language',
          outputStyle: 'marked',
          hooks: { SessionStart: hook('echo mark-settings-hook'), UserPromptSubmit: hook('echo mark-prompt-hook') },
          enabledPlugins: { 'gadget@shop': true },
        },
        '.claude/settings.local.json': { hooks: { SessionStart: hook('echo mark-local-hook') } },
        '.claude/agents/marked.md': '---\nname: marked\ndescription: mark-agent\n---\nmark-agent\n',
        '.claude/commands/marked.md': '---\ndescription: mark-command\n---\nmark-command\n',
        '.claude/skills/marked-skill/SKILL.md': skill('marked-skill', 'mark-skill'),
        '.claude/output-styles/marked.md': '---\nname: marked\ndescription: mark-style\n---\nmark-style\n',
        '.claude/rules/marked.md': 'mark-rule\n',
        '.claude/agent-memory/marked/MEMORY.md': 'mark-agent-memory\n',
        [`.claude/projects/${slug(home)}/memory/MEMORY.md`]: 'mark-memory\n',
        [`${plugin}/.claude-plugin/plugin.json`]: { name: 'gadget', version: '1.0.0', description: 'mark-plugin' },
        [`${plugin}/skills/gadget-skill/SKILL.md`]: skill('gadget-skill', 'mark-plugin-skill'),
        [`${plugin}/hooks/hooks.json`]: { hooks: { SessionStart: hook('echo mark-plugin-hook') } },
        '.claude/plugins/installed_plugins.json': {
          version: 2,
          plugins: { 'gadget@shop': [{ scope: 'user', installPath: join(home, plugin), version: '1.0.0', ...at }] },
        },
      },
    };
  },
  codex: (home) => ({
    planted: [
      ...['mark-agents-md', 'mark-home-agents-md', 'mark-config', 'mark-skill', 'mark-other-skill', 'mark-role'],
      ...['mark-session-hook', 'mark-prompt-hook', 'mark-mcp', 'mark-memory'],
    ],
    anyway: ['mark-agents-md'],
    files: {
      ...CHECKOUTS,
      'mcp.mjs': MCP,
      'AGENTS.md': 'mark-home-agents-md\n',
      '.codex/AGENTS.md': 'mark-agents-md\n',
      '.codex/config.toml': [
        'developer_instructions = "mark-config"',
        `notify = ["touch", "${join(home, 'mark-notified')}"]`,
        `[mcp_servers.marked]\ncommand = "${process.execPath}"\nargs = ["${join(home, 'mcp.mjs')}"]`,
        '[features]\nmemories = true',
        `[projects."${home}"]\ntrust_level = "trusted"`,
      ].join('\n'),
      '.codex/hooks.json': {
        hooks: { SessionStart: hook('echo mark-session-hook'), UserPromptSubmit: hook('echo mark-prompt-hook') },
      },
      '.codex/skills/marked/SKILL.md': skill('marked', 'mark-skill'),
      '.agents/skills/other/SKILL.md': skill('other', 'mark-other-skill'),
      '.codex/prompts/marked.md': 'mark-prompt\n',
      '.codex/agents/marked.toml':
        'name = "marked"\ndescription = "mark-role"\ndeveloper_instructions = "mark-role-instructions"\n',
      '.codex/memories/memory_summary.md': 'v1\nmark-memory\n',
      '.codex/memories/MEMORY.md': 'mark-memory-file\n',
      '.codex/rules/default.rules': '# mark-rules\n',
    },
  }),
};

/** The marks in what came, each once. */
export function marksIn(texts: string[]): string[] {
  return [...new Set(texts.join('\n').match(/mark-[a-z-]+[a-z]/g))].sort();
}
