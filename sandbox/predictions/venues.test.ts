/**
 * The venues over real sockets: books match their diffs and hashes; sequences, signatures, the life of a market, the
 * oracle.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import {
  getJson,
  openKalshi,
  openMarkets,
  rpc,
  signedHeaders,
  steerableClock,
} from '../../test/sandbox/client.ts'
import { encodeAggregate3ForTest, wordsOf } from '../../test/sandbox/encode-calls.ts'
import { type Json, openSocket } from '../../test/sandbox/open-socket.ts'
import { startTestPredictions, type TestPredictions } from '../../test/sandbox/start.ts'

type Level = { price: string; size: string }
interface Book {
  bids: Map<string, string>
  asks: Map<string, string>
}

/** Everything that the hash covers, in the venue's order. */
function hashOf(
  book: Book,
  about: { market: string; asset: string; timestamp: string; tick: string; last: string },
): string {
  const side = (levels: Map<string, string>, sign: number): Level[] =>
    [...levels]
      .map(([price, size]) => ({ price, size }))
      .sort((a, b) => sign * (Number(a.price) - Number(b.price)))
  const text = JSON.stringify({
    market: about.market,
    asset_id: about.asset,
    timestamp: about.timestamp,
    hash: '',
    bids: side(book.bids, 1),
    asks: side(book.asks, -1),
    min_order_size: '5',
    tick_size: about.tick,
    neg_risk: false,
    last_trade_price: about.last,
  })
  return createHash('sha1').update(text).digest('hex')
}

