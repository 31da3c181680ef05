// Projects, as far as they say of themselves where a session ran, in words for a model, and what their own files (CLAUDE.md,
// AGENTS.md) say, which memory need not say again: a whole line or sentence of those must say the same in the same words, so that
// "use npm" is not found in "never use npm"; and only in the project whose sessions an entry comes from.
// And whether a checkout is of a project that is remembered already under another path: after a move, in a clone, on another machine. It
// is only ever offered: by the first commit and the remote where both are known of both, else by what is; where one differs, with that
// doubt. Nothing is joined here (jobs/carry.ts does, when a person says so).

import { basename, dirname, isAbsolute, join } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { attempt, isAppError, onAppError } from '../base/errors.ts';
import { listNames } from '../base/files/directories.ts';
import { readSlice, readTextNow, statNow } from '../base/files/files.ts';
import { firstCommit, type TreeSearch } from '../base/files/working-tree.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { keepSetting, type Sql, settingOf } from '../db/sql.ts';
import type { MemoryRow } from './memories.ts';
import { gitDirOf, gitRoot, sanitizePath } from './paths.ts';
import { saidId } from './text/topic.ts';

/** A path is no longer; what is, was made to be read. */
const MOST_CHARACTERS = 500;

/** `project shop (github.com/ada/shop), in /home/ada/shop`; `unknown` where the transcript names no directory. Redacted. */
export async function describePlace(cwd: string | undefined): Promise<string> {
  if (!cwd) return 'unknown';
  const directory = onOneLine(cwd);
  const origin = onOneLine(originOf(cwd));
  return (await redact(`project ${projectOf(directory)}${origin && ` (${origin})`}, in ${directory}`)).text;
}

function onOneLine(path: string): string {
  return path.replace(/[<>\p{Cc}]/gu, '').slice(0, MOST_CHARACTERS);
}

/** `github.com/ada/shop`: where the repository of a directory was cloned from, without what logs in there; else empty. */
export function originOf(cwd: string): string {
  const url = ORIGIN.exec(ofGit(cwd, 'config'))?.[1] ?? '';
  const [, host, path] = URL_OF_HOST.exec(url) ?? [];
  return host && path ? `${host}/${path}` : '';
}

/** What a repository is known by wherever it lies: where it was cloned from, and its first commit; '' for what is not known. */
interface Origin {
  remote: string;
  first: string;
}

/** As far as git's own files tell, read without git: the first commit only where the repository was begun. */
function originIn(cwd: string): Origin {
  return { remote: originOf(cwd).toLowerCase(), first: BEGUN.exec(ofGit(cwd, 'logs/HEAD'))?.[1] ?? '' };
}

/** The same, and git is asked for what they do not tell. */
async function originBy(cwd: string, environment: TreeSearch['environment']): Promise<Origin> {
  const found = originIn(cwd);
  const root = repositoryOf(cwd);
  // A shallow clone has no beginning.
  if (found.first !== '' || root === null || ofGit(cwd, 'shallow') !== '') return found;
  return { ...found, first: (await firstCommit({ root, environment, timeoutMs: GIT_TIMEOUT_MS })) ?? '' };
}

/** The same, of a checkout of which the first commit may be this one: a repository holds the beginning of its history, if not shallow. */
async function originLike(cwd: string, { first }: Origin): Promise<Origin> {
  const found = originIn(cwd);
  if (found.first !== '' || first === '' || ofGit(cwd, 'logs/HEAD') === '') return found;
  if (await holdsCommit(cwd, first).catch(onAppError(() => false, 'storage'))) return { ...found, first };
  const isWhole = ofGit(cwd, 'shallow') + ofGit(cwd, 'objects/info/alternates') === '';
  return { ...found, first: isWhole ? 'another' : '' };
}

const PACK_INDEX = { begins: 'ff744f6300000002', names: 8 + 256 * 4 };

