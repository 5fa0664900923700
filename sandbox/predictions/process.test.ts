/** The sandbox as a process and as a thread, and what it costs with one recorder that listens to everything. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { SYMBOLS } from '../../src/core/symbol.ts'
import { getJson, type Json, openMarkets, record, recordKalshi } from './client.ts'
import type { SandboxPredictions } from './run.ts'

const FILE = join(import.meta.dirname, 'process.ts')
const CPU_SHARE = 0.15
const MEASURED_MS = process.env.TAPELINE_SOAK === undefined ? 5_000 : 60_000

test('it runs in a thread of its own and ends when told', async () => {
  const worker = new Worker(FILE, { workerData: { seed: 3 } })
  const ready = await new Promise<SandboxPredictions>((resolve) => worker.once('message', resolve))
  assert.equal((await getJson<Json[]>(`${ready.polymarket.gammaUrl}/series`)).length, 20)
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  worker.postMessage('close')
  assert.equal(await ended, 0)
})

test('one recorder on every running market costs less than 15 % of a core', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const child = spawn(process.execPath, [FILE, '--seed', '4', '--until-stdin-ends'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    const line = await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (data) => resolve(String(data)))
      child.once('exit', (code) => reject(new Error(`ended with ${code}`)))
    })
    const sandbox = JSON.parse(line) as SandboxPredictions
    const tokens: string[] = []
    for (const symbol of SYMBOLS)
      for (const tenor of ['5m', '15m', 'hourly', '4h', 'daily']) {
        const markets = await openMarkets(sandbox, `${symbol.toLowerCase()}-up-or-down-${tenor}`)
        // The running window and, for the short ones, the next.
        tokens.push(...markets.slice(0, tenor.endsWith('m') ? 2 : 1).flatMap((market) => market.tokens))
      }
    const stream = await record(sandbox.polymarket.wsUrl)
    stream.send({ type: 'market', assets_ids: tokens, custom_feature_enabled: true })
    const prices = await record(sandbox.polymarket.rtdsUrl)
    prices.send({
      action: 'subscribe',
      subscriptions: [{ topic: 'crypto_prices_chainlink', type: '*', filters: '' }],
    })
    const kalshi = await recordKalshi(sandbox, Date.now())
    let cursor = ''
    const tickers: string[] = []
    do {
      const page: { markets: Json[]; cursor: string } = await getJson(
        `${sandbox.kalshi.restUrl}/markets?status=open&limit=1000&cursor=${cursor}`,
      )
      tickers.push(...page.markets.map((market) => market.ticker as string))
      cursor = page.cursor
    } while (cursor !== '')
    kalshi.send({
      id: 1,
      cmd: 'subscribe',
      params: {
        channels: ['orderbook_delta', 'trade', 'ticker'],
        market_tickers: tickers,
        use_yes_price: true,
      },
    })
    await wait(1_500)
    const cpuMs = () => {
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      return (Number(fields[11]) + Number(fields[12])) * 10
    }
    const counts = () => [stream, kalshi, prices].map((recorder) => recorder.texts.length)
    const [cpu, before, started] = [cpuMs(), counts(), performance.now()]
    await wait(MEASURED_MS)
    const seconds = (performance.now() - started) / 1_000
    const share = (cpuMs() - cpu) / 1_000 / seconds
    const rates = counts().map((count, i) => Math.round((count - (before[i] as number)) / seconds))
    t.diagnostic(
      `${tokens.length} tokens, ${tickers.length} strikes: ${(share * 100).toFixed(1)} % of a core, frames per second ${rates.join(' ')}`,
    )
    assert.ok(tickers.length >= 640)
    assert.ok((rates[0] as number) > 80 && (rates[1] as number) > 80)
    assert.ok(share < CPU_SHARE, `${share}`)
    for (const recorder of [stream, prices, kalshi]) recorder.close()
  } finally {
    child.stdin.end()
    child.kill()
  }
})
