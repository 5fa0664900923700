/** Accounts and keys as tests need them. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Accounts, NewKeyInput } from '../../src/accounts/accounts.ts'
import { openAccounts } from '../../src/app/open-accounts.ts'
import { loadConfig } from '../../src/config/config.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { storeEnv } from './stores.ts'

export interface KeyRequest extends Partial<NewKeyInput> {
  /** Plan of the account that is created if none is named. */
  plan?: string
  /** Credits that the account has left in both environments. */
  credits?: number
}

export async function makeAccount(accounts: Accounts, plan: string): Promise<string> {
  const email = `${randomBytes(6).toString('hex')}@example.com`
  return (await accounts.create({ email, plan })).id
}

export async function makeKey(accounts: Accounts, request: KeyRequest): Promise<string> {
  const { plan = 'wide', credits, accountId, ...input } = request
  const owner = accountId ?? (await makeAccount(accounts, plan))
  if (credits !== undefined) await accounts.setCredits(owner, credits)
  const { key } = await accounts.createKey({ environment: 'test', name: 'a key', ...input, accountId: owner })
  return key
}

/** A key created beside a running service, as the command line does. */
export async function makeKeyBeside(folder: string, request: KeyRequest = {}): Promise<string> {
  const env = { ...storeEnv(folder), TAPELINE_PLANS: join(folder, 'plans.json') }
  const { accounts, store } = openAccounts(loadConfig(env).config, systemClock)
  try {
    return await makeKey(accounts, request)
  } finally {
    await store.close()
  }
}
