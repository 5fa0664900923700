import assert from 'node:assert/strict'
import { test } from 'node:test'
import { absent, recordedFiles, recordedJson, recordedRows } from '../../../test/predictions/recordings.ts'
import { decimal, decimalText, round } from '../../core/decimal.ts'
import {
  answerText,
  buildOracleCandles,
  type OpenRule,
  type OracleUpdate,
} from '../../core/oracle-candles.ts'
import { createReferenceReader } from '../polymarket/reference-feed.ts'
import { type Call, decodeMulticall, decodeRound, encodeMulticall, phaseOf, roundOf, word } from './abi.ts'

const VENUE = 'chainlink'
const skip = absent(VENUE)
const ROUNDS = 'eth_mainnet_BTCUSD_rounds_phase6_2023-04_2024-01.csv'
const TICKS = 'rtds_chainlink_BTCUSD_ticks_2026-07-24_first24000.csv'

interface ExpectedCandle {
  timestamp: string
  updates: number
  first_update_rule: Record<'open' | 'high' | 'low' | 'close', string>
  in_force_rule: Record<'open' | 'high' | 'low' | 'close', string>
}
const expectedCandles = (name: string) =>
  recordedJson<Record<string, ExpectedCandle[]>>(VENUE, 'expected_candles.json')[name] ?? []

/** Every row is decoded like an answer from the chain. */
function roundsOfFile() {
  return recordedRows(VENUE, ROUNDS).map((row) => {
    const words = [row.round, row.answer, row.start, row.update, row.answeredInRound]
    return decodeRound(`0x${words.map((text) => word(BigInt(text ?? 0))).join('')}`)
  })
}

function compare(name: string, interval: '5m' | '15m', updates: readonly OracleUpdate[], decimals = 8): void {
  const candles = expectedCandles(name)
  assert.ok(candles.length > 0, name)
  for (const expected of candles) {
    const fromMs = Date.parse(expected.timestamp)
    for (const openRule of ['first_update', 'in_force'] satisfies OpenRule[]) {
      const near = updates.filter(({ updatedMs }) => Math.abs(updatedMs - fromMs) < 6 * 3_600_000)
      const [candle] = buildOracleCandles({
        interval,
        updates: near,
        fromMs,
        toMs: fromMs + 1,
        heartbeatMs: 3_600_000,
        openRule,
      })
      const rounded = (text: string | undefined) => decimalText(round(decimal(text ?? '-1'), decimals))
      const ohlc = expected[`${openRule}_rule`]
      assert.deepEqual(
        {
          open: rounded(candle?.open),
          high: rounded(candle?.high),
          low: rounded(candle?.low),
          close: rounded(candle?.close),
          updates: candle?.updates,
        },
        { open: ohlc.open, high: ohlc.high, low: ohlc.low, close: ohlc.close, updates: expected.updates },
        `${name} ${expected.timestamp} ${openRule}`,
      )
    }
  }
}

test('every recorded file is known to these tests', { skip }, () => {
  assert.deepEqual(recordedFiles(VENUE), [
    'eth_call_latestRoundData_words_2026-07-27.json',
    'eth_call_multicall3_latestRoundData_2026-07-27.json',
    ROUNDS,
    'expected_candles.json',
    TICKS,
  ])
})

test('recorded calls: phase 7, ETH 1960.18439998, BTC 65056.63924328, and XRP as a call that failed', {
  skip,
}, () => {
  const { calls, response } = recordedJson<{
    calls: { target: string; callData: string }[]
    response: { result: string }
  }>(VENUE, 'eth_call_multicall3_latestRoundData_2026-07-27.json')
  const [eth, btc, xrp] = decodeMulticall(response.result) ?? []
  assert.equal(xrp, null)
  const rounds = [eth, btc].map((hex) => decodeRound(hex ?? ''))
  assert.deepEqual(
    rounds.map((each) => [
      each?.roundId,
      each && answerText(each.answer, 8),
      each?.updatedAt,
      each && phaseOf(each.roundId),
      each && roundOf(each.roundId),
    ]),
    [
      [129127208515966893249n, '1960.18439998', 1785142847, 7n, 31937n],
      [129127208515966884147n, '65056.63924328', 1785142847, 7n, 22835n],
    ],
  )
  const words = recordedJson<Record<string, { result: string }>>(
    VENUE,
    'eth_call_latestRoundData_words_2026-07-27.json',
  )
  assert.equal(words['ETH/USD']?.result, eth)
  assert.equal(words['BTC/USD']?.result, btc)
  const encoded = encodeMulticall(calls.map(({ target, callData }): Call => ({ target, data: callData })))
  assert.ok(encoded.startsWith('0x82ad56cb'))
  assert.equal((encoded.length - 10) % 64, 0)
})

test('10,691 recorded rounds: the zero row is dropped, seven pairs share their time, candles under both rules', {
  skip,
}, () => {
  const rounds = roundsOfFile()
  assert.equal(rounds.length, 10_692)
  const good = rounds.filter((each) => each !== undefined)
  assert.equal(good.length, 10_691)
  assert.ok(good.every(({ roundId }) => phaseOf(roundId) === 6n))
  const pairs = good.filter((each, index) => each.updatedAt === good[index + 1]?.updatedAt)
  assert.equal(pairs.length, 7)
  const updates = good.map(({ roundId, answer, updatedAt }) => ({
    roundId,
    updatedMs: updatedAt * 1_000,
    price: answerText(answer, 8),
  }))
  compare('eth_mainnet_BTCUSD_5m', '5m', updates)
  compare('eth_mainnet_BTCUSD_15m', '15m', updates)
  compare('eth_mainnet_BTCUSD_5m_busiest_hour', '5m', updates)
})

test('24,000 recorded stream ticks: no second twice, candles to the last digit', { skip }, () => {
  const rows = recordedRows(VENUE, TICKS)
  const reader = createReferenceReader()
  const updates = rows.flatMap((row, index): OracleUpdate[] => {
    const frame = {
      topic: 'crypto_prices_chainlink',
      type: 'update',
      timestamp: Number(row.server_ts_ms),
      payload: {
        symbol: 'btc/usd',
        timestamp: Number(row.feed_ts_ms),
        value: Number(row.value),
        full_accuracy_value: row.full_accuracy_value,
      },
    }
    const outcome = reader.read(JSON.stringify(frame), Number(row.recv_ms))
    if (outcome.kind !== 'data') return []
    return outcome.items.flatMap(({ observation }) =>
      observation.kind === 'reference_price'
        ? [{ updatedMs: observation.venueTimeMs, roundId: BigInt(index), price: observation.price }]
        : [],
    )
  })
  assert.equal(updates.length, 24_000)
  compare('rtds_BTCUSD_5m', '5m', updates)
  compare('rtds_BTCUSD_15m', '15m', updates)
  const fromMs = Date.UTC(2026, 6, 24)
  const candles = (['5m', '15m'] as const).map(
    (interval) =>
      buildOracleCandles({
        interval,
        updates: updates.slice(0, 2_000),
        fromMs,
        toMs: fromMs + 1,
        heartbeatMs: 1_000,
      })[0],
  )
  assert.deepEqual(
    candles.map((candle) => candle?.updates),
    [284, 852],
  )
})
