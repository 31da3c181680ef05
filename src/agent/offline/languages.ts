// The rules for German, French, Spanish, Italian and Japanese: the same kinds of statements as in English, fewer forms.
// A sentence is kept as it was said. What belongs to no language here is not read.

import type { Day } from '../../base/time.ts';
import { hasDate, resolveDates } from './dates.ts';
import { finish, type Rule, type Statement, state } from './statement.ts';

interface Language {
  /** What may stand before a statement and says nothing. */
  leadIn: RegExp;
  /** What makes it a thought, hearsay, or a matter of the moment. */
  unmeant: RegExp;
  rules: Rule[];
  /** What is, begins, ends or must be done on a day, where a date stands in the sentence. */
  happens: RegExp;
}

/** Words of any alphabet as whole words; `\b` knows only ASCII. */
const words = (source: string, flags = 'iu') => new RegExp(`(?<![\\p{L}\\p{N}])(?:${source})(?![\\p{L}\\p{N}])`, flags);
const opening = (source: string) => new RegExp(`^(?:${source})(?![\\p{L}\\p{N}])`, 'iu');
/** A place outside the repository. */
const PLACE = '(?:https?://\\S|/(?!tmp)\\w|~/|\\.\\./|[A-Z]:\\\\)';
const isAt = (verbs: string) => new RegExp(`^(?!.*\\?)[^:;]+? (?:${verbs}) (?:[^:;]*? )?${PLACE}`, 'iu');

/** What a message is about while it is worked on, and choosing among what was offered. */
const AT_HAND = words(
  'Fehler|Logs?|Ausgabe|Datei|Test|(?:zweite|erste|dritte|andere)n? \\p{L}+|erreur|journal|fichier|sortie|(?:première|deuxième|seconde) \\p{L}+|salida|fichero|archivo|(?:primer|segund)[ao] ?\\p{L}*|errore|(?:prim|second)[ao] ?\\p{L}*',
);
const AT_HAND_JAPANESE = /ログ|エラー|出力|ファイルは/u;

const GERMAN: Language = {
  leadIn:
    /^(?:(?:bitte|also|und|ok|okay|nein|ja|übrigens|hallo|moin|hi|wichtig|noch was|ach)(?![\p{L}])[,:;.!]*\s+)+/iu,
  unmeant: words(
    'hoffentlich|hier(?! im)|dies\\p{L}+|wenn|falls|angenommen|vielleicht|eventuell|würd\\p{L}*|könnt\\p{L}*|irgendwann|erst ?mal|vorerst|diesmal|nur jetzt|heute',
  ),
  rules: [
    { type: 'feedback', pattern: words('ab (?:jetzt|sofort)|von (?:jetzt|nun) an|künftig|in Zukunft') },
    {
      // A demand has no subject: "Immer …", "Leg immer …", "Zahlen bitte immer …"; but not "Das ist immer …".
      type: 'feedback',
      pattern: /^(?:\p{L}+ (?:bitte )?)?(?:immer|nie|niemals)(?!\p{L})(?= .*\p{L})/iu,
      unless:
        /^(?:ich|wir|er|sie|es|man|das|der|die|du|ihr|dies\p{L}*|ist|war|hat|habe?n?|sind|was|wie|so|fast|noch|auch|doch|warum|bisher|früher|sonst|schon)(?!\p{L})|nie im Leben|immer (?:wieder|noch|mehr|öfter|weniger|schlimmer|nur)(?!\p{L})/iu,
    },
    {
      type: 'user',
      pattern: opening('ich (?:bevorzuge|mag (?:lieber|kein\\p{L}*)|(?:hätte|möchte|will|habe) .*lieber)'),
    },
    {
      // A noun stands where somebody says what they are; a state is no noun.
      type: 'user',
      pattern:
        /^[Ii]ch (?:bin (?:eine? )?(?!(?:\p{Lu}\p{L}+(?:tag|woch)s?|Mitte|Mittwoch|Anfang|Ende)(?!\p{L}))\p{Lu}\p{L}{3,}|arbeite (?:als|bei|in|mit|für) )/u,
    },
    {
      type: 'project',
      pattern: opening('wir (?:verwenden|benutzen|nutzen|arbeiten mit|setzen auf|haben uns .* entschieden)'),
    },
    {
      type: 'project',
      pattern: opening('merk(?:e|t)? (?:dir|euch)|vergiss nicht|vergesst nicht|denk(?:e)? (?:daran|dran)'),
    },
    { type: 'reference', pattern: isAt('steht|stehen|liegt|liegen|ist|sind|läuft') },
  ],
  happens: words('ist|sind|beginnt|endet|startet|gilt|läuft|muss|müssen|bis|Frist|Abgabe'),
};

