import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../../test/simulation/random.ts'
import { add, decimal, ZERO } from '../../core/decimal.ts'
import { MinuteParts } from './prove-parts.ts'

const OPEN_MS = Date.parse('2026-11-10T10:00:00Z')
const END_MS = OPEN_MS + 60_000

interface Trade {
  readonly timeMs: number
  readonly size: string
}

const candleOf = (trades: readonly Trade[]) => ({
  openMs: OPEN_MS,
  count: trades.length,
  volume: trades.reduce((sum, { size }) => add(sum, decimal(size)), ZERO),
})

const trade = (second: number, size: string): Trade => ({ timeMs: OPEN_MS + second * 1_000 + 300, size })
const ALL = [trade(3, '2'), trade(9, '5'), trade(15, '1'), trade(31, '7'), trade(44, '3'), trade(52, '2')]

/** All trades but one, and the candles that were shown at the given seconds. */
function without(lost: number, shownAt: readonly number[]) {
  const parts = new MinuteParts()
  for (const each of ALL.toSpliced(lost, 1)) parts.trade(each)
  for (const second of shownAt) {
    const atMs = OPEN_MS + second * 1_000
    parts.show(candleOf(ALL.filter(({ timeMs }) => timeMs < atMs)), atMs)
  }
  const { fromMs, toMs } = parts.unproven(candleOf(ALL))
  return [(fromMs - OPEN_MS) / 1_000, (toMs - OPEN_MS) / 1_000]
}

test('what lies between the last candle that fits from the start and the first that fits to the end has no proof', () => {
  assert.deepEqual(without(3, [5, 12, 20, 40, 50]), [15.301, 44.3])
  assert.deepEqual(without(3, []), [0, 60], 'nothing was shown')
  assert.deepEqual(without(0, [5, 12, 20, 40]), [0, 9.3], 'the first trade is missing')
  assert.deepEqual(without(5, [5, 12, 50, 58]), [44.301, 60], 'the last one is')
  // No trade came after the candle, so the time after it was shown has no trades.
  const parts = new MinuteParts()
  parts.trade(trade(9, '5'))
  parts.show({ openMs: OPEN_MS, count: 2, volume: decimal('7') }, OPEN_MS + 12_000)
  assert.deepEqual(parts.unproven({ openMs: OPEN_MS, count: 2, volume: decimal('7') }), {
    fromMs: OPEN_MS,
    toMs: OPEN_MS + 17_000,
  })
  parts.giveUp(OPEN_MS)
  assert.deepEqual(parts.unproven({ openMs: OPEN_MS, count: 2, volume: decimal('7') }), {
    fromMs: OPEN_MS,
    toMs: END_MS,
  })
})

test('a minute that is more than an hour behind the newest has no proof of parts', () => {
  const parts = new MinuteParts()
  for (const each of ALL.slice(0, 3)) parts.trade(each)
  parts.show(candleOf(ALL.slice(0, 2)), OPEN_MS + 10_000)
  const unproven = () => parts.unproven({ ...candleOf(ALL), volume: undefined })
  parts.trade({ timeMs: OPEN_MS + 3_600_000, size: '1' })
  assert.equal(unproven().fromMs, OPEN_MS + 9_301)
  parts.trade({ timeMs: END_MS + 3_600_000, size: '1' })
  // A late trade or candle of this minute is not kept either.
  parts.trade(trade(3, '2'))
  parts.show(candleOf(ALL.slice(0, 1)), OPEN_MS + 5_000)
  assert.deepEqual(unproven(), { fromMs: OPEN_MS, toMs: END_MS })
})

test('drawn minutes: every trade that is missing lies in what has no proof', () => {
  const random = createRandom(20_261_116, 'prove-parts')
  let proven = 0
  for (let round = 0; round < 500; round++) {
    const all = Array.from({ length: random.int(1, 60) }, () => ({
      timeMs: OPEN_MS + random.int(0, 59_999),
      size: String(random.int(1, 1_000_000) / 1_000),
    })).sort((a, b) => a.timeMs - b.timeMs)
    const lostFromMs = OPEN_MS + random.int(0, 59_999)
    const lostToMs = lostFromMs + random.int(1, 20_000)
    const isLost = ({ timeMs }: Trade) => timeMs >= lostFromMs && timeMs < lostToMs && random.chance(0.7)
    const lost = all.filter(isLost)
    if (lost.length === 0) continue
    const parts = new MinuteParts()
    for (const each of all) if (!lost.includes(each)) parts.trade(each)
    // Candles are shown up to three seconds late, by a clock that is up to three seconds behind, and some are left out.
    for (let atMs = OPEN_MS + 800; atMs <= END_MS; atMs += 800) {
      const toMs = atMs - random.int(0, 3_000)
      const known = all.filter(({ timeMs }) => timeMs <= toMs)
      if (known.length > 0 && random.chance(0.8)) parts.show(candleOf(known), atMs - random.int(0, 3_000))
    }
    const { fromMs, toMs } = parts.unproven(candleOf(all))
    for (const { timeMs } of lost)
      assert.ok(timeMs >= fromMs && timeMs < toMs, `round ${round}: ${timeMs - OPEN_MS} was lost`)
    proven += 60_000 - (toMs - fromMs)
  }
  assert.ok(proven > 0, 'nothing was proven')
})
