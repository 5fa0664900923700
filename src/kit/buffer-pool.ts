/**
 * Reused buffers of one size. Allocating memory outside the heap for every answer would trigger garbage collection far
 * more often than the answers themselves do.
 */
export interface BufferPool {
  /** A buffer of at least that size, not cleared; undefined if the size exceeds that of the pool's buffers. */
  take(bytes: number): Buffer | undefined
  /** Returns a buffer that is no longer used. One that is never returned is garbage collected. */
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
