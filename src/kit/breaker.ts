/**
 * A circuit breaker without any policy beyond its numbers.
 *
 *   closed ──`failures` in a row──▶ open ──`openMs` over──▶ half_open ──success──▶ closed
 *                                    ▲                          │
 *                                    └──failure, wait doubled───┘
 *
 * In half_open one caller at a time may try (`tryEnter`).
 */
import { type Clock, elapsedMs } from './clock.ts'

export type BreakerState = 'closed' | 'open' | 'half_open'

export interface BreakerPolicy {
  failures: number
  openMs: number
  maxOpenMs: number
}

export interface Breaker {
  state(): BreakerState
  /** Whether a call may go through now; in half_open this takes the only trial. */
  tryEnter(): boolean
  success(): void
  failure(): void
  /** The call ended without an outcome, so another caller may take the trial. */
  release(): void
}

export function createBreaker(policy: BreakerPolicy, clock: Clock): Breaker {
  let failuresInRow = 0
  let openMs = policy.openMs
  let opensAgainAt: number | undefined
  let trialTaken = false

  const state = (): BreakerState => {
    if (opensAgainAt === undefined) return 'closed'
    return elapsedMs(clock) >= opensAgainAt ? 'half_open' : 'open'
  }

  return {
    state,
    tryEnter() {
      const now = state()
      if (now === 'closed') return true
      if (now === 'open' || trialTaken) return false
      trialTaken = true
      return true
    },
    success() {
      failuresInRow = 0
      openMs = policy.openMs
      opensAgainAt = undefined
      trialTaken = false
    },
    failure() {
      const before = state()
      failuresInRow++
      trialTaken = false
      if (before === 'open') return
      if (before === 'half_open') openMs = Math.min(policy.maxOpenMs, openMs * 2)
      else if (failuresInRow < policy.failures) return
      opensAgainAt = elapsedMs(clock) + openMs
    },
    release() {
      trialTaken = false
    },
  }
}
