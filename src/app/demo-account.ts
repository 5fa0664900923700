import type { Accounts } from '../accounts/accounts.ts'
import type { Clock } from '../kit/clock.ts'
import { type AccountRecord, type AccountsStore, ConflictError } from '../store/accounts.ts'

export const DEMO_EMAIL = 'demo@localhost'
/** Within this time another process that starts on the same store may still create the key. */
const FIRST_START_MS = 60_000

/**
 * Gives an empty store a demo account and one test key, once. Only if the test environment runs, because otherwise the
 * key would be useless. If a start ended between the two steps, a later one creates the missing key.
 */
export async function createDemoAccount(
  store: AccountsStore,
  accounts: Accounts,
  clock: Clock,
): Promise<string | undefined> {
  const [first, ...others] = await store.listAccounts()
  const isLeft = others.length === 0 && first !== undefined && (await isInterrupted(first))
  if (first !== undefined && !isLeft) return undefined
  const account =
    first ??
    (await accounts.create({ email: DEMO_EMAIL, plan: 'business' }).catch((error) => {
      // Another process that starts on the same empty store was faster.
      if (error instanceof ConflictError) return undefined
      throw error
    }))
  if (account === undefined) return undefined
  const { key } = await accounts.createKey({ accountId: account.id, environment: 'test', name: 'demo' })
  return key

  async function isInterrupted({ id, email, createdAtMs }: AccountRecord): Promise<boolean> {
    const isOld = clock.now() - createdAtMs >= FIRST_START_MS
    return email === DEMO_EMAIL && isOld && (await store.listKeys(id)).length === 0
  }
}
