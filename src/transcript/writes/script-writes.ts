// Which files a script in PowerShell, Python or JavaScript writes, moves or removes, as far as its text tells: paths that
// stand in it as literals. Nothing is run, and what a script puts together itself is not seen.

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
