/** The chain index and the event log, both with and without a writer thread if the engine has one. */

import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { type ChainEngine, NOW } from './chain-engine.ts'
import { chainIndexSuite } from './chain-index.ts'
import { ENGINES } from './engines.ts'
import { eventLogSuite } from './event-log.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined

for (const engine of ENGINES) {
  // It differs from the inline variant of `sqlite` only in that it does not wait for the disk.
  if (!SOAK && engine.name === 'sqlite on one thread') continue
  for (const inline of engine.hasWriterThread ? [true, false] : [false]) {
    const chainEngine: ChainEngine = {
      name: engine.hasWriterThread ? `${engine.name} ${inline ? 'inline' : 'thread'}` : engine.name,
      async open(nowMs = NOW) {
        const place = engine.create()
        const open = (atMs = nowMs) => place.open(manualClock(atMs)).chain('test', { inline })
        let stores = open()
        return {
          ...stores,
          async reopen(atMs) {
            await stores.close()
            stores = open(atMs)
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
