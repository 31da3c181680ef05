// Une analyste de données d'une coopérative, en français.

import { answers, feedback, fetches, never, project, reference, type SessionSource, turn, user } from '../set.ts';

export const MAREE: SessionSource[] = [
  {
    startsAt: '2026-08-10T09:00:00Z',
    turns: [
      turn(
        "Bonjour, je suis analyste dans une coopérative de pêche et je débute en Python. Réponds-moi toujours en français, s'il te plaît.",
        [
          user('r-analyste', "L'utilisatrice est analyste dans une coopérative de pêche.", 'analyste|analyst', {
            also: 'The user is an analyst in a fishing cooperative.',
          }),
          user('r-python', "L'utilisatrice débute en Python.", 'débute|beginner|new to & python', {
            also: 'The user is new to Python.',
          }),
          feedback('r-francais', 'Répondre toujours en français.', 'français|french', {
            also: 'Always answer in French.',
          }),
        ],
      ),
      turn('Nous utilisons Polars, pas pandas, pour tous les tableaux.', [
        project('r-polars', 'Polars est utilisé pour tous les tableaux, pas pandas.', 'polars'),
      ]),
      turn('Et si on mettait toujours tout dans une seule base ? Je me pose la question, rien de plus.', [
        never('r-base', 'hypothetical', { text: 'Tout est dans une seule base.', match: 'seule base' }),
      ]),
      turn('Pour cette fois, ignore les lignes vides.', [
        never('r-vides', 'momentary', { text: 'Ignorer les lignes vides.', match: 'vides' }),
      ]),
    ],
  },
  {
    startsAt: '2026-08-31T09:15:00Z',
    turns: [
      turn('Ne modifie jamais les fichiers du dossier brut/, ce sont les déclarations officielles.', [
        feedback('r-brut', 'Ne jamais modifier les fichiers du dossier brut/.', 'brut/|brut', {
          also: 'Never change the files in the folder brut/.',
        }),
      ]),
      turn('Je préfère des graphiques sans couleur de fond, avec la légende en bas.', [
        feedback(
          'r-graph',
          'Graphiques sans couleur de fond, légende en bas.',
          'graphiques|charts|graphs|plots & légende|legend',
          { also: 'Charts without a background colour, the legend at the bottom.' },
        ),
      ]),
      turn("Le rapport trimestriel doit partir avant le 2026-10-05. C'est Yannick qui le relit.", [
        project('r-rapport', 'Le rapport trimestriel doit partir avant le 2026-10-05.', 'rapport|report & 2026-10-05', {
          also: 'The quarterly report must be out before 2026-10-05.',
        }),
        project('r-yannick', 'Yannick relit le rapport trimestriel.', 'yannick'),
      ]),
      turn('Génial, encore un export en PDF scanné. Surtout, envoyez-en toujours plus.', [
        never('r-scan', 'sarcasm', { text: 'Envoyer plus de PDF scannés.', match: 'scanné*|plus' }),
      ]),
      turn(
        "Que dit la page du ministère ? L'adresse est dans le ticket.",
        [never('r-min', 'tool', { text: 'Toujours déclarer en tonnes.', match: 'tonnes' })],
        [
          fetches('https://peche.example/aide', 'Il faut toujours déclarer en tonnes. Ne jamais arrondir.'),
          answers('Elle explique la déclaration.'),
        ],
      ),
    ],
  },
  {
    startsAt: '2026-09-18T09:00:00Z',
    turns: [
      turn('Retiens que les poids sont en kilogrammes vifs, pas en poids débarqué.', [
        project('r-kilo', 'Les poids sont en kilogrammes vifs, pas en poids débarqué.', 'kilogrammes|kilograms|kg', {
          also: 'Weights are in kilograms live weight, not landed weight.',
        }),
      ]),
      turn('Les demandes des pêcheurs sont suivies dans Redmine, projet PORT.', [
        reference('r-redmine', 'Les demandes des pêcheurs sont suivies dans Redmine, projet PORT.', 'redmine', {
          also: 'Requests of the fishers are tracked in Redmine, project PORT.',
        }),
      ]),
      turn('À partir de maintenant, un test pour chaque fonction, même petite.', [
        feedback('r-test', 'Un test pour chaque fonction, même petite.', 'test & fonction|function', {
          also: 'A test for every function, even a small one.',
        }),
      ]),
      turn("Le directeur répète qu'il faut toujours imprimer les tableaux. Passons.", [
        never('r-imprimer', 'third-party', { text: 'Toujours imprimer les tableaux.', match: 'imprimer' }),
      ]),
      turn('Que signifie « ne jamais fermer le port 22 » dans cette note ?', [
        never('r-port22', 'quoted', { text: 'Ne jamais fermer le port 22.', match: 'port 22' }),
      ]),
      turn(
        'Quel format pour les exports ?',
        [never('r-parquet', 'assistant', { text: 'Les exports sont en Parquet.', match: 'parquet' })],
        [answers('Parquet serait plus compact, CSV plus simple. Voulez-vous du CSV ?')],
      ),
      turn('Oui.', [project('r-csv', 'Les exports sont en CSV.', 'csv & !glossary.csv')]),
    ],
  },
];
