/** Every fault switch visibly does what it promises, over real sockets. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fastClock } from '../../test/sandbox/fast-clock.ts'
import { openSocket, type TestSocket } from '../../test/sandbox/open-socket.ts'
import { startTestExchanges, type TestExchanges } from '../../test/sandbox/start.ts'
import { until } from '../../test/until.ts'
import { EXCHANGE_FAULTS, type Fault, type FaultSpec } from '../server/faults.ts'

type Json = Record<string, unknown>
const FACTOR = 10
/** For a fault during which something is checked, because the machine may be shared and slow. */
const LONG_MS = 40_000
const clock = fastClock({ startMs: Date.UTC(2026, 10, 15, 1, 59, 0), factor: FACTOR })
const tried = new Set<string>()
let sandbox: TestExchanges

before(async () => {
  sandbox = await startTestExchanges({
    seed: 5,
    clock,
    limits: { perp: { sockets: { newConnections: { max: 1_000, windowMs: 60_000 } } } },
  })
})
after(() => sandbox.close())
afterEach(() => sandbox.faults.clear())

/** Sets a fault the way an operator does. */
async function fault(spec: FaultSpec, { controlUrl } = sandbox): Promise<Fault> {
  tried.add(spec.kind)
  const response = await fetch(`${controlUrl}/faults`, { method: 'POST', body: JSON.stringify(spec) })
  assert.equal(response.status, 200)
  return (await response.json()) as Fault
}
const control = async (path: string, method = 'GET') =>
  (await fetch(sandbox.controlUrl + path, { method })).json()
const spotStream = (...streams: string[]) =>
  openSocket(`${sandbox.spot.wsUrl}/stream?streams=${streams.join('/')}`)
const rows = (client: TestSocket, stream: string): Json[] =>
  client
    .frames()
    .filter((frame) => frame.stream === stream)
    .map((frame) => frame.data as Json)
const ids = (client: TestSocket, stream: string): number[] =>
  rows(client, stream).map((row) => row.a as number)
const gaps = (list: number[]) => list.slice(1).filter((id, i) => id !== (list[i] as number) + 1).length
const venueTime = async () =>
  ((await (await fetch(`${sandbox.spot.restUrl}/api/v3/time`)).json()) as { serverTime: number }).serverTime

test('drop cuts every socket of the venue and refuses new ones while it lasts; others live on', async () => {
  const cut = [await spotStream('btcusdt@aggTrade'), await spotStream('ethusdt@aggTrade')]
  const other = await openSocket(`${sandbox.futures.wsUrl}/market/stream?streams=btcusdt@aggTrade`)
  await fault({ kind: 'drop', venue: 'spot', durationMs: LONG_MS })
  assert.deepEqual(await Promise.all(cut.map((client) => client.closed)), [1006, 1006])
  await assert.rejects(spotStream('btcusdt@aggTrade'))
  const before = other.texts.length
  await other.waitFor(() => other.texts.length > before)
  await wait((LONG_MS + 200) / FACTOR)
  const again = await spotStream('btcusdt@aggTrade')
  await again.waitFor(() => again.texts.length > 0)
  again.close()
  other.close()
})

test('drop of one symbol cuts only the sockets that carry it', async () => {
  const btc = await spotStream('btcusdt@aggTrade')
  const eth = await spotStream('ethusdt@aggTrade')
  await fault({ kind: 'drop', venue: 'spot', symbol: 'BTC' })
  assert.equal(await btc.closed, 1006)
  assert.equal(eth.socket.readyState, eth.socket.OPEN)
  eth.close()
  const back = await spotStream('btcusdt@aggTrade')
  await back.waitFor(() => back.texts.length > 0)
  back.close()
})

