import type { CoverageStore } from './coverage.ts'
import type { MarketStore } from './markets.ts'
import type { SeriesStore } from './series.ts'

/** Everything an environment (test or live) keeps of the market half. */
export interface EnvironmentStore {
  series: SeriesStore
  coverage: CoverageStore
  markets: MarketStore
  /**
   * A number that moves with every write through this object, when it is sent and when it is done. A reader
   * that sees the same number knows that this process has changed nothing since.
   */
  writes(): number
  /** Writes what was accepted, then lets go of files and threads. Later calls are refused. */
  close(): Promise<void>
}

export class StoreClosedError extends Error {
  override readonly name = 'StoreClosedError'
  constructor() {
    super('the store is closed')
  }
}
