/**
 * Detects database files that were truncated, deleted or replaced under the running service. Reads from such a file
 * are wrong and writes to it are lost, so the service logs it once and stops.
 */
import { openSync, readSync, statSync } from 'node:fs'
import { type Clock, runEvery } from '../../kit/clock.ts'

const LOOK_EVERY_MS = 1_000

interface WatchedFile {
  readonly file: string
  readonly inode: number
  /**
   * Stays open until the process ends. When a process closes any descriptor of a file, it loses all locks that its
   * engine holds on the file, and another program could then remove the write-ahead log.
   */
  readonly descriptor: number
  bytes: number
}

export interface FileWatch {
  /** The file must exist and be open. */
  add(file: string): void
  close(): void
}

/** @param onDamage called once, with what happened to which file */
export function watchFiles(clock: Clock, onDamage: (what: string) => void): FileWatch {
  const watched: WatchedFile[] = []
  const stop = runEvery(clock, LOOK_EVERY_MS, () => {
    const what = watched.map(changeOf).find((change) => change !== undefined)
    if (what === undefined) return
    stop()
    onDamage(what)
  })
  return {
    add(file) {
      const { ino, size } = statSync(file)
      watched.push({ file, inode: ino, descriptor: openSync(file, 'r'), bytes: size })
    },
    close: stop,
  }
}

const HEADER_BYTES = 32
const AT_PAGE_SIZE = 16
const AT_PAGES = 28

/**
 * The engine gives back the space of deleted rows. Before it shortens the file, it writes the new number of pages into
 * the header, so a file with fewer pages than that was cut by somebody else.
 */
function lacksPages(descriptor: number, bytes: number): boolean {
  const header = Buffer.alloc(HEADER_BYTES)
  if (readSync(descriptor, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return true
  // The largest page size does not fit into two bytes and is written as 1.
  const pageSize = header.readUInt16BE(AT_PAGE_SIZE)
  return header.readUInt32BE(AT_PAGES) * (pageSize === 1 ? 65_536 : pageSize) > bytes
}

/** A file that cannot be checked now is checked again next time. */
function changeOf(seen: WatchedFile): string | undefined {
  try {
    return differenceOf(seen)
  } catch {
    return undefined
  }
}

function differenceOf(seen: WatchedFile): string | undefined {
  const now = statSync(seen.file, { throwIfNoEntry: false })
  if (now === undefined) return `${seen.file} was deleted`
  if (now.ino !== seen.inode) return `${seen.file} was replaced by another file`
  if (now.size < seen.bytes && lacksPages(seen.descriptor, now.size))
    return `${seen.file} was cut from ${seen.bytes} to ${now.size} bytes`
  seen.bytes = now.size
  return undefined
}