async function holdsCommit(cwd: string, commit: string): Promise<boolean> {
  const objects = join(gitDirOf(repositoryOf(cwd) ?? cwd) ?? cwd, 'objects');
  if (statNow(join(objects, commit.slice(0, 2), commit.slice(2)))) return true;
  const id = Buffer.from(commit, 'hex');
  for (const name of listNames(join(objects, 'pack')).filter((each) => each.endsWith('.idx'))) {
    const path = join(objects, 'pack', name);
    const head = await readSlice(path, 0, PACK_INDEX.names);
    if (head.toString('hex', 0, 8) !== PACK_INDEX.begins) continue;
    // How many names begin with at most this byte.
    const upTo = (byte: number) => (byte < 0 ? 0 : head.readUInt32BE(8 + 4 * byte));
    const [from, to] = [upTo((id[0] ?? 0) - 1), upTo(id[0] ?? 0)].map((n) => PACK_INDEX.names + n * id.length);
    const at = (await readSlice(path, from ?? 0, to ?? 0)).indexOf(id);
    if (at >= 0 && at % id.length === 0) return true;
  }
  return false;
}

/** As a memory keeps it; null where nothing is known. */
function originAsText({ remote, first }: Origin): string | null {
  return remote + first === '' ? null : `${remote} ${first}`;
}

function originFrom(text: string | null): Origin {
  const [remote = '', first = ''] = text?.split(' ') ?? [];
  return { remote, first };
}

const GIT_TIMEOUT_MS = 5_000;
const BEGUN = /^0+ ([0-9a-f]{40,64}) .*\tcommit \(initial\)/;

/** A file of the repository's own, of which a directory is a part; '' where there is none. */
function ofGit(cwd: string, name: string): string {
  const root = repositoryOf(cwd);
  return readable(() => root && readTextNow(join(gitDirOf(root) ?? root, name))) ?? '';
}

const ORIGIN = /^\[remote "origin"\](?:\r?\n[ \t].*)*?\r?\n[ \t]*url = (\S+)/m;
const URL_OF_HOST = /^(?:\w+:\/\/)?(?:[^@/]*@)?([\w-]+(?:\.[\w-]+)+)(?::\d+)?[:/](\S+?)(?:\.git)?\/?$/;

function projectOf(cwd: string): string {
  const name = (repositoryOf(cwd) ?? cwd).split(/[/\\]+/).findLast(Boolean) ?? cwd;
  return name.replace(/(?<=.)\.git$/, '');
}

function repositoryOf(cwd: string): string | null {
  return isAbsolute(cwd) ? readable(() => gitRoot(cwd)) : null;
}

function readable<T>(read: () => T): T | null {
  return attempt(read, () => null, 'storage');
}

// Whether two are one.

export interface SameProject {
  memory: MemoryRow;
  /** The checkout in which it learned last; null: not known. */
  root: string | null;
  /** What both have in common, and where they differ, as part of a sentence. */
  why: string;
}

/** Keeps by what the project of a memory is known again. Git is asked once, and again when the repository gets a remote. */
export async function noteOrigin(
  sql: Sql,
  { id, origin }: MemoryRow,
  { root, config }: { root: string; config: Pick<Config, 'environment'> },
): Promise<void> {
  const known = originFrom(origin);
  if (origin !== null && known.remote !== '') return;
  const found = await originBy(root, config.environment);
  const text = originAsText({ remote: found.remote, first: known.first || found.first });
  if (text !== null && text !== origin) await sql.run('update memory set origin = ? where id = ?', text, id);
}

/** Why they look like one project; null: they do not. */
function whySame(one: Origin, other: Origin): string | null {
  const isKnown = (of: keyof Origin) => one[of] !== '' && other[of] !== '';
  const isSame = (of: keyof Origin) => isKnown(of) && one[of] === other[of];
  if (isSame('remote') && isSame('first')) return 'the same remote and first commit';
  if (isSame('remote')) return isKnown('first') ? 'the same remote, but another first commit' : 'the same remote';
  if (!isSame('first')) return null;
  return isKnown('remote') ? 'the same first commit, but another remote: perhaps a fork' : 'the same first commit';
}

type Place = { machine: string; place: string };

const apartKey = ({ machine, place }: Place) => `apart ${machine} ${place}`;

/** A person said that what is remembered for this directory is a project of its own. */
export function keepApart(sql: Sql, at: Place): Promise<void> {
  return keepSetting(sql, apartKey(at), '1');
}

/**
 * The memories that look like the project of a checkout, the oldest first. `isAsked`: a person asks; else only those that were there
 * before its own (`own`), and none where a person decided already.
 */
