import type { VersionRange } from '../jobs.ts'

/** How many of the newest versions the stores list. A reader that is further behind reads all subscriptions again. */
export const LISTED_CHANGES = 1_000

export function isTooFar({ after, upTo }: VersionRange): boolean {
  return upTo - after > LISTED_CHANGES
}

/**
 * Undefined if a version of the range is missing: it is no longer listed, or the reader knows a version that the store
 * never had, because a standby took over without the newest writes.
 */
export function changedIds(
  listed: readonly { readonly version: number; readonly id: string }[],
  { after, upTo }: VersionRange,
): string[] | undefined {
  const versions = new Set(listed.map(({ version }) => version))
  return versions.size === upTo - after ? [...new Set(listed.map(({ id }) => id))] : undefined
}
