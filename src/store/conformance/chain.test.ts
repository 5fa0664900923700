/** The chain index and the event log, with a writer thread and written on the calling thread. */

import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { type ChainEngine, NOW } from './chain-engine.ts'
import { chainIndexSuite } from './chain-index.ts'
import { ENGINES } from './engines.ts'
import { eventLogSuite } from './event-log.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined

for (const engine of ENGINES) {
  for (const inline of [true, false]) {
    const chainEngine: ChainEngine = {
      name: `${engine.name} ${inline ? 'inline' : 'thread'}`,
      async open() {
        const place = engine.create()
        const open = () => place.open(manualClock(NOW)).chain('test', { inline })
        let stores = open()
        return {
          ...stores,
          async reopen() {
            await stores.close()
            stores = open()
            return stores
          },
          async remove() {
            await stores.close()
            await place.remove()
          },
        }
      },
    }
    const rounds = inline ? { events: SOAK ? 5_000 : 60, walks: SOAK ? 500 : 20 } : { events: 10, walks: 5 }
    eventLogSuite(chainEngine, rounds.events)
    chainIndexSuite(chainEngine, rounds.walks)
  }
}
