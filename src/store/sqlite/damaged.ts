/** Detects files that are not as SQLite left them, before anything is read from them. */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { StoreOpenError } from '../open-error.ts'

export class DamagedDatabaseError extends StoreOpenError {
  override readonly name = 'DamagedDatabaseError'

  constructor(file: string, what: string) {
    super(
      `The database ${file} is damaged: ${what}. Put it back from a backup, together with its -wal file if there is one, or move it away to begin a new one.`,
    )
  }
}

const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'

/**
 * The header states how many pages the file has. Only a file without a log is checked: with one, the newest pages may
 * be only in the log, and this process may have the file open, whose locks would be lost when it is closed here.
 */
export function assertWhole(file: string): void {
  const bytes = sizeOf(file)
  if (bytes === undefined || bytes === 0) {
    // A file that is still new, unless its log exists: the log alone is useless.
    if ((sizeOf(`${file}-wal`) ?? 0) > 0)
      throw new DamagedDatabaseError(file, 'it is empty, and its log is not')
    return
  }
  if (sizeOf(`${file}-wal`) !== undefined || sizeOf(`${file}-shm`) !== undefined) return
  const header = readHeader(file)
  if (header.toString('latin1', 0, MAGIC.length) !== MAGIC)
    throw new DamagedDatabaseError(file, 'it does not begin like a database')
  const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const isCountValid = header.readUInt32BE(24) === header.readUInt32BE(92)
  const wanted = pageBytes * header.readUInt32BE(28)
  if (isCountValid && bytes < wanted)
    throw new DamagedDatabaseError(file, `it has ${bytes} bytes of ${wanted}`)
}

function sizeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size
}

function readHeader(file: string): Buffer {
  const handle = openSync(file, 'r')
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    readSync(handle, header, 0, HEADER_BYTES, 0)
    return header
  } finally {
    closeSync(handle)
  }
}
