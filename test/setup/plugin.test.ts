import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { claudeCodeHooks } from '../../src/setup/agents/agents.ts';

const ROOT = join(import.meta.dirname, '../..');

function json(path: string) {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
}

test('the plugin is published, has the package’s version, and names files that are there', () => {
  const manifest = json('.claude-plugin/plugin.json');
  const { version, files } = json('package.json');
  expect(manifest).toMatchObject({ name: 'nocturne', version });
  expect(files).toContain('.claude-plugin');
  for (const path of [manifest.hooks, manifest.skills]) {
    expect(path).toMatch(/^\.\//);
    expect(existsSync(join(ROOT, path))).toBe(true);
  }
  expect(json('.claude-plugin/marketplace.json').plugins).toMatchObject([{ name: manifest.name, source: './' }]);
});

test('the plugin has the same hooks as install, with paths that move with it', () => {
  const root = '$' + '{CLAUDE_PLUGIN_ROOT}';
  const hooks: Record<string, object[]> = {};
  const programs = { node: 'node', hook: `${root}/dist/hook.js`, nocturne: `${root}/dist/nocturne.js` };
  for (const { event, handler, ...matcher } of claudeCodeHooks(
    programs,
    { recallPrompts: true, recallFailures: true },
    { isPlugin: true },
  )) {
    hooks[event] = [...(hooks[event] ?? []), { ...matcher, hooks: [handler] }];
  }
  expect(json('.claude-plugin/hooks.json').hooks).toEqual(hooks);
});
