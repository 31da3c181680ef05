// Cuts what is offered into chunks that are shown one after another: between turns, and inside a turn only between human
// messages. A chunk is handed on as soon as something comes that does not fit; only what is not yet handed on is held.

import type { Segment } from './segments.ts';

/** Offered segments that stay together: those of a turn, or of a part of it that begins with a human message. */
export interface Unit {
  turn: string;
  segments: Segment[];
  endsTurn: boolean;
}

export interface Cutting {
  fitsTogether(units: Unit[]): Promise<boolean>;
  /** Contract: takes segments out of the units that will never be shown, whatever follows. */
  dropUnreachable(units: Unit[]): Promise<void>;
}

/** How many characters the units of a chunk hold before `dropUnreachable` thins them. */
const HELD_CHARACTERS = 4_000_000;

/** The chunks of `units`, in order. One is held back until it is known that something is shown after it. */
export async function* cutIntoChunks(units: AsyncIterable<Unit>, cutting: Cutting): AsyncGenerator<Unit[]> {
  let closed: Unit[][] = [];
  let open: Unit[] = [];
  for await (const whole of units) {
    for (const unit of (await cutting.fitsTogether([whole])) ? [whole] : splitAtHumans(whole)) {
      if (open.length === 0 || (await cutting.fitsTogether([...open, unit]))) {
        open.push(unit);
      } else {
        closed.push(open);
        open = [unit];
      }
      if (unit.segments.length > 0) {
        yield* closed;
        closed = [];
      }
      if (charactersIn(open) > HELD_CHARACTERS) await cutting.dropUnreachable(open);
    }
  }
  yield* closed;
  if (open.length > 0) yield open;
}

function splitAtHumans(unit: Unit): Unit[] {
  const parts: Segment[][] = [[]];
  // A result in a human's message is what the human answers to, and stays with the answer.
  const isOfHuman = ({ siblings }: Segment) => siblings.some(({ priority }) => priority === 'human');
  for (const segment of unit.segments) {
    const human = parts.at(-1)?.find(isOfHuman);
    if (isOfHuman(segment) && human && human.position !== segment.position) parts.push([]);
    parts.at(-1)?.push(segment);
  }
  return parts.map((segments, at) => ({ turn: unit.turn, segments, endsTurn: at === parts.length - 1 }));
}

function charactersIn(units: Unit[]): number {
  return units.reduce((sum, { segments }) => sum + segments.reduce((ofUnit, { text }) => ofUnit + text.length, 0), 0);
}
