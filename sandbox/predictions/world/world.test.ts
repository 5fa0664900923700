import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SYMBOLS } from '../../../src/core/symbol.ts'
import { createWorld } from '../../exchanges/world/world.ts'
import { worldPrice } from '../../exchanges/world/world-price.ts'
import { settle } from '../polymarket/fills.ts'
import type { Life } from './life.ts'
import { fromNewYork, newYorkTime } from './new-york.ts'
import { TENORS, windowAt } from './up-down.ts'
import { createPredictionWorld } from './venue-world.ts'

const HOUR_MS = 3_600_000
const NOON = Date.UTC(2026, 10, 15, 12)
const OPTIONS = { seed: 11, tradesPerSecond: 3, slotMs: 100 } as const
const world = createPredictionWorld(OPTIONS)

const bookAt = (life: Life, slot: number) => {
  const [bids, asks] = [new Int32Array(1_001), new Int32Array(1_001)]
  life.fill(slot, bids, asks)
  return { bids, asks }
}

/** All trades, including future ones. */
const tradesOf = (life: Life) => life.trades(0, life.tradesUntil(life.lastSlot))

test('each slot is the last one at its own time, also where slots do not fill the life of a market exactly', () => {
  for (const slotMs of [100, 6_000, 7_000, 8_000]) {
    const other = createPredictionWorld({ ...OPTIONS, slotMs })
    for (const market of other.upDowns.between('BTC', '5m', NOON, NOON + HOUR_MS)) {
      const life = other.lifeOf(market)
      for (let slot = -5; slot <= life.lastSlot; slot++) assert.equal(life.slotAt(life.timeOf(slot)), slot)
    }
  }
})

test('the same seed gives the same markets, books, trades and rounds, whatever was asked before', () => {
  const again = createPredictionWorld(OPTIONS)
  const market = again.upDowns.between('ETH', '15m', NOON, NOON + HOUR_MS)[2]
  assert.ok(market)
  const same = world.upDowns.bySlug(market.slug)
  assert.ok(same)
  for (const other of world.upDowns.between('BTC', '5m', NOON, NOON + HOUR_MS)) world.lifeOf(other)
  assert.deepEqual(same, market)
  assert.deepEqual(tradesOf(world.lifeOf(same)), tradesOf(again.lifeOf(market)))
  assert.deepEqual(bookAt(world.lifeOf(same), 4_321), bookAt(again.lifeOf(market), 4_321))
  assert.deepEqual(
    world.rounds.between('SOL', NOON, NOON + HOUR_MS),
    again.rounds.between('SOL', NOON, NOON + HOUR_MS),
  )
  const other = createPredictionWorld({ ...OPTIONS, seed: 12 })
  assert.notEqual(other.upDowns.bySlug(market.slug)?.conditionId, market.conditionId)
})

test('the spot price is the one of the sandbox exchanges', () => {
  for (const symbol of SYMBOLS)
    for (const timeMs of [NOON, NOON + 12_345, NOON - 7 * 86_400_000 + 999])
      assert.equal(world.price.price(symbol, timeMs), worldPrice(OPTIONS.seed, symbol, timeMs))
})

test('every name of a window leads back to it, in both protocol versions', () => {
  const second = createPredictionWorld({ ...OPTIONS, v2FromMs: 0 })
  for (const { upDowns } of [world, second])
    for (const symbol of SYMBOLS)
      for (const tenor of TENORS)
        for (const market of upDowns.between(symbol, tenor, NOON - 24 * HOUR_MS, NOON + 2 * HOUR_MS)) {
          assert.equal(upDowns.bySlug(market.slug), market, market.slug)
          assert.equal(upDowns.byCondition(market.conditionId), market)
          assert.deepEqual(upDowns.byToken(market.tokens[0]), { market, leg: 0 })
          assert.deepEqual(upDowns.byToken(market.tokens[1]), { market, leg: 1 })
          assert.match(market.tokens[0], /^\d{76,78}$/)
        }
  const v2 = second.upDowns.between('BTC', '5m', NOON, NOON + 300_000)[0]
  assert.equal(BigInt(v2?.tokens[1] ?? 0), BigInt(v2?.conditionId ?? 0) + 1n)
  assert.equal(world.upDowns.byToken('1'.repeat(77)), undefined)
  assert.equal(world.upDowns.bySlug('btc-updown-15m-1794711300'), undefined, 'not a multiple of 900')
})

