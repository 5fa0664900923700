/**
 * Buffers of one size that are used again and again. Memory outside of the heap that is taken and dropped with
 * every answer wakes the collector far more often than the answers themselves would.
 */
export interface BufferPool {
  /** A buffer of at least that size with anything in it, or undefined when it would be too large. */
  take(bytes: number): Buffer | undefined
  /** Gives it back. Whoever forgets to leaves it to the collector; nobody may give one back that is in use. */
  give(buffer: Buffer): void
}

export function bufferPool(options: { bytes: number; most: number }): BufferPool {
  const free: Buffer[] = []
  return {
    take: (bytes) =>
      bytes > options.bytes ? undefined : (free.pop() ?? Buffer.allocUnsafeSlow(options.bytes)),
    give(buffer) {
      if (free.length < options.most && buffer.length === options.bytes) free.push(buffer)
    },
  }
}
