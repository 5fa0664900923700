/** The chain index and the event log; where an engine has a writer thread, with it and without. */

import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { type ChainEngine, NOW } from './chain-engine.ts'
import { chainIndexSuite } from './chain-index.ts'
import { ENGINES } from './engines.ts'
import { eventLogSuite } from './event-log.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined

for (const engine of ENGINES) {
  // What writes on the calling thread anyway differs from the first one inline only by what it waits for.
  if (!SOAK && engine.name === 'sqlite on one thread') continue
  for (const inline of engine.hasWriterThread ? [true, false] : [false]) {
    const chainEngine: ChainEngine = {
      name: engine.hasWriterThread ? `${engine.name} ${inline ? 'inline' : 'thread'}` : engine.name,
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
    const rounds = inline
      ? { events: SOAK ? 5_000 : 20, walks: SOAK ? 500 : 8 }
      : { events: SOAK ? 200 : 5, walks: SOAK ? 50 : 3 }
    eventLogSuite(chainEngine, rounds.events)
    chainIndexSuite(chainEngine, rounds.walks)
  }
}
