/** If a key is revoked during the recording, contracts are polled, and streamed again once it is accepted. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRows, type StoredSnapshot } from '../../../test/predictions/compare.ts'
import { FEW_STRIKES, type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import type { TradeRow } from '../../core/rows/schemas.ts'
import { feedOf } from '../shared/feeds.ts'

const START_MS = Date.parse('2026-11-15T10:01:00Z')
const RECEIVED_MS = START_MS + 30_000
const REVOKED_MS = START_MS + 60_000
const ACCEPTED_MS = REVOKED_MS + 120_000
const BACK_MS = ACCEPTED_MS + 45_000
const END_MS = BACK_MS + 60_000
/** A list every half minute, and the trades after it. */
const POLLED_WITHIN_MS = 45_000
const TRADES = feedOf('trades', 'predmkt_b', 'BTC')
const BOOKS = feedOf('snapshots', 'predmkt_b', 'BTC', '15m')

let meanwhile: { from: number; to: number }[]

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 1_000, slotMs: 2_000, ...FEW_STRIKES, venues: ['kalshi'] },
  async ({ clock, sandbox, recording }) => {
    await clock.runUntil(REVOKED_MS)
    const durationMs = ACCEPTED_MS - REVOKED_MS
    sandbox.faults.set({ kind: 'rejected-key', venue: 'kalshi', durationMs })
    sandbox.faults.set({ kind: 'drop', venue: 'kalshi' })
    await clock.runUntil(ACCEPTED_MS)
    const { gaps } = await recording.store.coverage.read([TRADES], REVOKED_MS, ACCEPTED_MS - POLLED_WITHIN_MS)
    meanwhile = gaps.map(({ from, to }) => ({ from, to }))
    await clock.runUntil(END_MS)
  },
)

test('books are stored while the key is rejected, less often, and as before afterwards', async () => {
  const market = made.world.sandbox.truth
    .markets('kalshi', END_MS, END_MS + 3_600_000)
    .find(({ symbol, kind, startMs }) => symbol === 'BTC' && kind === '15M' && startMs < START_MS)
  assert.ok(market)
  const rowsIn = async (from: number, to: number) =>
    (await readRows<StoredSnapshot>(made.recording.store, BOOKS, [market.name], { from, to })).length
  const [polled, streamed] = [
    await rowsIn(ACCEPTED_MS - 60_000, ACCEPTED_MS),
    await rowsIn(BACK_MS, BACK_MS + 50_000),
  ]
  assert.ok(polled >= 8 && polled <= 14, `${polled} rows in a minute of requests every five seconds`)
  assert.ok(streamed > 20, `${streamed} rows in fifty seconds of the stream`)
})

test('the trades are complete, each once, and count as polled soon after the socket was lost', async () => {
  assert.ok(
    meanwhile.every(({ to }) => to < ACCEPTED_MS - POLLED_WITHIN_MS),
    `trades do not count as polled: ${JSON.stringify(meanwhile)}`,
  )
  const wrong: string[] = []
  let trades = 0
  const { truth } = made.world.sandbox
  for (const market of truth.markets('kalshi', END_MS, END_MS + 86_400_000)) {
    if (market.symbol !== 'BTC' || market.startMs > RECEIVED_MS) continue
    const range = { from: RECEIVED_MS, to: END_MS }
    const rows = await readRows<TradeRow>(made.recording.store, TRADES, [market.name], range)
    const stored = rows.map(({ trade_id: id }) => id)
    const real = truth.trades(market.name, RECEIVED_MS, BACK_MS) ?? []
    trades += real.length
    wrong.push(...real.filter(({ id }) => !stored.includes(id)).map(({ id }) => `${market.name} lacks ${id}`))
    if (new Set(stored).size !== stored.length) wrong.push(`${market.name}: a trade is there twice`)
  }
  assert.ok(trades > 20, `${trades} trades`)
  assert.deepEqual(wrong.slice(0, 5), [])
})
