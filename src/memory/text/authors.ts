// Who shared a line of a memory that is checked in: a mark at its end, `<!-- shared by Ann Bo, Kim Lee -->`, that no
// Markdown shows. It stands on the line itself, so it goes wherever plain git, a person or a merge takes the line, and a
// grep finds it. It is no part of what the line says: the same words have the same id, whoever shared them. Names are
// sorted.

const MARK = /(?<![ \t])[ \t]*<!-- shared by ([^<>\n]*?) -->/g;

/** The names in the marks of a text, each once, sorted. */
export function authorsOf(text: string): string[] {
  return sorted([...text.matchAll(MARK)].flatMap(([, names = '']) => names.split(',')));
}

/** The text without its marks. */
export function withoutAuthors(text: string): string {
  return text.includes('<!-- shared by ') ? text.replace(MARK, '') : text;
}

/** The text with one mark for all of these, at its end. */
export function withAuthors(text: string, authors: string[]): string {
  const names = sorted(authors);
  return names.length === 0 ? text : `${withoutAuthors(text)} <!-- shared by ${names.join(', ')} -->`;
}

/** A name as a mark can hold it: on one line, without a comma or anything that ends a comment. */
export function authorName(name: string): string {
  return name
    .replace(/[\p{Cc}\p{Cf}<>,]+|-{2,}/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 80)
    .trim();
}

function sorted(names: string[]): string[] {
  return [...new Set(names.map(authorName))].filter((name) => name !== '').sort();
}
