/** The streams of the sandbox over real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { decimal, decimalText } from '../../src/core/decimal.ts'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { fastClock } from '../../test/sandbox/fast-clock.ts'
import { openSocket, type TestSocket } from '../../test/sandbox/open-socket.ts'
import { startTestExchanges, type TestExchanges } from '../../test/sandbox/start.ts'

type Json = Record<string, unknown>
const START_MS = Date.UTC(2026, 10, 15, 1, 59, 30)
let sandbox: TestExchanges

before(async () => {
  sandbox = await startTestExchanges({ seed: 31, clock: fastClock({ startMs: START_MS, factor: 20 }) })
})
after(() => sandbox.close())

const dataOf = (client: TestSocket, stream: string): Json[] =>
  client
    .frames()
    .filter((frame) => frame.stream === stream)
    .map((frame) => frame.data as Json)
const same = (a: unknown, b: unknown) =>
  assert.equal(decimalText(decimal(String(a))), decimalText(decimal(String(b))))

test('aggregate trades come once each, in order, and are the truth', async () => {
  for (const [venue, path] of [
    ['spot', '/stream'],
    ['futures', '/market/stream'],
  ] as const) {
    const client = await openSocket(`${sandbox[venue].wsUrl}${path}?streams=ethusdt@aggTrade`)
    await client.waitFor(() => client.texts.length > 90)
    const trades = dataOf(client, 'ethusdt@aggTrade')
    for (const [i, trade] of trades.entries())
      if (i > 0) assert.equal(trade.a, (trades[i - 1]?.a as number) + 1)
    const [first, last] = [trades[0] as Json, trades.at(-1) as Json]
    const truth = sandbox.truth.trades(venue, 'ETH', first.T as number, (last.T as number) + 1)
    const range = truth.filter((row) => row.id >= (first.a as number) && row.id <= (last.a as number))
    assert.equal(range.length, trades.length)
    for (const [i, row] of range.entries()) {
      same(row.price, trades[i]?.p)
      same(row.size, trades[i]?.q)
      assert.deepEqual([row.side === 'sell', row.timeMs], [trades[i]?.m, trades[i]?.T])
      assert.ok((trades[i]?.E as number) >= (trades[i]?.T as number))
    }
    client.close()
  }
})

test('a candle closes once, with the figures that REST gives afterwards', async () => {
  const cases = [
    ['spot', '/stream?streams=btcusdt@kline_1m', '/api/v3/klines?symbol=BTCUSDT&interval=1m'],
    ['spot', '/stream?streams=btcusdt@kline_1s', '/api/v3/klines?symbol=BTCUSDT&interval=1s'],
    ['futures', '/market/stream?streams=btcusdt@kline_1m', '/fapi/v1/klines?symbol=BTCUSDT&interval=1m'],
  ] as const
  await Promise.all(
    cases.map(async ([venue, stream, rest]) => {
      const client = await openSocket(sandbox[venue].wsUrl + stream)
      const closed = () =>
        client
          .frames()
          .map((frame) => (frame.data as { k: Json }).k)
          .filter((k) => k.x === true)
      await client.waitFor(() => closed().length >= 2)
      const closes = closed()
      assert.equal(new Set(closes.map((k) => k.t)).size, closes.length)
      for (const k of closes) {
        const [row] = (await (
          await fetch(`${sandbox[venue].restUrl}${rest}&startTime=${k.t}&limit=1`)
        ).json()) as unknown[][]
        assert.deepEqual([k.t, k.o, k.h, k.l, k.c, k.v, k.T, k.q, k.n, k.V, k.Q, k.B], row)
      }
      client.close()
    }),
  )
})

test('a futures stream on the wrong class or without one connects and stays silent', async () => {
  const open = (path: string, streams: string) =>
    openSocket(`${sandbox.futures.wsUrl}${path}/stream?streams=${streams}`)
  const trades = 'btcusdt@aggTrade/btcusdt@kline_1m'
  const silent = await Promise.all([
    open('/public', trades),
    open('', trades),
    open('/market', 'btcusdt@bookTicker'),
    open('/market', 'NOPE@aggTrade'),
  ])
  const right = await open('/market', trades)
  await right.waitFor(() => right.texts.length > 40)
  for (const client of silent) {
    assert.deepEqual(client.texts, [])
    client.close()
  }
  right.close()
})

test('the perpetual venue replays thirty trades, then goes on without repeating or losing one', async () => {
  const client = await openSocket(`${sandbox.perp.wsUrl}/ws`)
  client.send({ method: 'subscribe', subscription: { type: 'trades', coin: 'BTC' } })
  await client.waitFor(() => client.frames().filter((frame) => frame.channel === 'trades').length > 30)
  client.close()
  const batches = client
    .frames()
    .filter((frame) => frame.channel === 'trades')
    .map((frame) => frame.data as Json[])
  assert.equal(batches[0]?.length, 30)
  const trades = [...new Map(batches.flat().map((trade) => [trade.tid, trade])).values()]
  const truth = sandbox.truth.trades(
    'perp',
    'BTC',
    trades[0]?.time as number,
    (trades.at(-1)?.time as number) + 1,
  )
  const from = truth.findIndex((row) => row.tid === trades[0]?.tid)
  assert.deepEqual(
    truth.slice(from, from + trades.length).map((row) => row.tid),
    trades.map((trade) => trade.tid),
  )
})

test('books of the perpetual venue: twenty levels every five seconds', async () => {
  const client = await openSocket(`${sandbox.perp.wsUrl}/ws`)
  client.send({ method: 'subscribe', subscription: { type: 'l2Book', coin: 'SOL' } })
  const books = () =>
    client
      .frames()
      .filter((frame) => frame.channel === 'l2Book')
      .map((frame) => frame.data as { time: number; levels: { px: string; sz: string }[][] })
  await client.waitFor(() => books().length >= 3)
  client.close()
  for (const [i, book] of books().entries()) {
    assert.deepEqual(
      book.levels.map((side) => side.length),
      [20, 20],
    )
    if (i > 0) assert.equal(book.time - (books()[i - 1]?.time ?? 0), 5_400)
    const truth = sandbox.truth.book('perp', 'SOL', book.time, 20)
    same(truth.bids[0]?.[0], book.levels[0]?.[0]?.px)
    same(truth.asks[19]?.[1], book.levels[1]?.[19]?.sz)
  }
})

test('one unknown or wrongly cased coin closes the socket of the perpetual venue without a word', async () => {
  for (const coin of ['btc', 'NOPE']) {
    const client = await openSocket(`${sandbox.perp.wsUrl}/ws`)
    client.send({ method: 'subscribe', subscription: { type: 'trades', coin } })
    assert.equal(await client.closed, 1006)
    assert.deepEqual(client.texts, [])
  }
})

test('the exchange pings with a payload and cuts who does not answer; lifetimes end', async () => {
  const clock = manualClock(START_MS)
  const slow = await startTestExchanges({ seed: 1, clock })
  try {
    const good = await openSocket(`${slow.spot.wsUrl}/stream?streams=btcusdt@kline_1h`)
    const bad = await openSocket(`${slow.spot.wsUrl}/stream?streams=btcusdt@kline_1h`, { autoPong: false })
    const pinged = once(good.socket, 'ping')
    const pass = async (seconds: number) => {
      for (let i = 0; i < seconds; i++) {
        clock.advance(1_000)
        await wait(1)
      }
    }
    await pass(21)
    const [payload] = (await pinged) as [Buffer]
    assert.ok(payload.length > 0)
    await pass(65)
    assert.equal(await bad.closed, 1006)
    assert.equal(good.socket.readyState, good.socket.OPEN)
    clock.advance(86_400_000)
    await wait(5)
    clock.advance(1_000)
    assert.equal(await good.closed, 1001)
    const notice = good.frames().find((frame) => frame.stream === '!serverShutdown')
    assert.equal((notice?.data as Json | undefined)?.e, 'serverShutdown')
  } finally {
    await slow.close()
  }
})

test('the perpetual venue closes a socket it has sent nothing for a minute; pings keep it', async () => {
  const clock = manualClock(START_MS)
  const slow = await startTestExchanges({ seed: 1, clock })
  try {
    const quiet = await openSocket(`${slow.perp.wsUrl}/ws`)
    const kept = await openSocket(`${slow.perp.wsUrl}/ws`)
    for (let i = 0; i < 62; i++) {
      if (i % 30 === 0) {
        const pongs = kept.texts.length
        kept.send({ method: 'ping' })
        await kept.waitFor(() => kept.texts.length > pongs)
      }
      clock.advance(1_000)
      await wait(1)
    }
    assert.equal(await quiet.closed, 1000)
    assert.equal(kept.socket.readyState, kept.socket.OPEN)
  } finally {
    await slow.close()
  }
})

test('too many connections and too many messages are refused', async () => {
  const tight = await startTestExchanges({ seed: 1, limits: { perp: { sockets: { maxConnections: 2 } } } })
  try {
    const clients = [await openSocket(`${tight.perp.wsUrl}/ws`), await openSocket(`${tight.perp.wsUrl}/ws`)]
    await assert.rejects(openSocket(`${tight.perp.wsUrl}/ws`))
    const chatty = await openSocket(`${tight.spot.wsUrl}/stream?streams=btcusdt@aggTrade`)
    for (let id = 1; id <= 6; id++) chatty.send({ id })
    assert.equal(await chatty.closed, 1008)
    for (const client of clients) client.close()
  } finally {
    await tight.close()
  }
})
