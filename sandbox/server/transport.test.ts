/**
 * The venues on a simulated network: no socket, timer, wall clock or random number is used, and two runs with the same
 * seed send the same frames.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { signedHeaders } from '../../test/sandbox/client.ts'
import { startSandboxExchanges } from '../exchanges/run.ts'
import { startSandboxPredictions } from '../predictions/run.ts'
import { type Endpoint, type Listen, type RestAnswer, type ServerSocket, SOCKET_OPEN } from './transport.ts'

const START_MS = Date.UTC(2026, 10, 15, 13, 59, 30)
const STEP_MS = 1_000
const STEPS = 60

/** The server's end of a socket whose client is this test. */
class FakeSocket extends EventEmitter implements ServerSocket {
  readyState = SOCKET_OPEN
  readonly bufferedAmount = 0
  readonly texts: string[] = []
  send(data: string | Buffer): void {
    this.texts.push(data.toString())
  }
  ping(data = ''): void {
    this.texts.push(`ping ${data}`)
    this.emit('pong', Buffer.from(data))
  }
  pong(data = Buffer.alloc(0)): void {
    this.texts.push(`pong ${data}`)
  }
  close(code = 1005): void {
    this.readyState = 3
    this.emit('close', code, Buffer.alloc(0))
  }
  terminate(): void {
    this.close(1006)
  }
}

function createNetwork() {
  const endpoints = new Map<number, Endpoint>()
  let nextPort = 1
  const listen: Listen = async (endpoint) => {
    const port = nextPort++
    endpoints.set(port, endpoint)
    return { port, close: async () => void endpoints.delete(port) }
  }
  const at = (url: URL): Endpoint => endpoints.get(Number(url.port)) as Endpoint
  return {
    listen,
    endpoints,
    dial(address: string, headers: Record<string, string> = {}): FakeSocket {
      const url = new URL(address)
      const lower = Object.fromEntries(
        Object.entries(headers).map(([key, text]) => [key.toLowerCase(), text]),
      )
      const decision = at(url).upgrade?.({ url, headers: lower })
      assert.ok(typeof decision === 'object' && 'accept' in decision, JSON.stringify(decision))
      const socket = new FakeSocket()
      decision.accept(socket)
      return socket
    },
    async get(address: string): Promise<RestAnswer> {
      const url = new URL(address)
      const { pathname: path, searchParams: query } = url
      const answer = await at(url).answer({ method: 'GET', path, query, headers: {}, body: '' })
      assert.ok(typeof answer === 'object')
      return answer
    },
  }
}

const say = (socket: FakeSocket, message: unknown) =>
  socket.emit('message', Buffer.from(JSON.stringify(message)), false)

const keys = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const account = { keyId: 'key', ...keys }

function forbidReality(t: TestContext): void {
  const forbidden = (name: string) => () => {
    throw new Error(`${name} was used`)
  }
  t.mock.method(Date, 'now', forbidden('Date.now'))
  t.mock.method(performance, 'now', forbidden('performance.now'))
  t.mock.method(Math, 'random', forbidden('Math.random'))
  for (const name of ['setTimeout', 'setInterval'] as const)
    t.mock.method(globalThis, name, forbidden(name) as never)
}

async function run(seed: number): Promise<{ frames: string[][]; answers: RestAnswer[] }> {
  const clock = manualClock(START_MS)
  const { listen, dial, get, endpoints } = createNetwork()
  const exchanges = await startSandboxExchanges({ seed, clock, listen, tickMs: STEP_MS })
  const predictions = await startSandboxPredictions({
    ...{ seed, clock, listen, tickMs: STEP_MS, slotMs: 1_000, strikes: 3 },
    kalshiAccount: { keyId: account.keyId, publicKey: account.publicKey },
  })
  assert.deepEqual([exchanges.controlUrl, predictions.controlUrl], ['', ''])
  const spot = dial(`${exchanges.spot.wsUrl}/stream?streams=btcusdt@aggTrade/btcusdt@kline_1m`)
  const perp = dial(`${exchanges.perp.wsUrl}/ws`)
  say(perp, { method: 'subscribe', subscription: { type: 'trades', coin: 'BTC' } })
  const events = JSON.parse(
    (await get(`${predictions.polymarket.gammaUrl}/events?series_slug=btc-up-or-down-15m&order=endDate`))
      .body,
  ) as { markets: { clobTokenIds: string }[] }[]
  const polymarket = dial(predictions.polymarket.wsUrl)
  say(polymarket, { type: 'market', assets_ids: JSON.parse(events[0]?.markets[0]?.clobTokenIds ?? '[]') })
  const rtds = dial(predictions.polymarket.rtdsUrl)
  say(rtds, { action: 'subscribe', subscriptions: [{ topic: 'crypto_prices', type: '*', filters: '' }] })
  const kalshi = dial(
    predictions.kalshi.wsUrl,
    signedHeaders(account, 'GET', '/trade-api/ws/v2', clock.now()),
  )
  const { markets } = JSON.parse(
    (await get(`${predictions.kalshi.restUrl}/markets?series_ticker=KXBTC15M`)).body,
  ) as { markets: { ticker: string }[] }
  const market_tickers = markets.map(({ ticker }) => ticker)
  say(kalshi, { id: 1, cmd: 'subscribe', params: { channels: ['orderbook_delta'], market_tickers } })
  for (let step = 0; step < STEPS; step++) {
    clock.advance(STEP_MS)
    await nextTurn()
  }
  const answers = [
    await get(`${exchanges.spot.restUrl}/api/v3/klines?symbol=BTCUSDT&interval=1m&limit=100`),
    await get(`${predictions.kalshi.restUrl}/exchange/status`),
  ]
  await exchanges.close()
  await predictions.close()
  assert.deepEqual([endpoints.size, clock.sleepers], [0, 0], 'nothing is left behind')
  return { frames: [spot, perp, polymarket, rtds, kalshi].map((socket) => socket.texts), answers }
}

test('venues run on a given network and clock alone, and twice the same', async (t) => {
  forbidReality(t)
  const servers = () => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length
  const before = servers()
  const first = await run(7)
  const second = await run(7)
  const other = await run(8)
  t.mock.restoreAll()
  assert.equal(servers(), before)
  assert.deepEqual(second, first)
  assert.notDeepEqual(other, first)
  const counts = first.frames.map((texts) => texts.length)
  assert.ok(
    counts.every((count) => count > 10),
    `${counts}`,
  )
  assert.deepEqual(
    first.answers.map(({ status, headers }) => [status, headers.date]),
    [
      [200, 'Sun, 15 Nov 2026 14:00:30 GMT'],
      [200, 'Sun, 15 Nov 2026 14:00:30 GMT'],
    ],
  )
})
