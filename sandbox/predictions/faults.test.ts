/** Each fault switch is visible over real sockets, ends when it should, and leaves the truth alone. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { getJson, openKalshi, openMarkets, rpc, steerableClock } from '../../test/sandbox/client.ts'
import { wordsOf } from '../../test/sandbox/encode-calls.ts'
import { type Json, openSocket, type TestSocket } from '../../test/sandbox/open-socket.ts'
import { startTestPredictions, type TestPredictions } from '../../test/sandbox/start.ts'
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
  /** How many frames come in a while; the first moment is for frames already on their way. */
  async function countFrames(client: TestSocket): Promise<number> {
    await wait(100)
    const start = client.texts.length
    await clock.run(3_000, 1_000)
    return client.texts.length - start
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
        await wait(100)
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
    const book = () =>
      fetch(`${sandbox.polymarket.gammaUrl}/events?series_slug=btc-up-or-down-5m&limit=1`, {
        signal: AbortSignal.timeout(1_000),
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
      assert.rejects(book(), /timeout/i),
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

  test('the control port refuses a fault it does not know', () => {
    const parse = (text: string) => parseFault(text, { kinds: PREDICTION_FAULTS, venues: PREDICTION_VENUES })
    assert.throws(() => parse('{"kind":"nonsense","venue":"kalshi"}'), /kind/)
    assert.throws(() => parse('{"kind":"drop","venue":"spot"}'), /venue/)
    assert.throws(() => parse('{"kind":"drop","venue":"kalshi","durationSeconds":1}'), /unknown field/)
    assert.throws(() => parse('{"kind":"drop","venue":"kalshi","count":"1"}'), /count/)
  })
})
