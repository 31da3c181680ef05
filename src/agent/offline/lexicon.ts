// The words and forms of English by which the offline model tells what is stated for good from tasks, reports and
// thoughts: every pattern of its extraction, in one table. Most forms fit at the beginning of a sentence or not at all,
// so that what is told, quoted or asked is not taken for said.

export interface Statement {
  type: 'user' | 'feedback' | 'project' | 'reference';
  text: string;
}

/** A pattern with words of this table in it, whatever their capitals. */
const form = (source: TemplateStringsArray, ...words: string[]) => new RegExp(String.raw(source, ...words), 'i');
/** The same where a capital tells a name. */
const exact = (source: TemplateStringsArray, ...words: string[]) => new RegExp(String.raw(source, ...words));

/** What is done once: a sentence that begins so is the task. */
const TASK = `add|bump|call|change|check|commit|create|do|draft|find|fix|generate|go|implement|look|make|merge|move|open|plot|prepare|push|read|rebase|remove|rename|rerun|restore|retry|revert|rewrite|run|see|set|show|summari[sz]e|tag|tell|translate|update|use|visit|write`;
export const STARTS_WITH_TASK = form`^(?:I|${TASK})\b`;
/** What one is told not to do now, unless a word behind it makes it a rule. */
const NOT_NOW = `touch|change|edit|modify|implement|start|begin|continue|proceed|fix|make|create|add|include|output|return|print|show|reply|respond|run|install|commit|push|merge|rename|delete|remove|worry|bother|stop|forget|do|need|want|know|think|see|have|understand|remember`;
/** "Always fails on Windows" and "we never get a reply" report what happens. */
const REPORTED = String.raw`\w+(?<![su])s|\w+[^e]ed|the|an?|got|was|were|get|hit|see|saw|have|had|know|knew|seem|end up|run into|mind|nice|good|great|fun`;
const WEEKDAY = `(?:mon|tues|wednes|thurs|fri|satur|sun)day`;
const LANGUAGE = `(?:English|German|French|Spanish|Italian|Japanese|Chinese|Korean|Portuguese|Dutch|Polish|Russian)`;
/** Choosing among what was offered. */
const OPTION = String.raw`(?:the|this|that) (?:first|second|third|last|other|same|\w+er)\b`;
/** A sentence that does not speak of the response, the run, the page that is at hand. */
const NOT_AT_HAND = String.raw`(?!(?:\S+ )*?(?:(?:response|pr|pull|issue|ticket|build|job|error|bug|log|trace|stack|commit|branch|page|link|test|problem|fix|output|result|file)s?|run)\b)`;
/** Something outside the repository: an address, a channel, a named product or place; never a path. */
const PLACE = String.raw`(?:https?://|#[a-z]|(?:(?:the|our|a) )?[A-Z][\w-]*(?![\w.-]*/))`;

/**
 * Forms of sentences that state something, by its type. A `rule` is feedback put so firmly that a condition, a complaint or
 * a task behind it takes nothing from it.
 */
