/**
 * Detects database files that were truncated, deleted or replaced under the running service. Reads from such a file
 * are wrong and writes to it are lost, so the service logs it once and stops.
 */
import { statSync } from 'node:fs'
import { type Clock, runEvery } from '../../kit/clock.ts'

const LOOK_EVERY_MS = 1_000

interface WatchedFile {
  readonly file: string
  readonly inode: number
  bytes: number
}

export interface FileWatch {
  /** The file exists and is open. */
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
      watched.push({ file, inode: ino, bytes: size })
    },
    close: stop,
  }
}

/** All sizes of pages are multiples of it. */
const PAGE_BYTES = 4_096

/** The engine gives back room of deleted rows: whole pages, and far less than half of a file between two looks. */
function isGivenBack(before: number, now: number): boolean {
  return now % PAGE_BYTES === 0 && now > before / 2
}

function changeOf(seen: WatchedFile): string | undefined {
  const now = statSync(seen.file, { throwIfNoEntry: false })
  if (now === undefined) return `${seen.file} was deleted`
  if (now.ino !== seen.inode) return `${seen.file} was replaced by another file`
  if (now.size < seen.bytes && !isGivenBack(seen.bytes, now.size))
    return `${seen.file} was cut from ${seen.bytes} to ${now.size} bytes`
  seen.bytes = now.size
  return undefined
}