describe('prediction venues', () => {
  let sandbox: TestPredictions
  const clock = steerableClock(Date.UTC(2026, 10, 15, 13, 57, 0))
  before(async () => {
    sandbox = await startTestPredictions({
      seed: 21,
      clock,
      budgetScale: 20,
      signatureToleranceMs: 600_000,
    })
  })
  after(() => sandbox.close())

  test('a book built from the stream equals every hash, every best price, every full book and the REST answer', async () => {
    const [market] = await openMarkets(sandbox, 'btc-up-or-down-15m')
    assert.ok(market)
    const client = await openSocket(sandbox.polymarket.wsUrl)
    client.send({
      type: 'market',
      assets_ids: market.tokens,
      custom_feature_enabled: true,
      initial_dump: true,
      level: 2,
    })
    await client.waitFor((frame) => frame.event_type === 'book')
    await clock.run(40_000)
    const rest = await getJson<Json>(`${sandbox.polymarket.clobUrl}/book?token_id=${market.tokens[0]}`)
    await client.waitFor((frame) => Number(frame.timestamp) > Number(rest.timestamp))
    client.close()

    const books = new Map<string, Book>()
    const ticks = new Map<string, string>()
    const lasts = new Map<string, string>()
    let changes = 0
    let matchedRest = 0
    for (const frame of client.frames()) {
      if (frame.event_type === 'book') {
        const asset = frame.asset_id as string
        const toMap = (levels: unknown) =>
          new Map((levels as Level[]).map((level) => [level.price, level.size]))
        const book = { bids: toMap(frame.bids), asks: toMap(frame.asks) }
        const known = books.get(asset)
        if (known !== undefined && ticks.get(asset) === frame.tick_size)
          assert.deepEqual([sorted(known.bids), sorted(known.asks)], [sorted(book.bids), sorted(book.asks)])
        books.set(asset, book)
        ticks.set(asset, frame.tick_size as string)
        lasts.set(asset, frame.last_trade_price as string)
        assert.equal(frame.hash, hashOf(book, aboutOf(frame, asset)))
      }
      if (frame.event_type === 'last_trade_price')
        lasts.set(frame.asset_id as string, Number(frame.price).toFixed(3))
      if (frame.event_type !== 'price_change') continue
      for (const change of frame.price_changes as Json[]) {
        const book = books.get(change.asset_id as string)
        assert.ok(book)
        const side = change.side === 'BUY' ? book.bids : book.asks
        if (change.size === '0') side.delete(change.price as string)
        else side.set(change.price as string, change.size as string)
        assert.equal(Math.max(0, ...[...book.bids.keys()].map(Number)), Number(change.best_bid))
        assert.equal(Math.min(1, ...[...book.asks.keys()].map(Number)), Number(change.best_ask))
        assert.equal(change.hash, hashOf(book, aboutOf(frame, change.asset_id as string)))
        changes++
        if (change.hash === rest.hash) matchedRest++
      }
    }
    function aboutOf(frame: Json, asset: string) {
      return {
        market: frame.market as string,
        asset,
        timestamp: frame.timestamp as string,
        tick: ticks.get(asset) ?? '',
        last: lasts.get(asset) ?? '',
      }
    }
    function sorted(levels: Map<string, string>) {
      return [...levels].sort()
    }
    assert.ok(changes > 300, `${changes} changes`)
    assert.equal(matchedRest, 1, 'the REST book is one of the states of the stream')
    const [up, down] = market.tokens.map((token) => books.get(token))
    assert.deepEqual(
      [...(up?.bids ?? [])].map(([price, size]) => [(1 - Number(price)).toFixed(3), size]).sort(),
      [...(down?.asks ?? [])].map(([price, size]) => [Number(price).toFixed(3), size]).sort(),
    )
  })

  test('a window ends, trades on, settles, is announced, and moves to the closed list with its winner and its trades', async () => {
    const [market] = await openMarkets(sandbox, 'eth-up-or-down-5m')
    assert.ok(market)
    const client = await openSocket(sandbox.polymarket.wsUrl)
    client.send({ type: 'market', assets_ids: market.tokens, custom_feature_enabled: true })
    await client.waitFor((frame) => frame.event_type === 'book')
    await clock.runUntil(Date.parse(market.endDate) + 75_000, 10_000)
    const resolved = await client.waitFor((frame) => frame.event_type === 'market_resolved')
    const [truth] = sandbox.truth
      .markets('polymarket', Date.parse(market.endDate), Date.parse(market.endDate) + 1)
      .filter((one) => one.name === market.slug)
    assert.ok(truth)
    assert.equal(resolved.winning_outcome, truth.winner)
    assert.equal(resolved.winning_asset_id, market.tokens[truth.winner === 'Up' ? 0 : 1])
    const open = await getJson<Json[]>(`${sandbox.polymarket.gammaUrl}/markets?slug=${market.slug}`)
    const [closed] = await getJson<Json[]>(
      `${sandbox.polymarket.gammaUrl}/markets?slug=${market.slug}&closed=true`,
    )
    assert.equal(open.length, 0)
    assert.equal(closed?.outcomePrices, truth.winner === 'Up' ? '["1", "0"]' : '["0", "1"]')
    const clob = await getJson<{ tokens: Json[] }>(
      `${sandbox.polymarket.clobUrl}/markets/${market.conditionId}`,
    )
    assert.equal(clob.tokens.find((token) => token.winner)?.outcome, truth.winner)
    client.close()

    const rows: Json[] = []
    let cursor = ''
    do {
      const page: { data: Json[]; pagination: { has_more: boolean; next_cursor: string | null } } =
        await getJson(
          `${sandbox.polymarket.dataUrl}/v2/trades?condition=${market.conditionId}&limit=40${cursor}`,
        )
      rows.push(...page.data)
      cursor = page.pagination.has_more ? `&cursor=${page.pagination.next_cursor}` : ''
    } while (cursor !== '')
    const lastS = rows[0]?.timestamp as number
    const trades = sandbox.truth.trades(market.slug, 0, (lastS + 1) * 1_000)
    assert.deepEqual(
      rows
        .map(
          (row) =>
            `${row.transaction_hash} ${row.token_id} ${row.price} ${row.size} ${String(row.side).toLowerCase()}`,
        )
        .sort(),
      trades
        ?.map((trade) => `${trade.id} ${trade.instrument} ${trade.price} ${trade.size} ${trade.side}`)
        .sort(),
    )
    const streamed = client.frames().filter((frame) => frame.event_type === 'last_trade_price')
    const firstMs = Number(client.frames().find((frame) => frame.event_type === 'book')?.timestamp)
    const lastMs = Number(resolved.timestamp)
    assert.ok(streamed.length > 0)
    assert.deepEqual(
      streamed.filter((frame) => Number(frame.timestamp) < lastMs).map((frame) => frame.transaction_hash),
      sandbox.truth.trades(market.slug, firstMs + 1, lastMs)?.map((trade) => trade.id),
    )
  })

  test('five-minute windows are listed by series only; an unknown token has no book', async () => {
    const { gammaUrl, clobUrl } = sandbox.polymarket
    const all = await getJson<{ slug: string }[]>(`${gammaUrl}/markets?limit=500`)
    assert.ok(all.length > 300)
    assert.ok(!all.some(({ slug }) => slug.includes('-5m-')))
    const five = await openMarkets(sandbox, 'xrp-up-or-down-5m')
    assert.ok(five.length > 200, `${five.length} listed ahead`)
    const missing = await fetch(`${clobUrl}/book?token_id=${'7'.repeat(77)}`)
    assert.deepEqual(
      [missing.status, await missing.json()],
      [404, { error: 'No orderbook exists for the requested token id' }],
    )
  })

  test('the socket of the other venue opens with a good signature only', async () => {
    const { keyId, privateKey = '', wsUrl } = sandbox.kalshi
    const good = (at = clock.now()) => signedHeaders({ keyId, privateKey }, 'GET', '/trade-api/ws/v2', at)
    await assert.rejects(openSocket(wsUrl), /401/)
    await assert.rejects(
      openSocket(wsUrl, { headers: { ...good(), 'KALSHI-ACCESS-KEY': 'somebody' } }),
      /401/,
    )
    await assert.rejects(openSocket(wsUrl, { headers: good(clock.now() - 3_600_000) }), /401/)
    await assert.rejects(
      openSocket(wsUrl, { headers: { ...good(), 'KALSHI-ACCESS-TIMESTAMP': String(clock.now() + 7) } }),
      /401/,
    )
    await assert.rejects(
      openSocket(wsUrl, {
        headers: signedHeaders({ keyId, privateKey }, 'GET', '/trade-api/ws/v2?x=1', clock.now()),
      }),
      /401/,
    )
    ;(await openSocket(wsUrl, { headers: good() })).close()
  })

  test('one sequence over all markets of a subscription; snapshot plus signed changes is the next snapshot', async () => {
    const { markets } = await getJson<{ markets: Json[] }>(
      `${sandbox.kalshi.restUrl}/markets?series_ticker=KXETHD&status=open&limit=1000`,
    )
    const quarter = await getJson<{ markets: Json[] }>(
      `${sandbox.kalshi.restUrl}/markets?series_ticker=KXETH15M&status=open`,
    )
    assert.ok(markets.length >= 40)
    const tickers = [...quarter.markets, ...markets.slice(10, 30)].map((market) => market.ticker as string)
    const client = await openKalshi(sandbox, clock.now())
    client.send({
      id: 1,
      cmd: 'subscribe',
      params: {
        channels: ['orderbook_delta', 'trade', 'nonsense'],
        market_tickers: tickers,
        use_yes_price: false,
      },
    })
    await client.waitFor((frame) => frame.type === 'orderbook_snapshot')
    await clock.run(20_000)
    client.send({
      id: 2,
      cmd: 'update_subscription',
      params: { sids: [1], market_tickers: [tickers[0]], action: 'get_snapshot' },
    })
    const second = await client.waitFor(
      (frame) => frame.type === 'orderbook_snapshot' && Number(frame.seq) > tickers.length,
    )
    client.close()

    let seq = 0
    const books = new Map<string, Map<string, number>>()
    for (const frame of client.frames()) {
      if (frame.type === 'error') assert.deepEqual(frame.msg, { code: 8, msg: 'Unknown channel name' })
      if (frame.sid !== 1 || frame.seq === undefined) continue
      assert.equal(frame.seq, ++seq)
      const msg = frame.msg as Json
      const ticker = msg.market_ticker as string
      if (frame.type === 'orderbook_snapshot') {
        const book = new Map<string, number>()
        for (const side of ['yes', 'no'])
          for (const [price, size] of (msg[`${side}_dollars_fp`] ?? []) as string[][])
            book.set(`${side} ${price}`, Number(size))
        if (frame === second) assert.deepEqual([...(books.get(ticker) ?? [])].sort(), [...book].sort())
        books.set(ticker, book)
        if (frame === second) break
      } else {
        const book = books.get(ticker)
        assert.ok(book)
        const key = `${msg.side} ${msg.price_dollars}`
        const size = Math.round(((book.get(key) ?? 0) + Number(msg.delta_fp)) * 100) / 100
        assert.ok(size >= 0)
        if (size === 0) book.delete(key)
        else book.set(key, size)
      }
    }
    assert.ok(seq > 200, `${seq} numbered frames`)
  })

  test('strike markets settle by the mean of the last minute; candles equal the trades', async () => {
    const nowMs = clock.now()
    const { markets } = await getJson<{ markets: Json[] }>(
      `${sandbox.kalshi.restUrl}/markets?series_ticker=KXBTCD&status=settled&min_close_ts=${Math.floor(nowMs / 1_000) - 7_300}&limit=1000`,
    )
    assert.ok(markets.length >= 40)
    for (const market of markets) {
      const value = Number(market.expiration_value)
      assert.equal(market.result, value > Number(market.floor_strike) ? 'yes' : 'no')
      assert.equal(market.status, 'finalized')
    }
    const busiest = markets.toSorted((a, b) => Number(b.volume_fp) - Number(a.volume_fp))[0]
    assert.ok(busiest)
    const [start, end] = [busiest.open_time, busiest.close_time].map(
      (time) => Date.parse(time as string) / 1_000,
    )
    const { candlesticks } = await getJson<{ candlesticks: Json[] }>(
      `${sandbox.kalshi.restUrl}/series/KXBTCD/markets/${busiest.ticker}/candlesticks?start_ts=${start}&end_ts=${end}&period_interval=1`,
    )
    assert.ok(candlesticks.length >= 60)
    const volume = candlesticks.reduce((sum, candle) => sum + Number(candle.volume_fp), 0)
    assert.ok(Math.abs(volume - Number(busiest.volume_fp)) < 0.01, `${volume} ${busiest.volume_fp}`)
    const { trades } = await getJson<{ trades: Json[] }>(
      `${sandbox.kalshi.restUrl}/markets/trades?ticker=${busiest.ticker}&limit=1000`,
    )
    assert.ok(Math.abs(trades.reduce((sum, trade) => sum + Number(trade.count_fp), 0) - volume) < 0.01)
  })

  test('the oracle: proxy, aggregator, bundled calls and logs have the same rounds', async () => {
    const url = sandbox.ethereum.urls[0] as string
    const proxy = sandbox.ethereum.proxies.BTC as string
    const call = async (to: string, data: string) =>
      (await rpc(url, 'eth_call', [{ to, data }, 'latest'])).result as string
    const latest = wordsOf(await call(proxy, '0xfeaf968c'))
    const [id = 0n, answer = 0n, , updatedAt = 0n] = latest
    const [truth] = sandbox.truth
      .rounds('BTC', Number(updatedAt) * 1_000, Number(updatedAt) * 1_000 + 1)
      .slice(-1)
    assert.equal(String(answer), truth?.answer)
    assert.equal(id >> 64n, wordsOf(await call(proxy, '0x58303b10'))[0])
    assert.deepEqual(wordsOf(await call(proxy, `0x9a6fc8f5${id.toString(16).padStart(64, '0')}`)), latest)
    assert.equal(wordsOf(await call(proxy, '0x313ce567'))[0], 8n)
    const aggregator = `0x${(await call(proxy, '0x245a7bfc')).slice(26)}`
    const head = Number(((await rpc(url, 'eth_getBlockByNumber', ['latest', false])).result as Json).number)
    const filter = {
      address: aggregator,
      fromBlock: `0x${(head - 1_000).toString(16)}`,
      toBlock: 'latest',
      topics: ['0x0559884fd3a460db3073b7fc896cc77986f16e378210ded43186175bf646fc5f'],
    }
    const logs = (await rpc(url, 'eth_getLogs', [filter])).result as {
      topics: string[]
      data: string
      blockNumber: string
    }[]
    assert.ok(logs.length > 50)
    const last = logs.find((log) => BigInt(log.topics[2] ?? 0) === (id & 0xffffffffffffffffn))
    assert.equal(BigInt(last?.topics[1] ?? 0), answer)
    const block = (await rpc(url, 'eth_getBlockByNumber', [last?.blockNumber, false])).result as Json
    assert.equal(BigInt(block.timestamp as string), updatedAt)
    const missing = await rpc(url, 'eth_call', [
      { to: proxy, data: `0x9a6fc8f5${(id + 1_000n).toString(16).padStart(64, '0')}` },
      'latest',
    ])
    assert.match((missing.error as Json).message as string, /No data present/)
    const wide = await rpc(url, 'eth_getLogs', [{ ...filter, fromBlock: `0x${(head - 9_000).toString(16)}` }])
    assert.match((wide.error as Json).message as string, /range is too large/)
    const bundle = await call(
      '0xcA11bde05977b3631167028862bE2a173976CA11',
      encodeAggregate3ForTest([
        [proxy, '0xfeaf968c'],
        [proxy, '0xdeadbeef'],
        [aggregator, '0x668a0f02'],
      ]),
    )
    assert.ok(bundle.includes(id.toString(16).padStart(64, '0')))
  })
})
