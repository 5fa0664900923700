/** A recorder starts in the first candle of an hour, for which the venue has no finished candle yet. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import { FEW_STRIKES, type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import { feedOf } from '../shared/feeds.ts'

const HOUR_MS = Date.parse('2026-11-15T10:00:00Z')
const START_MS = HOUR_MS + 4 * 60_000

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 1_000, slotMs: 2_000, ...FEW_STRIKES, venues: ['kalshi'] },
  async ({ clock }) => {
    // Ends before the first round over the trades of all contracts, which would find them too.
    await clock.runUntil(START_MS + 90_000)
  },
)

test('the trades of the current candle are requested at the start, of every contract', async () => {
  const { truth } = made.world.sandbox
  const running = truth
    .markets('kalshi', START_MS, START_MS + 26 * 3_600_000)
    .filter(({ symbol, startMs }) => symbol === 'BTC' && startMs <= HOUR_MS)
  const wrong: string[] = []
  let trades = 0
  for (const { name } of running) {
    const range = { from: HOUR_MS, to: START_MS - 10_000 }
    const rows = await readRows<{ trade_id: string }>(
      made.recording.store,
      feedOf('trades', 'predmkt_b', 'BTC'),
      [name],
      range,
    )
    const expected = truth.trades(name, range.from, range.to) ?? []
    trades += expected.length
    const stored = new Set(rows.map(({ trade_id: id }) => id))
    for (const { id } of expected) if (!stored.has(id)) wrong.push(`${name} lacks ${id}`)
  }
  assert.ok(running.length > 20 && trades >= 15, `${running.length} contracts, ${trades} trades`)
  assert.deepEqual(wrong.slice(0, 5), [])
})
