/** Whether a disk has less room than a floor. Asked of the file system from time to time, never by who wants to know. */
import { statfs } from 'node:fs/promises'
import { type Clock, runEvery } from './clock.ts'

export interface DiskRoom {
  /** Null when the file system does not tell. */
  freeBytes(): number | null
  sizeBytes(): number | null
  isLow(): boolean
  close(): void
}

const EVERY_MS = 10_000
/** It is enough again with so much more than the floor: at the floor itself work would stop and start all the time. */
const ENOUGH_AGAIN = 1.05

export async function watchDiskRoom(options: {
  readonly folder: string
  /** Null: no room is too little. */
  readonly minFreeBytes: number | null
  readonly clock: Clock
  readonly onChange?: (room: { readonly isLow: boolean; readonly freeBytes: number }) => void
  /** In place of the system's. */
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
    // A file system that hangs is not asked again.
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
