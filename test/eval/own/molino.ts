// Una panadera y un asistente, en español.

import { again, answers, feedback, never, project, reference, type SessionSource, turn, user } from '../set.ts';

export const MOLINO: SessionSource[] = [
  {
    startsAt: '2026-09-08T05:00:00Z',
    turns: [
      turn(
        'Buenas. Tengo una panadería en Cádiz con cuatro empleados y llevo yo misma las cuentas, en hojas de cálculo. De informática, lo justo.',
        [
          user(
            'm-panaderia',
            'La usuaria tiene una panadería en Cádiz con cuatro empleados.',
            'panadería|panaderia|bakery & cádiz|cadiz',
            {
              also: 'The user runs a bakery in Cádiz with four employees.',
            },
          ),
          user(
            'm-cuentas',
            'La usuaria lleva ella misma las cuentas en hojas de cálculo.',
            'cuentas|accounts|books|bookkeeping & hojas de cálculo|spreadsheet*',
            {
              also: 'The user keeps the accounts herself in spreadsheets.',
            },
          ),
        ],
      ),
      turn('Los precios siempre con IVA incluido. Y en euros con coma, 2,40 €, no 2.40.', [
        feedback('m-iva', 'Los precios se dan siempre con IVA incluido.', 'iva|vat & inclu*', {
          also: 'Prices always include VAT.',
        }),
        feedback('m-coma', 'Los importes se escriben con coma decimal: 2,40 €, no 2.40.', '2,40|coma|comma', {
          also: 'Amounts are written with a decimal comma: 2,40 €.',
        }),
      ]),
      turn('La harina me la trae Molinos del Sur los martes, y la levadura Levanova los jueves.', [
        project('m-harina', 'La harina la trae Molinos del Sur los martes.', 'harina|flour & molinos del sur', {
          also: 'Flour comes from Molinos del Sur on Tuesdays.',
          group: 'proveedores',
        }),
        project('m-levadura', 'La levadura la trae Levanova los jueves.', 'levadura|yeast & levanova', {
          also: 'Yeast comes from Levanova on Thursdays.',
          group: 'proveedores',
        }),
      ]),
    ],
  },
  {
    startsAt: '2026-09-24T05:10:00Z',
    turns: [
      turn(
        '¿Y si abriéramos otra tienda en Jerez? Es solo por soñar un poco.',
        [never('m-jerez', 'hypothetical', { text: 'La usuaria abre otra tienda en Jerez.', match: 'jerez' })],
        [answers('Habría que contar con unos 60.000 € de inversión.')],
      ),
      turn('Nunca mandes un pedido sin que yo lo haya visto. Una vez llegaron cuarenta sacos en lugar de cuatro.', [
        feedback(
          'm-pedido',
          'Nunca enviar un pedido sin que la usuaria lo haya visto: una vez llegaron cuarenta sacos en lugar de cuatro.',
          'pedido*|order|orders & visto|vea|revis*|seen|approv*|without',
          {
            also: 'Never send an order that the user has not seen: forty sacks came instead of four once.',
          },
        ),
      ]),
      turn('¿Qué formato necesitas para las nóminas?', [], [answers('¿Las quieres en PDF, una por persona?')]),
      turn('sí, una por persona y con el nombre del mes en el archivo', [
        feedback(
          'm-nominas',
          'Las nóminas van en PDF, una por persona y con el nombre del mes en el archivo.',
          'nómina*|nomina*|payslip*|payroll',
          {
            also: 'Payslips are PDFs, one per person, with the name of the month in the file name.',
          },
        ),
      ]),
      turn('Qué alegría, Hacienda otra vez. Mi parte favorita del trimestre.', [
        never('m-hacienda', 'sarcasm', {
          text: 'A la usuaria le encanta Hacienda.',
          match: 'hacienda|tax|taxes & favorit*|encanta|alegría|love*',
        }),
      ]),
    ],
  },
  {
    startsAt: '2026-10-12T05:20:00Z',
    turns: [
      turn(
        'La declaración trimestral vence pasado mañana. No, perdón, me lío: vence el 20 de octubre. Avísame si falta algo.',
        [
          never('m-vence-mal', 'retracted', {
            text: 'La declaración trimestral vence el 2026-10-14.',
            match: 'declaración|declaracion|return|filing & 2026-10-14',
          }),
          project(
            'm-vence',
            'La declaración trimestral vence el 2026-10-20.',
            'declaración|declaracion|return|filing & 2026-10-20',
            {
              also: 'The quarterly tax return is due on 2026-10-20.',
            },
          ),
        ],
      ),
      turn('He cambiado de proveedor de harina: ahora es Harinas Gades, también los martes. La levadura sigue igual.', [
        project('m-gades', 'La harina la trae Harinas Gades los martes, desde 2026-10-12.', 'harina*|flour & gades', {
          also: 'Flour comes from Harinas Gades on Tuesdays since 2026-10-12.',
          replaces: 'm-harina',
          group: 'proveedores',
        }),
      ]),
      turn('Mi gestor dice que hay que guardarlo todo diez años y nunca fiarse de las nubes. Él sabrá.', [
        never('m-gestor', 'third-party', {
          text: 'Hay que guardarlo todo diez años y no fiarse de la nube.',
          match: 'diez|ten & años|years',
        }),
      ]),
      turn('Los informes, de una página como mucho. Los leo en el móvil.', [
        feedback(
          'm-pagina',
          'Los informes tienen como mucho una página, porque la usuaria los lee en el móvil.',
          'informe*|report|reports & página|pagina|page',
          {
            also: 'Reports are one page at most, since the user reads them on the phone.',
          },
        ),
      ]),
    ],
  },
  {
    startsAt: '2026-11-05T05:15:00Z',
    turns: [
      turn('Rocío entra a las cinco y Manuel a las siete. No los cambies de sitio en el cuadrante.', [
        project('m-rocio', 'Rocío entra a las cinco.', 'rocío|rocio & cinco|05:00|5:00|5|five', {
          also: 'Rocío starts at five.',
          group: 'turnos',
        }),
        project('m-manuel', 'Manuel entra a las siete.', 'manuel & siete|07:00|7:00|7|seven', {
          also: 'Manuel starts at seven.',
          group: 'turnos',
        }),
      ]),
      turn('Las facturas están en la carpeta compartida Facturas/2026, la de los años anteriores ya no se toca.', [
        reference('m-facturas', 'Las facturas están en la carpeta compartida Facturas/2026.', 'facturas/2026', {
          also: 'Invoices are in the shared folder Facturas/2026.',
        }),
      ]),
      turn('Y recuerda lo del IVA, que en la última lista faltaba.', [again('m-iva')]),
      turn('Por hoy déjalo en borrador.', [
        never('m-borrador', 'momentary', { text: 'Queda en borrador.', match: 'borrador' }),
      ]),
    ],
  },
];
