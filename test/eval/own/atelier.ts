// Une architecte et un assistant, en français.

import { again, answers, feedback, never, project, reference, type SessionSource, turn, user } from '../set.ts';

export const ATELIER: SessionSource[] = [
  {
    startsAt: '2026-09-10T07:00:00Z',
    turns: [
      turn(
        "Bonjour. Je suis architecte à Nantes, j'ai mon atelier depuis 2019. Je travaille sous Linux, donc pas la peine de me proposer des logiciels pour Windows.",
        [
          user(
            'a-archi',
            "L'utilisatrice est architecte à Nantes et a son atelier depuis 2019.",
            'architect* & nantes',
            {
              also: 'The user is an architect in Nantes with a practice of her own since 2019.',
            },
          ),
          user('a-linux', "L'utilisatrice travaille sous Linux; ne pas proposer de logiciels pour Windows.", 'linux', {
            also: 'The user works on Linux; do not suggest Windows software.',
          }),
        ],
      ),
      turn('Vouvoyez-moi, et gardez un ton sobre dans les lettres aux clients. Pas de points d’exclamation.', [
        feedback('a-vous', "Vouvoyer l'utilisatrice.", 'vouvo*|vous|formal*', {
          also: 'Address the user formally, as "vous".',
        }),
        feedback(
          'a-sobre',
          'Les lettres aux clients ont un ton sobre, sans points d’exclamation.',
          'sobre|exclamation',
          {
            also: 'Letters to clients are sober in tone and without exclamation marks.',
          },
        ),
      ]),
      turn("Les plans sont au 1/50, les détails au 1/10. C'est toujours comme ça chez nous.", [
        feedback('a-50', 'Les plans sont au 1/50.', 'plan|plans & 1/50', {
          also: 'Plans are drawn at 1/50.',
          group: 'scales',
        }),
        feedback('a-10', 'Les détails sont au 1/10.', 'détail*|detail* & 1/10', {
          also: 'Details are drawn at 1/10.',
          group: 'scales',
        }),
      ]),
    ],
  },
  {
    startsAt: '2026-09-29T07:10:00Z',
    turns: [
      turn("Le permis pour la maison Kerval doit être déposé avant le 15 octobre, sinon on perd l'aide de la région.", [
        project(
          'a-kerval',
          "Le permis de la maison Kerval doit être déposé avant le 2026-10-15, sinon l'aide de la région est perdue.",
          'kerval & 2026-10-15',
          {
            also: 'The permit for the Kerval house must be filed before 2026-10-15, or the subsidy is lost.',
          },
        ),
      ]),
      turn(
        'Et si on proposait un toit en zinc ? Je réfléchis à voix haute.',
        [never('a-zinc', 'hypothetical', { text: 'Le toit est en zinc.', match: 'zinc' })],
        [answers('Ce serait durable, mais le budget de la toiture doublerait presque.')],
      ),
      turn(
        'Quel matériau retenez-vous pour la façade ?',
        [],
        [answers('Cela dépend de vous : enduit à la chaux ou bardage de châtaignier ?')],
      ),
      turn('le second', [
        project(
          'a-facade',
          'La façade de la maison Kerval est en bardage de châtaignier.',
          'façade|facade & châtaignier|chataignier|chestnut',
          {
            also: 'The façade of the Kerval house is clad in chestnut.',
          },
        ),
      ]),
      turn('Le maire a dit en réunion : « toutes les fenêtres doivent être bleues, notez-le bien ». Il exagère.', [
        never('a-bleu', 'third-party', { text: 'Toutes les fenêtres doivent être bleues.', match: 'bleu*|blue' }),
      ]),
    ],
  },
  {
    startsAt: '2026-10-14T07:20:00Z',
    turns: [
      turn("La mairie a prolongé : pour Kerval nous avons jusqu'au 30 octobre maintenant.", [
        project(
          'a-kerval-2',
          'Le permis de la maison Kerval doit être déposé avant le 2026-10-30, le délai a été prolongé.',
          'kerval & 2026-10-30',
          {
            also: 'The permit for the Kerval house must be filed by 2026-10-30, the deadline was extended.',
            replaces: 'a-kerval',
          },
        ),
      ]),
      turn("Les métrés, c'est Solène qui les fait. Les relevés, c'est Solenn. Oui, je sais.", [
        project('a-solene', 'Solène fait les métrés.', 'solène|solene & métré*|metré*|quantit*', {
          also: 'Solène does the bills of quantities.',
          group: 'prénoms',
        }),
        project('a-solenn', 'Solenn fait les relevés.', 'solenn & relevé*|survey*', {
          also: 'Solenn does the surveys.',
          group: 'prénoms',
        }),
      ]),
      turn('Génial, encore une norme. On en manquait cruellement.', [
        never('a-norme', 'sarcasm', {
          text: "L'utilisatrice veut plus de normes.",
          match: 'norme*|standard|standards',
        }),
      ]),
      turn('Chaque courrier porte la référence du dossier en haut à droite, du genre KER-2026-04.', [
        feedback(
          'a-ref',
          'Chaque courrier porte la référence du dossier en haut à droite, comme KER-2026-04.',
          'référence|reference & dossier|ker-2026-04|top right',
          {
            also: 'Every letter carries the reference of the project at the top right, such as KER-2026-04.',
          },
        ),
      ]),
    ],
  },
  {
    startsAt: '2026-11-12T08:00:00Z',
    turns: [
      turn('Nous sommes passés à FreeCAD pour les détails aussi, donc plus rien dans QCAD.', [
        project(
          'a-freecad',
          "L'atelier utilise FreeCAD, pour les détails aussi, et plus QCAD, depuis 2026-11-12.",
          'freecad',
          {
            also: 'The practice uses FreeCAD for details too, and no longer QCAD.',
          },
        ),
      ]),
      turn(
        'Les dossiers terminés sont archivés sur le serveur atelier, dans /srv/archives. Le miroir est chez Solenn.',
        [
          reference(
            'a-archives',
            'Les dossiers terminés sont dans /srv/archives, sur le serveur atelier.',
            '/srv/archives',
            {
              also: 'Finished projects are in /srv/archives on the server atelier.',
            },
          ),
        ],
      ),
      turn('Encore une fois : pas de point d’exclamation dans les lettres.', [again('a-sobre')]),
      turn('Attendez mon feu vert avant d’envoyer celle-ci.', [
        never('a-feu', 'momentary', {
          text: 'Attendre le feu vert avant de l’envoyer.',
          match: 'feu vert|go-ahead|green light',
        }),
      ]),
    ],
  },
];