test('drop, hang and malformed on the channel rest act on requests', async () => {
  const url = `${sandbox.spot.restUrl}/api/v3/time`
  await fault({ kind: 'drop', venue: 'spot', channel: 'rest', count: 1 })
  await assert.rejects(fetch(url))
  assert.equal((await fetch(url)).status, 200)
  await fault({ kind: 'hang', venue: 'spot', channel: 'rest', count: 1 })
  await assert.rejects(fetch(url, { signal: AbortSignal.timeout(300) }), { name: 'TimeoutError' })
  await fault({ kind: 'malformed', venue: 'spot', channel: 'rest', count: 1 })
  await assert.rejects((await fetch(url)).json())
  assert.ok((await venueTime()) > 0)
})

test('mute silences one symbol, not the other and not the socket', async () => {
  const client = await spotStream('btcusdt@aggTrade', 'ethusdt@aggTrade')
  await client.waitFor(() => ids(client, 'btcusdt@aggTrade').length > 3)
  await fault({ kind: 'mute', venue: 'spot', symbol: 'BTC', durationMs: LONG_MS })
  await wait(300)
  const before = ids(client, 'btcusdt@aggTrade').length
  const others = ids(client, 'ethusdt@aggTrade').length
  await wait(4_000 / FACTOR)
  await client.waitFor(() => ids(client, 'ethusdt@aggTrade').length > others + 3)
  assert.equal(ids(client, 'btcusdt@aggTrade').length, before)
  await client.waitFor(() => ids(client, 'btcusdt@aggTrade').length > before + 3)
  assert.equal(gaps(ids(client, 'btcusdt@aggTrade')), 1)
  assert.equal(gaps(ids(client, 'ethusdt@aggTrade')), 0)
  client.close()
})

test('hang leaves the socket open and sends nothing, not even a pong', async () => {
  const client = await spotStream('btcusdt@aggTrade')
  await client.waitFor(() => client.texts.length > 2)
  await fault({ kind: 'hang', venue: 'spot', durationMs: LONG_MS })
  await wait(300)
  const before = client.texts.length
  let pongs = 0
  client.socket.on('pong', () => pongs++)
  client.socket.ping('x')
  await wait(4_000 / FACTOR)
  assert.deepEqual([client.texts.length, pongs, client.socket.readyState], [before, 0, client.socket.OPEN])
  await client.waitFor(() => client.texts.length > before)
  client.socket.ping('y')
  await until('a pong', () => pongs > 0)
  assert.equal(pongs, 1)
  client.close()
})

test('reorder swaps neighbours and loses nothing', async () => {
  const client = await spotStream('btcusdt@aggTrade')
  await fault({ kind: 'reorder', venue: 'spot', channel: 'aggTrade', durationMs: 10_000 })
  await wait(12_000 / FACTOR)
  await client.waitFor(() => client.texts.length > 20)
  await wait(100)
  const seen = ids(client, 'btcusdt@aggTrade')
  const sorted = [...seen].sort((a, b) => a - b)
  assert.notDeepEqual(seen, sorted)
  assert.equal(gaps(sorted), 0)
  client.close()
})

test('duplicate sends every frame twice', async () => {
  const client = await openSocket(`${sandbox.perp.wsUrl}/ws`)
  await fault({ kind: 'duplicate', venue: 'perp', channel: 'trades', durationMs: 20_000 })
  client.send({ method: 'subscribe', subscription: { type: 'trades', coin: 'BTC' } })
  await client.waitFor(() => client.frames().filter((frame) => frame.channel === 'trades').length > 9)
  const batches = client.texts.filter((text) => text.startsWith('{"channel":"trades"')).slice(1, 9)
  for (let i = 0; i < batches.length; i += 2) assert.equal(batches[i], batches[i + 1])
  client.close()
})

