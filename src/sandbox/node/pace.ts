/**
 * Lets a chain make its blocks in time. A long pause makes time jump instead of a burst of blocks; where the clock was
 * set back, the chain goes on from its own time, since time in a chain never goes back.
 */
import type { Clock } from '../../kit/clock.ts'
import type { Chain } from './chain.ts'

const MAX_BEHIND_MS = 2000
const MAX_AHEAD_MS = 10_000

export async function pace(chain: Chain, clock: Clock, signal: AbortSignal): Promise<void> {
  let aheadMs = 0
  const now = () => clock.now() + aheadMs
  while (!signal.aborted) {
    if (chain.nextBlockAtMs - now() > MAX_AHEAD_MS) aheadMs += chain.nextBlockAtMs - now()
    if (now() - chain.nextBlockAtMs > MAX_BEHIND_MS) chain.skipTo(now())
    while (chain.nextBlockAtMs <= now() && !signal.aborted) chain.step()
    try {
      await clock.sleep(Math.max(1, chain.nextBlockAtMs - now()), signal)
    } catch {
      return
    }
  }
}
