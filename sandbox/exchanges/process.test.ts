/** The sandbox as a process and as a thread; the same world after a restart; what it costs. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { openProbe } from './probe.ts'
import type { VenueAddress } from './run.ts'

interface Ready {
  spot: VenueAddress
  futures: VenueAddress
  perp: VenueAddress
  controlUrl: string
}

const ENTRY = join(import.meta.dirname, 'process.ts')
const DAY_MS = 86_400_000

async function startProcess(t: TestContext, ...args: string[]): Promise<Ready & { child: ChildProcess }> {
  const child = spawn(process.execPath, [ENTRY, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { ...(JSON.parse(line) as Ready), child }
}

/** CPU milliseconds a process has used, from the kernel; undefined where there is no /proc. */
function cpuMs(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const noProc = existsSync('/proc/self/stat') ? false : 'needs /proc'

test('a process prints its addresses, serves the same past after kill -9, and ends on SIGTERM', async (t) => {
  const look = async (sandbox: Ready): Promise<string[]> => {
    const past = Date.UTC(2026, 9, 20, 11, 7)
    const paths = [
      `${sandbox.spot.restUrl}/api/v3/klines?symbol=XRPUSDT&interval=1m&startTime=${past}&limit=50`,
      `${sandbox.spot.restUrl}/api/v3/aggTrades?symbol=BTCUSDT&startTime=${past}&endTime=${past + 60_000}`,
      `${sandbox.futures.restUrl}/fapi/v1/fundingRate?symbol=BTCUSDT&startTime=${past - 3 * DAY_MS}&endTime=${past}`,
      `${sandbox.controlUrl}/truth/book?venue=perp&symbol=SOL&at=${past}`,
    ]
    return Promise.all(paths.map(async (path) => (await fetch(path)).text()))
  }
  const first = await startProcess(t, '--seed', '42')
  const told = await look(first)
  first.child.kill('SIGKILL')
  const second = await startProcess(t, '--seed', '42')
  assert.deepEqual(await look(second), told)
  const other = await startProcess(t, '--seed', '43')
  assert.notDeepEqual(await look(other), told)
  second.child.kill('SIGTERM')
  assert.deepEqual(await once(second.child, 'exit'), [0, null])
})

test('it runs in a worker thread', async () => {
  const worker = new Worker(ENTRY, { workerData: { seed: 42 } })
  const [ready] = (await once(worker, 'message')) as [Ready]
  const probe = await openProbe(`${ready.perp.wsUrl}/ws`)
  probe.send({ method: 'subscribe', subscription: { type: 'trades', coin: 'ETH' } })
  await probe.waitFor((frame) => frame.channel === 'trades')
  probe.close()
  worker.postMessage('close')
  assert.deepEqual(await once(worker, 'exit'), [0])
})

/** One symbol normally, all four in the long run. */
const HISTORY_SYMBOLS = process.env.TAPELINE_SOAK ? ['BTCUSDT', 'ETHUSDT', 'SOLUSDT', 'XRPUSDT'] : ['BTCUSDT']

test('31 days of 1m candles of both exchanges cost about half a second of CPU per market', {
  skip: noProc,
}, async (t) => {
  const { child, spot, futures } = await startProcess(t)
  const nowMs = Math.floor(Date.now() / 60_000) * 60_000
  const before = cpuMs(child.pid)
  let rows = 0
  for (const symbol of HISTORY_SYMBOLS) {
    for (const [url, limit] of [
      [`${spot.restUrl}/api/v3/klines`, 1_000],
      [`${futures.restUrl}/fapi/v1/klines`, 499],
    ] as const) {
      for (let at = nowMs - 31 * DAY_MS; at < nowMs; at += limit * 60_000) {
        const body = await (
          await fetch(
            `${url}?symbol=${symbol}&interval=1m&startTime=${at}&endTime=${nowMs - 1}&limit=${limit}`,
          )
        ).text()
        rows += (JSON.parse(body) as unknown[]).length
      }
    }
  }
  const used = cpuMs(child.pid) - before
  t.diagnostic(`${rows} rows, ${used} ms of CPU`)
  const markets = 2 * HISTORY_SYMBOLS.length
  assert.equal(rows, markets * 31 * 1_440)
  assert.ok(used < markets * 1_500, `${used} ms`)
})

test('at the default rate with every stream of a collector open it uses a small part of a core', {
  skip: noProc,
}, async (t) => {
  const { child, spot, futures, perp } = await startProcess(t)
  const names = ['btcusdt', 'ethusdt', 'solusdt', 'xrpusdt']
  const streams = (...kinds: string[]) =>
    names.flatMap((name) => kinds.map((kind) => `${name}@${kind}`)).join('/')
  const probes = [
    await openProbe(
      `${spot.wsUrl}/stream?streams=${streams('aggTrade', 'kline_1s', 'kline_1m', 'bookTicker')}`,
    ),
    await openProbe(
      `${futures.wsUrl}/market/stream?streams=${streams('aggTrade', 'kline_1m', 'markPrice@1s', 'forceOrder')}`,
    ),
    await openProbe(`${futures.wsUrl}/public/stream?streams=${streams('bookTicker')}`),
  ]
  const perpProbe = await openProbe(`${perp.wsUrl}/ws`)
  for (const coin of ['BTC', 'ETH', 'SOL', 'XRP'])
    for (const extra of [
      { type: 'trades' },
      { type: 'l2Book', fast: true },
      { type: 'l2Book' },
      { type: 'candle', interval: '1m' },
      { type: 'activeAssetCtx' },
    ])
      perpProbe.send({ method: 'subscribe', subscription: { ...extra, coin } })
  // The first second compiles; it is not what running costs.
  await wait(1_500)
  const before = cpuMs(child.pid)
  await wait(3_000)
  const share = (cpuMs(child.pid) - before) / 3_000
  t.diagnostic(
    `${(share * 100).toFixed(1)} % of a core, ${probes.reduce((sum, probe) => sum + probe.texts.length, perpProbe.texts.length)} frames`,
  )
  for (const probe of [...probes, perpProbe]) probe.close()
  assert.ok(share < 0.25, `${share}`)
})

test('20,000 trades a second are told without falling behind', { skip: noProc }, async (t) => {
  const { child, spot, futures, perp } = await startProcess(t, '--trades-per-second', '1667')
  const names = ['btcusdt', 'ethusdt', 'solusdt', 'xrpusdt'].map((name) => `${name}@aggTrade`).join('/')
  const probes = [
    await openProbe(`${spot.wsUrl}/stream?streams=${names}`),
    await openProbe(`${futures.wsUrl}/market/stream?streams=${names}`),
  ]
  const perpProbe = await openProbe(`${perp.wsUrl}/ws`)
  for (const coin of ['BTC', 'ETH', 'SOL', 'XRP'])
    perpProbe.send({ method: 'subscribe', subscription: { type: 'trades', coin } })
  await wait(1_000)
  const count = () =>
    probes.reduce((sum, probe) => sum + probe.frames().length, 0) +
    perpProbe
      .frames()
      .reduce((sum, frame) => sum + (frame.channel === 'trades' ? (frame.data as unknown[]).length : 0), 0)
  const [trades, cpu, at] = [count(), cpuMs(child.pid), performance.now()]
  await wait(1_500)
  const seconds = (performance.now() - at) / 1_000
  const rate = (count() - trades) / seconds
  const last = probes[0]?.frames().at(-1)?.data as { E: number }
  const lagMs = Date.now() - last.E
  t.diagnostic(
    `${Math.round(rate)} trades/s, ${Math.round(((cpuMs(child.pid) - cpu) / seconds / 1_000) * 100)} % of a core, lag ${lagMs} ms`,
  )
  for (const probe of [...probes, perpProbe]) probe.close()
  assert.ok(rate > 10_000, `${rate}`)
  assert.ok(lagMs < 3_000, `${lagMs}`)
})