export const FORMS = {
  rule: [
    form`^(?!(?:we )?(?:always|never) (?:${REPORTED})\b|you (?:must|should) (?:always|never) (?:be able|have been)\b)(?:(?:make sure|be sure) (?:you|to) |you (?:must|should|need to) |we )?(?:always|never)\s+\S+\s+\S+`,
    // Not in one file only, or among what was offered.
    form`^(?!.*\bin \`?[\w/-]+\.[a-z]{1,4}\b|\w+ ${OPTION})(?:(?:instead of .+,\s*)?(?:we )?use\s.+\s(?:instead of|rather than|over)\s|(?:we )?use\s+[^,]+,\s*not\s|instead of .+,\s*use\s|prefer\s.+\s(?:over|to|instead of|rather than)\s|avoid\s+\S+ing\b|stop\s+\w+ing\s+\S+)`,
    // "Don't touch the parser" is about the task at hand; "don't mock the database" is a rule.
    form`^(?!(?:don['’]t|do not)\s+(?:you\b|(?:${NOT_NOW})\b(?!.*\b(?:ever|again|instead|anymore|because|without|every|each|any|all|directly)\b)))(?:don['’]t|do not)\s+(?:ever\s+)?\w+(?:\s+\S+){2,}`,
    // "Tests must never hit the network": for all but the speaker, the agent and the thing at hand.
    form`^(?!(?:I|we|you|it|this|that|there)\b)[^,:;]{2,60}? must (?:never|not|always|only)\s+\S+`,
    // What is asked for each time is a rule; "when you are done" is the task. An article makes "when" mean every time.
    form`^(?:(?:whenever|every time|each time|any time) |when you (?!have|get)\w+ an? )[^,:]+[,:]\s*(?!(?:I|it|we|you|this|that|there|the|my|an?|nothing|everything)\b)\S+`,
  ],
  feedback: [
    form`^no (?!need|idea|one|\w+ \w+ed\b)\S+[^,:;]* (?:anywhere|ever|any ?more)\b`,
    form`^(?!(?:the|this|that|it|there)\b)(?:(?:answer|reply|respond|speak|talk|write)(?: \w+){0,4}|[a-z][^,:;]{2,40} (?:is|are)(?: always)?) in ${LANGUAGE}(?:$|[,.;!]| (?:only|too|and)\b)`,
    form`^(?!(?:it|this|that)\b)[a-z][^,:;]{1,40}? (?:runs?|(?:is|are) run) with \``,
    // "Branches are called kim/<ticket>": a name looks like one, so that no function is called.
    form`^[a-z][^,:;]{1,40}? are (?:always )?(?:called|named) [^\s]*[/<_\`"]`,
  ],
  user: [
    form`^I (?!(?:\w+ )?(?:not )?(?:prefer|like|love|hate|dislike) (?:option|how|when|where|what|your|to see|(?:the|a) (?!.*\bover\b)))(?:(?:really|strongly|usually|generally|much|only) )?(?:prefer|like|love|hate|dislike|don['’]t like|do not like) \S+`,
    form`^I want you to (?:always|never|not|stop|be|ask|answer|reply) \S+`,
    // With an article it says what someone is: no state has one, but for these.
    form`^I(?:['’]m| am) (?!an? (?:bit|little|tad|lot|few|fan|idiot|fool|moron|mess|huge|big|step|while|couple|minute|hour|day|week|month)\b)(?:an? |the \S+ (?:of|for|at|behind) |new to \S|allergic to \S)`,
    form`^I(?:['’]ve| have) been .+ for .+ years?\b`,
    form`^I (?!own an? |(?:always|never) (?:\w+ed|get|got|see|saw|have|had|hit|knew|know|thought|said|forget|end up)\b)(?:work (?:on|at|in|as|with|from|for)|maintain|lead|own|manage|teach|study|translate|live in|speak|(?:always|never) \w+|use .+ (?:as|for) (?:my|all|every)|no longer use) \S+`,
    // A habit: "usually", "every evening", "on Mondays".
    form`^I (?!get|see|have|hit)[a-z]+ [^;:]*?\b(?:usually|every (?:day|morning|evening|night|week)|(?:on|in the) (?:${WEEKDAY}s|mornings?|evenings?))\b`,
    exact`^[A-Z]\w+ is allergic to \S`,
    form`^My (?![^,]*? (?:is|are) (?:\w{3,}ing|\w{3,}ed|on|off|in|out|down|broken|gone|here|back)\b)(?:\w+ )?(?:role|job|team|name|title|time ?zone|editor|shell|native language|background|operating system|company|budget|pronouns|(?:readers|users|customers|students|clients)(?= are)) (?:for .+ )?(?:is|are) \S+`,
  ],
  project: [
    form`^(?!.*\b(?:go|going) with (?:option|approach|plan|number|${OPTION})|the decision is (?:yours|mine|up to|final|pending)\b|we decided nothing\b)(?:we (?:have |['’]ve )?(?:decided|agreed (?:on|to|that)|settled on|chose)|we['’](?:ve|re) (?:decided|agreed|settled on|going with)|(?:we['’]ll|we will|let['’]s) go with|the decision(?: on [^:]+)?(?: is|:)|decision:)\s+\S+`,
    // What a team uses, ships and stays on. With an article it is a thing at hand: "we use the mutex".
    form`^we (?:(?:only|all|always|now|still|mostly) )?(?:use|deploy|host|ship|build|target|support|stay on|are (?:back|still|now) on|(?:have )?(?:switched|moved|migrated|upgraded) (?:back |over )?to|dropped|(?:no longer|don['’]t|do not) (?:use|support|ship|deploy)) (?!(?:the|an?|our|this|that|these|it|them|main|master|track)\b)\S+`,
    // What is so every week.
    form`^(?:[^:]{3,40}: )?(?!(?:I|it|this|that)\b)[^,;:]+? (?:(?:is|are|runs?|moves? to|starts?) (?:on )?(?:every )?${WEEKDAY}s|(?:is|runs?|starts?) every (?:other )?${WEEKDAY})\b`,
    form`^(?:the|our) ${NOT_AT_HAND}[^,;:]+? (?:listens?|runs?|is) on port \d+`,
    form`^[a-z][^,;:]{1,40}? moved to (?:port \d+|https?:)`,
    // Someone by name, of whom it is said what is theirs.
    exact`^(?!(?:I|We|You|It|This|That|The|Who|Nobody|Everybody|Everyone|Someone)\b)[A-Z]\w+ (?:(?:owns|maintains|leads) the|is (?:responsible for|in charge of))\s+\S+`,
    // Said against another value: "stored in metres, not in feet".
    form`^(?!(?:it|this|that)\b)[a-z][^,;:]{1,40}? (?:is|are) (?:stored|measured|computed|counted|given|written|billed) in [^,;:]+, (?:not|never) \S+`,
  ],
  reference: [
    exact`^[^,]+? (?:(?:is|are|gets?) (?:now )?(?:tracked|documented|described|discussed|hosted|filed) (?:in|at|on|under|via)|lives? (?:in|at|on|under)) ${PLACE}`,
    exact`^[Ww]e (?:track|document|discuss|file) [^,]+? (?:in|at|on|under|via) ${PLACE}`,
    exact`^[^,]*\b(?:[Dd]ashboards?|[Bb]oards?|[Rr]unbooks?|[Ww]iki|[Dd]oc(?:s|umentation)|[Tt]racker|[Dd]esign doc|[Pp]laybook|[Cc]hannel)\b[^,]*?(?:(?: is| are)(?: (?:at|in|on|under))?|:) ${PLACE}`,
    // "The staging site is https://…", but not the run, the page, the issue that is spoken of.
    form`^(?:the|our|my) ${NOT_AT_HAND}[^,:;]+? (?:is|are)(?: (?:at|on|under))? https?://`,
    // "Datasheets are on the share, in /mnt/…": a place on this machine outside the repository.
    form`^(?:I keep (?:my|our|the)|${NOT_AT_HAND}[^:;]+? (?:is|are|lives?)) [^:;]*?\b(?:in|at|under) (?:/(?!tmp)\w|~/(?!\.)|\.\./|[A-Z]:\\)`,
  ],
};

