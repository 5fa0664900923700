/**
 * Numbers that were given out after a backup are unknown to what is restored from it. Those of events and deliveries are
 * known outside (stream clients resume after them, receivers drop what they have seen): they go on far above.
 */

/** Far more than can be written. */
const MAX_PER_SECOND = 100_000
const MARGIN = 1_000_000

/** Above whatever can have been given in this time. */
export function numbersWithin(elapsedMs: number): number {
  return MARGIN + Math.ceil(Math.max(0, elapsedMs) / 1_000) * MAX_PER_SECOND
}
