/** Law 5: if a venue refuses a request and no fault makes it do so, a budget was exceeded. */
import type { FaultSwitches } from '../../sandbox/server/faults.ts'
import type { Fetch } from '../../src/venues/rest/http.ts'
import type { Network } from './network.ts'
import type { SimulatedProcess } from './process.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Faults that explain a refusal. A venue whose clock was set back replenishes no budget until its old time. */
const EXCUSES = ['rate-limit', 'ban', 'skew', 'maintenance']
/** After such a fault: refusals that were in transit, and a ban that was incurred during the fault. */
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
