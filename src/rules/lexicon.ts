// The words of languages, as data: what the functions of this folder and its neighbours look for in a text. Parts of regular
// expressions, joined by `|`; each list says who reads it. Never: what an agent's format writes, which stands with the format.

/** Words that say nothing of what a text is about (words.ts). */
export const EMPTY = new Set(
  'a an and are as at be by for from has have in is it its of on or so that the their there this to was were will with user der die das den dem des ein eine einen und oder ist sind im am zu für von mit auf le la les un une et ou est sont de du des el los las y es son en il lo gli e o di da que se'.split(
    ' ',
  ),
);

/** Words that carry little of what a text says, beyond those that say nothing (memory/recall/near.ts). */
export const LIGHT = new Set(
  (
    'can could may might must should would shall does did done been being has had not than then also only just still now very more most ' +
    'too any all some each both own they them she him her his its this that these those which who what when where while into onto over under ' +
    'about after before because since said says asked wants agreed decided noted already always please itself themselves one two namely everybody everyone ' +
    'auch nur noch sehr wird wurde werden kann soll muss weil dass sich nicht kein keine aber wenn als wie bei nach vor über unter ' +
    'pas plus que qui pour par dans sur mais avec peut doit está están para con por como más pero'
  ).split(' '),
);

/** Verbs that tell little without what they are said of (memory/recall/near.ts). */
export const COMMON_VERBS = new Set(
  (
    'get gets got go goes went gone come comes came die dies died fail fails failed work works worked run runs ran take takes took ' +
    'make makes made keep keeps kept use uses used need needs needed give gives gave put puts let lets see sees saw try tries tried ' +
    'hit hits happen happens happened become becomes became begin begins began stay stays stayed hold holds held stand stands stood ' +
    'geht ging kommt kam läuft lief bleibt blieb macht gibt nimmt braucht va vient marche fait reste prend funciona hace queda'
  ).split(' '),
);

/** What is named behind these is only named to be left: "instead of npm" (words.ts). */
export const GIVEN_UP =
  'instead of|rather than|in place of|anstatt|statt|anstelle(?: von)?|au lieu(?: de)?|plutôt que|en lugar de|en vez de|invece di|em vez de|in plaats van|zamiast|вместо|i stället för|i stedet for';
