import { type Clock, runEvery } from '../../kit/clock.ts'
import type { ChangeWatch } from '../accounts.ts'
import { waitingHolder } from './accounts-settle.ts'
import type { PostgresAddress } from './address.ts'
import { type Database, statement } from './database.ts'
import { listen } from './listen.ts'

/**
 * Changes by other processes. A message makes them known at once; asking regularly finds them when a message was lost.
 * A key that was revoked anywhere is refused everywhere within a second.
 */
const LOOK_EVERY_MS = 400

const NEWEST = statement('account_newest_change', 'SELECT newest FROM account_changes')
const CHANGES = statement(
  'account_changes_since',
  `SELECT newest, EXISTS (SELECT FROM credit_lease_wants WHERE until > now_ms()) AS "isWanted",
     ARRAY(SELECT id FROM accounts WHERE change_seq > $1 ORDER BY change_seq) AS "accountIds"
   FROM account_changes`,
)
const EVERY_ACCOUNT = -1

interface Changes {
  readonly newest: number
  readonly isWanted: boolean
  readonly accountIds: string[]
}

export async function watchAccounts(
  db: Database,
  watch: ChangeWatch,
  {
    address,
    clock,
    channel,
    isOwn,
  }: {
    address: PostgresAddress
    clock: Clock
    channel: string
    /** Whether the process itself leases under this name. */
    isOwn: (holder: string) => boolean
  },
): Promise<() => Promise<void>> {
  let seen = (await db.rows<{ newest: number }>(NEWEST))[0]?.newest ?? 0
  let resets = 0
  let isEnded = false
  let looking: Promise<void> | undefined
  let again = false
  const look = async () => {
    const begun = resets
    const [changes] = await db.rows<Changes>(CHANGES, [seen])
    if (changes === undefined || isEnded) return
    // Every account counts as changed since it began: this one has not asked for all of them.
    if (resets === begun) seen = changes.newest
    if (changes.accountIds.length > 0) watch.onAccounts(changes.accountIds)
    if (changes.isWanted) watch.onWanted()
  }
  const lookSoon = () => {
    again = true
    looking ??= (async () => {
      while (again && !isEnded) {
        again = false
        // Asked again at the next turn; other calls report what is wrong with the server.
        await look().catch(() => {})
      }
      looking = undefined
    })()
  }
  const stopLooking = runEvery(clock, LOOK_EVERY_MS, lookSoon)
  const stopListening = listen({
    address,
    channel,
    onMessage(message) {
      const holder = waitingHolder(message)
      if (holder === undefined) lookSoon()
      else if (!isOwn(holder)) watch.onWanted()
    },
    onConnected(again) {
      // Perhaps to a standby that was promoted and lacks the last changes: their numbers are given again.
      if (again) {
        seen = EVERY_ACCOUNT
        resets++
      }
      lookSoon()
    },
  })
  return async () => {
    isEnded = true
    stopLooking()
    await stopListening()
    await looking
  }
}
