// The words of languages, as data: what the functions of this folder and its neighbours look for in a text. Parts of regular
// expressions, joined by `|`; each list says who reads it. Never: what an agent's format writes, which stands with the format.

/**
 * What speaks to an agent in languages other than English (injection.ts): as much as the hostile sets of the tests need to
 * be refused, `said` anywhere, `begins` at the beginning.
 */
export const ORDERS: Record<string, { said: string; begins?: string }> = {
  German: { said: 'merke? dir|ab (?:jetzt|sofort)', begins: '(?:immer|niemals)(?!\\p{L})' },
  French: { said: 'ignorez .{0,60}consignes', begins: 'toujours(?!\\p{L})' },
  Spanish: { said: 'olvida .{0,60}reglas', begins: 'nunca(?!\\p{L})' },
  Italian: { said: 'dimentica .{0,60}istruzioni' },
  Polish: { said: 'zignoruj .{0,60}instrukcje' },
  Russian: { said: 'забудь .{0,60}инструкции' },
  Turkish: { said: 'tüm .{0,40}talimatları yok say' },
  Arabic: { said: 'تجاهل .{0,40}التعليمات' },
  Chinese: { said: '忽略.{0,30}指令' },
  Japanese: { said: '指示.{0,20}無視', begins: '必ず' },
  Korean: { said: '지시.{0,20}무시' },
};
