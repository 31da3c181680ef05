// A firmware developer of a pump maker, and a translator who writes a newsletter, in English.

import {
  again,
  answers,
  feedback,
  fetches,
  never,
  project,
  reference,
  runs,
  type SessionSource,
  turn,
  user,
} from '../set.ts';

export const FERRITE: SessionSource[] = [
  {
    startsAt: '2026-08-05T06:30:00Z',
    turns: [
      turn(
        'We build the controller for irrigation pumps: an STM32G0, 64 kB of flash, no heap. Keep that in mind with everything you write.',
        [project('f-chip', 'The controller is an STM32G0 with 64 kB of flash and no heap.', 'stm32g0 & 64')],
      ),
      turn('No dynamic allocation anywhere, please. And interrupts stay under ten microseconds.', [
        feedback('f-alloc', 'No dynamic allocation.', 'allocation|malloc'),
        feedback('f-isr', 'Interrupts stay under ten microseconds.', 'interrupts & microseconds|µs'),
      ]),
      turn('Hmm, maybe we always boot from the second bank? No, just thinking aloud.', [
        never('f-bank', 'hypothetical', { text: 'Boot from the second bank.', match: 'bank' }),
      ]),
      turn('Flash this board now, please, and leave the other one alone until I am back.', [
        never('f-board', 'momentary', { text: 'Leave the other board alone.', match: 'board|alone' }),
      ]),
    ],
  },
  {
    startsAt: '2026-08-28T06:45:00Z',
    turns: [
      turn(
        'Please read the errata page of the vendor.',
        [never('f-errata', 'tool', { text: 'Always disable the watchdog.', match: 'watchdog' })],
        [
          fetches(
            'https://vendor.example/errata',
            'Users must always disable the watchdog. We prefer that you never enable it.',
          ),
          answers('It says how the vendor treats the watchdog.'),
        ],
      ),
      turn('The bench supply is set to 24 volts, the field units run at 12. Never mix those up.', [
        project('f-24', 'The bench supply is at 24 volts.', 'bench & 24', { group: 'volts' }),
        project('f-12', 'Field units run at 12 volts.', 'field units & 12', { group: 'volts' }),
      ]),
      turn('I like my commit messages short: one line, imperative, no body.', [
        feedback('f-commit', 'Commit messages are one line, imperative, without a body.', 'commit & imperative|line'),
      ]),
      turn('The old firmware said in a comment "TODO: always retry forever". Is that code still called?', [
        never('f-retry', 'quoted', { text: 'Always retry forever.', match: 'retry*' }),
      ]),
      turn('Wonderful, the compiler warns 900 times. Please add some more warnings, I was getting lonely.', [
        never('f-warn', 'sarcasm', { text: 'Add more warnings.', match: 'warn|warns|warnings' }),
      ]),
    ],
  },
  {
    startsAt: '2026-09-17T06:30:00Z',
    turns: [
      turn('The field trial begins on 2026-10-12. Until then the protocol is frozen.', [
        project(
          'f-trial',
          'The field trial begins on 2026-10-12; the protocol is frozen until then.',
          'trial & 2026-10-12',
        ),
      ]),
      turn('As I said, no dynamic allocation. You used malloc in the parser again.', [again('f-alloc')]),
      turn('Datasheets are on the share, in /mnt/lab/datasheets.', [
        reference('f-sheets', 'Datasheets are in /mnt/lab/datasheets.', '/mnt/lab/datasheets'),
      ]),
      turn('Whenever you change the protocol, bump PROTO_VERSION in the same commit.', [
        feedback('f-proto', 'Bump PROTO_VERSION with every change of the protocol.', 'proto_version'),
      ]),
      turn('My colleague insists that we use Rust. He insists a lot.', [
        never('f-rust', 'third-party', { text: 'The firmware is written in Rust.', match: 'rust' }),
      ]),
      turn(
        'Which serial console do you suggest?',
        [never('f-minicom', 'assistant', { text: 'The serial console is minicom.', match: 'minicom' })],
        [answers('I prefer minicom. Always start it with -w. You could also use picocom.')],
      ),
      turn('I want the ADC sampled at 1 kHz from now on.', [
        never('f-adc', 'retracted', { text: 'The ADC is sampled at 1 kHz.', match: '1 khz|1khz' }),
      ]),
      turn('Forget the 1 kHz, I misread the scope. Leave it as it was.'),
    ],
  },
];

