/**
 * The time by which long work is cut into pieces, so that the rest of the thread gets its turns. It is not passed in
 * like a `Clock`: the work is deep inside encoders and readers, and says nothing about the time of any data.
 */
let readMs = () => performance.now()

/** Milliseconds from any beginning. */
export function turnTimeMs(): number {
  return readMs()
}

/** For a simulation, in which work must be cut at the same places in every run. The function takes it back. */
export function useTurnTime(read: () => number): () => void {
  const previous = readMs
  readMs = read
  return () => {
    readMs = previous
  }
}
