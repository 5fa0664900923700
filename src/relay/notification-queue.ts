/**
 * Notifications between the node's socket and the indexer. Blocks keep their order and wait in a
 * bounded queue; of the scores only the newest matters. When the queue is full, it is emptied and marked as
 * broken: what was lost is asked for again, as after a lost connection.
 */
export interface NotificationBatch {
  /** Payloads of BlockAdded, in order. */
  readonly blocks: readonly Uint8Array[]
  readonly daaScore?: Uint8Array
  readonly blueScore?: Uint8Array
}

export interface NotificationQueue {
  block(bytes: Uint8Array): void
  daaScore(bytes: Uint8Array): void
  blueScore(bytes: Uint8Array): void
  /** What has come, at most so many blocks; undefined when nothing has. */
  take(): NotificationBatch | undefined
  /** Whether blocks were lost since the last call. */
  wasBroken(): boolean
  clear(): void
}

export interface QueueLimits {
  blocks: number
  bytes: number
  perTake: number
}

const QUEUE_LIMITS: QueueLimits = { blocks: 5_000, bytes: 64 * 1024 * 1024, perTake: 100 }

export function createNotificationQueue(limits: QueueLimits = QUEUE_LIMITS): NotificationQueue {
  let blocks: Uint8Array[] = []
  let bytesWaiting = 0
  let broken = false
  let daaScore: Uint8Array | undefined
  let blueScore: Uint8Array | undefined

  function clear(): void {
    blocks = []
    bytesWaiting = 0
    daaScore = undefined
    blueScore = undefined
  }

  return {
    block(bytes) {
      blocks.push(bytes)
      bytesWaiting += bytes.length
      if (blocks.length <= limits.blocks && bytesWaiting <= limits.bytes) return
      clear()
      broken = true
    },
    daaScore(bytes) {
      daaScore = bytes
    },
    blueScore(bytes) {
      blueScore = bytes
    },
    take() {
      if (blocks.length === 0 && daaScore === undefined && blueScore === undefined) return undefined
      const taken: NotificationBatch = {
        blocks: blocks.splice(0, limits.perTake),
        ...(daaScore === undefined ? {} : { daaScore }),
        ...(blueScore === undefined ? {} : { blueScore }),
      }
      for (const block of taken.blocks) bytesWaiting -= block.length
      daaScore = undefined
      blueScore = undefined
      return taken
    },
    wasBroken() {
      const was = broken
      broken = false
      return was
    },
    clear,
  }
}
