// Ein Disponent im Hafen und ein Agent, auf Deutsch.

import {
  again,
  answers,
  feedback,
  never,
  project,
  reads,
  reference,
  runs,
  type SessionSource,
  turn,
  user,
} from '../set.ts';
import { SPREADSHEET } from './outputs.ts';

export const HAFEN: SessionSource[] = [
  {
    startsAt: '2026-09-02T06:30:00Z',
    turns: [
      turn(
        'Moin. Ich bin Disponent im Containerhafen, kein Programmierer. Python lese ich, schreiben tu ich es nicht. Duz mich ruhig.',
        [
          user(
            'h-rolle',
            'Der Nutzer ist Disponent im Containerhafen und kein Programmierer.',
            'disponent|dispatcher & hafen|containerhafen|port|harbour|harbor',
            {
              also: 'The user is a dispatcher in a container port and not a programmer.',
            },
          ),
          user(
            'h-python',
            'Der Nutzer kann Python lesen, aber nicht schreiben.',
            'python & lesen|liest|lese|read|reads',
            {
              also: 'The user reads Python but does not write it.',
            },
          ),
          user('h-du', 'Der Nutzer möchte geduzt werden.', 'duz*|geduzt|per du|informal*|"du"', {
            also: 'The user wants to be addressed informally, as "du".',
          }),
        ],
        [answers('Moin! Dann erkläre ich, was der Code tut, bevor ich ihn zeige.')],
      ),
      turn(
        'Die Liegepläne kommen jeden Morgen um 05:45 als CSV, Trennzeichen ist das Semikolon, Dezimalzeichen das Komma. Schau mal rein.',
        [
          project(
            'h-csv',
            'Die Liegepläne kommen jeden Morgen um 05:45 als CSV mit Semikolon als Trennzeichen und Komma als Dezimalzeichen.',
            '05:45|5:45',
            {
              also: 'The berth plans arrive as a CSV every morning at 05:45, separated by semicolons, with decimal commas.',
            },
          ),
        ],
        [
          reads('plan/2026-09-14.csv', SPREADSHEET),
          answers('Vier Zeilen, vier Spalten. Soll ich die Container je Liegeplatz summieren?'),
        ],
      ),
      turn('ja, aber P9 nicht mitzählen, der gehört uns nicht', [
        project(
          'h-p9',
          'Der Liegeplatz P9 zählt in den Summen nicht mit, weil er nicht zum eigenen Betrieb gehört.',
          'p9',
          {
            also: 'Berth P9 is left out of the sums because it belongs to somebody else.',
          },
        ),
      ]),
    ],
  },
  {
    startsAt: '2026-09-16T06:40:00Z',
    turns: [
      turn(
        'Bitte nie direkt in der Originaldatei arbeiten. Leg immer eine Kopie unter arbeit/ an, mir ist schon mal ein ganzer Monat verloren gegangen.',
        [
          feedback(
            'h-kopie',
            'Nie in der Originaldatei arbeiten, sondern in einer Kopie unter arbeit/; es ging schon ein Monat verloren.',
            'arbeit/',
            {
              also: 'Never work on the original file; make a copy under arbeit/, since a whole month was lost once.',
            },
          ),
        ],
      ),
      turn('Der Bericht geht jeden Freitag bis 14 Uhr an Frau Petersen vom Zoll, als PDF, nicht als Excel.', [
        project(
          'h-petersen',
          'Der Bericht geht jeden Freitag bis 14 Uhr als PDF an Frau Petersen vom Zoll, nicht als Excel.',
          'petersen & !yıldız|yildiz',
          {
            also: 'The report goes to Ms Petersen at customs as a PDF every Friday by 14:00.',
          },
        ),
      ]),
      turn(
        'Angenommen, wir würden auf SAP umsteigen, was hieße das für deine Skripte?',
        [never('h-sap', 'hypothetical', { text: 'Der Hafen steigt auf SAP um.', match: 'sap' })],
        [answers('Die Einlesefunktion wäre neu zu schreiben, der Rest könnte bleiben.')],
      ),
      turn(
        'Na wunderbar, schon wieder Umlaute kaputt. Genau so habe ich mir meinen Mittwoch vorgestellt.',
        [
          never('h-umlaute', 'sarcasm', {
            text: 'Der Nutzer freut sich über kaputte Umlaute.',
            match: 'umlaut* & freut|wunderbar|mag|likes',
          }),
        ],
        [
          runs('file plan/2026-09-16.csv', 'plan/2026-09-16.csv: ISO-8859 text'),
          answers('Die Datei kam als ISO-8859-1. Ich lese sie jetzt so ein.'),
        ],
      ),
    ],
  },
  {
    startsAt: '2026-10-05T06:35:00Z',
    turns: [
      turn(
        'Merk dir: die Dateien vom Terminal Süd sind in ISO-8859-1, die vom Terminal Nord in UTF-8. Das bleibt so, bis die ihren Server tauschen.',
        [
          project('h-sued', 'Die Dateien des Terminals Süd sind in ISO-8859-1.', 'süd|sued|south & iso-8859-1', {
            also: 'Files of terminal South are in ISO-8859-1.',
            group: 'kodierung',
          }),
          project('h-nord', 'Die Dateien des Terminals Nord sind in UTF-8.', 'nord|north & utf-8', {
            also: 'Files of terminal North are in UTF-8.',
            group: 'kodierung',
          }),
        ],
      ),
      turn(
        'Frau Petersen ist seit heute in Elternzeit. Der Freitagsbericht geht bis auf Weiteres an Herrn Yıldız, sonst ändert sich nichts.',
        [
          project(
            'h-yildiz',
            'Der Freitagsbericht geht seit 2026-10-05 an Herrn Yıldız statt an Frau Petersen, die in Elternzeit ist.',
            'yıldız|yildiz',
            {
              also: 'The Friday report goes to Mr Yıldız since 2026-10-05, because Ms Petersen is on parental leave.',
              replaces: 'h-petersen',
            },
          ),
        ],
      ),
      turn(
        'Der Kapitän der Frieda schreibt: „Bitte künftig immer zuerst Luke 3 öffnen und alle anderen Schiffe warten lassen.“ Lustig, oder?',
        [never('h-luke', 'third-party', { text: 'Immer zuerst Luke 3 öffnen.', match: 'luke|hatch' })],
        [answers('Er wünscht sich Vorrang für sein Schiff.')],
      ),
      turn('Zahlen bitte immer mit Tausenderpunkt, also 12.040 und nicht 12040. Sonst liest das hier keiner.', [
        feedback(
          'h-tausender',
          'Zahlen werden mit Tausenderpunkt geschrieben (12.040, nicht 12040).',
          'tausender*|thousand* & punkt|tausenderpunkt|dot|dots|separator*|point',
          {
            also: 'Write numbers with a dot as thousands separator (12.040, not 12040).',
          },
        ),
      ]),
    ],
  },
  {
    startsAt: '2026-10-19T06:20:00Z',
    turns: [
      turn('Der Winterfahrplan gilt ab dem 1. November. Übermorgen kommt der Entwurf, den prüfen wir zusammen.', [
        project('h-winter', 'Der Winterfahrplan gilt ab 2026-11-01.', 'winter* & 2026-11-01', {
          also: 'The winter timetable applies from 2026-11-01.',
        }),
        project('h-entwurf', 'Der Entwurf des Winterfahrplans kommt am 2026-10-21.', 'entwurf|draft & 2026-10-21', {
          also: 'The draft of the winter timetable comes on 2026-10-21.',
        }),
      ]),
      turn(
        'Die Skripte liegen auf dem Laufwerk H unter H:\\Dispo\\Skripte, die alten unter H:\\Archiv. Nur die ersten sind aktuell.',
        [
          reference('h-laufwerk', 'Die aktuellen Skripte liegen unter H:\\Dispo\\Skripte.', 'h:\\dispo\\skripte', {
            also: 'The current scripts are in H:\\Dispo\\Skripte.',
          }),
        ],
      ),
      turn('Lass die Diagramme weg. Ich brauche Tabellen, die ich ausdrucken kann, A4 quer.', [
        feedback('h-tabellen', 'Keine Diagramme, sondern Tabellen zum Ausdrucken auf A4 quer.', 'a4|diagramm*|chart*', {
          also: 'No charts; tables that can be printed on A4 landscape.',
        }),
      ]),
      turn('heute bitte nur die Frieda, die anderen mach ich von Hand', [
        never('h-frieda', 'momentary', { text: 'Nur die Frieda wird ausgewertet.', match: 'frieda' }),
      ]),
    ],
  },
  {
    startsAt: '2026-11-10T07:10:00Z',
    turns: [
      turn('Frau Petersen ist wieder da, der Freitagsbericht geht also wieder an sie.', [
        again('h-petersen', 'h-yildiz'),
      ]),
      turn('Terminal Süd hat den Server getauscht: auch deren Dateien sind jetzt UTF-8.', [
        project(
          'h-sued-2',
          'Auch die Dateien des Terminals Süd sind seit 2026-11-10 in UTF-8.',
          'süd|sued|south & utf-8',
          {
            also: 'Files of terminal South are in UTF-8 too since 2026-11-10.',
            replaces: 'h-sued',
          },
        ),
      ]),
      turn('Und nicht vergessen, was ich über die Originaldateien gesagt habe: nur in der Kopie arbeiten!', [
        again('h-kopie'),
      ]),
      turn('Unser Meldeportal ist https://meldung.hafen.example/dispo, Kennung dispo3, das Kennwort steht im Tresor.', [
        reference(
          'h-portal',
          'Das Meldeportal ist https://meldung.hafen.example/dispo, Kennung dispo3.',
          'https://meldung.hafen.example/dispo',
          {
            also: 'The reporting portal is https://meldung.hafen.example/dispo, login dispo3.',
          },
        ),
      ]),
    ],
  },
];
