import type { Environment } from '../core/environment.ts'
import type { Budget } from './budget.ts'

export interface Payer {
  readonly accountId: string
  readonly environment: Environment
  readonly keyId: string
  readonly budgets: readonly Budget[]
}

export interface Charge {
  /** Unique: the id of the request or delivery. */
  id: string
  /**
   * The charge may be repeated under the same id and must then count once, so it is not merged with others into one
   * entry.
   */
  mayRepeat?: boolean
  endpoint: string
  credits: number
  rows: number
  /**
   * Called when the charge was spent, so that its reservation is released at the same moment and never counted as well.
   */
  onSpent?: (() => void) | undefined
}
