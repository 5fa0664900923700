/**
 * After a gap in the numbers of a subscription, each of its books is suspect until the venue has sent it again, and
 * trades are requested.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  compareTrades,
  compareWindow,
  readRows,
  type StoredSnapshot,
} from '../../../test/predictions/compare.ts'
import { FEW_STRIKES, type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import type { TrueMarket } from '../../../test/sandbox/prediction-truth.ts'
import type { Gap } from '../../store/coverage.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'

const START_MS = Date.parse('2026-11-15T10:01:00Z')
const RECEIVED_MS = START_MS + 30_000
const ONE_GAP_MS = START_MS + 50_000
const LOST_TRADE_MS = START_MS + 90_000
/** After two gaps within a minute, the socket is replaced. */
const TWO_GAPS_MS = START_MS + 130_000
const END_MS = START_MS + 190_000

let running: TrueMarket[]
let lostTrades: number
/** The gaps of the trades, before they were requested. */
let lostGaps: readonly Gap[]

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 200, slotMs: 1_000, ...FEW_STRIKES, venues: ['kalshi'] },
  async ({ clock, sandbox }) => {
    await clock.runUntil(ONE_GAP_MS)
    sandbox.faults.set({ kind: 'sequence-gap', venue: 'kalshi', channel: 'orderbook_delta' })
    await clock.runUntil(LOST_TRADE_MS)
    const lost = sandbox.faults.set({ kind: 'sequence-gap', venue: 'kalshi', channel: 'trade' })
    await clock.runUntil(TWO_GAPS_MS)
    lostTrades = lost.hits
    const trades = feedOf('trades', 'predmkt_b', 'BTC')
    lostGaps = (await made.recording.store.coverage.read([trades], ONE_GAP_MS, TWO_GAPS_MS - 5_000)).gaps
    sandbox.faults.set({ kind: 'sequence-gap', venue: 'kalshi', channel: 'orderbook_delta' })
    await clock.runUntil(TWO_GAPS_MS + 15_000)
    sandbox.faults.set({ kind: 'sequence-gap', venue: 'kalshi', channel: 'orderbook_delta' })
    await clock.runUntil(END_MS)
    running = sandbox.truth
      .markets('kalshi', END_MS, END_MS + 86_400_000)
      .filter(({ symbol, startMs }) => symbol === 'BTC' && startMs < RECEIVED_MS)
  },
)

test('outside the gaps every book of every contract is the one of its instant', async () => {
  assert.ok(running.length > 20, `${running.length} contracts`)
  const wrong: string[] = []
  let rows = 0
  for (const market of running) {
    const range = { fromMs: RECEIVED_MS, toMs: END_MS - 10_000 }
    const found = await compareWindow(made.recording.store, made.world.sandbox.truth, market, range)
    wrong.push(...found.wrong)
    rows += found.rows
  }
  assert.deepEqual(wrong.slice(0, 10), [])
  assert.ok(rows > running.length, `${rows} rows`)
})

test('books go on after one gap and after two', async () => {
  const market = running.find(({ kind }) => kind === '15M')
  assert.ok(market)
  const feed = feedOf('snapshots', 'predmkt_b', 'BTC', '15m')
  for (const fromMs of [ONE_GAP_MS + 10_000, TWO_GAPS_MS + 35_000]) {
    const range = { from: fromMs, to: fromMs + 10_000 }
    const found: StoredSnapshot[] = await readRows(made.recording.store, feed, [market.name], range)
    assert.ok(found.length > 5, `${found.length} rows after ${new Date(fromMs).toISOString()}`)
  }
})

test('a second gap within a minute costs the socket, and that time is a gap', async () => {
  const feed = feedOf('snapshots', 'predmkt_b', 'BTC', '15m')
  const { gaps } = await made.recording.store.coverage.read([feed], TWO_GAPS_MS, END_MS - 10_000)
  assert.ok(gaps.length >= 1, JSON.stringify(gaps))
  assert.ok(gaps.every(({ from, to }) => to - from < 30_000))
})

test('a trade that was lost is there soon: the next number shows it', async () => {
  assert.equal(lostTrades, 1)
  const wrong: string[] = []
  for (const market of running)
    wrong.push(
      ...(await compareTrades(
        made.recording.store,
        made.world.sandbox.truth,
        { ...market, endMs: END_MS - 20_000 },
        RECEIVED_MS,
      )),
    )
  assert.deepEqual(wrong.slice(0, 5), [])
})

test('its gap is one of the trades, and closed with them; candles have none', async () => {
  const { coverage } = made.recording.store
  for (const feed of [feedOf('trades', 'predmkt_b', 'BTC'), candleFeed('predmkt_b', 'BTC', '5m')]) {
    const { gaps } = await coverage.read([feed], ONE_GAP_MS, TWO_GAPS_MS)
    assert.deepEqual(gaps, [], feed.dataset)
  }
  assert.ok(lostGaps.length === 1 && lostGaps[0]?.reason === 'not_observed', JSON.stringify(lostGaps))
})