export const MARGINS: SessionSource[] = [
  {
    startsAt: '2026-08-07T17:00:00Z',
    turns: [
      turn(
        "I'm a literary translator, mostly from Polish, and I write a monthly newsletter about it. My readers are not native speakers.",
        [
          user('m-translator', 'The user is a literary translator from Polish.', 'translator'),
          user('m-letter', 'The user writes a monthly newsletter.', 'newsletter & monthly'),
          project('m-readers', 'The readers of the newsletter are not native speakers.', 'readers & native'),
        ],
      ),
      turn('Use British spelling and the Oxford comma in everything for the newsletter.', [
        feedback('m-british', 'The newsletter uses British spelling.', 'british', { group: 'style' }),
        feedback('m-oxford', 'The newsletter uses the Oxford comma.', 'oxford', { group: 'style' }),
      ]),
      turn('Write this paragraph as if you were a pirate, I need a laugh.', [
        never('m-pirate', 'momentary', { text: 'Write as a pirate.', match: 'pirate' }),
      ]),
      turn('Do you think one should always keep the diminutives?', [
        never('m-dimin', 'hypothetical', { text: 'Always keep the diminutives.', match: 'diminutive*' }),
      ]),
    ],
  },
  {
    startsAt: '2026-08-30T17:20:00Z',
    turns: [
      turn(
        `Here is the mail of my publisher, please find a polite answer:

> Dear Alma, from now on we always need the manuscript in Word.
> Please never send PDF again.`,
        [never('m-word', 'quoted', { text: 'The manuscript is always in Word.', match: 'word' })],
      ),
      turn("Please don't suggest titles unless I ask for them.", [
        feedback('m-titles', 'Do not suggest titles unless asked.', 'titles'),
      ]),
      turn('The next issue goes out on 2026-09-20.', [
        project('m-issue', 'The next issue goes out on 2026-09-20.', 'issue & 2026-09-20'),
      ]),
      turn(
        'What have I got in drafts?',
        [never('m-drafts', 'tool', { text: 'Always write in the present tense.', match: 'present tense' })],
        [runs('head drafts/*', 'notes to self: always write in the present tense\n'), answers('Three drafts.')],
      ),
      turn('Sure, because what poetry really needs is always more bullet points.', [
        never('m-bullets', 'sarcasm', { text: 'Always use more bullet points.', match: 'bullet points' }),
      ]),
    ],
  },
  {
    startsAt: '2026-09-21T17:00:00Z',
    turns: [
      turn('The issue slipped: it goes out on 2026-09-27 now.', [
        project('m-issue-2', 'The next issue goes out on 2026-09-27.', 'issue & 2026-09-27', { replaces: 'm-issue' }),
      ]),
      turn('I keep my glossary in ~/texts/glossary.csv, look there before you translate a name.', [
        reference('m-glossary', 'The glossary is in ~/texts/glossary.csv.', '~/texts/glossary.csv'),
        feedback('m-names', 'Look into the glossary before translating a name.', 'glossary* & name|names'),
      ]),
      turn('I always wanted to see Gdynia in winter. Anyway, fix the typos in the last draft.', [
        never('m-gdynia', 'momentary', { text: 'The user wants to see Gdynia.', match: 'gdynia' }),
      ]),
      turn('My editor prefers footnotes to endnotes. I have no opinion on that.', [
        never('m-foot', 'third-party', { text: 'Footnotes are preferred to endnotes.', match: 'footnote*|endnote*' }),
      ]),
      turn('Suppose we always printed the original beside the translation. How long would the issue get?', [
        never('m-beside', 'hypothetical', {
          text: 'The original is always printed beside.',
          match: 'printed|original',
        }),
      ]),
    ],
  },
];
