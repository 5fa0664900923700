/**
 * Counts events per turn of the event loop, each of which takes `eventMs` to handle. `most` resolves after `events` of
 * them, to the largest number in one turn.
 */
export function countPerTurn(
  events: number,
  eventMs: number,
): { add(): void; readonly most: Promise<number> } {
  const { promise: most, resolve } = Promise.withResolvers<number>()
  let all = 0
  let inTurn = 0
  let largest = 0
  return {
    add() {
      const endsAt = performance.now() + eventMs
      while (performance.now() < endsAt);
      // Events of a later turn follow this `setImmediate`, even those that are emitted by one themselves.
      if (inTurn++ === 0) setImmediate(() => (inTurn = 0))
      largest = Math.max(largest, inTurn)
      if (++all === events) resolve(largest)
    },
    most,
  }
}
