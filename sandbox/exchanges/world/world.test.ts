import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CANDLE_INTERVALS, candleStart, INTERVAL_MS } from '../../../src/core/interval.ts'
import { SYMBOLS } from '../../../src/core/symbol.ts'
import { slotOf, updateIdOf } from './book.ts'

import { sequence } from './hash.ts'
import { EXCHANGE_VENUES } from './markets.ts'
import { GENESIS_MS, type Trade } from './trade.ts'
import { createWorld } from './world.ts'
import { createPathReader, worldPrice } from './world-price.ts'

const NOW_MS = Date.UTC(2026, 10, 15, 2, 3, 4, 567)
const DAY_MS = 86_400_000

/** The plainest possible candle: one loop over trades. */
function candleOf(trades: Trade[]) {
  const prices = trades.map((trade) => trade.price)
  const sum = (rows: Trade[], value: (trade: Trade) => bigint) =>
    rows.reduce((total, row) => total + value(row), 0n)
  const buys = trades.filter((trade) => trade.takerBuys)
  const quote = (trade: Trade) => BigInt(trade.price) * BigInt(trade.lots)
  return {
    open: prices[0],
    high: prices.reduce((a, b) => Math.max(a, b)),
    low: prices.reduce((a, b) => Math.min(a, b)),
    close: prices.at(-1),
    lots: sum(trades, (trade) => BigInt(trade.lots)),
    buyLots: sum(buys, (trade) => BigInt(trade.lots)),
    quote: sum(trades, quote),
    buyQuote: sum(buys, quote),
    trades: trades.length,
    fills: trades.reduce((total, trade) => total + trade.lastFill - trade.firstFill + 1, 0),
    firstFill: trades[0]?.firstFill,
  }
}

test('a candle of any interval, closed or forming, is the sum of its trades', () => {
  const random = sequence(99, 1)
  for (const tradesPerSecond of [0.2, 3, 40]) {
    const world = createWorld({ seed: 11, tradesPerSecond })
    for (const venue of EXCHANGE_VENUES) {
      for (const { tape, candles } of world.all(venue)) {
        for (const interval of CANDLE_INTERVALS) {
          if (tradesPerSecond > 3 && INTERVAL_MS[interval] > 900_000) continue
          if (tradesPerSecond === 3 && INTERVAL_MS[interval] > 3_600_000 && tape.market.symbol !== 'BTC')
            continue
          const at = GENESIS_MS + Math.floor(random() * (NOW_MS - GENESIS_MS))
          const openMs = candleStart(at, interval)
          const nowMs = random() < 0.5 ? NOW_MS : at
          const endMs = Math.min(openMs + INTERVAL_MS[interval], nowMs + 1)
          const trades = tape.between(openMs, endMs, Number.POSITIVE_INFINITY)
          const { openMs: _open, closeMs, ...candle } = candles.at(openMs, interval, nowMs)
          assert.equal(closeMs, openMs + INTERVAL_MS[interval] - 1)
          if (trades.length === 0) {
            const before = tape.between(openMs - 600_000, openMs, Number.POSITIVE_INFINITY).at(-1)
            assert.deepEqual(
              [candle.trades, candle.open, candle.high, candle.low, candle.close],
              [0, ...Array(4).fill(before?.price)],
            )
            continue
          }
          assert.deepEqual(
            { ...candle, lots: BigInt(candle.lots), buyLots: BigInt(candle.buyLots) },
            candleOf(trades),
            `${venue} ${interval}`,
          )
        }
      }
    }
  }
})

test('at 20,000 trades a second in total a minute is still exact', () => {
  // A minute of one venue is a hundred thousand trades.
  const venues = process.env.TAPELINE_SOAK === undefined ? EXCHANGE_VENUES.slice(0, 1) : EXCHANGE_VENUES
  for (const venue of venues) {
    const { tape, candles } = createWorld({ seed: 2, tradesPerSecond: 1_667 }).of(venue, 'BTC')
    const openMs = candleStart(NOW_MS, '1m') - 60_000
    const { openMs: _open, closeMs: _close, ...candle } = candles.at(openMs, '1m', NOW_MS)
    const trades = tape.between(openMs, openMs + 60_000, Number.POSITIVE_INFINITY)
    assert.equal(trades.length, 100_020)
    assert.deepEqual(
      { ...candle, lots: BigInt(candle.lots), buyLots: BigInt(candle.buyLots) },
      candleOf(trades),
    )
    assert.ok(candle.quote < BigInt(Number.MAX_SAFE_INTEGER))
  }
})

