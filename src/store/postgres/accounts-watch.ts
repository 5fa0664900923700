import { type Clock, runEvery } from '../../kit/clock.ts'
import type { ChangeWatch } from '../accounts.ts'
import { waitingHolder } from './accounts-settle.ts'
import type { PostgresAddress } from './address.ts'
import { type Database, statement } from './database.ts'
import { listen } from './listen.ts'

/**
 * Watches for changes by other processes. A notification announces a change at once; polling finds it if the
 * notification was lost. A key that one process revokes is refused by all processes within a second.
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
    /** Whether this process itself leases credits under this name. */
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
    // After a reset during the query `seen` stays at EVERY_ACCOUNT, because this answer did not cover all accounts.
    if (resets === begun) seen = changes.newest
    if (changes.accountIds.length > 0) watch.onAccounts(changes.accountIds)
    if (changes.isWanted) watch.onWanted()
  }
  const lookSoon = () => {
    again = true
    looking ??= (async () => {
      while (again && !isEnded) {
        again = false
        // The next poll asks again; other calls report what is wrong with the server.
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
      // This may be a promoted standby that lacks the last changes and will assign their numbers again.
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
