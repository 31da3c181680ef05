// Rewords an English sentence in the first person as one about the user: "I prefer my tabs", "The user prefers their tabs".

const IRREGULAR: Record<string, string> = {
  have: 'has',
  do: 'does',
  are: 'is',
  can: 'can',
  will: 'will',
  "don't": "doesn't",
  'don’t': "doesn't",
};
const ADVERB = '(?:really|strongly|usually|generally|much|only|always|never|also|no longer)';
/** Words that are not part of a path, a name or code. */
const word = (source: string): RegExp => new RegExp(`(?<![\\w/.@\`-])(?:${source})(?![\\w/@\`-]|\\.\\w)`, 'gi');

/** What a person says of themselves, as it is said of them. */
export function toThirdPerson(sentence: string): string {
  return sentence
    .replace(/^I(?:['’]m| am)\b/i, 'The user is')
    .replace(/^I(?:['’]ve| have)\b/i, 'The user has')
    .replace(/^my\b/i, "The user's")
    .replace(new RegExp(`^I ((?:${ADVERB} )?)([\\w'’]+)`, 'i'), (_, adverb: string, verb: string) => {
      return `The user ${adverb}${thirdPerson(verb)}`;
    })
    .replace(word("I['’]m|I am"), 'they are')
    .replace(word("I['’]ve|I have"), 'they have')
    .replace(word('I'), 'they')
    .replace(word('my'), 'their')
    .replace(word('me'), 'them')
    .replace(/\b(before|after|when|whenever|while|once|until) you (\w+)/gi, (_, when: string, verb: string) => {
      return `${when} it ${thirdPerson(verb)}`;
    })
    .replace(word('your'), "the agent's")
    .replace(word('you'), 'the agent');
}

function thirdPerson(verb: string): string {
  const irregular = IRREGULAR[verb.toLowerCase()];
  if (irregular !== undefined) return irregular;
  if (/(?:s|sh|ch|x|z|o)$/.test(verb)) return `${verb}es`;
  return /[^aeiou]y$/.test(verb) ? `${verb.slice(0, -1)}ies` : `${verb}s`;
}
