import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSymbolMap } from '../adapter/symbol-map.ts'
import { binanceFuturesDescription } from './describe.ts'
import { createFuturesReader } from './mapper.ts'

const reader = createFuturesReader(createSymbolMap(binanceFuturesDescription.symbols))
const read = (value: unknown) => reader.read(JSON.stringify(value), 1_800_000_000_000)
const order = {
  s: 'BTCUSDT',
  S: 'SELL',
  o: 'LIMIT',
  f: 'IOC',
  q: '0.9',
  p: '100.5',
  ap: '101',
  X: 'FILLED',
  l: '0.1',
  z: '0.8',
  T: 1791391082119,
}
const liquidation = (change: object = {}, outer: object = {}) =>
  read({
    stream: 'btcusdt@forceOrder',
    data: { e: 'forceOrder', E: 1791391083124, ...outer, o: { ...order, st: 1, ...change } },
  })

test('a liquidation names the closed side, what was filled, and that it is a sample', () => {
  const outcome = liquidation()
  assert.deepEqual(outcome, {
    kind: 'data',
    items: [
      {
        channel: 'liquidations:BTC',
        observation: {
          kind: 'liquidation',
          source: 'cexa_futures',
          symbol: 'BTC',
          instrument: 'BTCUSDT',
          receivedMs: 1_800_000_000_000,
          venueTimeMs: 1791391082119,
          key: '1791391082119:SELL:100.5:0.9:101',
          positionSide: 'long',
          price: '100.5',
          averagePrice: '101',
          quantity: '0.8',
          sampled: true,
        },
      },
    ],
  })
  const bought = liquidation({ S: 'BUY' })
  assert.ok(bought.kind === 'data' && bought.items[0]?.observation.kind === 'liquidation')
  assert.equal(bought.items[0].observation.positionSide, 'short')
})

test('liquidations of coin-margined contracts, of other symbols, and unfilled ones stay out', () => {
  assert.deepEqual(liquidation({ st: 2 }), { kind: 'ignored', reason: 'not a USD-margined contract' })
  assert.deepEqual(liquidation({ st: undefined }, { st: 2 }), {
    kind: 'ignored',
    reason: 'not a USD-margined contract',
  })
  assert.deepEqual(liquidation({ s: 'BTCUSD_PERP' }), { kind: 'ignored', reason: 'symbol not recorded' })
  assert.deepEqual(liquidation({ z: '0.000' }), { kind: 'ignored', reason: 'nothing was filled' })
  assert.equal(liquidation({}, { E: Date.parse('2026-06-29T23:59:59Z') }).kind, 'data')
  assert.equal(
    liquidation({ st: 2 }, { E: Date.parse('2026-06-29T23:59:59Z') }).kind,
    'data',
    'before the merger the mark meant nothing',
  )
})

test('what is unknown, mis-shaped or an error is refused with its reason, never thrown', () => {
  const cases: [unknown, string][] = [
    [{ e: 'newKind', s: 'BTCUSDT' }, 'unknown_kind'],
    [{ e: 'aggTrade', s: 'BTCUSDT', a: '1' }, 'wrong_shape'],
    [{ e: 'kline', E: 1, s: 'BTCUSDT', k: null }, 'wrong_shape'],
    [{ e: 'forceOrder', o: {} }, 'wrong_shape'],
    [{ code: 2, msg: 'Invalid request: unknown property' }, 'venue_error'],
    [{ error: { code: 1, msg: 'x' }, id: 4 }, 'venue_error'],
    [{ hello: 1 }, 'unknown_kind'],
    [[], 'malformed'],
    [null, 'malformed'],
    ['text', 'malformed'],
  ]
  for (const [value, reason] of cases)
    assert.deepEqual(read(value), { kind: 'refused', reason }, JSON.stringify(value))
  assert.deepEqual(reader.read('{"e":', 1), { kind: 'refused', reason: 'malformed' })
  const unnamed = { E: 1, o: order }
  for (const data of [null, [{ e: 'forceOrder', ...unnamed }], {}, unnamed, { e: 5 }]) {
    const outcome = read({ stream: 'btcusdt@forceOrder', data })
    assert.deepEqual(outcome, { kind: 'refused', reason: 'wrong_shape' }, 'it may have carried data')
  }
  const named = read({ stream: 'btcusdt@forceOrder', data: { e: 'newKind' } })
  assert.deepEqual(named, { kind: 'refused', reason: 'unknown_kind' })
  assert.equal(read({ e: 'serverShutdown', E: 1 }).kind, 'leaving')
  assert.equal(read({ result: null, id: 1 }).kind, 'ignored')
})