test('skip loses exactly one frame: the next id jumps', async () => {
  const client = await spotStream('btcusdt@aggTrade')
  await client.waitFor(() => ids(client, 'btcusdt@aggTrade').length > 3)
  await fault({ kind: 'skip', venue: 'spot', symbol: 'BTC', channel: 'aggTrade' })
  const before = ids(client, 'btcusdt@aggTrade').length
  await client.waitFor(() => ids(client, 'btcusdt@aggTrade').length > before + 6)
  const seen = ids(client, 'btcusdt@aggTrade')
  assert.equal(gaps(seen), 1)
  assert.equal((seen.at(-1) as number) - (seen[0] as number) + 1 - seen.length, 1)
  client.close()
})

test('late-close delays the closing frame, missing-close withholds it', async () => {
  const client = await spotStream('btcusdt@kline_1s', 'ethusdt@kline_1s', 'solusdt@kline_1s')
  await fault({ kind: 'late-close', venue: 'spot', symbol: 'BTC', delayMs: 4_000 })
  await fault({ kind: 'missing-close', venue: 'spot', symbol: 'ETH' })
  const startMs = clock.now()
  const arrivals: number[] = []
  client.socket.on('message', (data) => {
    const { stream, data: body } = JSON.parse(data.toString()) as {
      stream: string
      data: { k: { T: number } }
    }
    if (stream === 'btcusdt@kline_1s' && body.k.T > startMs) arrivals.push(clock.now() - body.k.T)
  })
  await client.waitFor(() => rows(client, 'solusdt@kline_1s').length > 12)
  const late = (stream: string) =>
    rows(client, stream).filter((row) => ((row.k as Json).t as number) > startMs)
  // The clock runs fast, so a timer that is one millisecond early is many milliseconds early on that clock.
  assert.ok(arrivals.length > 3 && arrivals.every((delay) => delay >= 3_950), `${arrivals}`)
  assert.equal(late('ethusdt@kline_1s').length, 0)
  assert.ok(late('solusdt@kline_1s').length > 5)
  client.close()
})

test('late-quiet holds candles without a trade back, and none of the others', async () => {
  const thin = await startTestExchanges({ seed: 5, clock, quietMinutes: 4 })
  try {
    const endMs = Math.floor(clock.now() / 60_000) * 60_000
    const opens = async () => {
      const query = `symbol=BTCUSDT&interval=1m&startTime=${endMs - 30 * 60_000}&endTime=${endMs - 1}&limit=10`
      const reply = await fetch(`${thin.futures.restUrl}/fapi/v1/klines?${query}`)
      return ((await reply.json()) as [number, ...unknown[]][]).map((row) => [row[0], row[8] === 0])
    }
    const all = await opens()
    assert.equal(all.length, 10)
    assert.ok(all.some(([, isQuiet]) => isQuiet))
    await fault({ kind: 'late-quiet', venue: 'futures', delayMs: 3_600_000 }, thin)
    const published = await opens()
    assert.ok(published.length === 10 && published.every(([, isQuiet]) => !isQuiet))
    thin.faults.clear()
    await fault({ kind: 'late-quiet', venue: 'futures', delayMs: 60_000 }, thin)
    assert.deepEqual(await opens(), all)
  } finally {
    await thin.close()
  }
})

