/**
 * What the market commands can reach in the test environment: every venue, and the same simulated world as the service.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { startSandboxExchanges } from '../../sandbox/exchanges/run.ts'
import { loadConfig } from '../config/config.ts'
import type { Source } from '../core/source.ts'
import { DAY_MS } from '../core/time.ts'
import { candleFeed } from '../ingest/shared/feeds.ts'
import { systemClock } from '../kit/clock.ts'
import { createLogger } from '../kit/log.ts'
import { VENUE_NAMES } from '../venues/list.ts'
import { marketAccess, type OpenMarketAccess } from './market-access.ts'

const folder = mkdtempSync(join(tmpdir(), 'tapeline-access-'))
const todayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS
let access: OpenMarketAccess
before(() => {
  const env = { TAPELINE_DATA: folder, TAPELINE_SEED: 'other', TAPELINE_SANDBOX_TRADES: '7' }
  access = marketAccess(loadConfig(env).config, {
    clock: systemClock,
    log: createLogger({ level: 'silent' }),
  })
})
after(async () => {
  await access.close()
  rmSync(folder, { recursive: true, force: true })
})

const fill = (source: Source, fromMs: number, toMs: number) =>
  access.backfill({
    ...{ environment: 'test', source, symbols: ['BTC'], fromMs, toMs, onProgress: () => {} },
  })

async function rows(source: Source, interval: '1m' | '5m' | '15m', from: number, to: number) {
  const store = await access.store('test')
  const page = await store.series.page({
    ...{ feeds: [candleFeed(source, 'BTC', interval)], range: { from, to } },
    ...{ order: 'asc', limit: 5_000, separator: '\n' },
  })
  return page.text === '' ? [] : page.text.split('\n').map((text) => JSON.parse(text))
}

test('venues check queries all six venues, and all six simulated ones answer', async () => {
  const found = await access.checkVenues('test')
  assert.deepEqual(
    found.map(({ venue, ok }) => [venue, ok]),
    VENUE_NAMES.map((name) => [name, true]),
    found.map(({ line }) => line).join('\n'),
  )
})

test('a manual backfill writes the world of the service: same seed, same density of trades', async () => {
  const fromMs = todayMs - DAY_MS
  await fill('cexa', fromMs, todayMs)
  const found = await rows('cexa', '1m', fromMs, fromMs + 600_000)
  const sandbox = await startSandboxExchanges({ seed: crc32('other'), tradesPerSecond: 7 })
  const path = `/api/v3/klines?symbol=BTCUSDT&interval=1m&startTime=${fromMs}&limit=10`
  const klines = (await (await fetch(sandbox.spot.restUrl + path)).json()) as string[][]
  await sandbox.close()
  assert.deepEqual(
    found.map(({ close, volume }) => [close, volume]),
    klines.map((kline) => [Number(kline[4]), Number(kline[5])]),
  )
  assert.equal(found.length, 10)
})

test('a backfill of the oracle makes its candles from rounds, and a second one has nothing left to request', async () => {
  const [fromMs, toMs] = [todayMs - DAY_MS, todayMs - DAY_MS + 3 * 3_600_000]
  const first = await fill('oracle', fromMs, toMs)
  assert.deepEqual([first.failed, first.rowsInserted], [0, 36 + 12])
  const quarters = await rows('oracle', '15m', fromMs, toMs)
  const fives = await rows('oracle', '5m', fromMs, toMs)
  assert.equal(quarters.length, 12)
  assert.equal(fives.length, 36)
  assert.ok([...quarters, ...fives].every(({ closed, volume }) => closed === true && volume === null))
  const highest = Math.max(...fives.slice(0, 3).map(({ high }) => high))
  assert.equal(quarters[0].high, highest)
  const again = await fill('oracle', fromMs, toMs)
  assert.deepEqual(again, { ranges: 0, failed: 0, rowsInserted: 0, rowsCorrected: 0 })
})

test('a backfill of prediction markets leaves today to the service, which requests by itself what it has missed', async () => {
  for (const source of ['predmkt_a', 'predmkt_b'] as const)
    assert.deepEqual(await fill(source, todayMs, todayMs + DAY_MS), {
      ...{ ranges: 0, failed: 0, rowsInserted: 0, rowsCorrected: 0 },
    })
})
