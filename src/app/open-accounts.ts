import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Accounts, createAccounts } from '../accounts/accounts.ts'
import { PlanFileError } from '../accounts/plan-file.ts'
import { type PlanBook, planBook } from '../accounts/plans.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../kit/clock.ts'
import { openStores } from '../store/open-stores.ts'
import type { Stores } from '../store/stores.ts'
import { prepareDataFolder, storeAddress } from './data-folder.ts'

export interface AccountsParts {
  store: ReturnType<Stores['accounts']>
  plans: PlanBook
  accounts: Accounts
}

/** Accounts and keys on this data folder, for the command line as well as the service. */
export function openAccounts(config: Config, clock: Clock): AccountsParts {
  prepareDataFolder(config.data)
  const plans = planBook(config.plans === null ? undefined : readPlans(config.plans))
  const store = openStores(storeAddress(config), clock).accounts()
  return { store, plans, accounts: createAccounts({ store, plans, clock, randomBytes }) }
}

function readPlans(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new PlanFileError(`TAPELINE_PLANS names ${file}, which cannot be read: ${(error as Error).message}`)
  }
}