test('trade ids are contiguous, times never go back, and both ways of asking agree', () => {
  const { tape } = createWorld({ seed: 3, tradesPerSecond: 7.3 }).of('futures', 'ETH')
  const trades = tape.between(NOW_MS - 120_000, NOW_MS, Number.POSITIVE_INFINITY)
  assert.equal(trades.length, tape.firstIdAt(NOW_MS) - tape.firstIdAt(NOW_MS - 120_000))
  for (const [i, trade] of trades.entries()) {
    const previous = trades[i - 1]
    if (previous === undefined) continue
    assert.equal(trade.id, previous.id + 1)
    assert.equal(trade.firstFill, previous.lastFill + 1)
    assert.ok(trade.timeMs >= previous.timeMs)
    assert.ok(trade.lots >= trade.lastFill - trade.firstFill + 1)
  }
  const middle = trades[trades.length >> 1] as Trade
  assert.deepEqual(
    tape.fromId(middle.id, NOW_MS, 50),
    trades.slice(trades.length >> 1, (trades.length >> 1) + 50),
  )
  assert.equal(tape.fromId(0, NOW_MS, 1)[0]?.id, tape.firstIdAt(GENESIS_MS))
})

test('empty fills take ids of their own, and nothing else changes', () => {
  const plain = createWorld({ seed: 3, tradesPerSecond: 2 }).of('futures', 'ETH')
  for (const every of [1, 2, 7]) {
    const { tape, candles } = createWorld({ seed: 3, tradesPerSecond: 2, emptyFillEvery: every }).of(
      'futures',
      'ETH',
    )
    const [fromMs, toMs] = [NOW_MS - 60_000, NOW_MS]
    const all = tape.between(fromMs, toMs, Number.POSITIVE_INFINITY)
    const empty = all.filter(({ lots }) => lots === 0)
    const good = all.filter(({ lots }) => lots > 0)
    const facts = ({ timeMs, price, lots, takerBuys }: Trade) => ({ timeMs, price, lots, takerBuys })
    assert.deepEqual(good.map(facts), plain.tape.between(fromMs, toMs, Number.POSITIVE_INFINITY).map(facts))
    assert.ok(Math.abs(empty.length - good.length / every) <= 1 && empty.some(({ price }) => price === 0))
    assert.equal(tape.firstIdAt(fromMs), all[0]?.id)
    for (const [index, trade] of all.entries()) {
      assert.equal(trade.id, (all[0] as Trade).id + index)
      const before = all[index - 1]
      if (before !== undefined) assert.equal(trade.firstFill, before.lastFill + 1)
      for (const limit of [1, 2, 5])
        assert.deepEqual(tape.fromId(trade.id, toMs, limit), all.slice(index, index + limit), `${every}`)
    }
    assert.deepEqual(tape.between(fromMs, toMs, 5), all.slice(0, 5))
    const openMs = candleStart(NOW_MS, '1m') - 60_000
    const { firstFill, ...candle } = candles.at(openMs, '1m', NOW_MS)
    const { firstFill: _, ...same } = plain.candles.at(openMs, '1m', NOW_MS)
    assert.deepEqual(candle, same)
    assert.equal(firstFill, tape.between(openMs, NOW_MS, 10).find(({ lots }) => lots > 0)?.firstFill)
  }
  const first = createWorld({ seed: 3, tradesPerSecond: 2, emptyFillEvery: 3 }).of('spot', 'BTC').tape
  assert.equal(first.fromId(0, NOW_MS, 1)[0]?.id, first.firstIdAt(GENESIS_MS))
})

