/** Law 5: what a venue refuses while no fault makes it refuse is a budget that was exceeded. */
import type { FaultSwitches } from '../../sandbox/server/faults.ts'
import type { Fetch } from '../../src/venues/rest/http.ts'
import type { Network } from './network.ts'
import type { SimulatedProcess } from './process.ts'
import type { VirtualTime } from './virtual-time.ts'

/** A venue whose clock was set back gives nothing back meanwhile. */
const EXCUSES = ['rate-limit', 'ban', 'skew', 'maintenance']
/** Refusals that were under way, and a ban that was earned in the meantime. */
const AFTER_MS = 5 * 60_000

export function watchBudget(network: Network, faults: FaultSwitches, time: VirtualTime) {
  const refused: string[] = []
  let excusedUntilMs = 0
  return {
    fetchFor(process: SimulatedProcess): Fetch {
      const fetch = network.fetchFor(process)
      return async (url, init) => {
        const response = await fetch(url, init)
        if (faults.list().some(({ kind }) => EXCUSES.includes(kind))) excusedUntilMs = time.nowMs + AFTER_MS
        if ((response.status === 429 || response.status === 418) && time.nowMs > excusedUntilMs)
          refused.push(
            `5 ${new URL(url).pathname} was refused at ${new Date(time.nowMs).toISOString()}: the budget was exceeded`,
          )
        return response
      }
    },
    refusals: (): readonly string[] => refused,
  }
}
