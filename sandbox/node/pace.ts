/**
 * Lets a chain produce its blocks on time. After a long pause, time jumps ahead instead of a burst of blocks. If the
 * clock was set back, the chain continues from its own time, because time in a chain never goes back.
 */
import type { Clock } from '../../src/kit/clock.ts'
import type { Chain } from './chain.ts'

const MAX_BEHIND_MS = 2000
const MAX_AHEAD_MS = 10_000

export async function pace(chain: Chain, clock: Clock, signal: AbortSignal): Promise<void> {
  let lastMs = clock.now()
  // A restored chain may come from a time that the clock has not reached yet.
  const restoredAheadMs = chain.nextBlockAtMs - lastMs
  let aheadMs = restoredAheadMs > MAX_AHEAD_MS ? restoredAheadMs : 0
  const now = () => {
    const nowMs = clock.now()
    if (lastMs - nowMs > MAX_AHEAD_MS) aheadMs += lastMs - nowMs
    lastMs = nowMs
    return nowMs + aheadMs
  }
  while (!signal.aborted) {
    if (now() - chain.nextBlockAtMs > MAX_BEHIND_MS) chain.skipTo(now())
    while (chain.nextBlockAtMs <= now() && !signal.aborted) chain.step()
    try {
      await clock.sleep(Math.max(1, chain.nextBlockAtMs - now()), signal)
    } catch {
      return
    }
  }
}
