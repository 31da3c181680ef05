// The pages that a ledger's write-ahead log holds: what changed since the log was last emptied.
// The log (`ledger.db-wal`) may be read as a plain file: SQLite's locks lie on the database and its `-shm`, none on it.
// A frame counts where its salts are the log's, the sums of all frames up to it are right, and a commit follows.
// The format is SQLite's (https://www.sqlite.org/fileformat2.html#walformat).

/** Pages of a SQLite database, by number from 1. */
export interface Pages {
  /** How many the database has. */
  count: number;
  changed: Map<number, Buffer>;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The magic number, of which the last bit says that sums are of big-endian words. */
const MAGIC = 0x377f0682;

/** Null for a log in which no transaction was committed. */
export function pagesOfLog(log: Buffer): Pages | null {
  if (log.length < HEADER_BYTES || log.readUInt32BE(0) >>> 1 !== MAGIC >>> 1) return null;
  const isBigEndian = (log.readUInt32BE(0) & 1) === 1;
  const pageBytes = log.readUInt32BE(8);
  const salts = log.subarray(16, 24);
  const sums: Sums = [0, 0];
  add(sums, log.subarray(0, 24), isBigEndian);
  if (!isSum(sums, log, 24)) return null;
  const frames = (log.length - HEADER_BYTES) / (FRAME_HEADER_BYTES + pageBytes);
  const found: Pages = { count: 0, changed: new Map() };
  let pending: [number, Buffer][] = [];
  for (let n = 0; n + 1 <= frames; n += 1) {
    const at = HEADER_BYTES + n * (FRAME_HEADER_BYTES + pageBytes);
    const page = log.subarray(at + FRAME_HEADER_BYTES, at + FRAME_HEADER_BYTES + pageBytes);
    if (!log.subarray(at + 8, at + 16).equals(salts)) break;
    add(sums, log.subarray(at, at + 8), isBigEndian);
    add(sums, page, isBigEndian);
    if (!isSum(sums, log, at + 16)) break;
    pending.push([log.readUInt32BE(at), page]);
    const count = log.readUInt32BE(at + 4);
    if (count === 0) continue;
    for (const [number, bytes] of pending) found.changed.set(number, bytes);
    found.count = count;
    pending = [];
  }
  if (found.count === 0) return null;
  // The database became smaller after they were written.
  for (const number of found.changed.keys()) if (number > found.count) found.changed.delete(number);
  return found;
}

/** All pages of a database file. */
export function pagesOfFile(file: Buffer): Pages {
  const bytes = pageBytesOf(file);
  const count = file.length / bytes;
  const pages = Array.from({ length: count }, (_, n) => [n + 1, file.subarray(n * bytes, (n + 1) * bytes)] as const);
  return { count, changed: new Map(pages) };
}

/** By the header in its first page. */
export function pageBytesOf(file: Buffer): number {
  const said = file.readUInt16BE(16);
  return said === 1 ? 65_536 : said;
}

type Sums = [number, number];

function add(sums: Sums, bytes: Buffer, isBigEndian: boolean): void {
  let [first, second] = sums;
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + (isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + second) | 0;
    second = (second + (isBigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + first) | 0;
  }
  sums[0] = first;
  sums[1] = second;
}

function isSum([first, second]: Sums, log: Buffer, at: number): boolean {
  return log.readInt32BE(at) === first && log.readInt32BE(at + 4) === second;
}
