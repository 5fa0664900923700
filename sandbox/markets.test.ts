/**
 * The simulated venues as a process and as a thread: the same world after a restart, and the cost of a client of
 * everything.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { SYMBOLS } from '../src/core/symbol.ts'
import { getJson, openKalshi, openMarkets } from '../test/sandbox/client.ts'
import { type Json, openSocket } from '../test/sandbox/open-socket.ts'
import { until } from '../test/until.ts'
import type { MarketsReady } from './markets.ts'

type Ready = Required<MarketsReady>

const ENTRY = join(import.meta.dirname, 'markets.ts')
const DAY_MS = 86_400_000
const ENOUGH_FRAMES = 240
const MEASURED_MS = process.env.TAPELINE_SOAK === undefined ? 3_000 : 60_000
const noProc = existsSync('/proc/self/stat') ? false : 'needs /proc'

async function startProcess(t: TestContext, ...args: string[]): Promise<Ready & { child: ChildProcess }> {
  const child = spawn(process.execPath, [ENTRY, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { ...(JSON.parse(line) as Ready), child }
}

/** CPU milliseconds a process has used, from the kernel. */
function cpuMs(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

test('a process writes its addresses, serves the same past after kill -9, and ends on SIGTERM', async (t) => {
  const look = async ({ exchanges }: Ready): Promise<string[]> => {
    const past = Date.UTC(2026, 9, 20, 11, 7)
    const paths = [
      `${exchanges.spot.restUrl}/api/v3/klines?symbol=XRPUSDT&interval=1m&startTime=${past}&limit=50`,
      `${exchanges.spot.restUrl}/api/v3/aggTrades?symbol=BTCUSDT&startTime=${past}&endTime=${past + 60_000}`,
      `${exchanges.futures.restUrl}/fapi/v1/fundingRate?symbol=BTCUSDT&startTime=${past - 3 * DAY_MS}&endTime=${past}`,
    ]
    return Promise.all(paths.map(async (path) => (await fetch(path)).text()))
  }
  const first = await startProcess(t, '--seed', '42', '--world', 'exchanges')
  const answers = await look(first)
  first.child.kill('SIGKILL')
  const second = await startProcess(t, '--seed', '42', '--world', 'exchanges')
  assert.deepEqual(await look(second), answers)
  const other = await startProcess(t, '--seed', '43', '--world', 'exchanges', '--until-stdin-ends')
  assert.notDeepEqual(await look(other), answers)
  second.child.kill('SIGTERM')
  assert.deepEqual(await once(second.child, 'exit'), [0, null])
  other.child.stdin?.end()
  assert.deepEqual(await once(other.child, 'exit'), [0, null])
})

test('both worlds run in one worker thread and end on "close"', async () => {
  const worker = new Worker(ENTRY, { workerData: { seed: 42 } })
  const [{ exchanges, predictions }] = (await once(worker, 'message')) as [Ready]
  const client = await openSocket(`${exchanges.perp.wsUrl}/ws`)
  client.send({ method: 'subscribe', subscription: { type: 'trades', coin: 'ETH' } })
  await client.waitFor((frame) => frame.channel === 'trades')
  client.close()
  assert.equal((await openMarkets(predictions, 'btc-up-or-down-5m', 2)).length, 2)
  worker.postMessage('close')
  assert.deepEqual(await once(worker, 'exit'), [0])
})

test('31 days of 1m candles cost at most a second and a half of CPU per market', {
  skip: noProc,
}, async (t) => {
  const { child, exchanges } = await startProcess(t, '--world', 'exchanges')
  const nowMs = Math.floor(Date.now() / 60_000) * 60_000
  const before = cpuMs(child.pid)
  let rows = 0
  for (const [url, limit] of [
    [`${exchanges.spot.restUrl}/api/v3/klines`, 1_000],
    [`${exchanges.futures.restUrl}/fapi/v1/klines`, 499],
  ] as const)
    for (let at = nowMs - 31 * DAY_MS; at < nowMs; at += limit * 60_000) {
      const range = `startTime=${at}&endTime=${nowMs - 1}&limit=${limit}`
      rows += (await getJson<unknown[]>(`${url}?symbol=BTCUSDT&interval=1m&${range}`)).length
    }
  const used = cpuMs(child.pid) - before
  t.diagnostic(`${rows} rows, ${used} ms of CPU`)
  assert.equal(rows, 2 * 31 * 1_440)
  assert.ok(used < 3_000, `${used} ms`)
})

test('20,000 trades a second are sent without falling behind', { skip: noProc }, async (t) => {
  const { child, exchanges } = await startProcess(t, '--world', 'exchanges', '--trades-per-second', '1667')
  const names = ['btcusdt', 'ethusdt', 'solusdt', 'xrpusdt'].map((name) => `${name}@aggTrade`).join('/')
  const clients = [
    await openSocket(`${exchanges.spot.wsUrl}/stream?streams=${names}`),
    await openSocket(`${exchanges.futures.wsUrl}/market/stream?streams=${names}`),
  ]
  const perpClient = await openSocket(`${exchanges.perp.wsUrl}/ws`)
  for (const coin of SYMBOLS) perpClient.send({ method: 'subscribe', subscription: { type: 'trades', coin } })
  await wait(1_000)
  const count = () =>
    clients.reduce((sum, client) => sum + client.frames().length, 0) +
    perpClient
      .frames()
      .reduce((sum, frame) => sum + (frame.channel === 'trades' ? (frame.data as unknown[]).length : 0), 0)
  const [trades, cpu, at] = [count(), cpuMs(child.pid), performance.now()]
  await wait(1_500)
  const seconds = (performance.now() - at) / 1_000
  const [sent, cpuSeconds] = [count() - trades, (cpuMs(child.pid) - cpu) / 1_000]
  const lagMs = () => {
    const last = clients[0]?.frames().at(-1)?.data as { E: number } | undefined
    return Date.now() - (last?.E ?? 0)
  }
  t.diagnostic(
    `${Math.round(sent / seconds)} trades/s, ${Math.round((cpuSeconds / seconds) * 100)} % of a core, lag ${lagMs()} ms`,
  )
  // Measured in CPU time, because a busy machine gives the process less of it, which does not mean that the process
  // falls behind.
  assert.ok(sent / cpuSeconds > 20_000, `${sent} trades in ${cpuSeconds} s of CPU`)
  await until('the newest trades are sent', () => lagMs() < 3_000)
  for (const client of [...clients, perpClient]) client.close()
})

test('a client of every stream and every running market costs a small part of a core', {
  skip: noProc,
}, async (t) => {
  const { child, exchanges, predictions } = await startProcess(t, '--seed', '4')
  const { spot, futures, perp } = exchanges
  const streams = (...kinds: string[]) =>
    SYMBOLS.flatMap((symbol) => kinds.map((kind) => `${symbol.toLowerCase()}usdt@${kind}`)).join('/')
  const clients = await Promise.all(
    [
      `${spot.wsUrl}/stream?streams=${streams('aggTrade', 'kline_1s', 'kline_1m', 'bookTicker')}`,
      `${futures.wsUrl}/market/stream?streams=${streams('aggTrade', 'kline_1m', 'forceOrder')}`,
      `${futures.wsUrl}/public/stream?streams=${streams('bookTicker')}`,
      `${perp.wsUrl}/ws`,
    ].map((url) => openSocket(url)),
  )
  for (const coin of SYMBOLS)
    for (const extra of [
      { type: 'trades' },
      { type: 'l2Book' },
      { type: 'candle', interval: '1m' },
      { type: 'activeAssetCtx' },
    ])
      clients[3]?.send({ method: 'subscribe', subscription: { ...extra, coin } })
  const tokens: string[] = []
  for (const symbol of SYMBOLS)
    for (const tenor of ['5m', '15m', 'hourly', '4h', 'daily']) {
      const markets = await openMarkets(predictions, `${symbol.toLowerCase()}-up-or-down-${tenor}`)
      // The running window and, for the short tenors, the next one.
      tokens.push(...markets.slice(0, tenor.endsWith('m') ? 2 : 1).flatMap((market) => market.tokens))
    }
  const stream = await openSocket(predictions.polymarket.wsUrl)
  stream.send({ type: 'market', assets_ids: tokens, custom_feature_enabled: true })
  const prices = await openSocket(predictions.polymarket.rtdsUrl)
  prices.send({
    action: 'subscribe',
    subscriptions: [{ topic: 'crypto_prices_chainlink', type: '*', filters: '' }],
  })
  const kalshi = await openKalshi(predictions, Date.now())
  const { markets } = await getJson<{ markets: Json[] }>(
    `${predictions.kalshi.restUrl}/markets?status=open&limit=1000`,
  )
  const channels = ['orderbook_delta', 'trade', 'ticker']
  const tickers = markets.map((market) => market.ticker)
  kalshi.send({
    id: 1,
    cmd: 'subscribe',
    params: { channels, market_tickers: tickers, use_yes_price: true },
  })
  // The first second is spent compiling and does not count as running cost.
  await wait(1_500)
  const counts = () => [stream, kalshi, prices, ...clients].map((client) => client.texts.length)
  const [cpu, before, started] = [cpuMs(child.pid), counts(), performance.now()]
  await wait(MEASURED_MS)
  // Both must send, no matter how much of the machine they get.
  await until('frames of both', () =>
    [0, 1].every((i) => (counts()[i] as number) - (before[i] as number) > ENOUGH_FRAMES),
  )
  const seconds = (performance.now() - started) / 1_000
  const share = (cpuMs(child.pid) - cpu) / 1_000 / seconds
  const rates = counts().map((count, i) => Math.round((count - (before[i] as number)) / seconds))
  t.diagnostic(
    `${tokens.length} tokens, ${tickers.length} strikes: ${(share * 100).toFixed(1)} % of a core, frames per second ${rates.join(' ')}`,
  )
  // In the hour before the daily contracts close, there are no hourly ones in addition.
  assert.ok(tickers.length >= 320, `${tickers.length} strikes`)
  assert.ok(share < 0.25, `${share}`)
  for (const client of [stream, prices, kalshi, ...clients]) client.close()
})
