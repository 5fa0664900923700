import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildContractCandles } from './contract-candles.ts'
import { buildMarketCandles } from './market-candles.ts'
import { buildOracleCandles, isOracleCandleFinal, mayFollow } from './oracle-candles.ts'

const T = Date.UTC(2026, 6, 24)
const MIN = 60_000

test('trades make the candle, midpoints only where there are none, and a candle with neither is left out', () => {
  const candles = buildMarketCandles({
    interval: '5m',
    volume: 'money',
    trades: [
      { timeMs: T + 20_000, price: '0.52', size: '10' },
      { timeMs: T + 10_000, price: '0.5', size: '2.5' },
      { timeMs: T + 20_000, price: '0.51', size: '1' },
    ],
    mids: [
      { timeMs: T + 1_000, price: '0.9' },
      { timeMs: T + 10 * MIN, price: '0.445' },
      { timeMs: T + 11 * MIN, price: '0.225' },
    ],
  })
  assert.deepEqual(candles, [
    {
      openTimeMs: T,
      open: '0.5',
      high: '0.52',
      low: '0.5',
      close: '0.51',
      volume: '6.96',
      basis: 'trade',
      samples: 3,
    },
    {
      openTimeMs: T + 10 * MIN,
      open: '0.445',
      high: '0.445',
      low: '0.225',
      close: '0.225',
      volume: '0',
      basis: 'mid',
      samples: 2,
    },
  ])
})

test('a block trade counts as volume but not as a price', () => {
  const [candle] = buildMarketCandles({
    interval: '5m',
    volume: 'pieces',
    trades: [
      { timeMs: T, price: '0.4', size: '10' },
      { timeMs: T + 1, price: '0.9', size: '1000', isBlock: true },
    ],
    mids: [],
  })
  assert.deepEqual([candle?.high, candle?.volume, candle?.samples], ['0.4', '1010', 1])
})

test('a UTC candle of a contract comes from its traded minutes, else from quotes, else there is none', () => {
  const quote = (minute: number, yesBid: string | null, yesAsk: string | null) => ({
    openTimeMs: T + minute * MIN,
    price: null,
    yesBid,
    yesAsk,
    volume: '0',
  })
  const traded = { open: '0.4', high: '0.6', low: '0.3', close: '0.5' }
  const candles = buildContractCandles({
    interval: '5m',
    finer: [
      quote(0, '0.10', '0.20'),
      { ...quote(1, '0.1', '0.2'), price: traded, volume: '7.5' },
      quote(5, '0.0000', '0.20'),
      quote(6, '0.10', '0.20'),
      quote(7, '0.20', '0.30'),
      quote(10, '0.0000', '1.0000'),
      quote(11, null, null),
    ],
  })
  assert.deepEqual(
    candles.map((candle) => [
      candle.openTimeMs - T,
      candle.open,
      candle.high,
      candle.low,
      candle.close,
      candle.volume,
      candle.basis,
    ]),
    [
      [0, '0.4', '0.6', '0.3', '0.5', '7.5', 'trade'],
      [5 * MIN, '0.15', '0.25', '0.15', '0.25', '0', 'mid'],
    ],
  )
})

const update = (seconds: number, round: bigint, price: string) => ({
  updatedMs: T + seconds * 1_000,
  roundId: round,
  price,
})

test('oracle candles carry a fresh answer, leave a gap for a stale one, and start with the first update', () => {
  const updates = [update(310, 2n, '11'), update(310, 1n, '10'), update(1_000, 3n, '12')]
  const build = (heartbeatMs: number) =>
    buildOracleCandles({ interval: '5m', updates, fromMs: T, toMs: T + 30 * MIN, heartbeatMs }).map(
      (candle) => [(candle.openTimeMs - T) / MIN, candle.open, candle.close, candle.updates],
    )
  assert.deepEqual(build(200_000), [
    [5, '10', '11', 2],
    [10, '11', '11', 0],
    [15, '12', '12', 1],
    [20, '12', '12', 0],
  ])
  assert.deepEqual(build(27_000), [
    [5, '10', '11', 2],
    [15, '12', '12', 1],
  ])
})

test('a 15m oracle candle opens with its first real update, not with a carried 5m candle', () => {
  const updates = [update(-60, 1n, '10'), update(700, 2n, '12')]
  const options = { updates, fromMs: T, toMs: T + 15 * MIN, heartbeatMs: 3_600_000 }
  assert.equal(buildOracleCandles({ ...options, interval: '5m' })[0]?.open, '10')
  assert.equal(buildOracleCandles({ ...options, interval: '15m' })[0]?.open, '12')
  const inForce = buildOracleCandles({ ...options, interval: '15m', openRule: 'in_force' })[0]
  assert.deepEqual([inForce?.open, inForce?.low, inForce?.close], ['10', '10', '12'])
})

test('an oracle candle is final after a later update or two heartbeats; answers never go backwards', () => {
  const about = { endMs: T, heartbeatMs: 27_000 }
  assert.equal(isOracleCandleFinal({ ...about, knownToMs: T + 1, newestUpdateMs: T - 1 }), false)
  assert.equal(isOracleCandleFinal({ ...about, knownToMs: T + 1, newestUpdateMs: T }), true)
  assert.equal(isOracleCandleFinal({ ...about, knownToMs: T + 54_001, newestUpdateMs: null }), true)
  const last = update(10, 5n, '10')
  assert.equal(mayFollow(last, update(10, 6n, '11')), true)
  assert.equal(mayFollow(last, update(9, 6n, '11')), false)
  assert.equal(mayFollow(last, update(11, 5n, '11')), false)
  assert.equal(mayFollow(last, update(11, 6n, '0')), false)
})
