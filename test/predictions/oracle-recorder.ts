/** The recorder of one on-chain price over a store in memory, on a clock that the test moves. */
import type { TestContext } from 'node:test'
import { OracleSymbolRecorder } from '../../src/ingest/oracle/record-oracle-symbol.ts'
import { candleFeed } from '../../src/ingest/shared/feeds.ts'
import { createCoverageTracker } from '../../src/ingest/shared/track-coverage.ts'
import { createRowWriter } from '../../src/ingest/shared/write-rows.ts'
import { createLogger } from '../../src/kit/log.ts'
import { chainlinkDescription } from '../../src/venues/chainlink/describe.ts'
import type { OracleRoundObservation } from '../../src/venues/observation.ts'
import type { Venue } from '../../src/venues/venue.ts'
import { storesIn } from '../fakes/stores.ts'
import type { steeredClock } from './paced-clock.ts'

export const START_MS = Date.parse('2026-11-15T10:00:00Z')
const CHANNEL = 'oracle_rounds:BTC'

export const oracleRound = (
  phase: bigint,
  round: bigint,
  second: number,
  price: string,
): OracleRoundObservation => ({
  kind: 'oracle_round',
  source: 'oracle',
  symbol: 'BTC',
  instrument: '',
  venueTimeMs: START_MS + second * 1_000,
  receivedMs: START_MS + second * 1_000,
  key: null,
  roundId: (phase << 64n) | round,
  price,
  updatedMs: START_MS + second * 1_000,
})

export async function openOracleRecorder(
  t: TestContext,
  clock: ReturnType<typeof steeredClock>,
  history: Venue['history'],
) {
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const rows = createRowWriter({ store, random: Math.random, clock, log: createLogger({ level: 'silent' }) })
  t.after(() => rows.close())
  const feed = candleFeed('oracle', 'BTC', '5m')
  const tracker = createCoverageTracker({
    feeds: [{ feed, channels: [CHANNEL] }],
    coverage: store.coverage,
    writer: rows,
  })
  const recorder = new OracleSymbolRecorder({
    ...{ symbol: 'BTC', heartbeatMs: 27_000, store, rows, tracker, clock, backMs: 0 },
    venue: { describe: chainlinkDescription, history },
    signal: new AbortController().signal,
  })
  tracker.up(CHANNEL, START_MS)
  return { store, rows, feed, tracker, recorder }
}