/** What may stand before a statement and says nothing. */
export const LEAD_IN = form`^(?:(?:(?:no(?!\b.*\b(?:anywhere|ever|any ?more)\b)|nope|yes|yeah|ok|okay|please|also|and|so|but|well|actually|again|btw|by the way|important|fyi|hey|hi|hello|thanks|oh|one (?:more )?thing(?: for the future)?)\b[,:;.!—–-]*|(?:stop|wait|right|sorry|exactly)[,:;.!—–-]+)\s+)+`;
export const CORRECTION = form`^(?:no|nope|stop|wait)\b[,:;.!—–-]`;
export const STANDING = form`^(?:from now on|going forward|in (?:the )?future|in general|as a (?:general )?rule)\b[,:]?\s+`;
export const FROM_NOW_ON = form`\b(?:from now on|going forward)\b(?! it was)`;
/** What is a rule where it is said as a correction or for the future, and else the task. */
export const CHOICE = form`^(?:use|prefer|run|write|keep|put|call|name)\s+\S+`;
export const REMEMBER = form`^(?:(?:always )?remember|keep in mind|(?:don['’]t|do not) forget)(?:(?: (?:that|this))?[:,]\s*|\s+(?:that\s+)?)`;
export const NOT_A_FACT = form`^(?:when|how|what|where|why|the time|the \w+ (?:we|I|you) had|me|him|her|us)\b`;
export const ASKED_OR_QUOTED = /\?$|^["“„«‘'(]|^[^"]*"(?:[^"]*"[^"]*")*[^"]*$/;

