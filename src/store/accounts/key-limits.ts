import { DAY_MS } from '../../core/time.ts'
import { ConflictError, type KeyLimits } from '../accounts.ts'

/** What an engine counts of an account's keys, in the transaction that creates another one. */
export interface KeyCounts {
  readonly usable: number
  readonly recent: number
}

/** The columns of `KeyCounts`, as SQL; `now` is a parameter. */
export const keyCounts = (now: string) =>
  `count(*) FILTER (WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})) AS usable,
    count(*) FILTER (WHERE created_at > ${now} - ${DAY_MS} AND created_at <= ${now}) AS recent`

/** The second limit exists because every key permanently leaves a record, usage and an entry in the audit log. */
export function checkKeyLimits(counts: KeyCounts | undefined, limits: KeyLimits): void {
  const { usable = 0, recent = 0 } = counts ?? {}
  if (usable >= limits.usable)
    throw new ConflictError(`An account has at most ${limits.usable} keys. Revoke one first.`)
  if (recent >= limits.newPerDay)
    throw new ConflictError(`At most ${limits.newPerDay} keys are made for an account in 24 hours.`)
}
