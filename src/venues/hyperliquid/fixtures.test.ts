import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  fixtureFiles,
  fixtureJson,
  type RecordedFrame,
  recordedFrames,
  withoutFixtures,
} from '../../../test/venues/fixtures.ts'
import { anyInstrument, countBy, type Listed, outcomesOf } from '../../../test/venues/read-frame.ts'
import { schemaCoverage } from '../../../test/venues/schema-coverage.ts'
import { createSymbolMap } from '../adapter/symbol-map.ts'
import { hyperliquidDescription } from './describe.ts'
import { createHyperliquidReader } from './feed.ts'
import { mapBook, mapCandle, mapFunding } from './mapper.ts'
import * as WIRE from './wire.ts'

const VENUE = 'hyperliquid'
const skip = withoutFixtures(VENUE)
const STREAM_FILES = [
  'btc-raw-l2book-trades-20250126.jsonl',
  'live-frames-2026-09.jsonl',
  'tardis-messages-2024-2025.jsonl',
]
const FRAME_FILES = ['nautilus/ws_all_dexs_asset_ctxs.json', 'nautilus/ws_allmids.json']
const ANSWER_FILES = [
  'live-rest-2026-09.json',
  'sdk-allMids.json',
  'sdk-candleSnapshot.json',
  'sdk-fundingHistory-btc-1038rows-2023.json',
  'sdk-fundingHistory-window.json',
  'sdk-l2Book.json',
  'sdk-meta.json',
]

/** Frames that do not become an observation, and why. */
const LISTED: Listed[] = [
  {
    holds: '"method":"subscribe","subscription":{"type":"l2Book"',
    outcome: 'accepted',
    why: 'an acceptance',
  },
  { holds: '"method":"unsubscribe"', outcome: 'ignored', why: 'we never unsubscribe' },
  { holds: '"channel":"pong"', outcome: 'pong', why: 'the answer to our ping' },
  { holds: 'Already subscribed', outcome: 'ignored', why: 'harmless' },
  {
    holds: 'Error parsing JSON',
    outcome: 'refused',
    why: 'the venue’s own error message is kept as a dead letter',
  },
  { holds: '"channel":"post"', outcome: 'ignored', why: 'we post nothing' },
  { holds: '"channel":"activeSpotAssetCtx"', outcome: 'ignored', why: 'spot' },
  { holds: '"channel":"allDexsAssetCtxs"', outcome: 'ignored', why: 'not asked for' },
  { holds: '"channel":"allMids"', outcome: 'ignored', why: 'not asked for' },
  { holds: '"channel":"bbo"', outcome: 'ignored', why: 'no plan records it' },
]

function frames(): RecordedFrame[] {
  const single = FRAME_FILES.map((file) => ({ at: file, msg: fixtureJson(VENUE, file) }))
  return [...STREAM_FILES.flatMap((file) => recordedFrames(VENUE, file)), ...single]
}
const about = { source: 'perpdex', symbol: 'BTC', instrument: 'BTC', receivedMs: 1 } as const
const live = () => fixtureJson(VENUE, 'live-rest-2026-09.json') as Record<string, unknown>
const recordedAnswer = (file: string) => (fixtureJson(VENUE, file) as { response: unknown }).response

test('every recorded file is known to these tests', { skip }, () => {
  assert.deepEqual(fixtureFiles(VENUE), [...STREAM_FILES, ...FRAME_FILES, ...ANSWER_FILES].sort())
})

test('every recorded frame becomes observations, or is listed with the reason', { skip }, () => {
  const { observations, unexpected, unused, listedFrames } = outcomesOf(
    createHyperliquidReader(anyInstrument),
    frames(),
    LISTED,
  )
  assert.deepEqual(unexpected, [])
  assert.deepEqual(unused, [])
  const channels = countBy(frames(), ({ msg }) => (msg as { channel: string }).channel)
  const trades = frames().flatMap(({ msg }) => {
    const { channel, data } = msg as { channel: string; data: unknown }
    return channel === 'trades' ? (data as unknown[]) : []
  })
  assert.deepEqual([channels.l2Book, channels.trades, trades.length], [50, 15, 73])
  assert.deepEqual(
    countBy(observations, ({ kind }) => kind),
    {
      exchange_book: channels.l2Book,
      trade: trades.length,
      candle: channels.candle,
      open_interest: channels.activeAssetCtx,
    },
  )
  const read = ['l2Book', 'trades', 'candle', 'activeAssetCtx'].map((name) => channels[name] ?? 0)
  const listed = Object.values(listedFrames)
  assert.equal(
    [...read, ...listed].reduce((sum, count) => sum + count),
    frames().length,
  )
})

test('foreign coins are ignored, not refused', { skip }, () => {
  const reader = createHyperliquidReader(createSymbolMap(hyperliquidDescription.symbols))
  for (const frame of recordedFrames(VENUE, 'tardis-messages-2024-2025.jsonl')) {
    const text = JSON.stringify(frame.msg)
    const isOurs = text.includes('"coin":"BTC"') && !text.includes('"channel":"bbo"')
    assert.equal(reader.read(JSON.stringify(frame.msg), 1).kind, isOurs ? 'data' : 'ignored', frame.at)
  }
})

