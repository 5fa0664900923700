/**
 * Whether a disk has less free space than a minimum. The file system is asked periodically, never by the caller's
 * question.
 */
import { statfs } from 'node:fs/promises'
import { type Clock, runEvery } from './clock.ts'

export interface DiskRoom {
  /** Null if the file system does not report it. */
  freeBytes(): number | null
  sizeBytes(): number | null
  isLow(): boolean
  close(): void
}

const EVERY_MS = 10_000
/**
 * Space is sufficient again at this multiple of the minimum. At the minimum itself work would stop and start
 * continually.
 */
const ENOUGH_AGAIN = 1.05

export async function watchDiskRoom(options: {
  readonly folder: string
  /** Null disables the check. */
  readonly minFreeBytes: number | null
  readonly clock: Clock
  readonly onChange?: (room: { readonly isLow: boolean; readonly freeBytes: number }) => void
  /** Replaces `statfs`. */
  readonly ask?: (folder: string) => Promise<{ bavail: number; blocks: number; bsize: number }>
}): Promise<DiskRoom> {
  const { folder, minFreeBytes, clock, onChange, ask = statfs } = options
  let free: number | null = null
  let size: number | null = null
  let isLow = false
  let isAsking = false
  let isClosed = false

  async function look(): Promise<void> {
    const found = await ask(folder).catch(() => undefined)
    if (isClosed) return
    free = found === undefined ? null : found.bavail * found.bsize
    size = found === undefined ? null : found.blocks * found.bsize
    if (free === null || minFreeBytes === null) return
    const isLowNow = free < (isLow ? minFreeBytes * ENOUGH_AGAIN : minFreeBytes)
    if (isLowNow === isLow) return
    isLow = isLowNow
    onChange?.({ isLow, freeBytes: free })
  }
  await look()
  const stop = runEvery(clock, EVERY_MS, () => {
    // Does not ask a file system again while an earlier call hangs.
    if (isAsking) return
    isAsking = true
    void look().finally(() => {
      isAsking = false
    })
  })
  return {
    freeBytes: () => free,
    sizeBytes: () => size,
    isLow: () => isLow,
    close() {
      isClosed = true
      stop()
    },
  }
}
