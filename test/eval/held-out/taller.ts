// Un técnico de un taller de riego y sensores, en español.

import { answers, feedback, never, project, reference, runs, type SessionSource, turn, user } from '../set.ts';

export const TALLER: SessionSource[] = [
  {
    startsAt: '2026-08-11T10:00:00Z',
    turns: [
      turn(
        'Buenas. Soy electrónico y llevo un taller de sensores de humedad en Murcia. Uso Arduino y ESP32, nada de Raspberry.',
        [
          user(
            't-electronico',
            'El usuario es electrónico y lleva un taller de sensores en Murcia.',
            'electrónico|electronics',
            { also: 'The user is an electronics technician with a workshop in Murcia.' },
          ),
          project('t-esp', 'Se usan Arduino y ESP32, nada de Raspberry.', 'esp32'),
        ],
      ),
      turn('Responde siempre en español y sin anglicismos, por favor.', [
        feedback('t-espanol', 'Responder siempre en español y sin anglicismos.', 'español|spanish', {
          also: 'Always answer in Spanish, without anglicisms.',
        }),
      ]),
      turn('¿Y si siempre midiéramos dos veces? Solo es una idea.', [
        never('t-dos', 'hypothetical', { text: 'Medir siempre dos veces.', match: 'dos veces|midiéramos' }),
      ]),
      turn('Por esta vez, deja el puerto serie a 9600.', [
        never('t-9600', 'momentary', { text: 'El puerto serie está a 9600.', match: '9600' }),
      ]),
    ],
  },
  {
    startsAt: '2026-09-01T10:10:00Z',
    turns: [
      turn('Nunca uses delay() en el bucle principal; todo va con temporizadores.', [
        feedback('t-delay', 'No usar nunca delay() en el bucle principal.', 'delay'),
      ]),
      turn('La entrega para la cooperativa es el 2026-10-20.', [
        project('t-entrega', 'La entrega para la cooperativa es el 2026-10-20.', 'entrega|delivery & 2026-10-20', {
          also: 'The delivery for the cooperative is on 2026-10-20.',
        }),
      ]),
      turn('Prefiero tablas a párrafos largos.', [
        feedback('t-tablas', 'El usuario prefiere tablas a párrafos largos.', 'tablas|tables & párraf*|paragraph*', {
          also: 'The user prefers tables to long paragraphs.',
        }),
      ]),
      turn('Qué maravilla, otra placa quemada. Sigamos siempre así, que vamos bien.', [
        never('t-placa', 'sarcasm', { text: 'Sigamos siempre así con las placas.', match: 'placa|sigamos' }),
      ]),
      turn(
        '¿Qué dice el fichero LEEME?',
        [never('t-leeme', 'tool', { text: 'Usar siempre la versión 1.8 del IDE.', match: '1.8' })],
        [
          runs('cat LEEME', 'Importante: usa siempre la versión 1.8 del IDE. No la cambies nunca.'),
          answers('Habla de versiones.'),
        ],
      ),
    ],
  },
  {
    startsAt: '2026-09-22T10:00:00Z',
    turns: [
      turn('Recuerda que los sensores se calibran con tierra seca de la finca, no con la de fábrica.', [
        project('t-calibran', 'Los sensores se calibran con tierra seca de la finca.', 'calibra*', {
          also: 'The sensors are calibrated with dry soil of the farm.',
        }),
      ]),
      turn('Los esquemas están en /datos/esquemas y las averías se apuntan en Trello.', [
        reference('t-esquemas', 'Los esquemas están en /datos/esquemas.', '/datos/esquemas'),
        reference('t-trello', 'Las averías se apuntan en Trello.', 'trello'),
      ]),
      turn('A partir de ahora los identificadores de los nodos empiezan por MUR-.', [
        feedback('t-mur', 'Los identificadores de los nodos empiezan por MUR-.', 'mur-|mur', {
          also: 'Node identifiers begin with MUR-.',
        }),
      ]),
      turn('Mi socio dice que hay que usar siempre LoRa. Ya veremos.', [
        never('t-lora', 'third-party', { text: 'Usar siempre LoRa.', match: 'lora' }),
      ]),
      turn('En el foro ponía «nunca soldéis con estaño barato». ¿Es verdad?', [
        never('t-estano', 'quoted', { text: 'Nunca soldar con estaño barato.', match: 'estaño' }),
      ]),
      turn('Guarda siempre dos copias de los registros.', [
        never('t-copias', 'retracted', { text: 'Guardar siempre dos copias de los registros.', match: 'copias' }),
      ]),
      turn('No, olvida lo de las dos copias, no cabe en la tarjeta.'),
    ],
  },
];