test('the lists of the perpetual venue are cut one by one', async () => {
  const lengths = async () => {
    const ask = async (body: object) => {
      const headers = { 'content-type': 'application/json' }
      const reply = await fetch(`${sandbox.perp.restUrl}/info`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      return ((await reply.json()) as unknown[]).length
    }
    const startTime = clock.now() - 3_600_000 * 4
    return [
      (await ask({ type: 'candleSnapshot', req: { coin: 'BTC', interval: '1h', startTime } })) > 2,
      (await ask({ type: 'fundingHistory', coin: 'BTC', startTime })) > 2,
      (await ask({ type: 'recentTrades', coin: 'BTC' })) > 5,
    ]
  }
  assert.deepEqual(await lengths(), [true, true, true])
  for (const [index, channel] of ['candle-history', 'funding-history', 'recent-trades'].entries()) {
    await fault({ kind: 'partial', venue: 'perp', channel })
    assert.deepEqual(
      await lengths(),
      [0, 1, 2].map((each) => each !== index),
    )
    sandbox.faults.clear()
  }
})

test('rate-limit and ban answer 429 and 418 with Retry-After; http-error any status', async () => {
  const url = `${sandbox.futures.restUrl}/fapi/v1/time`
  await fault({ kind: 'rate-limit', venue: 'futures', retryAfterS: 7, count: 1 })
  const limited = await fetch(url)
  assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '7'])
  await fault({ kind: 'rate-limit', venue: 'futures', retryAfterS: 0, count: 1 })
  const unexplained = await fetch(url)
  assert.deepEqual([unexplained.status, unexplained.headers.get('retry-after')], [429, null])
  await fault({ kind: 'ban', venue: 'futures', retryAfterS: 130, count: 1 })
  const banned = await fetch(url)
  assert.deepEqual([banned.status, banned.headers.get('retry-after')], [418, '130'])
  assert.match(((await banned.json()) as { msg: string }).msg, /IP banned until \d{13}/)
  for (const status of [403, 451, 503]) {
    await fault({ kind: 'http-error', venue: 'futures', status, count: 1 })
    assert.equal((await fetch(url)).status, status)
  }
  await fault({ kind: 'rate-limit', venue: 'futures', symbol: 'ETH' })
  const price = async (symbol: string) =>
    (await fetch(`${sandbox.futures.restUrl}/fapi/v1/premiumIndex?symbol=${symbol}`)).status
  assert.deepEqual([await price('BTCUSDT'), await price('ETHUSDT')], [200, 429])
  await fault({ kind: 'rate-limit', venue: 'perp', count: 1 })
  const perp = await fetch(`${sandbox.perp.restUrl}/info`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"type":"meta"}',
  })
  assert.equal(perp.status, 429)
})

test('skew moves the clock of one venue, in REST and in the streams, and loses no trade', async () => {
  const client = await spotStream('btcusdt@aggTrade')
  await client.waitFor(() => client.texts.length > 3)
  const set = await fault({ kind: 'skew', venue: 'spot', offsetMs: 30_000 })
  const ahead = (await venueTime()) - clock.now()
  assert.ok(ahead > 15_000 && ahead <= 30_000, `${ahead}`)
  const future = await (await fetch(`${sandbox.futures.restUrl}/fapi/v1/time`)).json()
  assert.ok(Math.abs((future as { serverTime: number }).serverTime - clock.now()) < 10_000)
  await client.waitFor((frame) => ((frame.data as Json)?.T as number) > clock.now() + 20_000)
  await control(`/faults/${set.id}`, 'DELETE')
  assert.ok(Math.abs((await venueTime()) - clock.now()) < 10_000)
  const before = client.texts.length
  await client.waitFor(() => client.texts.length > before + 3)
  assert.equal(gaps(ids(client, 'btcusdt@aggTrade')), 0)
  client.close()
})

test('late frames come later, and those after the fault overtake them', async () => {
  const client = await spotStream('btcusdt@aggTrade')
  await client.waitFor(() => ids(client, 'btcusdt@aggTrade').length > 3)
  await fault({ kind: 'late', venue: 'spot', channel: 'aggTrade', delayMs: 6_000, durationMs: 3_000 })
  await wait(12_000 / FACTOR)
  await client.waitFor(() => ids(client, 'btcusdt@aggTrade').length > 15)
  const sorted = () => ids(client, 'btcusdt@aggTrade').sort((a, b) => a - b)
  await until('all of them', () => gaps(sorted()) === 0)
  assert.notDeepEqual(ids(client, 'btcusdt@aggTrade'), sorted())
  client.close()
})

