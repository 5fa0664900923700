/** While trades that the stream lost cannot be requested, the candles that lack them are in a gap. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import { FEW_STRIKES, type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import type { Gap } from '../../store/coverage.ts'
import { candleFeed } from '../shared/feeds.ts'

const START_MS = Date.parse('2026-11-15T09:59:30Z')
const OPEN_MS = Date.parse('2026-11-15T10:00:00Z')
const CLOSED_MS = OPEN_MS + 340_000
const CANDLES = candleFeed('predmkt_b', 'BTC', '5m')

interface Found {
  readonly gaps: readonly Gap[]
  readonly candles: number
  readonly wrong: readonly string[]
}
const found: Record<'meanwhile' | 'afterwards', Found> = {
  meanwhile: { gaps: [], candles: 0, wrong: [] },
  afterwards: { gaps: [], candles: 0, wrong: [] },
}

/** The closed candles whose volume is not that of the venue's trades, and the gaps of their time. */
async function look(nowMs: number): Promise<Found> {
  const { store } = made.recording
  const { truth } = made.world.sandbox
  const { gaps } = await store.coverage.read([CANDLES], OPEN_MS, OPEN_MS + 300_000)
  let candles = 0
  const wrong: string[] = []
  for (const { name, symbol, startMs } of truth.markets('kalshi', OPEN_MS + 300_000, nowMs + 86_400_000)) {
    if (symbol !== 'BTC' || startMs >= OPEN_MS + 300_000) continue
    const range = { from: OPEN_MS, to: OPEN_MS + 1 }
    const [row] = await readRows<CandleRow>(store, CANDLES, [name], range)
    if (row === undefined) continue
    candles += 1
    const traded = truth.trades(name, OPEN_MS, OPEN_MS + 300_000) ?? []
    const volume = traded.reduce((sum, { size }) => sum + Number(size), 0)
    if (!row.closed || Math.abs(volume - Number(row.volume)) > 0.001)
      wrong.push(`${name}: ${row.volume} of ${volume}`)
  }
  return { gaps, candles, wrong }
}

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 200, slotMs: 1_000, ...FEW_STRIKES, venues: ['kalshi'] },
  async ({ clock, sandbox }) => {
    await clock.runUntil(OPEN_MS + 240_000)
    sandbox.faults.set({ kind: 'sequence-gap', venue: 'kalshi', symbol: 'BTC', channel: 'trade', count: 2 })
    sandbox.faults.set({ kind: 'http-error', venue: 'kalshi', status: 502, durationMs: 150_000 })
    await clock.runUntil(CLOSED_MS)
    found.meanwhile = await look(CLOSED_MS)
    await clock.runUntil(CLOSED_MS + 180_000)
    found.afterwards = await look(CLOSED_MS + 180_000)
  },
)

test('meanwhile the time of the lost trades is a gap of the candles', () => {
  const { gaps, candles, wrong } = found.meanwhile
  assert.ok(candles > 10 && wrong.length > 0, `${candles} candles, ${wrong.length} of them wrong`)
  assert.ok(
    gaps.some(({ reason, from }) => reason === 'not_observed' && from > OPEN_MS + 200_000),
    JSON.stringify(gaps),
  )
})

test('with the trades the candles are right, and their gap is closed without any midpoint', () => {
  const { gaps, wrong } = found.afterwards
  assert.deepEqual([gaps, wrong], [[], []])
})