test('windows follow New York clocks over the change of time, without gap or overlap', () => {
  for (const tenor of ['4h', '24h'] as const) {
    let window = windowAt(tenor, Date.UTC(2026, 9, 30))
    while (window.startMs < Date.UTC(2026, 10, 4)) {
      const next = windowAt(tenor, window.endMs)
      assert.equal(next.startMs, window.endMs)
      assert.equal(newYorkTime(next.startMs).hour % (tenor === '4h' ? 4 : 12), 0)
      window = next
    }
  }
  assert.equal(newYorkTime(Date.UTC(2026, 2, 8, 7)).hour, 3)
  assert.equal(fromNewYork(Date.UTC(2026, 6, 1, 12)), Date.UTC(2026, 6, 1, 16))
})

test('winners are the sign of the reference prices, and the hourly one that of the exchange candle', () => {
  const exchange = createWorld({ seed: OPTIONS.seed, tradesPerSecond: 3 }).of('spot', 'BTC')
  for (const market of world.upDowns.between('BTC', '1h', NOON - 24 * HOUR_MS, NOON)) {
    const candle = exchange.candles.at(market.startMs, '1h', Number.POSITIVE_INFINITY)
    assert.equal(world.isUp(market), candle.close >= candle.open, market.slug)
  }
  for (const market of world.upDowns.between('BTC', '5m', NOON - 6 * HOUR_MS, NOON)) {
    const mean = (endMs: number) => {
      let sum = 0
      for (let second = 0; second < 60; second++)
        sum += worldPrice(OPTIONS.seed, 'BTC', endMs - second * 1_000)
      return Math.round((sum / 60) * 1e8)
    }
    assert.equal(world.isUp(market), mean(market.endMs) >= mean(market.startMs), market.slug)
  }
})

test('a price is a fair bet: near the middle of the window it foretells the winner, at the end it is the winner', () => {
  const early: { p: number; won: boolean }[] = []
  for (const symbol of SYMBOLS)
    for (const market of world.upDowns.between(symbol, '5m', NOON - 12 * HOUR_MS, NOON)) {
      const life = world.lifeOf(market)
      const slot = life.slotAt((market.startMs + market.endMs) / 2)
      const end = life.slotAt(market.endMs + 1_000)
      early.push({ p: (life.bid(slot) + life.ask(slot)) / 2_000, won: world.isUp(market) })
      const late = (life.bid(end) + life.ask(end)) / 2_000
      assert.ok(world.isUp(market) ? late > 0.99 : late < 0.01, market.slug)
    }
  const mean = (rows: { won: boolean }[]) => rows.filter((row) => row.won).length / rows.length
  assert.ok(mean(early.filter((row) => row.p > 0.7)) > 0.7)
  assert.ok(mean(early.filter((row) => row.p < 0.3)) < 0.3)
  const brier = early.reduce((sum, row) => sum + (row.p - (row.won ? 1 : 0)) ** 2, 0) / early.length
  assert.ok(brier < 0.19, `${brier}`)
})

test('the running markets change at least ten times a second and leg, with up to 50 levels a side and more', () => {
  for (const tenor of ['5m', '15m'] as const) {
    const market = world.upDowns.between('XRP', tenor, NOON, NOON + HOUR_MS)[1]
    assert.ok(market)
    const life = world.lifeOf(market)
    let changes = 0
    let before = bookAt(life, 0)
    let deepest = 0
    const slots = life.slotAt(market.endMs - 1)
    for (let slot = 1; slot < slots; slot++) {
      const book = bookAt(life, slot)
      for (let price = 1; price < 1_000; price++) {
        if (book.bids[price] !== before.bids[price]) changes++
        if (book.asks[price] !== before.asks[price]) changes++
      }
      before = book
      deepest = Math.max(deepest, book.bids.filter((size) => size > 0).length)
    }
    const perSecond = changes / (slots / 10)
    assert.ok(perSecond >= 10 && perSecond < 60, `${tenor}: ${perSecond}`)
    assert.ok(deepest >= 40, `${deepest} levels`)
  }
})

