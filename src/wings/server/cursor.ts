// Cursors of lists: where a page ended, sealed, so that they tell nobody a path and hold only for the list they are of.

import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import { ApiError } from './api-errors.ts';

const [IV_BYTES, TAG_BYTES] = [12, 16];

export class Cursors {
  readonly #secret: Buffer;

  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  /** `of`: the list with its filters, and who asks. */
  seal(place: readonly string[], of: unknown): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#secret, iv).setAAD(bound(of));
    const sealed = Buffer.concat([cipher.update(JSON.stringify(place)), cipher.final()]);
    return `page_${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  }

  /** Throws 400 for a cursor of another list. */
  open(page: string, of: unknown): string[] {
    try {
      const bytes = Buffer.from(page.replace(/^page_/, ''), 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', this.#secret, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      }).setAAD(bound(of));
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const place = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      return JSON.parse(place.toString());
    } catch {
      throw new ApiError(
        'invalid_request_error',
        'page: it is no cursor of this list. Use next_page of the page before, with the same filters and the same key.',
      );
    }
  }
}

interface Place {
  createdAt: string;
  id: string;
}

interface Paged<Row extends Place> {
  /** As it was asked for. */
  query: { limit: number; page?: string };
  /** The list with its filters, and who asks. */
  of: unknown;
  /** At most `limit` rows, newest first, those before `after` left out. */
  list(from: { limit: number; after?: Place }): Promise<Row[]>;
  shape(row: Row): object;
}

/** A page of a list that is in the order of when things were made. Throws 400 for a cursor of another list. */
export async function pageOf<Row extends Place>(cursors: Cursors, { query, of, list, shape }: Paged<Row>) {
  const { limit, page } = query;
  const [createdAt, id] = page === undefined ? [] : cursors.open(page, of);
  const isLater = createdAt !== undefined && id !== undefined;
  const rows = await list({ limit: limit + 1, ...(isLater && { after: { createdAt, id } }) });
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    data: rows.slice(0, limit).map(shape),
    next_page: last ? cursors.seal([last.createdAt, last.id], of) : null,
  };
}

function bound(of: unknown): Buffer {
  return hash('sha256', JSON.stringify(of), 'buffer');
}
