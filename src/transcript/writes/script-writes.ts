// Which files a script writes, moves or removes, as far as its text tells: in PowerShell, Python or JavaScript the paths
// that stand in it as literals, what a patch names, and which commands a script of Codex's code mode gives to its tools.
// Nothing is run, and what a script puts together itself is not seen.

/** A file that was written, moved or removed. */
export interface Written {
  path: string;
  /** What was added to it, in lines; empty where nothing was, or nothing tells. */
  added: string[];
}

export function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== '');
}

/** What is opened for writing, written, moved or removed by a script in Python or JavaScript. */
export function findProgramWrites(program: string): string[] {
  return PROGRAM_WRITES.flatMap((pattern) => [...program.matchAll(pattern)].map((match) => match[2] as string));
}

const PROGRAM_WRITES = [
  // open('a.md', 'w'), open("a.md", mode="a+")
  /\bopen\(\s*(['"])([^'"\n]+)\1\s*,\s*(?:mode\s*=\s*)?['"][^'"]*[wax+]/g,
  // Path('a.md').write_text(…)
  /\bPath\(\s*(['"])([^'"\n]+)\1\s*\)(?:\.expanduser\(\))?\.(?:write_|unlink|touch|rename|replace|open\(\s*['"][wax])/g,
  /\bos\.(?:remove|unlink|rename|replace)\(\s*(['"])([^'"\n]+)\1/g,
  // The last argument is what is written: shutil.copy(a, 'b'), os.rename(a, 'b')
  /\b(?:shutil\.(?:copy\w*|move)|os\.(?:rename|replace))\([^()\n]*,\s*(['"])([^'"\n]+)\1\s*\)/g,
  /\b(?:writeFile|appendFile|unlink|rm|createWriteStream|truncate)(?:Sync)?\(\s*(['"`])([^'"`\n]+)\1/g,
  /\b(?:copyFile|rename|cp)(?:Sync)?\([^()\n]*,\s*(['"`])([^'"`\n]+)\1\s*[,)]/g,
];

/** The lines of the texts that stand in a script, where they have more than one word: what it may write. */
export function literalsIn(script: string): string[] {
  const found = script.matchAll(LITERAL).map(([, , block, , here, , text]) => block ?? here ?? text ?? '');
  return [...found]
    .flatMap((text) => text.replaceAll('\\n', '\n').split(/\r?\n/))
    .filter((line) => /\S\s+\S/.test(line));
}

/** A text in triple quotes, a here-string of PowerShell, one in plain quotes. */
const LITERAL = /('''|""")([\s\S]*?)\1|@(['"])\r?\n([\s\S]*?)\n\3@|(['"`])((?:\\.|(?!\5)[^\\\n])*)\5/g;

/** What the cmdlets and redirections of a PowerShell script write. */
export function findPowerShellWrites(script: string): string[] {
  // The text of a here-string is written, it writes nothing.
  const text = script
    .replace(/@(['"])\r?\n[\s\S]*?\n\1@/g, "''")
    .replace(/\$(?:env:(?:USERPROFILE|HOME)|HOME)\b/gi, '~');
  const statements = text.match(/(?:'[^']*'|"[^"]*"|[^'"|;\r\n])+/g) ?? [];
  const methods = [...text.matchAll(/\[(?:System\.)?IO\.File\]::(?:Write|Append|Delete)\w*\(\s*(['"])([^'"\n]+)\1/gi)];
  return [...statements.flatMap(writtenByStatement), ...methods.map((match) => match[2] as string)];
}

const WRITES_ANY =
  /^(set-content|add-content|clear-content|out-file|new-item|remove-item|rename-item|move-item|tee-object)$/i;
/** Parameters whose argument is no path that is written. */
const NO_PATH = /^-(value|inputobject|encoding|itemtype|newname|width|delimiter|filter|include|exclude|erroraction)$/i;

function writtenByStatement(statement: string): string[] {
  const words = [...statement.matchAll(/'([^']*)'|"([^"]*)"|[^\s'"]+/g)].map(
    ([word, single, double]) => single ?? double ?? word,
  );
  const redirected = words.flatMap((word, at) => (/^[\d*]?>>?$/.test(word) ? (words[at + 1] ?? []) : []));
  const start = words.findIndex((word) => WRITES_ANY.test(word) || /^copy-item$/i.test(word));
  if (start === -1) return redirected;
  const operands = words
    .slice(start + 1)
    .filter((word, at, all) => !word.startsWith('-') && !NO_PATH.test(all[at - 1] ?? ''));
  return [...redirected, ...(/^copy-item$/i.test(words[start] as string) ? operands.slice(1) : operands)];
}

/** What a patch in the form of `apply_patch` adds, changes, removes or moves. */
export function findPatches(patch: string): Written[] {
  const written: Written[] = [];
  let open: Written[] = [];
  for (const line of patch.split(/\r?\n/)) {
    const [, what, path = ''] = /^\*\*\* (?:(Add|Update|Delete) File|Move to): (.+)$/.exec(line) ?? [];
    if (path !== '') {
      const next: Written = { path: path.trim(), added: [] };
      written.push(next);
      open = what === undefined ? [...open, next] : [next];
    } else if (line.startsWith('*** End')) {
      open = [];
    } else if (line.startsWith('+') && line.slice(1).trim() !== '') {
      for (const each of open) each.added.push(line.slice(1));
    }
  }
  return written;
}

// Codex's code mode: the model writes a script that calls tools.

export interface ScriptCommand {
  line: string;
  workdir?: string;
}

/** The commands given to `exec_command({ cmd, workdir })`. */
export function findScriptCommands(script: string): ScriptCommand[] {
  const starts = [...script.matchAll(/\bcmd["']?\s*:\s*(?=["'`])/g)].map((match) => match.index + match[0].length);
  return starts.map((start, at) => {
    const { text, end } = readString(script, start);
    const workdir = /\bworkdir["']?\s*:\s*(?=["'`])/.exec(script.slice(end, Math.max(end, starts[at + 1] ?? Infinity)));
    if (!workdir) return { line: text };
    return { line: text, workdir: readString(script, end + workdir.index + workdir[0].length).text };
  });
}

/** What the patches given to `apply_patch` write. */
export function findScriptPatches(script: string): Written[] {
  return script.includes('apply_patch') ? findPatches(withoutEscapes(script)) : [];
}

function readString(script: string, start: number): { text: string; end: number } {
  let end = start + 1;
  while (end < script.length && script[end] !== script[start]) end += script[end] === '\\' ? 2 : 1;
  return { text: withoutEscapes(script.slice(start + 1, end)), end };
}

function withoutEscapes(text: string): string {
  return text.replace(/\\(.)/gs, (_, char: string) => (char === 'n' ? '\n' : char));
}
