/** Limits of plans and throttles, enforced jointly by all processes on a shared store. */
import { type AttemptCounter, attemptsInMemory, attemptsInStore } from '../accounts/count-attempts.ts'
import { exchangeCounts } from '../accounts/exchange-counts.ts'
import { SharedActive } from '../accounts/share-active.ts'
import { type RateSharing, shareRates } from '../accounts/share-rates.ts'
import { ActiveCounts } from '../kit/active-counts.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { Shutdown } from '../kit/shutdown.ts'
import type { CoordinationStore } from '../store/coordination.ts'

export interface SharedLimits {
  /** Undefined if this process is the only one that serves the accounts. */
  readonly rates: RateSharing | undefined
  readonly attempts: AttemptCounter
  /** How many processes serve the accounts, as last seen; undefined if this is the only one, or does not serve them. */
  readonly processes: (() => number) | undefined
  /** How much of a kind (such as stream connections) each account has active at one time. */
  active(kind: string): ActiveCounts<string>
}

/** @param store undefined if this process is the only one */
export function openSharedLimits(
  store: CoordinationStore | undefined,
  deps: { holder: string; clock: Clock; log: Logger },
  shutdown: Shutdown,
): SharedLimits {
  if (store === undefined) {
    const active = () => new ActiveCounts<string>()
    return { rates: undefined, attempts: attemptsInMemory(deps.clock), processes: undefined, active }
  }
  const exchange = exchangeCounts({ store, ...deps })
  shutdown.add('shared limits', () => exchange.close())
  return {
    rates: shareRates(exchange),
    attempts: attemptsInStore(store),
    processes: () => exchange.processes,
    active: (kind) => new SharedActive(kind, exchange),
  }
}
