/**
 * What two processes share when one of them writes the index: the leases, the fence around every write, and the
 * notifications that a store for several processes sends when the log has grown. A write by a leader of an earlier term
 * breaks law 6.
 */
import type { ChainStores } from '../../../src/store/chain.ts'
import type { EventStore } from '../../../src/store/events.ts'
import type { Fence, LeaseStore } from '../../../src/store/leases.ts'
import { aroundWrites, behindFence } from '../leases.ts'
import { createLogNotices } from '../log-notices.ts'
import type { SimulatedProcess } from '../process.ts'
import type { Random } from '../random.ts'
import type { VirtualTime } from '../virtual-time.ts'

export const INDEX_PART = 'index/test'

const WRITES = new Set(['write', 'prune', 'numberAbove', 'retain'])
export const isIndexWrite = (name: string) => WRITES.has(name)

export interface SharedIndex {
  readonly leases: LeaseStore
  /** The stores as the leader of this term writes them. */
  fenced(stores: ChainStores, fence: Fence): ChainStores
  /** The log, with notifications to this process. */
  noticed(events: EventStore, process: SimulatedProcess): EventStore
  close(): Promise<void>
}

export function shareIndex(parts: {
  leases: LeaseStore
  /** The stores that the judge reads. */
  reader: ChainStores
  time: VirtualTime
  random: Random
  onBroken: (text: string) => void
}): SharedIndex {
  const { reader, time, random } = parts
  const notices = createLogNotices(time, random)
  let newestTerm = 0
  const leases: LeaseStore = {
    ...parts.leases,
    async take(request) {
      const fence = await parts.leases.take(request)
      newestTerm = Math.max(newestTerm, fence?.term ?? 0)
      return fence
    },
  }

  return {
    leases,
    fenced(stores, fence) {
      const judged = aroundWrites(stores, isIndexWrite, async (write) => {
        if (fence.term < newestTerm)
          parts.onBroken(`6 the leader of term ${fence.term} writes after term ${newestTerm} has begun`)
        const written = await write()
        notices.send((await reader.events.bounds()).newestSeq)
        return written
      })
      return behindFence(judged, leases, fence, isIndexWrite)
    },
    noticed: (events, process) => notices.to(process, events),
    close: () => parts.leases.close(),
  }
}