/** Thoughts, and matters of the moment. */
export const HYPOTHETICALS = [
  form`^(?:if|what if|suppose|supposing|assuming|imagine|pretend|let['’]s say|say)\b`,
  form`\b(?:maybe|perhaps|suppose|pretend|could|might|would|I['’]d|probably|possibly|hypothetically|for example|e\.g\.|considering|wondering|not sure|I (?:think|guess|assume)|let['’]s say)(?!\w)`,
  // "In this project" is for good; in this anything else is not.
  form`\b(?:yet|for now|right now|for the moment|temporarily|just this|this time|this once|this one|for this|(?:in|at) this (?!repo|project|codebase|workspace|team|house)\w+|until (?:I|we)|before (?:I|we|you) (?:start|begin))\b|, just \w+ (?:it|them)\b`,
];
/** Reports what goes wrong, or what is to be done now: no statement, unless it is put as a rule. */
export const AT_WORK = form`\b(?:fail\w*|broken|breaks|broke|crash\w*|hangs?|stuck|blocked|missing|by accident|here)\b|(?:,|;|\band|\bso) (?:please |just |now |then )*(?:${TASK}|don['’]t)\b(?! .*\bbefore you\b)|/(?:runs?|pull|issues|actions|commit|blob|jobs?|builds?|compare)/`;
export const CONDITION = form`\b(?:if|unless|whether)\b`;
export const VAGUE = form`\b(?:this|that|these|those|it|them|he|she|they)\b`;

/** What has a day: an event, or what is, begins, ends or has to be done on one. What was seen on a day is a report. */
export const EVENT = form`\b(?:deadlines?|due|releas(?:e|es|ed)|freezes?|frozen|launch(?:es)?|ships?|goes live|go live|cut-?off|sunset|end of life|milestone|migration|demo|branch is cut)\b`;
export const HAPPENS = form`^(?!(?:I|you|it|this|that|there)\b)[^,;:]+? (?:(?:is|are) (?:now )?(?:on |by |until )?\d{4}-\d|(?:must|has to|have to|needs? to|begins?|starts?|ends?|expires?|opens?|closes?|goes out|is live)\b.* \d{4}-\d)`;
export const DATE = form`\b\d{4}-\d{2}-\d{2}\b`;
/** What names no one day and is no relative date either, since a rule may well say it. */
export const NO_ONE_DAY = form`\b(?:soon|shortly|(?:next|this|last|coming) (?:sprint|release)|(?:end|start|middle) of (?:the |next |this )?(?:week|month|quarter|year|sprint)|\d{1,2}/\d{1,2}(?:/\d{2,4})?)\b`;
export const HAPPENED = form`\b(?:was|were|ran|did|had|went|happened|started|failed|deleted|broke|appeared)\b`;

/** Delight over something that comes again: "Great, another flaky test." */
export const IRONY = form`^(?:(?:oh,? )?(?:great|lovely|wonderful|fantastic|brilliant|perfect|nice|awesome|super)\b,[^.!?]*\b(?:another|again|even more)\b|sure,? because\b)`;
/** Says again what was said before, and is no news. */
export const REPEATED = form`^(?:(?:and|oh)[ ,]+)?(?:(?:as|like) I (?:said|told|mentioned)|once (?:more|again)|I (?:already )?(?:said|told you))`;
export const TAKES_BACK = form`^(?:(?:no|oh|wait|actually|ok|sorry)[,.!]?\s*)*(?:(?:scratch|forget|strike|disregard|ignore) (?!to\b|about it\b)|never ?mind|I take (?:that|it) back)`;
/** Says of the sentence beside it that it is to be kept. */
export const POINTS_BACK = form`^(?:(?:please|yes|always|and|so)[, ]+)*(?:(?:keep|bear|have) (?:that|this|these|it) in mind|mind that (?:whenever|when|with|in)|remember (?:that|this|it)|keep (?:doing|it) (?:that|this|like that|that way)|always do (?:it|that) (?:that way|like that|so)|that['’]s (?:always (?:so|like that|how)|a rule|how we))`;
/** From here to the end of the message someone else speaks. */
export const QUOTES_TO_THE_END = form`\b(?:said|says|wrote|writes|told (?:me|us)|commented|replied)\b[^.!?]*:\s*$|^\s*(?:\*\*)?(?:user|human|agent|assistant|system)(?:\*\*)?\s*:`;

/** What a decision is worded without. */
export const GOES_WITH = form`^(?:let['’]s go|we['’]re going|we['’]ll go|we will go) with\s+`;
/** Words that get a capital where a sentence begins with them: "pnpm" is a name. */
export const OPENING = form`^(?:always|never|don['’]t|do|use|avoid|stop|prefer|instead|make|be|we|the|our|you|run|write|keep|put|call|name|no|whenever|when|every|each|answer|reply|a|an|all|decided|decision)\b`;
/** The verbs that change where the user and the agent are spoken of in the third person. */
export const I_DO = form`^I ((?:(?:really|strongly|usually|generally|much|only|always|never|also|no longer) )?)([\w'’]+)`;
export const YOU_DO = form`\b(before|after|when|whenever|while|once|until) you (\w+)`;
