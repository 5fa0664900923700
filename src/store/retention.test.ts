import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { until } from '../../test/until.ts'
import type { Feed } from '../core/feed.ts'
import { parseRetention, type RetentionRule } from '../core/retention.ts'
import { DAY_MS } from '../core/time.ts'
import { createLogger } from '../kit/log.ts'
import type { EnvironmentStore } from './environment.ts'
import { startRetention } from './retention.ts'

const HOUR_MS = 3_600_000
const NOW = Date.UTC(2026, 5, 15)
const LIQUIDATIONS: Feed<'liquidations'> = {
  dataset: 'liquidations',
  source: 'cexa_futures',
  symbol: 'BTC',
  interval: '',
}
const candles = (source: 'cexa' | 'perpdex', interval: '1s' | '1d'): Feed<'candles'> => ({
  dataset: 'candles',
  source,
  symbol: 'BTC',
  interval,
})
const candle = { open: 1, high: 1, low: 1, close: 1, volume: 1, closed: true }

test('each feed is kept as long as its rule says, and what has none forever', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-retention-'))
  const clock = manualClock(NOW - 5 * 60_000)
  const log = createLogger({ level: 'silent' })
  const stores = storesIn(folder, clock)
  const store = await stores.environment('live')
  let end = async () => {}
  try {
    const ages = [91, 89, 88, 1]
    const liquidation = { seq: 0, side: 'long' as const, quantity: 1, price: 10, avgPrice: 10 }
    await store.write({
      rows: [
        { feed: LIQUIDATIONS, rows: ages.map((age) => ({ ...liquidation, time: NOW - age * DAY_MS })) },
        { feed: candles('cexa', '1d'), rows: [{ ...candle, time: NOW - 400 * DAY_MS }] },
        ...(['cexa', 'perpdex'] as const).map((source) => ({
          feed: candles(source, '1s'),
          rows: [20, 8, 1].map((age) => ({ ...candle, time: NOW - age * DAY_MS })),
        })),
      ],
    })
    const kept = async (feed: Feed) => {
      const range = { from: 0, to: NOW }
      const page = await store.series.page({ feeds: [feed], range, order: 'asc', limit: 10, separator: ',' })
      return page.count
    }
    const rules = parseRetention('liquidations=90d,candles.1s=9d,candles.1s@perpdex=2d') as RetentionRule[]
    end = startRetention(() => stores.environment('live'), { environment: 'live', rules, clock, log })
    assert.equal(await kept(LIQUIDATIONS), 4)
    clock.advance(5 * 60_000)
    await until('the one of 91 days is deleted', async () => {
      // Lets the pause between two steps pass.
      clock.advance(20)
      return (await kept(LIQUIDATIONS)) === 3
    })
    await until('what is kept shorter is deleted, too', async () => {
      clock.advance(20)
      return (await kept(candles('perpdex', '1s'))) === 1 && (await kept(candles('cexa', '1s'))) === 2
    })
    clock.advance(2 * DAY_MS)
    await until('two more are deleted two days later', async () => {
      clock.advance(HOUR_MS)
      return (await kept(LIQUIDATIONS)) === 1
    })
    assert.equal(await kept(candles('cexa', '1d')), 1)
  } finally {
    await end()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('with a clock that runs far ahead of what is recorded, rows are as old as they are beside the newest one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-retention-'))
  const clock = manualClock(NOW + 3_650 * DAY_MS)
  const stores = storesIn(folder, clock)
  const store = await stores.environment('live')
  let end = async () => {}
  try {
    const feed = candles('cexa', '1s')
    const rows = [12, 8, 0].map((age) => ({ ...candle, time: NOW - age * DAY_MS }))
    await store.write({ rows: [{ feed, rows }] })
    const lines: string[] = []
    const log = createLogger({ level: 'info', write: (line) => lines.push(line) })
    const rules = parseRetention('candles.1s=9d') as RetentionRule[]
    end = startRetention(() => stores.environment('live'), { environment: 'live', rules, clock, log })
    clock.advance(5 * 60_000)
    await until('the one of 12 days is deleted', async () => {
      clock.advance(20)
      const range = { from: 0, to: NOW + 1 }
      const page = await store.series.page({ feeds: [feed], range, order: 'asc', limit: 10, separator: ',' })
      return page.count === 2
    })
    assert.ok(lines.some((line) => line.includes('the newest row is old')))
  } finally {
    await end()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('rows of a feed that appears during a run are kept as its own rule says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-retention-'))
  const clock = manualClock(NOW - 5 * 60_000)
  const log = createLogger({ level: 'silent' })
  const stores = storesIn(folder, clock)
  const store = await stores.environment('live')
  const late = candles('cexa', '1d')
  let isDone = false
  const open = async (): Promise<EnvironmentStore> => {
    const opened = await stores.environment('live')
    const feeds: typeof opened.series.feeds = async (filter) => {
      const found = await opened.series.feeds(filter)
      await store.write({ rows: [{ feed: late, rows: [{ ...candle, time: NOW - 400 * DAY_MS }] }] })
      return found
    }
    const close = () => {
      isDone = true
      return opened.close()
    }
    return { ...opened, series: { ...opened.series, feeds }, close }
  }
  let end = async () => {}
  try {
    const rows = [20, 8, 1].map((age) => ({ ...candle, time: NOW - age * DAY_MS }))
    const short = candles('perpdex', '1s')
    await store.write({ rows: [{ feed: short, rows }] })
    const rules = parseRetention('candles.1s=2d') as RetentionRule[]
    end = startRetention(open, { environment: 'live', rules, clock, log })
    clock.advance(5 * 60_000)
    await until('the run ends', () => {
      clock.advance(20)
      return isDone
    })
    const countOf = async (feed: Feed) => {
      const range = { from: 0, to: NOW }
      const page = await store.series.page({ feeds: [feed], range, order: 'asc', limit: 10, separator: ',' })
      return page.count
    }
    assert.deepEqual([await countOf(short), await countOf(late)], [1, 1])
  } finally {
    await end()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('rows are deleted once an hour, and their room is given back first, however long packing takes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-retention-'))
  const clock = manualClock(NOW)
  const log = createLogger({ level: 'silent' })
  const stores = storesIn(folder, clock)
  const store = await stores.environment('live')
  const steps: { step: string; hour: number }[] = []
  const note = (step: string) => steps.push({ step, hour: Math.floor((clock.now() - NOW) / HOUR_MS) })
  /** Deleting and giving back take real time, in which the clock must not pass by hours. */
  let isBeforePacking = false
  const open = async () => {
    isBeforePacking = true
    const opened = await stores.environment('live')
    const packsForever: EnvironmentStore = {
      ...opened,
      async compact(_, { betweenSteps = async () => false } = {}) {
        note('pack')
        isBeforePacking = false
        while (await betweenSteps());
        return 0
      },
      giveBackRoom(options) {
        note('give back')
        return opened.giveBackRoom(options)
      },
    }
    return packsForever
  }
  let end = async () => {}
  try {
    const feed = candles('cexa', '1s')
    await store.write({
      rows: [{ feed, rows: [9.5, 1].map((age) => ({ ...candle, time: NOW - age * DAY_MS })) }],
    })
    const rules = parseRetention('candles.1s=9d') as RetentionRule[]
    end = startRetention(open, { environment: 'live', rules, clock, log })
    await until('four hours have passed', () => {
      clock.advance(isBeforePacking ? 100 : 60_000)
      return clock.now() >= NOW + 4 * HOUR_MS
    })
    const packed = steps.filter(({ step }) => step === 'pack').map(({ hour }) => hour)
    assert.deepEqual(packed.slice(0, 4), [0, 1, 2, 3])
    assert.deepEqual(
      steps.slice(0, 2).map(({ step }) => step),
      ['give back', 'pack'],
    )
  } finally {
    await end()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