export async function sameProjects(
  sql: Sql,
  { own, isAsked = false, cwd, ...at }: Place & { own: MemoryRow | null; isAsked?: boolean; cwd: string },
): Promise<SameProject[]> {
  const here = repositoryOf(cwd);
  const rows = await sql.all<MemoryRow>(
    `select * from memory where scope = 'project' and tenant = '' and deleted_at is null and archived_at is null
       and (origin is not null or replace(dir, ?, '') <> dir) and id <> ? and created_at < ? order by created_at, id`,
    ...[here === null ? '' : `${sanitizePath(here)}-`, own?.id ?? '', (!isAsked && own?.created_at) || '9'],
  );
  if (rows.length === 0 || (!isAsked && (await settingOf(sql, apartKey(at))) !== undefined)) return [];
  const known = !isAsked && own?.origin ? originFrom(own.origin) : null;
  const found: SameProject[] = [];
  const last = 'select cwd from session where memory = ? and cwd is not null order by created_at desc, id limit 1';
  for (const memory of rows) {
    const ran = (await sql.get<{ cwd: string }>(last, memory.id))?.cwd ?? null;
    const root = ran && (repositoryOf(ran) ?? ran);
    // One of a directory that was no repository's has its name.
    const isOfDirectory = ran !== null && basename(dirname(memory.dir ?? '')) === sanitizePath(ran);
    if (memory.origin === null && root === here && isOfDirectory)
      found.push({ memory, why: 'its directory is in this repository now', root: ran });
    if (memory.origin === null) continue;
    const other = originFrom(memory.origin);
    const why = whySame(known ?? (await originLike(cwd, other)), other);
    if (why !== null) found.push({ memory, why, root });
  }
  return found;
}

/** That they look like one, as a sentence without its stop; `userDir`: which `~` stands for. */
export function saySame([first, ...others]: readonly SameProject[], { userDir }: Pick<Config, 'userDir'>): string {
  if (!first) return '';
  const name = first.memory.name.replace(/[<>\p{Cc}]/gu, '');
  const place = first.root ?? first.memory.dir ?? first.memory.id;
  const at = (place.startsWith(`${userDir}/`) ? `~${place.slice(userDir.length)}` : place).replace(/[<>\p{Cc}]/gu, '');
  const more = others.length === 0 ? '' : `, or one of ${others.length} more`;
  return `this looks like ${name}, remembered at ${at} (${first.why})${more}`;
}

// What projects say themselves.

const FILES = ['CLAUDE.md', '.claude/CLAUDE.md', 'AGENTS.md'];
/** What is shorter is a heading or a word, not a rule. */
const LEAST_WORDS = 4;

export class Guidance {
  /** By the project's directory: what it says, by id, with the file that says it. */
  readonly #byProject = new Map<string, Map<string, string>>();
  readonly #projectOf = new Map<string, string>();

  /** Reads the files of the projects that these sessions run in. */
  static async of(sessions: [id: string, cwd: string][]): Promise<Guidance> {
    const guidance = new Guidance();
    for (const [id, cwd] of sessions) {
      try {
        const project = gitRoot(cwd) ?? cwd;
        guidance.#projectOf.set(id, project);
        if (!guidance.#byProject.has(project)) guidance.#byProject.set(project, await readProject(project));
      } catch (error) {
        // A project that cannot be read says nothing.
        if (!isAppError(error, 'storage')) throw error;
      }
    }
    return guidance;
  }

  /** The file that says the same as `text` in the project that the session ran in; undefined where none does. */
  saying(text: string, session: string): string | undefined {
    const project = this.#projectOf.get(session) ?? this.#projectOf.get(session.split('/')[0] ?? '');
    return project === undefined ? undefined : this.#byProject.get(project)?.get(saidId(text));
  }
}

async function readProject(project: string): Promise<Map<string, string>> {
  const said = new Map<string, string>();
  for (const file of FILES) {
    const lines = (readTextNow(join(project, file)) ?? '').split('\n');
    for (const line of lines) {
      for (const text of [line, ...line.split(/(?<=[.!?])\s+/)]) {
        if ((text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0) < LEAST_WORDS) continue;
        if (!said.has(saidId(text))) said.set(saidId(text), file);
      }
    }
  }
  return said;
}
