// What a person may have meant who typed a name that is none.

/** The known names that are nearest to a word, best first; none where nothing is near. */
export function nearest(word: string, names: Iterable<string>): string[] {
  const typed = word.toLowerCase();
  const near = [...names].flatMap((name) => {
    const distance = distanceBetween(typed, name.toLowerCase());
    const isPart = typed.length >= 3 && name.toLowerCase().includes(typed);
    const isNear = isPart || distance <= Math.max(1, Math.floor(Math.max(typed.length, name.length) * 0.4));
    return isNear ? [{ name, distance: isPart ? 0.5 : distance }] : [];
  });
  near.sort((a, b) => a.distance - b.distance || a.name.localeCompare(b.name));
  return near.slice(0, 3).map(({ name }) => name);
}

/** A remedy that names what is near; `otherwise` where nothing is. */
export function didYouMean(word: string, names: Iterable<string>, otherwise: string): string {
  const near = nearest(word, names);
  return near.length > 0 ? `Did you mean ${near.join(' or ')}?` : otherwise;
}

/** How many letters have to be put in, taken out or replaced. */
function distanceBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