test('nobody trades in quiet minutes, and ids stay contiguous', () => {
  const plain = createWorld({ seed: 3, tradesPerSecond: 0.3 }).of('futures', 'ETH')
  for (const quietMinutes of [1, 3, 9]) {
    const { tape, candles } = createWorld({ seed: 3, tradesPerSecond: 0.3, quietMinutes }).of(
      'futures',
      'ETH',
    )
    const toMs = GENESIS_MS + 3_000 * 600_000
    const fromMs = toMs - 30 * 60_000
    const all = tape.between(fromMs, toMs, Number.POSITIVE_INFINITY)
    const minutes = Array.from({ length: 30 }, (_, index) => fromMs + index * 60_000)
    const traded = minutes.filter((openMs) => candles.at(openMs, '1m', toMs).trades > 0)
    assert.equal(traded.length, 30 - 3 * quietMinutes)
    const facts = ({ timeMs, price, lots, takerBuys }: Trade) => ({ timeMs, price, lots, takerBuys })
    const busy = traded.flatMap((openMs) =>
      plain.tape.between(openMs, openMs + 60_000, Number.POSITIVE_INFINITY),
    )
    assert.deepEqual(all.map(facts), busy.map(facts))
    for (const [index, trade] of all.entries()) {
      const before = all[index - 1]
      if (before !== undefined) {
        assert.equal(trade.id, before.id + 1)
        assert.equal(trade.firstFill, before.lastFill + 1)
      }
      for (const limit of [1, 40])
        assert.deepEqual(tape.fromId(trade.id, toMs, limit), all.slice(index, index + limit))
    }
    for (const openMs of minutes) {
      const later = all.find(({ timeMs }) => timeMs >= openMs)
      if (later !== undefined) assert.equal(tape.firstIdAt(openMs), later.id)
    }
    for (const openMs of traded) {
      const { firstFill } = candles.at(openMs, '1m', toMs)
      assert.equal(firstFill, all.find(({ timeMs }) => timeMs >= openMs)?.firstFill)
    }
    assert.deepEqual(tape.between(fromMs, toMs, 5), all.slice(0, 5))
    assert.equal(tape.fromId(0, toMs, 1)[0]?.id, tape.firstIdAt(GENESIS_MS))
  }
})

test('the same seed gives the same world after a restart, another seed another', () => {
  const look = (seed: number) => {
    const world = createWorld({ seed, tradesPerSecond: 3 })
    return EXCHANGE_VENUES.map((venue) => {
      const { tape, candles, book, derivatives } = world.of(venue, 'SOL')
      return [
        tape.between(NOW_MS - 5_000, NOW_MS, 100),
        candles.at(candleStart(NOW_MS, '4h'), '4h', NOW_MS).quote,
        book.top(slotOf(NOW_MS), 30).bids,
        derivatives.settlements(NOW_MS - 2 * DAY_MS, NOW_MS, 9),
        derivatives.openInterest(NOW_MS),
        derivatives.liquidations(NOW_MS - 60_000, NOW_MS),
      ]
    })
  }
  assert.deepEqual(look(21), look(21))
  assert.notDeepEqual(look(21), look(22))
})

test('the price path answers the same in any order, and the venues stay near it', () => {
  const walk = createPathReader(8, 'XRP')
  for (let block = 179_000_000; block < 179_002_000; block += 7) walk(block)
  assert.equal(walk(179_000_777), createPathReader(8, 'XRP')(179_000_777))
  const world = createWorld({ seed: 8, tradesPerSecond: 3 })
  for (const symbol of SYMBOLS) {
    for (const venue of EXCHANGE_VENUES) {
      const { market, tape } = world.of(venue, symbol)
      for (const trade of tape.between(NOW_MS - 60_000, NOW_MS, 1_000)) {
        const price = trade.price / 10 ** market.priceDecimals
        const spot = worldPrice(8, symbol, trade.timeMs)
        assert.ok(Math.abs(price / spot - 1) < 0.0015, `${venue} ${symbol} ${price} ${spot}`)
      }
    }
  }
})

test('a book has no crossed sides, and its update ids are a chain', () => {
  for (const venue of EXCHANGE_VENUES) {
    const { book } = createWorld({ seed: 4, tradesPerSecond: 3 }).of(venue, 'BTC')
    for (let slot = slotOf(NOW_MS); slot <= slotOf(NOW_MS) + 300; slot++) {
      const { bids, asks } = book.top(slot, 20)
      assert.ok((bids[0]?.[0] ?? 0) < (asks[0]?.[0] ?? 0))
      assert.deepEqual(
        [...bids].sort((a, b) => b[0] - a[0]),
        bids,
      )
      assert.deepEqual(
        [...asks].sort((a, b) => a[0] - b[0]),
        asks,
      )
      assert.equal(updateIdOf(slot) - updateIdOf(slot - 1), 20)
    }
  }
})

test('every symbol has a liquidation at least once a minute, funding at every due hour', () => {
  for (const { derivatives } of createWorld({ seed: 6, tradesPerSecond: 3 }).all('futures')) {
    const times = derivatives.liquidations(NOW_MS - DAY_MS, NOW_MS).map((row) => row.timeMs)
    for (const [i, at] of times.entries()) assert.ok(at - (times[i - 1] ?? at) < 60_000)
    assert.ok(times.length >= 1_440)
    assert.equal(derivatives.settlements(NOW_MS - 31 * DAY_MS, NOW_MS, 1_000).length, 93)
  }
})
