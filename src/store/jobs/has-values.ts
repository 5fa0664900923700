import type { SubscriptionPatch, SubscriptionRecord } from '../jobs.ts'

/** Whether the subscription has all of these values. */
export function hasValues(found: SubscriptionRecord, values: Partial<SubscriptionRecord>): boolean {
  return Object.entries(values).every(
    ([name, value]) => JSON.stringify(found[name as keyof SubscriptionRecord]) === JSON.stringify(value),
  )
}

/** Whether other events may be wanted after the change. */
export function changesSelection(found: SubscriptionRecord, patch: SubscriptionPatch): boolean {
  const { active = found.active, kinds = found.kinds, addresses = found.addresses } = patch
  return !hasValues(found, { active, kinds, addresses })
}
