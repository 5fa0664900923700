import type { OnlyIf, SubscriptionRecord } from '../jobs.ts'

/** Whether the subscription still has all of these values. */
export function matchesOnlyIf(found: SubscriptionRecord, onlyIf: OnlyIf): boolean {
  return Object.entries(onlyIf).every(
    ([name, value]) => JSON.stringify(found[name as keyof OnlyIf]) === JSON.stringify(value),
  )
}
