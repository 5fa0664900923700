/**
 * Finds contracts of which the stream has missed figures: ticker frames have no numbers, but a volume never shrinks. If
 * the streamed volume is still smaller than that of the list before, frames were missed, and the newest list has newer
 * figures.
 */
export function createMissedFigures() {
  /** By ticker. */
  const streamed = new Map<string, number>()
  const listed = new Map<string, number>()
  return {
    streamed: (ticker: string, volume: number) => void streamed.set(ticker, volume),
    /** A list was received. Returns whether its figures are to be used instead of the streamed ones. */
    listed(ticker: string, volume: number): boolean {
      const before = listed.get(ticker)
      listed.set(ticker, volume)
      return before !== undefined && before > (streamed.get(ticker) ?? -1)
    },
    forget(ticker: string) {
      streamed.delete(ticker)
      listed.delete(ticker)
    },
  }
}