test('unfit-value makes a price negative, in as many frames as counted', async () => {
  const client = await spotStream('btcusdt@aggTrade')
  await fault({ kind: 'unfit-value', venue: 'spot', channel: 'aggTrade', count: 2 })
  const prices = () => rows(client, 'btcusdt@aggTrade').map((row) => Number(row.p))
  const since = () => prices().slice(prices().findIndex((price) => price < 0))
  await client.waitFor(() => prices().some((price) => price < 0) && since().length > 4)
  assert.deepEqual(
    since()
      .slice(0, 4)
      .map((price) => price < 0),
    [true, true, false, false],
  )
  client.close()
})

test('wrong-time moves the times of as many frames as counted', async () => {
  const client = await spotStream('btcusdt@aggTrade')
  await fault({ kind: 'wrong-time', venue: 'spot', channel: 'aggTrade', count: 2, offsetMs: 3_600_000 })
  const times = () => rows(client, 'btcusdt@aggTrade').map((row) => Number(row.T))
  const firstMs = () => Math.min(...times())
  const isMoved = (timeMs: number) => timeMs > firstMs() + 1_800_000
  const since = () => times().slice(times().findIndex(isMoved))
  await client.waitFor(() => times().some(isMoved) && since().length > 4)
  assert.deepEqual(since().slice(0, 4).map(isMoved), [true, true, false, false])
  client.close()
})

test('unknown-message and zero-fill come before the next frame, which comes too', async () => {
  const client = await spotStream('btcusdt@aggTrade')
  await fault({ kind: 'unknown-message', venue: 'spot', channel: 'aggTrade', count: 2 })
  const events = () => rows(client, 'btcusdt@aggTrade').map((row) => row.e)
  const since = () => events().slice(events().indexOf('noveltyUpdate'))
  await client.waitFor(() => events().includes('noveltyUpdate') && since().length > 5)
  assert.deepEqual(since().slice(0, 5), [
    ...['noveltyUpdate', 'aggTrade', 'noveltyUpdate', 'aggTrade', 'aggTrade'],
  ])
  client.close()
  const perp = await openSocket(`${sandbox.perp.wsUrl}/ws`)
  perp.send({ method: 'subscribe', subscription: { type: 'trades', coin: 'BTC' } })
  const fills = () =>
    perp.frames().flatMap((frame) => (frame.channel === 'trades' ? (frame.data as Json[]) : []))
  await perp.waitFor(() => fills().length > 30)
  await fault({ kind: 'zero-fill', venue: 'perp' })
  await perp.waitFor(() => fills().some((fill) => Number(fill.sz) === 0))
  const empty = fills().findIndex((fill) => Number(fill.sz) === 0)
  await perp.waitFor(() => fills().length > empty + 3)
  assert.deepEqual(fills().filter((fill) => Number(fill.sz) === 0).length, 1)
  const known = new Set(
    sandbox.truth
      .trades('perp', 'BTC', clock.now() - 600_000, clock.now() + 60_000)
      .map((trade) => trade.tid as number),
  )
  for (const [index, fill] of fills().entries())
    assert.equal(known.has(fill.tid as number), index !== empty, `${index}`)
  perp.close()
})

test('maintenance closes sockets, keeps new ones out and answers 503', async () => {
  const client = await spotStream('btcusdt@aggTrade')
  const url = `${sandbox.spot.restUrl}/api/v3/time`
  const { id } = await fault({ kind: 'maintenance', venue: 'spot' })
  assert.equal(await client.closed, 1001)
  await assert.rejects(spotStream('btcusdt@aggTrade'), /503/)
  assert.equal((await fetch(url)).status, 503)
  assert.equal((await fetch(`${sandbox.futures.restUrl}/fapi/v1/time`)).status, 200)
  await control(`/faults/${id}`, 'DELETE')
  assert.equal((await fetch(url)).status, 200)
  ;(await spotStream('btcusdt@aggTrade')).close()
})

