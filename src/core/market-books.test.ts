import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textBook } from '../../test/predictions/levels.ts'
import { composeUpDown, composeYesNo } from './market-snapshot.ts'
import { microOf, microText, middleText, orderPriceOf, orderSizeOf } from './micro.ts'
import { type MicroLevel, OrderBook } from './order-book.ts'
import { encodeSnapshot } from './rows/snapshot.ts'

const level = (price: string, size: string): MicroLevel => [microOf(price) ?? -1, microOf(size) ?? -1]

test('one price has one key, however it is written', () => {
  for (const text of ['.5', '0.5', '0.50', '0.5000', '0.500000000']) assert.equal(microOf(text), 500_000)
  for (const text of ['', '.', '1e3', 'NaN', '0.1234567', '1234567890'])
    assert.equal(microOf(text), undefined)
  assert.equal(microText(219_217_767), '219.217767')
  assert.equal(microText(-51_880_000), '-51.88')
  assert.equal(middleText(240_000, 250_000), '0.245')
  assert.equal(middleText(1, 2), '0.0000015')
  assert.equal(middleText(500_000, 500_001), '0.5000005')
})

test('nobody orders at 0 or at 1, nor less than nothing', () => {
  assert.deepEqual(['0.001', '.5', '0.999999'].map(orderPriceOf), [1_000, 500_000, 999_999])
  for (const text of ['0', '0.0', '1', '1.00', '1.5', '-0.5', '']) assert.equal(orderPriceOf(text), undefined)
  assert.deepEqual(['0', '77.5', '-1', 'x'].map(orderSizeOf), [0, 77_500_000, undefined, undefined])
})

test('a book keeps its levels sorted under random changes, as a plain map does', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  const book = new OrderBook()
  const model = { bids: new Map<number, number>(), asks: new Map<number, number>() }
  for (let step = 0; step < 5_000; step++) {
    const side = random(2) === 0 ? ('bids' as const) : ('asks' as const)
    const price = (side === 'bids' ? 1 + random(49) : 51 + random(49)) * 10_000
    const size = random(3) === 0 ? 0 : (1 + random(1_000)) * 10_000
    book.set(side, price, size)
    if (size === 0) model[side].delete(price)
    else model[side].set(price, size)
  }
  const sorted = (side: 'bids' | 'asks', direction: number) =>
    [...model[side]].sort((a, b) => (a[0] - b[0]) * direction).map(([p, s]) => [microText(p), microText(s)])
  assert.deepEqual(textBook(book.microBook()), { bids: sorted('bids', -1), asks: sorted('asks', 1) })
  assert.equal(book.best('bids'), Math.max(...model.bids.keys()))
  assert.equal(book.best('asks'), Math.min(...model.asks.keys()))
  assert.equal(book.isCrossed(), false)
  book.set('bids', 990_000, 1)
  assert.equal(book.isCrossed(), true)
})

test('an Up/Down snapshot: tight middle, wide spread with a trade, one-sided Up from Down, nothing at all', () => {
  const up = new OrderBook()
  const down = new OrderBook()
  const state = {
    marketId: '0x1',
    slug: null,
    question: null,
    tokenUp: 'u',
    tokenDown: 'd',
    up,
    down,
    lastUp: '0.7',
    lastDown: null,
    referencePrice: null,
  }
  const prices = (lastUp: string | null = '0.7') => {
    const row = composeUpDown(500, { ...state, lastUp })
    return [row.priceUp, row.priceDown]
  }
  assert.deepEqual(prices(), [null, null])
  down.replace([level('0.74', '1')], [level('0.76', '1')])
  up.replace([level('0.24', '25')], [])
  assert.deepEqual(prices(), ['0.25', '0.75'])
  up.replace([level('0.24', '25')], [level('0.25', '5')])
  assert.deepEqual(prices(), ['0.245', '0.755'])
  up.replace([level('0.24', '25')], [level('0.6', '5')])
  assert.deepEqual(prices(), ['0.7', '0.3'])
  assert.deepEqual(prices(null), ['0.42', '0.58'])
})

test('a yes/no snapshot: no_ask is 1 − yes_bid and no_bid is 1 − yes_ask, to the last digit', () => {
  const book = new OrderBook()
  book.replace([level('0.3', '10'), level('0.1', '2')], [level('0.31', '4.5')])
  const state = { ticker: 'KX', book, lastPrice: '0.3', volume: '12', openInterest: '3' }
  const feed = { dataset: 'snapshots', source: 'predmkt_b', symbol: 'BTC', interval: '15m' } as const
  const row = JSON.parse(encodeSnapshot(feed, composeYesNo(500, state)).text)
  assert.deepEqual([row.yes_bid, row.yes_ask, row.no_bid, row.no_ask], [0.3, 0.31, 0.69, 0.7])
  book.replace([], [level('0.31', '4.5')])
  const oneSided = JSON.parse(encodeSnapshot(feed, composeYesNo(500, state)).text)
  assert.deepEqual([oneSided.yes_bid, oneSided.no_ask, oneSided.no_bid], [null, null, 0.69])
})
