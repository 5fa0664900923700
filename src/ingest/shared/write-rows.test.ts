import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { storesIn } from '../../../test/fakes/stores.ts'
import type { FundingInput } from '../../core/rows/funding.ts'
import { systemClock } from '../../kit/clock.ts'
import { createLogger } from '../../kit/log.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import { LeaseLostError } from '../../store/leases.ts'
import { scanRows } from '../../store/scan-rows.ts'
import { candleFeed, feedOf } from './feeds.ts'
import { createRowWriter, MAX_WAITING_ROWS } from './write-rows.ts'

const feed = feedOf('funding', 'perpdex', 'BTC')
const log = createLogger({ level: 'silent' })
const row = (time: number): FundingInput => ({ time, fundingRate: '0.1', nextFundingTime: time + 1 })

async function openStore() {
  return storesIn(':memory:').environment('test')
}

/** A store whose writes wait until the test releases them, and fail the given number of times first. */
function held(store: EnvironmentStore, failures = 0) {
  let left = failures
  const gate = Promise.withResolvers<void>()
  const write: EnvironmentStore['write'] = async (batch) => {
    await gate.promise
    if (left-- > 0) throw new Error('disk full')
    return store.write(batch)
  }
  return { store: { ...store, write }, open: () => gate.resolve() }
}

test('time is observed only when the rows put before it are durable', async () => {
  const store = await openStore()
  const { store: slow, open } = held(store)
  const writer = createRowWriter({ store: slow, random: Math.random, clock: systemClock, log })
  const seen = async () => [
    await store.series.earliest({ dataset: 'funding' }),
    (await store.coverage.read([feed], 0, 2_000)).complete,
  ]
  writer.put(feed, [row(1_000)])
  writer.observed(feed, 0, 2_000)
  const flushed = writer.flush()
  await turn()
  assert.deepEqual(await seen(), [undefined, false])
  open()
  await flushed
  assert.deepEqual(await seen(), [1_000, true])
  await writer.close()
  await store.close()
})

test('a write that fails is repeated with the same rows; none is lost', async () => {
  const store = await openStore()
  const { store: failing, open } = held(store, 2)
  open()
  const writer = createRowWriter({ store: failing, random: Math.random, clock: systemClock, log })
  writer.put(feed, [row(1_000), row(2_000)])
  await writer.flush()
  assert.deepEqual([writer.stats().inserted, writer.stats().failure], [2, null])
  await writer.close()
  await store.close()
})

test('a write that was stored although it failed is repeated without new corrections', async (t) => {
  const store = await openStore()
  let left = 1
  const write: EnvironmentStore['write'] = async (batch) => {
    const result = await store.write(batch)
    if (left-- > 0) throw new Error('connection lost')
    return result
  }
  const writer = createRowWriter({ store: { ...store, write }, random: Math.random, clock: systemClock, log })
  t.after(async () => {
    await writer.close()
    await store.close()
  })
  const candles = candleFeed('oracle', 'BTC', '1m')
  const candle = (close: string, closed = true) => ({
    time: 60_000,
    open: '1',
    high: '3',
    low: '1',
    close,
    closed,
  })
  writer.put(candles, [candle('1'), candle('2'), candle('3', false)])
  await writer.flush()
  assert.deepEqual([writer.stats().inserted, writer.stats().corrected], [0, 0])
  const rows = await Array.fromAsync(scanRows(store.series, candles, { from: 0, to: 120_000 }))
  assert.deepEqual(
    rows.map(({ close, closed }) => [close, closed]),
    [[2, true]],
  )
})

test('above the bound the writer is not ready, and it is again when rows have gone', async () => {
  const store = await openStore()
  const { store: slow, open } = held(store)
  const writer = createRowWriter({ store: slow, random: Math.random, clock: systemClock, log })
  writer.put(
    feed,
    Array.from({ length: MAX_WAITING_ROWS }, (_, index) => row(index)),
  )
  let isReady = false
  const ready = writer.ready().then(() => {
    isReady = true
  })
  await turn()
  assert.equal(isReady, false)
  open()
  await ready
  await writer.close()
  assert.equal(writer.stats().inserted, MAX_WAITING_ROWS)
  await store.close()
})

test('a row that cannot be served is counted and refused, the others are written', async () => {
  const store = await openStore()
  const writer = createRowWriter({ store, random: Math.random, clock: systemClock, log })
  writer.put(feed, [row(1_000), { ...row(2_000), nextFundingTime: 0 }, row(3_000)])
  await writer.flush()
  assert.deepEqual([writer.stats().inserted, writer.stats().refused], [2, 1])
  await writer.close()
  await store.close()
})

test('a process that does not lead any more does not try to write again', async (t) => {
  const store = await openStore()
  let writes = 0
  const write: EnvironmentStore['write'] = async (batch) => {
    if (writes++ === 0) throw new LeaseLostError({ part: 'record:perpdex/test', term: 1 })
    return store.write(batch)
  }
  const writer = createRowWriter({ store: { ...store, write }, random: Math.random, clock: systemClock, log })
  t.after(async () => {
    await writer.close()
    await store.close()
  })
  writer.put(feed, [row(1_000)])
  await assert.rejects(writer.flush(), LeaseLostError)
  assert.deepEqual([writes, writer.stats().inserted], [1, 0])
  assert.match(writer.stats().failure ?? '', /not ours any more/)
})