test('a context gives open interest with its exact value', { skip }, () => {
  const reader = createHyperliquidReader(createSymbolMap(hyperliquidDescription.symbols))
  const frame = frames().find((each) => JSON.stringify(each.msg).includes('"openInterest":"36585.31848"'))
  const receivedMs = Date.parse('2026-09-24T03:20:00.000Z')
  const outcome = reader.read(JSON.stringify(frame?.msg), receivedMs)
  assert.ok(outcome.kind === 'data')
  const [openInterest] = outcome.items.map((item) => item.observation)
  assert.ok(openInterest?.kind === 'open_interest')
  assert.equal(openInterest.valueUsd, '3078581379.45504')
})

test('every recorded answer becomes observations, or is listed with the reason', { skip }, () => {
  const answers = live()
  assert.deepEqual(Object.keys(answers).sort(), [
    'candleSnapshot_btc_1d_earliest',
    'candleSnapshot_btc_1h_2026-09-25',
    'exchangeStatus_2026-09-24',
    'fundingHistory_btc_2026-09-25',
    'l2Book_btc_top5_2026-09-25',
    'metaAndAssetCtxs_btc_ctx_2026-09-27',
    'meta_first_six_2026-09-25',
    // Never used, because its next funding time is the hour that was just settled.
    'predictedFundings_btc_entry_2026-09-27',
  ])
  assert.ok(WIRE.Meta.is(answers['meta_first_six_2026-09-25']))
  assert.ok(WIRE.Meta.is(recordedAnswer('sdk-meta.json')))
  assert.ok(WIRE.ExchangeStatus.is(answers['exchangeStatus_2026-09-24']))
  assert.ok(WIRE.CandleRows.is([answers.candleSnapshot_btc_1d_earliest]))
  assert.ok(WIRE.Context.is({ coin: 'BTC', ctx: answers['metaAndAssetCtxs_btc_ctx_2026-09-27'] }))
  const candles = answers['candleSnapshot_btc_1h_2026-09-25']
  assert.ok(WIRE.CandleRows.is(candles))
  const mapped = candles.map((row) => mapCandle(row, '1h', 1790360000000, about))
  assert.deepEqual(
    mapped.map((candle) => candle.closed),
    [true, true, true, true, false],
  )
  assert.ok(WIRE.CandleRows.is(recordedAnswer('sdk-candleSnapshot.json')))
  for (const book of [answers['l2Book_btc_top5_2026-09-25'], recordedAnswer('sdk-l2Book.json')]) {
    assert.ok(WIRE.BookMessage.is(book))
    const { bids, asks } = mapBook(book, about)
    assert.ok(Number(bids[0]?.[0]) < Number(asks[0]?.[0]))
  }
  assert.ok(WIRE.FundingRows.is(answers['fundingHistory_btc_2026-09-25']))
  assert.ok(WIRE.FundingRows.is(recordedAnswer('sdk-fundingHistory-window.json')))
})

test('the next funding time follows the change from eight hours to one on its date', { skip }, () => {
  const rows = recordedAnswer('sdk-fundingHistory-btc-1038rows-2023.json')
  assert.ok(WIRE.FundingRows.is(rows))
  const settled = rows.map((row) => mapFunding(row, about))
  const broken = settled.filter((row, index) => {
    const next = settled[index + 1]
    return next !== undefined && next.fundingTimeMs !== row.nextFundingTimeMs
  })
  assert.equal(settled.length, 1_038)
  assert.equal(broken.length, 1, 'only the missing hour breaks the chain')
})

const WRITTEN: unknown[] = [
  { channel: 'l2Book', data: { coin: 'BTC', time: 1, levels: [[], []], fast: true } },
  {
    channel: 'subscriptionResponse',
    data: { method: 'subscribe', subscription: { type: 'candle', coin: 'BTC', interval: '1m' } },
  },
  { channel: 'subscriptionResponse', data: { method: 'subscribe', subscription: { type: 'allMids' } } },
]

test('every branch of the wire types was taken', { skip }, () => {
  const answers = Object.values(live()).flatMap((value) => [value, [value]])
  const sdk = ANSWER_FILES.filter((file) => file.startsWith('sdk')).map(recordedAnswer)
  const coverages = Object.entries(WIRE).map(([name, type]) => ({ name, type, ...schemaCoverage(type) }))
  const feed = (values: unknown[]) => {
    for (const value of values) {
      const inner = WIRE.Message.is(value) ? value.data : []
      const parts = [value, inner, ...(Array.isArray(inner) ? inner : [])]
      for (const part of parts) for (const each of coverages) if (each.type.is(part)) each.see(part)
    }
  }
  const unseen = () =>
    coverages.flatMap((each) => each.unseen().map((branch) => `${each.name}${branch}`)).sort()
  feed([...frames().map((frame) => frame.msg), ...answers, ...sdk])
  assert.deepEqual(unseen(), [
    'BookMessage.fast present',
    'SubscriptionMessage.subscription.coin absent',
    'SubscriptionMessage.subscription.interval present',
  ])
  feed(WRITTEN)
  assert.deepEqual(unseen(), [])
})
