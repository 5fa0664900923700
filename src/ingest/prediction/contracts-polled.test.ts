/** Without a key, trades are polled: all of them are stored, and there is a gap while requests fail. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import { FEW_STRIKES, type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import type { TradeRow } from '../../core/rows/schemas.ts'
import type { Gap } from '../../store/coverage.ts'
import { feedOf } from '../shared/feeds.ts'

const START_MS = Date.parse('2026-11-15T10:01:00Z')
/** By then the second round of lists is over. */
const RECEIVED_MS = START_MS + 70_000
const FAILS_MS = START_MS + 150_000
const FAILS_END_MS = FAILS_MS + 100_000
const END_MS = FAILS_END_MS + 210_000
/** A list every half minute, and the trades after it. */
const POLLED_WITHIN_MS = 45_000
const TRADES = feedOf('trades', 'predmkt_b', 'BTC')

const gaps: Record<'before' | 'meanwhile' | 'after', Gap[]> = { before: [], meanwhile: [], after: [] }

const gapsOf = async (fromMs: number, toMs: number) =>
  (await made.recording.store.coverage.read([TRADES], fromMs, toMs)).gaps

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 1_000, slotMs: 2_000, ...FEW_STRIKES, venues: ['kalshi'], hasKey: false },
  async ({ clock, sandbox }) => {
    await clock.runUntil(FAILS_MS)
    gaps.before = await gapsOf(RECEIVED_MS, FAILS_MS - POLLED_WITHIN_MS)
    const durationMs = FAILS_END_MS - FAILS_MS
    sandbox.faults.set({ kind: 'http-error', venue: 'kalshi', status: 503, durationMs })
    await clock.runUntil(FAILS_END_MS)
    gaps.meanwhile = await gapsOf(FAILS_MS, FAILS_END_MS - 10_000)
    await clock.runUntil(END_MS)
    gaps.after = await gapsOf(RECEIVED_MS, FAILS_END_MS + 60_000)
  },
)

test('no socket was opened', () => {
  const { kalshi } = made.world.sandbox.state() as { kalshi: { connectionsOpened: number } }
  assert.equal(kalshi.connectionsOpened, 0)
})

test('while requests fail the trades have a gap, and before that none', () => {
  assert.deepEqual(gaps.before, [])
  const [gap] = gaps.meanwhile
  assert.ok(gap !== undefined, 'no gap')
  assert.ok(
    gap.from <= FAILS_MS + 65_000 && gaps.meanwhile.at(-1)?.to === FAILS_END_MS - 10_000,
    `${JSON.stringify(gaps.meanwhile)}, failing from ${FAILS_MS}`,
  )
})

test('afterwards all of them are stored, each once, and the gap is closed', async () => {
  assert.deepEqual(gaps.after, [])
  const wrong: string[] = []
  let trades = 0
  const { truth } = made.world.sandbox
  for (const market of truth.markets('kalshi', END_MS, END_MS + 86_400_000)) {
    if (market.symbol !== 'BTC' || market.startMs > RECEIVED_MS) continue
    const range = { from: RECEIVED_MS - 60_000, to: END_MS }
    const rows = await readRows<TradeRow>(made.recording.store, TRADES, [market.name], range)
    const stored = rows.map(({ trade_id: id }) => id)
    const real = truth.trades(market.name, RECEIVED_MS, END_MS - 120_000) ?? []
    trades += real.length
    wrong.push(...real.filter(({ id }) => !stored.includes(id)).map(({ id }) => `${market.name} lacks ${id}`))
    if (new Set(stored).size !== stored.length) wrong.push(`${market.name}: a trade is there twice`)
  }
  assert.ok(trades > 30, `${trades} trades`)
  assert.deepEqual(wrong.slice(0, 5), [])
})
