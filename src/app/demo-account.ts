import type { Accounts } from '../accounts/accounts.ts'
import { type AccountsStore, ConflictError } from '../store/accounts.ts'

export const DEMO_EMAIL = 'demo@localhost'

/**
 * An empty store gets a demo account and one test key, once. Only where the test environment runs: elsewhere the key
 * would open nothing.
 */
export async function createDemoAccount(
  store: AccountsStore,
  accounts: Accounts,
): Promise<string | undefined> {
  if ((await store.listAccounts()).length > 0) return undefined
  const account = await accounts.create({ email: DEMO_EMAIL, plan: 'business' }).catch((error) => {
    // Another process that starts on the same empty store was faster.
    if (error instanceof ConflictError) return undefined
    throw error
  })
  if (account === undefined) return undefined
  const { key } = await accounts.createKey({ accountId: account.id, environment: 'test', name: 'demo' })
  return key
}
