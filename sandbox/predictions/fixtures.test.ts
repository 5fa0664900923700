/** Every recorded frame and answer has a counterpart of the same shape in the sandbox; exceptions state the reason. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { getJson, openKalshi, openMarkets, rpc, steerableClock } from '../../test/sandbox/client.ts'
import { encodeAggregate3ForTest } from '../../test/sandbox/encode-calls.ts'
import { type Json, openSocket } from '../../test/sandbox/open-socket.ts'
import { type ShapeRules, shapeDifferences } from '../../test/sandbox/shape.ts'
import { startTestPredictions, type TestPredictions } from '../../test/sandbox/start.ts'

const FIXTURES = process.env.TAPELINE_FIXTURES ?? join(import.meta.dirname, '../../../shared/fixtures')
const isAbsent = !existsSync(join(FIXTURES, 'polymarket'))

const text = (file: string) => readFileSync(join(FIXTURES, file), 'utf8')
const json = <T = Json>(file: string): T => JSON.parse(text(file)) as T
const lines = (file: string): Json[] =>
  text(file)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Json)

/** Also absent in some of the recorded rows, because there was nothing to report. */
const SOMETIMES_ABSENT = [
  'bestBid',
  'lastTradePrice',
  'oneHourPriceChange',
  'oneDayPriceChange',
  'competitive',
  'volume',
  'volumeNum',
  'volumeClob',
  'liquidity',
  'liquidityNum',
  'liquidityAmm',
  'liquidityClob',
  ...['24hr', '1wk', '1mo', '1yr'].flatMap((span) => [`volume${span}`, `volume${span}Clob`]),
]
const RESOLVED_MARKET: ShapeRules = { mayAdd: [...SOMETIMES_ABSENT, 'events'], mayLack: SOMETIMES_ABSENT } // the client cut `events`
const OLD_MARKET: ShapeRules = {
  mayAdd: ['feeSchedule', 'comboStatus', 'cryptoMarketConfig', ...SOMETIMES_ABSENT],
  mayLack: SOMETIMES_ABSENT,
} // keys since 2026-03
const OLD_BOOK: ShapeRules = {
  mayAdd: ['event_type', 'hash', 'tick_size', 'last_trade_price', 'min_order_size', 'neg_risk'],
} // 2024 key set, or an example cut short
const OLD_TRADE: ShapeRules = { mayAdd: ['transaction_hash'] } // absent in old recordings
const EXAMPLE_CUT: ShapeRules = {
  mayAdd: [
    'event_message',
    'tags',
    'sports_market_type',
    'line',
    'game_start_time',
    'group_item_title',
    'fees_enabled',
    'question',
    'slug',
    'outcomes',
  ],
} // the documents differ in length
const CLOB_MARKET: ShapeRules = { mayAdd: ['is_50_50_outcome', 'rewards'], mayLack: ['rewards'] } // 2024 lacks the first; reward programmes differ per market
/** Integer cents and counts, removed on 2026-03-12. */
const LEGACY = [
  'last_price',
  'liquidity',
  'no_ask',
  'no_bid',
  'notional_value',
  'open_interest',
  'previous_price',
  'previous_yes_ask',
  'previous_yes_bid',
  'tick_size',
  'volume',
  'volume_24h',
  'yes_ask',
  'yes_bid',
  'count',
  'price',
  'no_price',
  'yes_price',
]
const COMBO = ['custom_strike', 'mve_collection_ticker', 'mve_selected_legs', 'early_close_condition'] // combos and early closers are not simulated
const ADDED = [
  'volume_fp',
  'volume_24h_fp',
  'open_interest_fp',
  'yes_bid_size_fp',
  'yes_ask_size_fp',
  'exchange_index',
  'updated_time',
  'strike_type',
  'floor_strike',
  'cap_strike',
  'strike_date',
  'count_fp',
  'is_block_trade',
  'taker_outcome_side',
  'taker_book_side',
  'milestones',
]
const GOLDEN: ShapeRules = { mayLack: [...LEGACY, ...COMBO], mayAdd: ADDED }

