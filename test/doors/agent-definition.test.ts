// Agents that declare their memory in their definition get that scope and nothing beside it: by the library, by the
// command, and by the hook that Claude Code calls when it starts a subagent.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { answerHook } from '../../src/hook/start-recall.ts';
import { agentMemory } from '../../src/tools/own-agent.ts';
import { filledRecallWorld } from '../support/recall-world.ts';
import { runHere } from '../support/run-here.ts';

const SCOPES = ['user', 'project', 'local'] as const;

const SCOPE_OF: Record<string, string> = { pears: 'user', plums: 'project', figs: 'local' };

/** A project and a user with a memory in each scope; `define` writes a definition below `.claude` of either. */
async function world() {
  const { home, root } = await filledRecallWorld({ userScope: true, team: 'off' });
  const cwd = join(root, 'src');
  mkdirSync(cwd);
  const environment = { PATH: process.env.PATH, HOME: home, NOCTURNE_NOW: '2026-11-21T02:00:00Z' };
  const define = (of: 'project' | 'user', path: string, frontmatter: string) => {
    const file = join(of === 'user' ? home : root, '.claude', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `---\n${frontmatter}\n---\nYou review.\n`);
    return file;
  };
  return { environment, home, cwd, root, config: await loadConfig({}, environment), define };
}
type World = Awaited<ReturnType<typeof world>>;

/** Whose memory is told of, each once: in a topic, and perhaps in the index too. */
const told = (text: string) => [...new Set([...text.matchAll(/Says (\w+)\./g)].map(([, said = '']) => SCOPE_OF[said]))];

/** What a hook of Claude Code is answered. */
async function hooked(
  { config, cwd }: World,
  input: object,
): Promise<{ event?: string; says: unknown[]; text: string }> {
  const common = { session_id: 's', transcript_path: '/x.jsonl', cwd };
  const answer = await answerHook(config, { input: { ...common, ...input } });
  if (answer === '') return { says: [], text: '' };
  const { hookEventName: event, additionalContext: text } = JSON.parse(answer).hookSpecificOutput;
  return { event, says: told(text), text };
}

const subagent = (type: string) => ({ hook_event_name: 'SubagentStart', agent_id: 'agent-1', agent_type: type });

test.each(SCOPES)('an agent that declares memory: %s gets that scope alone, at every door', async (scope) => {
  const at = await world();
  const definition = at.define('project', 'agents/reviewer.md', `name: reviewer\nmemory: ${scope}`);
  const agent = await agentMemory({ definition, config: at.config, cwd: at.cwd });
  onTestFinished(() => agent.close());
  expect(told(agent.systemPrompt)).toEqual([scope]);
  vi.spyOn(process, 'cwd').mockReturnValue(at.cwd);
  const recalled = await runHere(['next', '--definition', definition], at.environment);
  expect(told(recalled.stdout)).toEqual([scope]);
  const started = await hooked(at, subagent('reviewer'));
  expect(started).toMatchObject({ event: 'SubagentStart', says: [scope] });
  expect(started.text).toContain('## MEMORY.md');
  expect(await hooked(at, { hook_event_name: 'SessionStart', agent_type: 'reviewer' })).toMatchObject({
    event: 'SessionStart',
    says: [scope],
  });
});

test('a memory that is given wins over what the definition declares', async () => {
  const at = await world();
  const definition = at.define('user', 'agents/reviewer.md', 'name: reviewer\nmemory: user');
  const agent = await agentMemory({ definition, memory: 'local', config: at.config, cwd: at.cwd });
  onTestFinished(() => agent.close());
  expect(told(agent.systemPrompt)).toEqual(['local']);
});

test.each(['reviewer', 'Explore', '../../secrets'])(
  'a subagent that declares no memory gets nothing (%s)',
  async (type) => {
    const at = await world();
    at.define('project', 'agents/reviewer.md', 'name: reviewer');
    at.define('project', 'secrets.md', 'name: secrets\nmemory: user');
    expect(await hooked(at, subagent(type))).toEqual({ says: [], text: '' });
    expect((await hooked(at, { hook_event_name: 'SessionStart', agent_type: type })).says).toEqual(['project', 'user']);
    expect(await hooked(at, { hook_event_name: 'Stop', agent_id: 'agent-1', agent_type: type })).toMatchObject({
      says: [],
    });
  },
);

test('the project’s definition is taken before the user’s, the nearest first, by the name that it gives', async () => {
  const at = await world();
  at.define('user', 'agents/reviewer.md', 'memory: user');
  expect(await hooked(at, subagent('reviewer'))).toMatchObject({ says: ['user'] });
  at.define('project', 'agents/deep/other.md', 'name: reviewer\nmemory: local');
  expect(await hooked(at, subagent('reviewer'))).toMatchObject({ says: ['local'] });
  at.define('project', '../src/.claude/agents/reviewer.md', 'name: reviewer\nmemory: project');
  expect(await hooked(at, subagent('reviewer'))).toMatchObject({ says: ['project'] });
});

test.each(['everything', 'true', '[user]'])(
  'memory: %s is refused with the three there are, and the hook is silent',
  async (value) => {
    const at = await world();
    const definition = at.define('project', 'agents/reviewer.md', `name: reviewer\nmemory: ${value}`);
    await expect(agentMemory({ definition, config: at.config, cwd: at.cwd })).rejects.toMatchObject({
      code: 'bad-input',
      message: expect.stringContaining(definition),
      remedy: 'Write memory: project, memory: user or memory: local.',
    });
    const { code, stderr } = await runHere(['next', '--definition', definition], at.environment);
    expect([code, stderr]).toEqual([1, expect.stringContaining('memory: project, memory: user or memory: local')]);
    const input = JSON.stringify({ ...subagent('reviewer'), cwd: at.cwd });
    const silent = await runHere(['recall', '--hook'], at.environment, { stdin: input });
    expect([silent.code, silent.stdout]).toEqual([0, '']);
  },
);

test('a definition that is not there, that declares none, or that is a program gives no memory', async () => {
  const at = await world();
  const of = (definition: string) => agentMemory({ definition, config: at.config, cwd: at.cwd });
  await expect(of(join(at.root, 'gone.md'))).rejects.toMatchObject({ code: 'bad-input' });
  await expect(of(at.define('project', 'agents/plain.md', 'name: plain'))).rejects.toMatchObject({ code: 'bad-input' });
  const program = join(at.root, 'program.md');
  writeFileSync(program, "---js\n{ memory: 'user' }\n---\n");
  await expect(of(program)).rejects.toMatchObject({ code: 'bad-input' });
});
