/**
 * Databases that change under the running service: cut, deleted, replaced. What is read from such a file is wrong and
 * what is written into it is lost, so the service says so once and stops.
 */
import { statSync } from 'node:fs'

const LOOK_EVERY_MS = 1_000

interface Seen {
  readonly file: string
  readonly inode: number
  bytes: number
}

export interface FileWatch {
  /** From now on; the file is there and open. */
  add(file: string): void
  close(): void
}

/** @param onDamage called once, with what has happened to which file */
export function watchFiles(onDamage: (what: string) => void): FileWatch {
  const watched: Seen[] = []
  const timer = setInterval(() => {
    const what = watched.map(changeOf).find((change) => change !== undefined)
    if (what === undefined) return
    clearInterval(timer)
    onDamage(what)
  }, LOOK_EVERY_MS)
  timer.unref()
  return {
    add(file) {
      const { ino, size } = statSync(file)
      watched.push({ file, inode: ino, bytes: size })
    },
    close: () => clearInterval(timer),
  }
}

/** The engine only lets its files grow: none of ours is ever compacted while it is open. */
function changeOf(seen: Seen): string | undefined {
  const now = statSync(seen.file, { throwIfNoEntry: false })
  if (now === undefined) return `${seen.file} was deleted`
  if (now.ino !== seen.inode) return `${seen.file} was replaced by another file`
  if (now.size < seen.bytes) return `${seen.file} was cut from ${seen.bytes} to ${now.size} bytes`
  seen.bytes = now.size
  return undefined
}
