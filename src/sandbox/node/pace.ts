/** Lets a chain make its blocks in time. A long pause makes time jump instead of a burst of blocks. */
import type { Clock } from '../../kit/clock.ts'
import type { Chain } from './chain.ts'

const MAX_BEHIND_MS = 2000

export async function pace(chain: Chain, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (clock.now() - chain.nextBlockAtMs > MAX_BEHIND_MS) chain.skipTo(clock.now())
    while (chain.nextBlockAtMs <= clock.now() && !signal.aborted) chain.step()
    try {
      await clock.sleep(Math.max(1, chain.nextBlockAtMs - clock.now()), signal)
    } catch {
      return
    }
  }
}
