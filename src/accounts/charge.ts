import type { Environment } from '../core/environment.ts'
import type { Budget } from './budget.ts'

export interface Payer {
  readonly accountId: string
  readonly environment: Environment
  readonly keyId: string
  readonly budgets: readonly Budget[]
}

export interface Charge {
  /** Unique: the request's or the delivery's id. */
  id: string
  /** It may come again under the same id, and is then charged once: it is not written together with others. */
  mayRepeat?: boolean
  endpoint: string
  credits: number
  rows: number
}