test('a book is never crossed, and a trade takes from the best level what the book then lacks', () => {
  const market = world.upDowns.between('SOL', '5m', NOON, NOON + HOUR_MS)[4]
  assert.ok(market)
  const strike = world.strikes.between(world.strikes.series[1] as never, NOON, NOON + HOUR_MS)[0]?.markets[20]
  assert.ok(strike)
  for (const life of [world.lifeOf(market), world.lifeOfStrike(strike)]) {
    for (let slot = 0; slot <= life.lastSlot; slot += 7) assert.ok(life.bid(slot) < life.ask(slot))
    const trades = tradesOf(life)
    assert.ok(trades.length > 20, `${trades.length} trades`)
    for (const trade of trades) {
      const [before, after] = [bookAt(life, trade.slot - 1), bookAt(life, trade.slot)]
      const [side, best] = trade.isSell
        ? (['bids', life.bid(trade.slot - 1)] as const)
        : (['asks', life.ask(trade.slot - 1)] as const)
      assert.equal(trade.price, best)
      assert.equal((before[side][best] as number) - trade.size, after[side][best] as number)
      assert.equal(trade.timeMs, life.timeOf(trade.slot))
    }
  }
})

test('an event of strikes has at least 40 of them, exactly one range wins, and prices fall with the strike', () => {
  for (const series of world.strikes.series) {
    if (series.kind === '15M') continue
    const event = world.strikes.between(series, NOON, NOON + HOUR_MS)[0]
    assert.ok(event)
    assert.ok(event.markets.length >= 40)
    for (const market of event.markets)
      assert.equal(world.strikes.market(market.ticker), market, market.ticker)
    const wins = event.markets.filter((market) => world.strikes.isYes(market)).length
    if (series.kind === 'range') assert.equal(wins, 1, series.ticker)
    else {
      const slot = 3_000
      const mids = event.markets.map((market) => world.lifeOfStrike(market).bid(slot))
      assert.ok((mids[0] as number) > 900 && (mids.at(-1) as number) < 100)
      const value = world.strikes.settlement(event)
      assert.equal(wins, event.markets.filter((market) => value > (market.floor as number)).length)
    }
  }
})

test('rounds count up without a gap, over a change of phase, with times that never fall', () => {
  const short = createPredictionWorld({ ...OPTIONS, phaseRounds: 50 })
  const rounds = short.rounds.between('BTC', NOON, NOON + HOUR_MS)
  assert.ok(rounds.length > 100)
  for (const [i, round] of rounds.entries()) {
    const before = rounds[i - 1]
    if (before === undefined) continue
    assert.ok(round.updatedAtS >= before.updatedAtS)
    assert.ok(round.number === before.number + 1 || (round.phase === before.phase + 1 && round.number === 1))
    assert.deepEqual(short.rounds.round('BTC', round.phase, round.number), round)
    assert.ok(
      Math.abs(Number(round.answer) / 1e8 / worldPrice(OPTIONS.seed, 'BTC', round.updatedAtS * 1_000) - 1) <
        0.001,
    )
  }
  assert.ok(new Set(rounds.map((round) => round.phase)).size >= 2)
})