const FRENCH: Language = {
  leadIn:
    /^(?:(?:bonjour|salut|et|alors|oui|non|ok|merci|au fait|s['’]il (?:te|vous) pla[iî]t)(?![\p{L}])[ ,:;.!]*\s+)+/iu,
  unmeant: words(
    "ici|ce(?:t|tte|s)?(?! (?:sont|qui|que))|si|peut-être|supposons|imaginons|pourrai\\p{L}*|pourrions|serait|pour (?:cette fois|l[’']instant|le moment)|cette fois|provisoirement",
  ),
  rules: [
    { type: 'feedback', pattern: words("à partir de maintenant|dorénavant|désormais|à l[’']avenir") },
    {
      // An imperative, or an infinitive: "Réponds-moi toujours …", "Ne modifie jamais …", "Toujours indiquer …".
      type: 'feedback',
      pattern:
        /^(?:\p{L}+[sze](?:-\p{L}+)? toujours|toujours \p{L}+(?:er|ir|re)|ne (?:jamais \p{L}+|\p{L}+ (?:jamais|plus))|jamais de)(?!\p{L}) \S+/iu,
      unless:
        /^(?:je|j['’].*|tu|il|elle|on|nous|vous|ils|elles|ça|cela|c['’].*|est|sont|qui|le|la|les|un|une|presque) /iu,
    },
    {
      type: 'feedback',
      pattern: /^pas d(?:e |['’])\p{L}+[sx](?!\p{L})/iu,
      unless: words('problème|soucis?|quoi|chance|panique'),
    },
    { type: 'user', pattern: opening("je (?:préfère|n[’']aime pas|déteste|veux toujours)") },
    {
      // Endings of trades and callings; "je suis" alone may say how one feels.
      type: 'user',
      pattern:
        /^je suis (?:une? )?(?:\p{L}+(?:iste|eur|euse|trice|ien|ienne|logue|ecte|ant|ante|gère|ger)|médecin|avocate?|débutante?) (?:à|au|dans|chez|en|de|depuis|et) |^je travaille (?:sous|avec|chez|dans|comme|pour) /iu,
    },
    { type: 'project', pattern: opening('(?:nous utilisons|on utilise|nous travaillons avec|nous sommes passés à)') },
    {
      type: 'project',
      pattern: opening(
        "retiens|retenez|souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|n[’']oublie(?:z)? pas|note(?:z)? (?:bien|que)",
      ),
    },
    // Whose something is: "Les métrés, c'est Solène qui les fait."
    { type: 'project', pattern: /^[^,:;]+, c['’]est \p{Lu}\p{Ll}+ qui /u },
    { type: 'reference', pattern: isAt('est|sont|se trouvent?') },
    {
      type: 'reference',
      pattern: /^(?:[Ll]es?|[Ll]a|[Ll]['’]|[Nn]os?) ?[^,:;]+? (?:est|sont) suivie?s? (?:dans|sur) \p{Lu}/u,
    },
  ],
  happens: words('est|sont|commence|finit|se termine|doit|doivent|avant le|délai|échéance'),
};

const SPANISH: Language = {
  leadIn:
    /^(?:(?:hola|buenas|buenos días|y|pues|sí|no|vale|gracias|por favor|por cierto)(?![\p{L}])[,:;.!]*\s+)+(?!\p{L}+ nunca)/iu,
  unmeant: words(
    'aquí|est[aeo]s?|es[ae]s?|si|quizás?|tal vez|supongamos|imagina|podría\\p{L}*|por (?:esta vez|ahora|el momento|hoy)|esta vez|de momento',
  ),
  rules: [
    { type: 'feedback', pattern: words('a partir de ahora|de ahora en adelante|desde ahora|en adelante') },
    {
      // "Nunca uses …", "Responde siempre …", "Los precios siempre con …"; not what somebody always does.
      type: 'feedback',
      pattern:
        /^(?:nunca|jamás) \p{L}+(?:es|as|éis|áis|en|an) \S+|^no \p{L}+[ea]s nunca \S+|^siempre (?:\p{L}+[ae] |con |en |que )\S*|^(?:(?:el|la|los|las) )?\p{L}+ siempre (?:en|con|sin|por|de|a) \S+|^\p{L}+[aei] siempre \S+/iu,
      unless: /^(?:yo|él|ella|ellos|ellas|nosotros|esto|eso|es|está|son|casi|como|\p{L}+(?:amos|emos|imos)) /iu,
    },
    { type: 'user', pattern: opening('prefiero|no me gustan?|odio') },
    // "Ser", unlike "estar", says what somebody is.
    {
      type: 'user',
      pattern:
        /^soy (?:un |una )?(?!yo|consciente|capaz)\p{L}+ (?:de|del|en|y|con|para|desde) |^trabajo (?:en|con|de|como|para) /iu,
    },
    { type: 'project', pattern: opening('(?:usamos|utilizamos|trabajamos con|uso|utilizo) \\p{L}') },
    {
      type: 'project',
      pattern: opening('(?:recuerda|recordad|recuerde|no olvides|ten en cuenta|apunta)(?: que|:)'),
    },
    { type: 'reference', pattern: isAt('está|están') },
    {
      type: 'reference',
      pattern: /^(?:[Ee]l|[Ll]as?|[Ll]os) [^,:;]+? se (?:apuntan?|siguen?|registran?|gestionan?) en \p{Lu}/u,
    },
  ],
  happens: words('es|son|empieza|termina|vence|debe|deben|antes del?|plazo'),
};

const ITALIAN: Language = {
  leadIn: /^(?:(?:ciao|salve|e|allora|sì|no|ok|grazie|per favore|comunque)(?![\p{L}])[,:;.!]*\s+)+/iu,
  unmeant: words(
    'qui|quest[oaie]|se|forse|magari|supponiamo|immagina|potre\\p{L}*|per (?:ora|adesso|oggi|questa volta)|stavolta|stanotte',
  ),
  rules: [
    { type: 'feedback', pattern: words("d[’']ora in (?:poi|avanti)|da (?:ora|adesso) in poi|in futuro") },
    {
      type: 'feedback',
      pattern:
        /^(?:non \p{L}+(?:are|ere|ire) mai|mai \p{L}+(?:are|ere|ire)|sempre \p{L}+(?:are|ere|ire)|\p{L}+[aei] sempre) \S+/iu,
      unless: /^(?:io|lui|lei|noi|loro|questo|è|sono|ho|ha|quasi|come|\p{L}+iamo) /iu,
    },
    { type: 'user', pattern: opening('preferisco|non mi piac(?:e|ciono)|odio') },
    {
      type: 'user',
      pattern:
        /^sono (?:uno? |una |un['’])?(?:\p{L}+(?:ista|tore|trice|ologo|ologa|ando|anda|iere|iera|gnere)|studente|studentessa|medico) (?:in|a|di|da|e|per) |^lavoro (?:in|con|come|per) /iu,
    },
    { type: 'project', pattern: opening('(?:usiamo|utilizziamo|lavoriamo con)') },
    {
      type: 'project',
      pattern: opening('(?:ricorda(?:ti)?|ricordate(?:vi)?|tieni presente|non dimenticare)(?: che|:)'),
    },
    { type: 'reference', pattern: isAt('sta|stanno|è|sono|si trovano?') },
  ],
  happens: words('è|sono|inizia|finisce|scade|scadenza|deve|devono|entro'),
};

const JAPANESE: Language = {
  leadIn: /^(?:(?:はい|いいえ|あと|それと|また|では|じゃあ|ちなみに|こんにちは)[、。]?\s*)+/u,
  unmeant:
    /もし|ここ|聞[きい]|かもしれ|たぶん|多分|としたら|とすれば|今回|今日|今だけ|とりあえず|一旦|しばらく|まだ|らしい|だそう|と言(?:わ|っ|い)|って言|と書/u,
  rules: [
    {
      type: 'feedback',
      pattern: /(?:これから|今後|次回から|次から|以後).*(?:ください|下さい|こと|お願いします|ない|ます|する)$/u,
      unless: /[そあ]の/u,
    },
    {
      // 必ず and the like, with a request or an obligation at the end: what merely always happens ends otherwise.
      type: 'feedback',
      pattern: /(?:必ず|常に|毎回|絶対に|決して).*(?:ください|下さい|こと|お願いします|ように)$/u,
      unless: /^(?:この|その|あの|これ|それ|あれ)/u,
    },
    {
      // "Xは使わないでください"; what is at hand is touched, changed, committed.
      type: 'feedback',
      pattern: /は[^、]{2,}ないで(?:ください|下さい)$|は[^、]*ないこと$|ではなく.*(?:ください|下さい)$/u,
      unless: /触|変え|変更|消さ|削除|コミット|プッシュ|実行|^(?:この|その|これ|それ)/u,
    },
    { type: 'user', pattern: /(?:ほうが|方が)(?:好き|好み|いい|良い)です$|(?:が|は)(?:好み|好き|嫌い|苦手)です$/u },
    { type: 'user', pattern: /^(?:私|僕|俺)は.*(?:です|をしています)$|^本業は.+です/u },
    {
      type: 'project',
      pattern: /(?:を|は)(?:使って|使用して|利用して)い?ます$/u,
      unless: /今|この(?!サイト|プロジェクト|リポジトリ|アプリ|チーム)/u,
    },
    { type: 'project', pattern: /(?:を|と)(?:覚えて|忘れないで)/u },
    { type: 'reference', pattern: /[A-Z][\w./ -]*(?:の\S+?)?で(?:管理|追跡|運用)して(?:い)?ます$/u },
    { type: 'reference', pattern: /は.*(?:https?:\/\/|[/~]\w)\S*?(?:に(?:あります|置いて)|です)/u },
  ],
  happens: /締め切り|締切|期限|期日|リリース|公開日|開始|終了/u,
};

const LANGUAGES = [GERMAN, FRENCH, SPANISH, ITALIAN, JAPANESE];

/** What the sentence states in one of these languages, or null. `isAsked`: the sentence beside it asks to remember it. */
export function readOther(
  sentence: string,
  { said, isAsked }: { said: Day | undefined; isAsked: boolean },
): Statement | null {
  for (const { leadIn, unmeant, rules, happens } of LANGUAGES) {
    const bare = sentence.replace(leadIn, '');
    const core = bare === sentence ? bare : bare.replace(/^\p{Ll}(?=\p{Ll}* )/u, (letter) => letter.toUpperCase());
    const plain = core.replace(/[\s.!。！]+$/u, '');
    const rule = rules.find(({ pattern, unless }) => pattern.test(plain) && !unless?.test(plain));
    const isAtHand = AT_HAND.test(core) || AT_HAND_JAPANESE.test(core);
    if (rule) return unmeant.test(core) || (isAtHand && rule.type !== 'feedback') ? null : state(rule.type, core, said);
    const dated =
      happens.test(plain) && !plain.includes(':') && !isAtHand && !unmeant.test(core) ? resolveDates(core, said) : null;
    if (dated !== null && hasDate(dated)) return { type: 'project', text: finish(dated) };
  }
  const isJapanese = /[\p{sc=Hiragana}\p{sc=Katakana}]/u.test(sentence);
  return isAsked && isJapanese && !JAPANESE.unmeant.test(sentence) ? state('project', sentence, said) : null;
}