const perpInfo = async (body: unknown) =>
  (await (
    await fetch(`${sandbox.perp.restUrl}/info`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  ).json()) as Json[]
const spotKlines = async (query: string) =>
  (await (
    await fetch(`${sandbox.spot.restUrl}/api/v3/klines?symbol=BTCUSDT&interval=1m&${query}`)
  ).json()) as number[][]

test('stale answers are of some time ago, and the venue still knows what time it is', async () => {
  await fault({ kind: 'stale', venue: 'spot', delayMs: 600_000 })
  await fault({ kind: 'stale', venue: 'perp', delayMs: 600_000 })
  const ago = clock.now() - 600_000
  const newest = ((await spotKlines('limit=1'))[0]?.[0] ?? 0) as number
  assert.ok(newest <= ago + 30_000 && newest > ago - 90_000, `${newest - ago}`)
  assert.ok(Math.abs((await venueTime()) - clock.now()) < 10_000)
  const [, latest] = [0, (await perpInfo({ type: 'recentTrades', coin: 'BTC' }))[0]?.time as number]
  assert.ok(latest <= ago + 30_000, `${latest - ago}`)
  assert.ok(
    Math.abs(
      ((await perpInfo({ type: 'exchangeStatus' })) as unknown as { time: number }).time - clock.now(),
    ) < 10_000,
  )
})

test('partial answers end in the middle; misread ones are of another time, other ids or another symbol', async () => {
  const fromMs = Math.floor(clock.now() / 60_000) * 60_000 - 20 * 60_000
  const opens = async () =>
    (await spotKlines(`startTime=${fromMs}&endTime=${fromMs + 599_999}`)).map((row) => row[0])
  const whole = await opens()
  assert.equal(whole.length, 10)
  await fault({ kind: 'partial', venue: 'spot', count: 1 })
  assert.ok((await venueTime()) > 0, 'an answer without rows is no hit')
  assert.deepEqual(await opens(), whole.slice(0, 5))
  await fault({ kind: 'empty', venue: 'spot', count: 1 })
  assert.deepEqual(await opens(), [])
  await fault({ kind: 'other-range', venue: 'spot', offsetMs: -300_000, count: 1 })
  assert.deepEqual(
    await opens(),
    whole.map((openMs) => (openMs as number) - 300_000),
  )
  assert.deepEqual(await opens(), whole)
  const trades = async (fromId: number) =>
    (await (
      await fetch(`${sandbox.spot.restUrl}/api/v3/aggTrades?symbol=BTCUSDT&fromId=${fromId}&limit=2`)
    ).json()) as { a: number }[]
  const id = sandbox.truth.trades('spot', 'BTC', fromMs, fromMs + 60_000)[0]?.id ?? 0
  await fault({ kind: 'other-range', venue: 'spot', count: 1 })
  assert.deepEqual([(await trades(id))[0]?.a, (await trades(id))[0]?.a], [id - 1_000, id])
  const candles = () =>
    perpInfo({
      type: 'candleSnapshot',
      req: { coin: 'BTC', interval: '1m', startTime: fromMs, endTime: fromMs + 299_999 },
    })
  await fault({ kind: 'other-range', venue: 'perp', offsetMs: 60_000, count: 1 })
  assert.equal((await candles())[0]?.t, fromMs + 60_000)
  await fault({ kind: 'other-symbol', venue: 'perp', count: 1 })
  assert.deepEqual([(await candles())[0]?.s, (await candles())[0]?.s], ['ETH', 'BTC'])
  const funding = async () =>
    (await (await fetch(`${sandbox.futures.restUrl}/fapi/v1/premiumIndex?symbol=BTCUSDT`)).json()) as {
      symbol: string
    }
  await fault({ kind: 'other-symbol', venue: 'futures', count: 1 })
  const klines = await fetch(`${sandbox.futures.restUrl}/fapi/v1/klines?symbol=BTCUSDT&interval=1m&limit=1`)
  assert.equal(klines.status, 200, 'klines name no symbol: no hit')
  assert.deepEqual([(await funding()).symbol, (await funding()).symbol], ['ETHUSDT', 'BTCUSDT'])
})

test('a delisted symbol is unknown and silent until it is listed again', async () => {
  const client = await spotStream('btcusdt@aggTrade', 'ethusdt@aggTrade')
  await client.waitFor(() => ids(client, 'btcusdt@aggTrade').length > 3)
  const klines = () => fetch(`${sandbox.spot.restUrl}/api/v3/klines?symbol=BTCUSDT&interval=1m`)
  const statusOf = async () =>
    (
      (await (await fetch(`${sandbox.spot.restUrl}/api/v3/exchangeInfo`)).json()) as {
        symbols: { status: string }[]
      }
    ).symbols.map(({ status }) => status)
  await fault({ kind: 'delisted', venue: 'spot', symbol: 'BTC', durationMs: LONG_MS })
  await wait(300)
  const [before, others] = [ids(client, 'btcusdt@aggTrade').length, ids(client, 'ethusdt@aggTrade').length]
  const refused = await klines()
  assert.deepEqual([refused.status, await refused.json()], [400, { code: -1121, msg: 'Invalid symbol.' }])
  assert.deepEqual(await statusOf(), ['BREAK', 'TRADING', 'TRADING', 'TRADING'])
  await client.waitFor(() => ids(client, 'ethusdt@aggTrade').length > others + 3)
  assert.equal(ids(client, 'btcusdt@aggTrade').length, before)
  await client.waitFor(() => ids(client, 'btcusdt@aggTrade').length > before + 1)
  assert.equal((await klines()).status, 200)
  client.close()
  const { id } = await fault({ kind: 'delisted', venue: 'perp', symbol: 'BTC' })
  const perp = await openSocket(`${sandbox.perp.wsUrl}/ws`)
  perp.send({ method: 'subscribe', subscription: { type: 'trades', coin: 'BTC' } })
  assert.equal(await perp.closed, 1006)
  const { universe } = (await perpInfo({ type: 'meta' })) as unknown as { universe: Json[] }
  assert.equal(universe.find(({ name }) => name === 'BTC')?.isDelisted, true)
  await control(`/faults/${id}`, 'DELETE')
  assert.ok(((await perpInfo({ type: 'recentTrades', coin: 'BTC' }))[0]?.time as number) > 0)
})

test('malformed cuts frames in the middle', async () => {
  const client = await spotStream('btcusdt@aggTrade')
  await fault({ kind: 'malformed', venue: 'spot', channel: 'aggTrade', count: 3 })
  await client.waitFor(() => client.frames().length > 3)
  assert.equal(client.texts.length - client.frames().length, 3)
  client.close()
})

test('the control port lists, clears and refuses; every kind of fault was tried here', async () => {
  const { id } = await fault({
    kind: 'mute',
    venue: 'perp',
    symbol: 'SOL',
    channel: 'l2Book',
    durationMs: 60_000,
  })
  assert.deepEqual(
    ((await control('/faults')) as Fault[]).map((each) => each.id),
    [id],
  )
  assert.deepEqual(await control('/faults', 'DELETE'), [])
  for (const body of [
    '{"kind":"nope","venue":"spot"}',
    '{"kind":"mute"}',
    '{"kind":"mute","venue":"spot","symbols":"BTC"}',
    '{',
  ])
    assert.equal((await fetch(`${sandbox.controlUrl}/faults`, { method: 'POST', body })).status, 400)
  assert.deepEqual([...tried].sort(), Object.keys(EXCHANGE_FAULTS).sort())
})

test('the control port shows the state', async () => {
  assert.deepEqual(Object.keys((await control('/state')) as Json), [
    'seed',
    'tradesPerSecond',
    'nowMs',
    'spot',
    'futures',
    'perp',
  ])
})