function assertShape(
  expected: unknown,
  candidates: readonly unknown[],
  rules: ShapeRules,
  about: string,
): void {
  const attempts = candidates
    .map((candidate) => shapeDifferences(expected, candidate, rules))
    .sort((a, b) => a.length - b.length)
  assert.deepEqual(
    attempts[0] ?? ['no counterpart'],
    [],
    `${about}: ${JSON.stringify(expected).slice(0, 300)}`,
  )
}
/** For projections: the author kept only some keys, and those must be present. */
function assertWithin(expected: unknown, candidate: unknown, about: string): void {
  const found = shapeDifferences(expected, candidate).filter((line) => !line.endsWith('not expected'))
  assert.deepEqual(found, [], about)
}

describe('shapes of the fixtures', { skip: isAbsent ? 'no fixtures here' : false }, () => {
  let sandbox: TestPredictions
  let frames: Json[] = []
  let prices: Json[] = []
  let kalshi: Json[] = []
  let tokens: string[] = []
  let conditionId = ''
  const clock = steerableClock(Date.UTC(2026, 10, 15, 13, 58, 40))

  before(async () => {
    sandbox = await startTestPredictions({
      seed: 2,
      clock,
      budgetScale: 50,
      signatureToleranceMs: 600_000,
    })
    const markets = (await openMarkets(sandbox, 'btc-up-or-down-5m')).slice(0, 1)
    tokens = markets.flatMap((market) => market.tokens)
    conditionId = markets[0]?.conditionId ?? ''
    const stream = await openSocket(sandbox.polymarket.wsUrl)
    stream.send({ type: 'market', assets_ids: tokens, custom_feature_enabled: true })
    const feed = await openSocket(sandbox.polymarket.rtdsUrl)
    feed.send({
      action: 'subscribe',
      subscriptions: [
        { topic: 'crypto_prices_twap_sixty', type: '*', filters: '' },
        { topic: 'crypto_prices', type: 'update', filters: 'btcusdt' },
        { topic: 'crypto_prices_chainlink', type: '*', filters: '' },
      ],
    })
    const other = await openKalshi(sandbox, clock.now())
    const list = (query: string) => getJson<{ markets: Json[] }>(`${sandbox.kalshi.restUrl}/markets?${query}`)
    const open = (await list('series_ticker=KXBTC&status=open')).markets.map((market) => market.ticker)
    const quarter = (await list('series_ticker=KXBTC15M&status=open')).markets.map((market) => market.ticker)
    const unopened = (await list('series_ticker=KXBTCD&status=unopened')).markets.map(
      (market) => market.ticker,
    )
    other.send({
      id: 1,
      cmd: 'subscribe',
      params: {
        channels: ['orderbook_delta', 'trade', 'ticker', 'what'],
        market_tickers: [...quarter, ...open, unopened[0]],
        use_yes_price: false,
        send_initial_snapshot: true,
      },
    })
    other.send({
      id: 2,
      cmd: 'update_subscription',
      params: { sids: [1], market_tickers: [unopened[1]], action: 'add_markets' },
    })
    other.send({ id: 4, cmd: 'unsubscribe', params: { sids: [2] } })
    other.send({
      id: 6,
      cmd: 'subscribe',
      params: { channels: ['trade'], market_tickers: ['INVALID-MARKET'] },
    })
    other.send({ id: 7, cmd: 'subscribe' })
    other.send({ id: 9, cmd: 'subscribe', params: { channels: ['trade'], market_tickers: quarter } })
    await other.waitFor((frame) => frame.type === 'orderbook_snapshot')
    await stream.waitFor((frame) => frame.event_type === 'book')
    await clock.run(200_000, 5_000)
    const isEvent = (type: string) => (frame: Json) => frame.event_type === type
    await Promise.all([
      stream.waitFor(isEvent('market_resolved'), 12_000),
      stream.waitFor(isEvent('new_market'), 12_000),
      stream.waitFor(isEvent('tick_size_change'), 12_000),
      stream.waitFor(isEvent('last_trade_price'), 12_000),
      stream.waitFor(isEvent('best_bid_ask'), 12_000),
      feed.waitFor((frame) => frame.topic === 'crypto_prices' && frame.type === 'update'),
      other.waitFor((frame) => frame.type === 'trade', 12_000),
    ])
    frames = stream.frames()
    prices = feed.frames()
    kalshi = other.frames()
    for (const client of [stream, feed, other]) client.close()
  })
  after(() => sandbox.close())

  const ofType = (type: string) => frames.filter((frame) => frame.event_type === type)
  const polymarket = (file: string) => json<Json>(`polymarket/${file}`)

  test('catalogue: 292 resolved markets, an open market, an event', async () => {
    const closed = await getJson<{ markets: Json[] }[]>(
      `${sandbox.polymarket.gammaUrl}/events?series_slug=btc-up-or-down-5m&closed=true&limit=20`,
    )
    const ours = closed.flatMap((event) => event.markets)
    for (const line of lines('polymarket/gamma_markets_btc-updown-5m_2026-07-24.jsonl'))
      assertShape(line.raw, ours, RESOLVED_MARKET, 'market')
    assert.ok(ours.some((market) => 'bestBid' in market) && ours.some((market) => !('bestBid' in market)))
    assert.ok(ours.some((market) => 'liquidity' in market) && ours.some((market) => !('liquidity' in market)))
    const [event] = await getJson<Json[]>(
      `${sandbox.polymarket.gammaUrl}/events?series_slug=btc-up-or-down-5m&limit=1&order=endDate&ascending=true`,
    )
    const open = await getJson<Json[]>(`${sandbox.polymarket.gammaUrl}/markets?slug=${event?.slug}`)
    assertShape(polymarket('nautilus_rust/gamma_market.json'), open, OLD_MARKET, 'open market')
    assertWithin(polymarket('gamma_event_btc-updown-5m-1778584200.json'), event, 'event')
  })

  test('books, markets and trades over REST', async () => {
    // The running market of the stream may have ended by now.
    const [market] = await openMarkets(sandbox, 'btc-up-or-down-15m')
    const book = await getJson(`${sandbox.polymarket.clobUrl}/book?token_id=${market?.tokens[0]}`)
    assertShape(polymarket('clob_rest_book_btc-updown-5m-1778584200_up.json'), [book], {}, 'book')
    for (const file of ['nautilus_http/book.json', 'nautilus_rust/clob_book_response.json'])
      assertShape(polymarket(file), [book], OLD_BOOK, file)
    const clob = [await getJson(`${sandbox.polymarket.clobUrl}/markets/${conditionId}`)]
    assertShape(
      polymarket('nautilus_rust/clob_market_closed_binary_accepting_true.json'),
      clob,
      CLOB_MARKET,
      'market',
    )
    const accepting: ShapeRules = {
      mayAdd: [...(CLOB_MARKET.mayAdd ?? [])],
      mayLack: ['rewards', 'accepting_order_timestamp', 'game_start_time'],
    }
    const {
      accepting_order_timestamp: _a,
      game_start_time: _g,
      rewards: _r,
      ...known
    } = polymarket('nautilus_http/market.json') // null or without rates in the recording
    assertShape(
      known,
      clob.map(({ accepting_order_timestamp: _x, game_start_time: _y, ...rest }) => rest),
      accepting,
      '2024 market',
    )
    const v1 = await getJson<Json[]>(`${sandbox.polymarket.dataUrl}/trades?market=${market?.conditionId}`)
    for (const trade of json<Json[]>('polymarket/nautilus_http/trades.json'))
      assertShape(trade, v1, {}, 'trade')
    for (const trade of json<Json[]>('polymarket/nautilus_rust/data_api_trades_response.json'))
      assertWithin(trade, v1[0], 'trade')
  })

  test('market stream: every documented and recorded event type', () => {
    const documented = polymarket('documented_shapes_clob_market_events.json') as Record<string, Json>
    const rules: Record<string, ShapeRules> = {
      book: OLD_BOOK,
      last_trade_price: OLD_TRADE,
      new_market: EXAMPLE_CUT,
      market_resolved: EXAMPLE_CUT,
    }
    const files = [
      'best_bid_ask',
      'book',
      'last_trade',
      'new_market',
      'price_change',
      'resolved',
      'tick_size',
    ].map((name) => `nautilus_rust/ws_market_${name}_msg.json`)
    const recorded: Json[] = [
      ...Object.entries(documented)
        .filter(([name]) => name !== 'unknown')
        .map(([, frame]) => frame), // an invented type
      ...files.map(polymarket),
      ...['last_trade_price', 'tick_size_change', 'price_change_v2'].map((name) =>
        polymarket(`nautilus_ws/${name}.json`),
      ), // price_change.json: schema until 2025-09-15
      ...[polymarket('nautilus_ws/book.json')].flat(),
    ]
    assert.ok(recorded.length >= 18)
    for (const frame of recorded) {
      const type = frame.event_type as string
      assertShape(frame, ofType(type), rules[type] ?? {}, type)
    }
  })

  test('reference prices: recorded frames, missing seconds and lag', () => {
    // PolyBolt (polybolt_frames) is not simulated.
    for (const frame of lines('polymarket/rtds_frames.jsonl'))
      assertShape(
        frame,
        prices.filter((one) => one.topic === frame.topic),
        {},
        'twap',
      )
    for (const name of ['subscribe', 'update'])
      assertShape(
        polymarket(`nautilus_rust/rtds_crypto_prices_${name}.json`),
        prices.filter((one) => one.topic === 'crypto_prices' && one.type === name),
        {},
        name,
      )
    const ticks = prices.filter(
      (one) => one.topic === 'crypto_prices_chainlink' && (one.payload as Json).symbol === 'btc/usd',
    )
    const [, first = ''] = text('chainlink/rtds_chainlink_BTCUSD_ticks_2026-07-24_first24000.csv').split('\n')
    assert.match(first.split(',')[2] ?? '', /^\d{23}$/)
    assert.ok(ticks.length > 10)
    for (const tick of ticks) {
      const payload = tick.payload as Json
      assert.match(payload.full_accuracy_value as string, /^\d{23}$/)
      assert.equal(
        BigInt(payload.full_accuracy_value as string) / 10n ** 10n,
        BigInt(Math.round(Number(payload.value) * 1e8)),
      )
      const lag = Number(tick.timestamp) - Number(payload.timestamp)
      assert.ok(lag > 1_000 && lag < 2_000, `${lag}`)
    }
  })

  test('other venue, stream: recorded, demo and documented frames', () => {
    const recorded = [
      ...lines('kalshi/ws_frames_KXBTC_2026-04-18.jsonl').map(
        (line) => JSON.parse(line.raw as string) as Json,
      ),
      ...lines('kalshi/ws_frames_demo_2026-08-27.jsonl'),
      ...lines('kalshi/ws_documented_examples_2026-08.jsonl').map((line) => line.payload as Json),
    ]
    const simulated = [
      'subscribed',
      'unsubscribed',
      'ok',
      'error',
      'orderbook_snapshot',
      'orderbook_delta',
      'ticker',
      'trade',
    ]
    const rules: Record<string, ShapeRules> = {
      ticker: { mayAdd: ['dollar_volume', 'dollar_open_interest', 'time'] }, // absent in real demo frames
      // The documented example is older and lacks the number that recorded frames have (ws_trades_2026-02-12.jsonl).
      trade: { mayAdd: ['taker_outcome_side', 'taker_book_side', 'seq'] },
      orderbook_snapshot: { mayAdd: ['yes_dollars_fp', 'no_dollars_fp'] }, // absent for an empty side
      orderbook_delta: { mayAdd: ['ts_ms'] }, // not yet present in April 2026
    }
    let compared = 0
    for (const frame of recorded) {
      // Channels that no client subscribes to, and the list of subscriptions, are not simulated.
      if (!simulated.includes(frame.type as string)) continue
      if (frame.type === 'ok' && Array.isArray(frame.msg)) continue
      if ((frame.msg as Json | undefined)?.msg === 'Already subscribed') continue
      assertShape(
        frame,
        kalshi.filter((one) => one.type === frame.type),
        rules[frame.type as string] ?? {},
        frame.type as string,
      )
      compared++
    }
    assert.ok(compared > 70, `${compared}`)
    assert.ok(
      kalshi.some(
        (frame) => frame.type === 'orderbook_snapshot' && !('yes_dollars_fp' in (frame.msg as Json)),
      ),
      'an empty market',
    )
  })

  test('other venue, REST: the golden answers without the removed integer fields', async () => {
    const base = sandbox.kalshi.restUrl
    const golden = (name: string) =>
      json<{ response: Json }>(`kalshi/golden_2026-01/${name}_response.json`).response
    const { markets } = await getJson<{ markets: Json[] }>(
      `${base}/markets?series_ticker=KXBTC&status=open&limit=1000`,
    )
    const market = markets.toSorted((a, b) => Number(b.volume_fp) - Number(a.volume_fp))[0]
    const dailyOnly = {
      start_ts: '0',
      end_ts: String(Math.floor(clock.now() / 1_000)),
      period_interval: '60',
    }
    const range = new URLSearchParams({
      ...dailyOnly,
      start_ts: String(Math.floor(clock.now() / 1_000) - 86_400),
    })
    const paths: Record<string, string> = {
      exchange_status: '/exchange/status',
      markets_list: '/markets?series_ticker=KXBTC&status=open&limit=5',
      trades_list: `/markets/trades?ticker=${market?.ticker}&limit=5`,
    }
    for (const [name, path] of Object.entries(paths))
      assertShape(golden(name), [await getJson(base + path)], GOLDEN, name)
    // Null book sides became empty lists under the new name.
    const book = await getJson<{ orderbook_fp: Json }>(`${base}/markets/${market?.ticker}/orderbook`)
    assert.deepEqual(
      Object.keys(book.orderbook_fp).sort(),
      Object.keys(golden('orderbook').orderbook as Json)
        .filter((key) => key.endsWith('_dollars'))
        .sort(),
    )
    // Dollar fields of candles keep their names, counts gained `_fp`, and min and max are gone.
    const single = await getJson<{ candlesticks: Json[] }>(
      `${base}/series/KXBTC/markets/${market?.ticker}/candlesticks?${range}`,
    )
    const names = (candle: Json) =>
      [...Object.keys(candle.yes_bid as Json), ...Object.keys(candle.price as Json)].filter((key) =>
        key.endsWith('_dollars'),
      )
    const [ours] = single.candlesticks
    assert.ok(ours)
    for (const recorded of golden('series_candlesticks').candlesticks as Json[]) {
      const missing: string[] = names(recorded).filter(
        (name) => !names(ours).includes(name) && !/^(min|max)/.test(name),
      )
      assert.deepEqual(missing, [])
    }
    assert.deepEqual(
      ['volume_fp', 'open_interest_fp', 'end_period_ts'].filter((key) => !(key in ours)),
      [],
    )
  })

  test('oracle: the bundled call answers word for word in the recorded layout', async () => {
    const fixture = json<{ calls: { callData: string }[]; response: { result: string } }>(
      'chainlink/eth_call_multicall3_latestRoundData_2026-07-27.json',
    )
    const { BTC = '', ETH = '' } = sandbox.ethereum.proxies
    // The third call of the recording goes to a feed that was delisted, so it reverts without a reason.
    const latest = fixture.calls[0]?.callData ?? ''
    const data = encodeAggregate3ForTest([
      [BTC, latest],
      [ETH, latest],
      [BTC, '0xdeadbeef'],
    ])
    const url = sandbox.ethereum.urls[0] as string
    const reply = await rpc(url, 'eth_call', [
      { to: '0xcA11bde05977b3631167028862bE2a173976CA11', data },
      'latest',
    ])
    assertShape(fixture.response, [reply], {}, 'reply')
    const split = (hex: string) => hex.slice(2).match(/.{64}/g) ?? []
    const [theirs, ours] = [split(fixture.response.result), split(reply.result as string)]
    assert.equal(ours.length, theirs.length)
    // Everything except the ten words of the two rounds is layout and must be identical.
    const isValue = (i: number) => (i >= 8 && i <= 12) || (i >= 16 && i <= 20)
    for (const [i, word] of theirs.entries()) if (!isValue(i)) assert.equal(ours[i], word, `word ${i}`)
    const single = json<Record<string, Json>>('chainlink/eth_call_latestRoundData_words_2026-07-27.json')[
      'ETH/USD'
    ] as Json
    const direct = await rpc(url, 'eth_call', [
      { to: sandbox.ethereum.proxies.ETH, data: '0xfeaf968c' },
      'latest',
    ])
    assertShape(single, [direct], {}, 'round')
    assert.equal((direct.result as string).length, (single.result as string).length)
  })
})
