/**
 * The time by which long work is cut into pieces, so that the rest of the thread gets its turns. Unlike a `Clock` it is
 * not passed in, because the work is deep inside encoders and readers and the time of any data does not depend on it.
 */
let readMs = () => performance.now()

/** Milliseconds from an arbitrary start. */
export function turnTimeMs(): number {
  return readMs()
}

/**
 * For a simulation, in which work must be cut at the same places in every run. The returned function restores the
 * previous clock.
 */
export function useTurnTime(read: () => number): () => void {
  const previous = readMs
  readMs = read
  return () => {
    readMs = previous
  }
}
