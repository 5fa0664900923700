/**
 * Numbers assigned after a backup are unknown to a store restored from it. Clients know the numbers of events and
 * deliveries (streams resume after them, receivers drop those they have seen), so a restored store continues far above.
 */

/** Far more than the service can write. */
const MAX_PER_SECOND = 100_000
const MARGIN = 1_000_000

/** An upper bound of how many numbers can have been assigned in this time. */
export function numbersWithin(elapsedMs: number): number {
  return MARGIN + Math.ceil(Math.max(0, elapsedMs) / 1_000) * MAX_PER_SECOND
}
