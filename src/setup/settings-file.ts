// config.json as `nocturne config` and set-up see and change it: settings by name, with dots for what lies further in,
// each with its default and its line of docs/settings.md. Comments, order and all that is not changed stay; the file is
// written whole, with its mode, through a link. What would not be valid is refused with what is expected, and nothing is
// written; what was wrong before keeps nobody from mending it piece by piece.

import { z } from 'zod';
import {
  defaultSettings,
  FORMER,
  newProblem,
  readSettings,
  sayFormer,
  settingsPath,
  settingsSchema,
} from '../base/config/settings.ts';
import { AppError } from '../base/errors.ts';
import { replaceText } from '../base/files/directories.ts';
import { packagePath, readTextNow } from '../base/files/files.ts';
import { isObject, parseJson } from '../base/text/json.ts';
import { didYouMean } from '../base/text/wording.ts';
import { type Json, setValue, takeOut } from './agents/settings-text.ts';

/** Of a JSON schema, what is asked of it here. */
interface Shape {
  properties?: Record<string, Shape>;
  additionalProperties?: boolean | Shape;
}

export type Setting = Awaited<ReturnType<typeof readSettingsOf>>[number];

/** By name; undefined: as by default. */
export type NewSettings = Record<string, Json | undefined>;

/** What would become of the file; nothing is written. */
export async function planSettings(home: string, changes: NewSettings) {
  const file = settingsPath(home);
  const from = readTextNow(file) ?? '';
  const to = Object.entries(changes).reduce((text, [name, value]) => changed(text, { name, value, file }), from);
  const problem = await newProblem(file, { from, to });
  if (problem) throw problem;
  return { file, from, to };
}

/** Sets them all, or none. Answers whether that is another text than before. */
export async function writeSettings(home: string, changes: NewSettings): Promise<boolean> {
  const { file, from, to } = await planSettings(home, changes);
  if (to !== from) replaceText(file, to);
  return to !== from;
}

/** Sets one as it was typed: as the JSON that it is, where the setting takes that, else as text. */
export async function writeTyped(home: string, name: string, typed: string): Promise<boolean> {
  const file = settingsPath(home);
  const from = readTextNow(file) ?? '';
  const json = parseJson(typed) as Json | undefined;
  const problems: AppError[] = [];
  for (const value of json === undefined ? [typed] : [json, typed]) {
    const problem = await newProblem(file, { from, to: changed(from, { name, value, file }) });
    if (!problem) return writeSettings(home, { [name]: value });
    problems.push(problem);
  }
  // Of a number that is typed for a text it is only said that it is no text.
  const { message, remedy } =
    problems.find((each) => !each.message.includes('expected string')) ?? (problems[0] as AppError);
  const { allowed, about = '' } = lines().get(name) ?? {};
  throw new AppError('bad-input', `${message.replace(/\.$/, '')}; nothing was changed.`, {
    remedy: allowed ? `${name} takes: ${allowed}. ${about}`.trimEnd() : remedy,
  });
}

function changed(text: string, { name, value, file }: { name: string; value: Json | undefined; file: string }): string {
  const path = pathOf(name) ?? name.split('.');
  if (value !== undefined) return setValue(text, { path, value, file });
  const isOurs = (_: unknown, at: unknown[]) => JSON.stringify(at) === JSON.stringify(path);
  return takeOut(text, { file, isOurs, stays: (at) => at.length === 0 });
}

/** Those that are given, else those that are not as by default. Throws `bad-input` where one is no setting. */
export async function readSettingsOf(home: string, names: string[] | 'all' = []) {
  const settings = await readSettings(settingsPath(home));
  const defaults = defaultSettings();
  const known = lines();
  const described = (names === 'all' || names.length === 0 ? [...known.keys()] : names).map((name) => {
    const path = pathOf(name);
    if (!path) {
      const remedy = didYouMean(name, known.keys(), 'nocturne config --all lists the settings.');
      throw new AppError('bad-input', sayFormer(FORMER[name] ? [name] : []) ?? `${name} is not a setting.`, { remedy });
    }
    const [value = null, standard = null] = [settings, defaults].map((root) =>
      path.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), root),
    );
    const { allowed = '', about = '' } = known.get(name) ?? known.get(path[0] ?? '') ?? {};
    const isDefault = JSON.stringify(value) === JSON.stringify(standard);
    /** `value`: null: none; `allowed`: which values it takes, and `about`: what it is for, in words. */
    return { name, value: withoutPassword(value), default: standard, isDefault, allowed, about };
  });
  return names.length > 0 ? described : described.filter(({ isDefault }) => !isDefault);
}

/** The password of a URL is for nobody's eyes. */
function withoutPassword(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/^(\w+:\/\/[^/@:]*):[^/@]*@/, '$1:…@') : value;
}

/** Where a setting stands: a key with dots in it (a model, a path) is one. Null: there is no such setting. */
function pathOf(name: string): string[] | null {
  const find = (rest: string, { properties = {}, additionalProperties: each }: Shape): string[] | null => {
    if (typeof each === 'object') {
      const inner = Object.keys(each.properties ?? {}).find((key) => rest.endsWith(`.${key}`));
      return inner ? [rest.slice(0, -inner.length - 1), inner] : [rest];
    }
    const [first = ''] = rest.split('.');
    const shape = Object.hasOwn(properties, first) ? properties[first] : undefined;
    if (!shape || rest === first) return shape ? [first] : null;
    const further = find(rest.slice(first.length + 1), shape);
    return further && [first, ...further];
  };
  return find(name, schema());
}

function schema(): Shape {
  return z.toJSONSchema(settingsSchema, { io: 'input' }) as Shape;
}

/** What docs/settings.md says of each, by name; of what has settings of its own only those. */
function lines(): Map<string, Record<'allowed' | 'about', string>> {
  const { properties = {} } = schema();
  const isGroup = (name: string) => properties[name]?.properties !== undefined;
  const found = new Map<string, Record<'allowed' | 'about', string>>();
  let prefix = '';
  for (const line of (readTextNow(packagePath('docs', 'settings.md')) ?? '').split('\n')) {
    const [, heading] = /^## (.+)/.exec(line) ?? [];
    if (heading) prefix = isGroup(heading) ? `${heading}.` : heading === 'Advanced' ? '' : '-';
    const [name, , allowed = '', about = ''] = line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.replaceAll('\\|', '|'));
    const [, key] = /^`(.+)`$/.exec(name ?? '') ?? [];
    if (!line.startsWith('| `') || !key || prefix === '-' || isGroup(key)) continue;
    const takes = allowed === 'list' ? 'list, like ["one", "two"]' : allowed.replaceAll('`', '');
    found.set(prefix + key, { allowed: takes, about: about.trim() });
  }
  return found;
}
