/** Each fault switch is visible over real sockets, ends when it should, and does not change the truth. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { getJson, openKalshi, openMarkets, rpc, steerableClock } from '../../test/sandbox/client.ts'
import { wordsOf } from '../../test/sandbox/encode-calls.ts'
import { type Json, openSocket, type TestSocket } from '../../test/sandbox/open-socket.ts'
import { startTestPredictions, type TestPredictions } from '../../test/sandbox/start.ts'
import { until } from '../../test/until.ts'
import { type FaultSpec, PREDICTION_FAULTS, parseFault } from '../server/faults.ts'
import { PREDICTION_VENUES } from './venue.ts'

describe('fault switches', () => {
  let sandbox: TestPredictions
  const clock = steerableClock(Date.UTC(2026, 10, 15, 14, 1, 40))
  before(async () => {
    sandbox = await startTestPredictions({
      seed: 5,
      clock,
      budgetScale: 20,
      signatureToleranceMs: 600_000,
    })
  })
  after(() => sandbox.close())

  async function withFault<T>(spec: FaultSpec, run: () => Promise<T>): Promise<T> {
    const response = await fetch(`${sandbox.controlUrl}/faults`, {
      method: 'POST',
      body: JSON.stringify(spec),
    })
    assert.equal(response.status, 200)
    try {
      return await run()
    } finally {
      await fetch(`${sandbox.controlUrl}/faults`, { method: 'DELETE' })
    }
  }
  async function listen(
    series = 'btc-up-or-down-15m',
  ): Promise<{ client: TestSocket; tokens: string[]; conditionId: string }> {
    const [market] = await openMarkets(sandbox, series)
    assert.ok(market)
    const client = await openSocket(sandbox.polymarket.wsUrl)
    client.send({ type: 'market', assets_ids: market.tokens, custom_feature_enabled: true })
    await client.waitFor((frame) => frame.event_type === 'price_change')
    return { client, ...market }
  }
  async function listenKalshi(): Promise<{ client: TestSocket; ticker: string }> {
    const { markets } = await getJson<{ markets: Json[] }>(
      `${sandbox.kalshi.restUrl}/markets?series_ticker=KXBTC15M&status=open`,
    )
    const ticker = markets[0]?.ticker as string
    const client = await openKalshi(sandbox, clock.now())
    client.send({
      id: 1,
      cmd: 'subscribe',
      params: { channels: ['orderbook_delta'], market_tickers: [ticker], use_yes_price: false },
    })
    await client.waitFor((frame) => frame.type === 'orderbook_delta')
    return { client, ticker }
  }
  /** How many frames of its markets arrive in a while, not counting those already on their way. */
  async function countFrames(client: TestSocket): Promise<number> {
    await clock.arrived()
    const start = client.texts.length
    await clock.run(3_000, 1_000)
    // Markets of other symbols are announced to every client.
    return client.texts.slice(start).filter((text) => !text.includes('"new_market"')).length
  }

  test('drop cuts the sockets and keeps new ones out for its duration', async () => {
    const { client } = await listen()
    const closed = new Promise((resolve) => client.socket.on('close', resolve))
    await withFault({ kind: 'drop', venue: 'polymarket', durationMs: 600_000 }, async () => {
      await closed
      await assert.rejects(openSocket(sandbox.polymarket.wsUrl))
    })
    ;(await openSocket(sandbox.polymarket.wsUrl)).close()
  })

  test('mute, hang and frozen-book stop the data; only hang stops the pongs; the frozen book lives on over REST', async () => {
    const { client, tokens } = await listen()
    const pongs = () => client.texts.filter((text) => text === 'PONG').length
    for (const kind of ['mute', 'frozen-book', 'hang'] as const) {
      await withFault({ kind, venue: 'polymarket', symbol: 'BTC' }, async () => {
        if (kind === 'hang') return
        assert.equal(await countFrames(client), 0, kind)
        const before = pongs()
        client.send('PING')
        await until('a pong', () => pongs() > before)
        assert.equal(pongs(), before + 1, kind)
      })
      assert.ok((await countFrames(client)) > 0, `after ${kind}`)
    }
    await withFault({ kind: 'frozen-book', venue: 'polymarket', symbol: 'BTC' }, async () => {
      const hash = async () =>
        (await getJson<Json>(`${sandbox.polymarket.clobUrl}/book?token_id=${tokens[0]}`)).hash
      const first = await hash()
      clock.skip(1_000)
      assert.notEqual(await hash(), first)
    })
    await withFault({ kind: 'hang', venue: 'polymarket' }, async () => {
      assert.equal(await countFrames(client), 0)
      const before = pongs()
      client.send('PING')
      await wait(100)
      assert.equal(pongs(), before)
    })
    client.close()
  })

  test('reorder, duplicate and malformed change the frames, not the market', async () => {
    const { client } = await listen()
    const times = () =>
      client
        .frames()
        .flatMap((frame) => (frame.event_type === 'price_change' ? [Number(frame.timestamp)] : []))
    await withFault({ kind: 'reorder', venue: 'polymarket' }, () => clock.run(6_000, 1_000))
    assert.ok(times().some((time, i) => time < (times()[i - 1] ?? 0)))
    await withFault({ kind: 'duplicate', venue: 'polymarket' }, () => clock.run(6_000, 1_000))
    const changes = client.texts.filter((text) => text.includes('"price_change"'))
    assert.ok(new Set(changes).size < changes.length)
    const before = client.texts.length
    await withFault({ kind: 'malformed', venue: 'polymarket', count: 3 }, () => clock.run(6_000, 1_000))
    const broken = client.texts.slice(before).filter((text) => text.startsWith('{') && !text.endsWith('}'))
    assert.equal(broken.length, 3)
    client.close()
  })

  test('REST: 429, errors, hang, reset and broken bodies, each of one service only', async () => {
    const book = (withinMs = 60_000) =>
      fetch(`${sandbox.polymarket.gammaUrl}/events?series_slug=btc-up-or-down-5m&limit=1`, {
        signal: AbortSignal.timeout(withinMs),
      })
    await withFault(
      { kind: 'rate-limit', venue: 'polymarket', channel: 'gamma', retryAfterS: 7 },
      async () => {
        const response = await book()
        assert.deepEqual([response.status, response.headers.get('retry-after')], [429, '7'])
        assert.equal((await fetch(`${sandbox.polymarket.dataUrl}/v2/trades`)).status, 200)
      },
    )
    await withFault({ kind: 'rate-limit', venue: 'kalshi' }, async () => {
      const response = await fetch(`${sandbox.kalshi.restUrl}/exchange/status`)
      assert.deepEqual(
        [response.status, await response.json(), response.headers.get('retry-after')],
        [429, { error: 'too many requests' }, null],
      )
    })
    await withFault({ kind: 'http-error', venue: 'polymarket', channel: 'gamma', status: 502 }, async () =>
      assert.equal((await book()).status, 502),
    )
    await withFault({ kind: 'hang', venue: 'polymarket', channel: 'rest' }, () =>
      assert.rejects(book(1_000), /timeout/i),
    )
    await withFault({ kind: 'drop', venue: 'polymarket', channel: 'rest' }, () => assert.rejects(book()))
    await withFault({ kind: 'malformed', venue: 'polymarket', channel: 'rest' }, async () =>
      assert.rejects((await book()).json()),
    )
    assert.equal((await book()).status, 200)
  })

  test('crossed-book puts a bid on the ask, on both venues, and the next full book is clean', async () => {
    const { client, tokens } = await listen()
    await withFault({ kind: 'crossed-book', venue: 'polymarket', symbol: 'BTC' }, () =>
      client.waitFor((frame) =>
        ((frame.price_changes ?? []) as Json[]).some((change) => change.best_bid === change.best_ask),
      ),
    )
    const rest = await getJson<{ bids: Json[]; asks: Json[] }>(
      `${sandbox.polymarket.clobUrl}/book?token_id=${tokens[0]}`,
    )
    assert.ok(Number(rest.bids.at(-1)?.price ?? 0) < Number(rest.asks.at(-1)?.price ?? 1))
    client.close()
    const kalshi = await listenKalshi()
    await withFault({ kind: 'crossed-book', venue: 'kalshi' }, () =>
      kalshi.client.waitFor((frame) => (frame.msg as Json).delta_fp === '77.00'),
    )
    kalshi.client.close()
  })

  test('sequence-gap loses exactly as many numbers as asked for', async () => {
    const { client } = await listenKalshi()
    await withFault({ kind: 'sequence-gap', venue: 'kalshi', count: 2 }, () => clock.run(6_000, 1_000))
    const numbers = client.frames().flatMap((frame) => (typeof frame.seq === 'number' ? [frame.seq] : []))
    assert.equal((numbers.at(-1) ?? 0) - numbers.length, 2)
    client.close()
  })

  test('wrong-shape takes a field from a numbered change; rejected-key keeps sockets out', async () => {
    const { client } = await listenKalshi()
    const misshapen = (frame: Json) => frame.type === 'orderbook_delta' && 'price' in (frame.msg as Json)
    await withFault({ kind: 'wrong-shape', venue: 'kalshi' }, () => client.waitFor(misshapen))
    await withFault({ kind: 'rejected-key', venue: 'kalshi' }, async () => {
      await assert.rejects(openKalshi(sandbox, clock.now()), /401/)
    })
    client.close()
  })

  test('a frozen book of the other venue catches up when it thaws, without a gap in the sequence', async () => {
    const { client, ticker } = await listenKalshi()
    await withFault({ kind: 'frozen-book', venue: 'kalshi', symbol: 'BTC' }, async () => {
      assert.equal(await countFrames(client), 0)
    })
    assert.ok((await countFrames(client)) > 0)
    client.send({
      id: 2,
      cmd: 'update_subscription',
      params: { sids: [1], market_tickers: [ticker], action: 'get_snapshot' },
    })
    const last = await client.waitFor((frame) => frame.type === 'orderbook_snapshot' && Number(frame.seq) > 1)
    const book = new Map<string, number>()
    let seq = 0
    for (const frame of client.frames().filter((one) => one.seq !== undefined)) {
      assert.equal(frame.seq, ++seq)
      const msg = frame.msg as Json
      if (frame === last) break
      if (frame.type === 'orderbook_snapshot')
        for (const side of ['yes', 'no'])
          for (const [price, size] of (msg[`${side}_dollars_fp`] ?? []) as string[][])
            book.set(`${side} ${price}`, Number(size))
      else {
        const key = `${msg.side} ${msg.price_dollars}`
        const size = Math.round(((book.get(key) ?? 0) + Number(msg.delta_fp)) * 100) / 100
        if (size === 0) book.delete(key)
        else book.set(key, size)
      }
    }
    const msg = last.msg as Json
    const final = ['yes', 'no'].flatMap((side) =>
      ((msg[`${side}_dollars_fp`] ?? []) as string[][]).map(([price, size]) => [
        `${side} ${price}`,
        Number(size),
      ]),
    )
    assert.deepEqual([...book].sort(), final.sort())
    client.close()
  })

  test('lying-provider answers another price than the others; chain-halt stops blocks and leaves a gap in the rounds', async () => {
    const proxy = sandbox.ethereum.proxies.BTC as string
    const answer = async (provider: number) =>
      wordsOf(
        (
          await rpc(sandbox.ethereum.urls[provider] as string, 'eth_call', [
            { to: proxy, data: '0xfeaf968c' },
            'latest',
          ])
        ).result as string,
      )
    await withFault({ kind: 'lying-provider', venue: 'ethereum', provider: 1 }, async () => {
      const [honest, lying] = [await answer(0), await answer(1)]
      const ratio = Number(lying[1]) / Number(honest[1])
      assert.ok(ratio > 1.02 && ratio < 1.04, `${ratio}`)
    })
    const url = sandbox.ethereum.urls[0] as string
    const height = async () =>
      Number(((await rpc(url, 'eth_getBlockByNumber', ['latest', false])).result as Json).number)
    const haltedMs = clock.now()
    const [stuck] = await withFault({ kind: 'chain-halt', venue: 'ethereum' }, async () => {
      const first = await height()
      await clock.run(100_000, 50_000)
      assert.equal(await height(), first)
      return answer(0)
    })
    const resumedMs = clock.now()
    assert.ok((await height()) > 0)
    const lost = sandbox.truth.rounds('BTC', haltedMs + 3_000, resumedMs - 3_000)
    assert.ok(lost.length >= 1)
    for (const round of lost) {
      const data = `0x9a6fc8f5${BigInt(round.id).toString(16).padStart(64, '0')}`
      const reply = await rpc(url, 'eth_call', [{ to: proxy, data }, 'latest'])
      assert.match((reply.error as Json).message as string, /No data present/)
    }
    assert.ok(stuck !== undefined && stuck < BigInt(lost[0]?.id ?? 0))
  })

  test('late-resolution and lost-resolved: the settlement comes late, and never over the socket', async () => {
    const { client, conditionId } = await listen('xrp-up-or-down-5m')
    const nowMs = clock.now()
    const [next] = sandbox.truth
      .markets('polymarket', nowMs - 300_000, nowMs + 300_000)
      .filter((one) => one.conditionId === conditionId)
    assert.ok(next)
    sandbox.faults.set({ kind: 'lost-resolved', venue: 'polymarket' })
    sandbox.faults.set({ kind: 'late-resolution', venue: 'polymarket', symbol: 'XRP', delayMs: 40_000 })
    const isClosed = async () =>
      (
        await getJson<Json[]>(
          `${sandbox.polymarket.gammaUrl}/markets?condition_ids=${conditionId}&closed=true`,
        )
      ).length === 1
    await clock.runUntil(next.resolvedMs + 5_000, 20_000)
    assert.equal(await isClosed(), false)
    await clock.runUntil(next.resolvedMs + 45_000, 20_000)
    assert.equal(await isClosed(), true)
    sandbox.faults.clear()
    assert.equal(await isClosed(), true, 'what happened stays')
    assert.ok(!client.frames().some((frame) => frame.event_type === 'market_resolved'))
    client.close()
  })

  test('late, skip, unknown-message and zero-fill change the frames, not the market', async () => {
    const { client } = await listen()
    const isNovel = (frame: Json) => frame.event_type === 'market_novelty'
    await withFault({ kind: 'unknown-message', venue: 'polymarket', count: 2 }, () => clock.run(3_000, 1_000))
    assert.equal(client.frames().filter(isNovel).length, 2)
    const times = () =>
      client
        .frames()
        .flatMap((frame) => (frame.event_type === 'price_change' ? [Number(frame.timestamp)] : []))
    assert.deepEqual(
      times(),
      times().toSorted((a, b) => a - b),
    )
    await withFault({ kind: 'late', venue: 'polymarket', delayMs: 4_000 }, () => clock.run(2_000, 1_000))
    await clock.run(6_000, 1_000)
    assert.ok(times().some((time, i) => time < (times()[i - 1] ?? 0)))
    const trades = () => client.frames().filter((frame) => frame.event_type === 'last_trade_price')
    const isEmpty = (frame: Json) => Number(frame.size) === 0
    await withFault({ kind: 'zero-fill', venue: 'polymarket' }, () => clock.run(120_000, 1_000))
    assert.equal(trades().filter(isEmpty).length, 1)
    const after = trades()[trades().findIndex(isEmpty) + 1]
    assert.ok(after !== undefined && Number(after.size) > 0)
    assert.notEqual(after.transaction_hash, trades().find(isEmpty)?.transaction_hash)
    client.close()
    const kalshi = await openKalshi(sandbox, clock.now())
    const { markets } = await getJson<{ markets: Json[] }>(
      `${sandbox.kalshi.restUrl}/markets?series_ticker=KXBTC15M&status=open`,
    )
    const params = { channels: ['trade', 'orderbook_delta'], market_tickers: [markets[0]?.ticker] }
    kalshi.send({ id: 1, cmd: 'subscribe', params })
    await kalshi.waitFor((frame) => frame.type === 'orderbook_snapshot')
    await withFault({ kind: 'zero-fill', venue: 'kalshi' }, () => clock.run(120_000, 1_000))
    const counts = kalshi.frames().flatMap((frame) => (frame.type === 'trade' ? [frame.msg as Json] : []))
    assert.equal(counts.filter(({ count_fp }) => count_fp === '0.00').length, 1)
    assert.equal(new Set(counts.map(({ trade_id }) => trade_id)).size, counts.length)
    const numbers = () =>
      kalshi.frames().flatMap((frame) => (typeof frame.seq === 'number' ? [frame.seq] : []))
    const before = (numbers().at(-1) ?? 0) - numbers().length
    await withFault({ kind: 'skip', venue: 'kalshi', channel: 'orderbook_delta', count: 3 }, () =>
      clock.run(6_000, 1_000),
    )
    assert.equal((numbers().at(-1) ?? 0) - numbers().length - before, 3)
    kalshi.close()
  })

  test('maintenance closes sockets with 1001, refuses with 503 and says so where the venue has a status', async () => {
    const { client } = await listenKalshi()
    await withFault({ kind: 'maintenance', venue: 'kalshi' }, async () => {
      assert.equal(await client.closed, 1001)
      await assert.rejects(openKalshi(sandbox, clock.now()), /503/)
      assert.equal((await fetch(`${sandbox.kalshi.restUrl}/markets`)).status, 503)
      const status = await getJson<Json>(`${sandbox.kalshi.restUrl}/exchange/status`)
      assert.deepEqual([status.exchange_active, status.trading_active], [false, false])
    })
    const status = await getJson<Json>(`${sandbox.kalshi.restUrl}/exchange/status`)
    assert.deepEqual([status.exchange_active, status.trading_active], [true, true])
    await withFault({ kind: 'maintenance', venue: 'ethereum', provider: 1 }, async () => {
      const statuses = sandbox.ethereum.urls.map(async (url) => (await fetch(url, { method: 'POST' })).status)
      assert.deepEqual(await Promise.all(statuses), [200, 503, 200])
    })
  })

  test('stale answers are of some time ago; partial pages go on behind their last row', async () => {
    const [market] = await openMarkets(sandbox, 'btc-up-or-down-15m')
    const { markets } = await getJson<{ markets: Json[] }>(
      `${sandbox.kalshi.restUrl}/markets?series_ticker=KXBTC15M&status=open`,
    )
    const ticker = markets[0]?.ticker
    const bookTime = async () =>
      Number(
        (await getJson<Json>(`${sandbox.polymarket.clobUrl}/book?token_id=${market?.tokens[0]}`)).timestamp,
      )
    type Page = { cursor: string; trades: Json[] }
    const page = (cursor = '') =>
      getJson<Page>(`${sandbox.kalshi.restUrl}/markets/trades?ticker=${ticker}&limit=1000&cursor=${cursor}`)
    const newest = async () => Date.parse((await page()).trades[0]?.created_time as string)
    const height = async (provider: number) =>
      Number(
        (
          (await rpc(sandbox.ethereum.urls[provider] as string, 'eth_getBlockByNumber', ['latest', false]))
            .result as Json
        ).number,
      )
    assert.ok(clock.now() - (await bookTime()) < 20_000)
    await withFault({ kind: 'stale', venue: 'polymarket', delayMs: 30_000 }, async () => {
      assert.ok(clock.now() - (await bookTime()) >= 30_000)
    })
    const freshMs = await newest()
    await withFault({ kind: 'stale', venue: 'kalshi', delayMs: 60_000 }, async () => {
      // A market that has just begun had no trades at that time.
      assert.ok(!((await newest()) >= freshMs))
      const response = await fetch(`${sandbox.kalshi.restUrl}/exchange/status`)
      assert.ok(Math.abs(Date.parse(response.headers.get('date') ?? '') - clock.now()) < 5_000)
    })
    await withFault({ kind: 'stale', venue: 'ethereum', provider: 1, delayMs: 60_000 }, async () => {
      assert.ok((await height(0)) - (await height(1)) >= 30)
    })
    const whole = (await page()).trades.map((trade) => trade.trade_id)
    assert.ok(whole.length > 2)
    await withFault({ kind: 'partial', venue: 'kalshi' }, async () => {
      const first = await page()
      assert.equal(first.trades.length, Math.ceil(whole.length / 2))
      const pages = [first]
      for (let last = first; last.cursor !== ''; pages.push(last)) last = await page(last.cursor)
      const all = pages.flatMap(({ trades }) => trades.map((trade) => trade.trade_id))
      // New trades may arrive while the pages are read; all trades before them must be there.
      assert.deepEqual(all.slice(-whole.length), whole)
    })
    await withFault({ kind: 'empty', venue: 'kalshi' }, async () => {
      const { trades, cursor } = await page()
      assert.deepEqual({ trades, cursor }, { trades: [], cursor: '' })
    })
    await withFault({ kind: 'partial', venue: 'polymarket', channel: 'gamma' }, async () => {
      const some = await openMarkets(sandbox, 'btc-up-or-down-15m', 100)
      assert.ok(some.length > 0 && some.length <= 50, `${some.length}`)
    })
  })

  test('misread questions are answered for another time or another symbol, and the answer says so', async () => {
    const gamma = async () =>
      (
        await getJson<Json[]>(
          `${sandbox.polymarket.gammaUrl}/events?series_slug=btc-up-or-down-15m&closed=false&limit=1`,
        )
      )[0]?.slug as string
    await withFault({ kind: 'other-symbol', venue: 'polymarket', channel: 'gamma' }, async () =>
      assert.match(await gamma(), /^eth/),
    )
    assert.match(await gamma(), /^btc/)
    const [market] = await openMarkets(sandbox, 'btc-up-or-down-15m')
    const token = market?.tokens[0]
    const asset = async () =>
      (await getJson<Json>(`${sandbox.polymarket.clobUrl}/book?token_id=${token}`)).asset_id
    await withFault({ kind: 'other-symbol', venue: 'polymarket', channel: 'clob' }, async () =>
      assert.notEqual(await asset(), token),
    )
    assert.equal(await asset(), token)
    const conditionOf = async () =>
      (
        await getJson<{ data: Json[] }>(
          `${sandbox.polymarket.dataUrl}/v2/trades?condition=${market?.conditionId}&limit=1`,
        )
      ).data[0]?.condition_id
    await withFault({ kind: 'other-symbol', venue: 'polymarket', channel: 'data' }, async () => {
      const other = await conditionOf()
      assert.ok(typeof other === 'string' && other !== market?.conditionId)
    })
    assert.equal(await conditionOf(), market?.conditionId)
    const nowS = Math.floor(clock.now() / 1_000)
    const closes = async () =>
      (
        await getJson<{ markets: Json[] }>(
          `${sandbox.kalshi.restUrl}/markets?series_ticker=KXBTC15M&min_close_ts=${nowS - 7_200}&max_close_ts=${nowS}`,
        )
      ).markets.map((one) => [one.ticker, Date.parse(one.close_time as string)] as const)
    await withFault({ kind: 'other-range', venue: 'kalshi', offsetMs: -86_400_000 }, async () => {
      const found = await closes()
      assert.ok(found.length > 0 && found.every(([, closeMs]) => closeMs < (nowS - 7_200) * 1_000))
    })
    await withFault({ kind: 'other-symbol', venue: 'kalshi' }, async () => {
      const found = await closes()
      assert.ok(found.length > 0 && found.every(([name]) => String(name).startsWith('KXETH15M')))
    })
    assert.ok((await closes()).every(([name]) => String(name).startsWith('KXBTC15M')))
    const url = sandbox.ethereum.urls[0] as string
    const aggregator = sandbox.world.rounds.aggregator(
      'BTC',
      sandbox.world.rounds.latest('BTC', clock.now())?.phase ?? 0,
    )
    const head = sandbox.world.rounds.blockAt(clock.now())
    const hex = (value: number) => `0x${value.toString(16)}`
    const filter = { address: aggregator, topics: [], fromBlock: hex(head - 500), toBlock: hex(head - 10) }
    const logs = async () => (await rpc(url, 'eth_getLogs', [filter])).result as Json[]
    const whole = await logs()
    assert.ok(whole.length > 1 && whole.every((log) => log.address === aggregator))
    await withFault({ kind: 'other-symbol', venue: 'ethereum' }, async () => {
      const found = await logs()
      assert.ok(found.length > 0 && found.every((log) => log.address !== aggregator))
    })
    await withFault({ kind: 'other-range', venue: 'ethereum', offsetMs: -2_000_000 }, async () => {
      const found = await logs()
      assert.ok(found.length > 0 && found.every((log) => Number(log.blockNumber) < head - 500))
    })
    await withFault({ kind: 'partial', venue: 'ethereum', provider: 0 }, async () =>
      assert.deepEqual(await logs(), whole.slice(0, Math.floor(whole.length / 2))),
    )
  })

  test('delisted: markets that begin meanwhile are not in the catalogue; what is known of them goes on', async () => {
    const { client } = await listen()
    const listed = async () => (await openMarkets(sandbox, 'btc-up-or-down-5m')).length
    const kalshi = async (status: string) =>
      (
        await getJson<{ markets: Json[] }>(
          `${sandbox.kalshi.restUrl}/markets?series_ticker=KXBTC15M&status=${status}`,
        )
      ).markets.length
    assert.ok((await listed()) > 10 && (await kalshi('unopened')) > 1)
    await withFault({ kind: 'delisted', venue: 'kalshi', symbol: 'BTC' }, async () => {
      assert.deepEqual([await kalshi('open'), await kalshi('unopened')], [1, 0])
    })
    await withFault({ kind: 'delisted', venue: 'polymarket', symbol: 'BTC' }, async () => {
      assert.ok((await listed()) <= 2)
      assert.ok((await openMarkets(sandbox, 'eth-up-or-down-5m')).length > 10)
      assert.ok((await countFrames(client)) > 0)
    })
    assert.ok((await listed()) > 10 && (await kalshi('unopened')) > 1)
    client.close()
  })

  test('unfit-value makes a price negative, in as many frames as counted', async () => {
    const { client } = await listen()
    const hasUnfit = (frame: Json) => JSON.stringify(frame).includes('"price":"-')
    await withFault({ kind: 'unfit-value', venue: 'polymarket', count: 2 }, () => clock.run(20_000, 1_000))
    assert.equal(client.frames().filter(hasUnfit).length, 2)
    client.close()
  })

  test('the control port refuses a fault it does not know', () => {
    const parse = (text: string) => parseFault(text, { kinds: PREDICTION_FAULTS, venues: PREDICTION_VENUES })
    assert.throws(() => parse('{"kind":"nonsense","venue":"kalshi"}'), /kind/)
    assert.throws(() => parse('{"kind":"drop","venue":"spot"}'), /venue/)
    assert.throws(() => parse('{"kind":"drop","venue":"kalshi","durationSeconds":1}'), /unknown field/)
    assert.throws(() => parse('{"kind":"drop","venue":"kalshi","count":"1"}'), /count/)
  })
})