test('contracts that change: nothing happens in a pause, everything goes on after it; closes move, early ones without notice', () => {
  const options = { seed: 11, tradesPerSecond: 1, slotMs: 1_000, strikes: 2 }
  const changing = createPredictionWorld({ ...options, isChanging: true })
  const dayMs = Date.parse('2026-11-15T00:00:00Z')
  const events = changing.strikes.series.flatMap((one) =>
    changing.strikes.between(one, dayMs, dayMs + 24 * 3_600_000),
  )
  const moved = events.filter(({ first }) => first !== undefined)
  const paused = events.filter(({ pause }) => pause !== undefined)
  assert.ok(moved.length > 20 && paused.length > 20, `${moved.length} ${paused.length}`)
  const kinds = moved.map(({ openMs, closeMs, first }) => {
    if (first === undefined || openMs >= first.untilMs) return 'wrong'
    if (first.closeMs > closeMs) return first.untilMs === closeMs ? 'early' : 'wrong'
    if (first.untilMs < first.closeMs - 20 * 60_000) return 'announced'
    return Math.abs(first.untilMs - first.closeMs) <= 60_000 && first.untilMs < closeMs ? 'late' : 'wrong'
  })
  assert.deepEqual([...new Set(kinds)].sort(), ['announced', 'early', 'late'])
  for (const event of events) {
    assert.equal(changing.strikes.event(event.ticker), event)
    assert.ok(dayMs < event.closeMs && event.closeMs <= dayMs + 24 * 3_600_000)
  }
  for (const { markets, pause, closeMs } of paused.slice(0, 5)) {
    const [market] = markets
    if (market === undefined || pause === undefined) throw new Error('no contract')
    const life = changing.lifeOfStrike(market)
    const before = life.slotAt(pause.fromMs - 1)
    assert.equal(life.slotAt(pause.toMs - 1), before)
    assert.ok(life.timeOf(before) < pause.fromMs && life.timeOf(before + 1) >= pause.toMs)
    assert.ok(life.timeOf(life.lastSlot) < closeMs + 20_000)
    for (let slot = 0; slot < life.lastSlot; slot++) assert.equal(life.slotAt(life.timeOf(slot)), slot)
  }
})

test('nothing is traded from the close of a contract on, also where slots do not fill its life exactly', () => {
  const options = { seed: 11, tradesPerSecond: 1, strikes: 2 }
  const dayMs = Date.parse('2026-11-15T00:00:00Z')
  for (const slotMs of [1_000, 3_000]) {
    const changing = createPredictionWorld({ ...options, slotMs, isChanging: true })
    const events = changing.strikes.series.flatMap((one) =>
      changing.strikes.between(one, dayMs, dayMs + 24 * HOUR_MS),
    )
    for (const { markets, closeMs, pause } of events) {
      const [market] = markets
      if (market === undefined || pause !== undefined) continue
      const life = changing.lifeOfStrike(market)
      assert.ok(life.timeOf(life.lastSlot) < closeMs)
    }
  }
})

test('lists leave out some markets for some minutes, from a given time on; without that option never', () => {
  const unlistedFromMs = NOON + 2 * HOUR_MS
  const given = createPredictionWorld({ ...OPTIONS, unlistedFromMs })
  const marketsOf = ({ upDowns, strikes }: typeof given) => [
    ...upDowns.between('BTC', '5m', NOON, NOON + 12 * HOUR_MS),
    ...strikes.series.flatMap((one) => strikes.between(one, NOON, NOON + 12 * HOUR_MS)),
  ]
  const found = marketsOf(given).flatMap(({ unlisted }) => unlisted ?? [])
  assert.ok(found.length > 20, `${found.length}`)
  for (const { fromMs, toMs } of found)
    assert.ok(fromMs >= unlistedFromMs && toMs - fromMs >= 20_000 && toMs - fromMs <= 6 * 60_000)
  assert.deepEqual(
    marketsOf(world).flatMap(({ unlisted }) => unlisted ?? []),
    [],
  )
})

test('the fills of a transaction add up to its trade, some are equal, and the stream sends all of them or one trade', () => {
  const [market] = world.upDowns.between('BTC', '15m', NOON, NOON + HOUR_MS)
  assert.ok(market)
  const trades = tradesOf(world.lifeOf(market))
  const settled = trades.map((trade) => ({ trade, ...settle({ seed: 11, filledShare: 0.3 }, market, trade) }))
  const several = settled.filter(({ fills }) => fills.length > 1)
  assert.ok(several.length > trades.length / 5 && several.length < trades.length / 2)
  for (const { trade, fills, streamed } of several) {
    assert.equal(
      fills.reduce((sum, { size }) => sum + size, 0),
      trade.size,
    )
    assert.ok(fills.every(({ size }) => size > 0))
    assert.ok(streamed === fills || (streamed.length === 1 && streamed[0] === trade))
  }
  assert.ok(several.some(({ fills }) => fills[0]?.size === fills[1]?.size))
  assert.ok(several.some(({ streamed }) => streamed.length === 1))
  assert.ok(trades.every((trade) => settle({ seed: 11, filledShare: 0 }, market, trade).fills.length === 1))
})
