import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { createLogger } from '../../kit/log.ts'
import { scanExactRows } from '../../store/scan-rows.ts'
import { VENUES } from '../../venues/list.ts'
import { feedOf } from '../shared/feeds.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { pastOpenInterest } from './backfill-open-interest.ts'

const START_MS = Date.parse('2026-11-15T12:00:00Z')

test('a sum over contracts has all the digits of a stored figure, even those that a double does not hold', async () => {
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const writer = createRowWriter({
    store,
    random: Math.random,
    clock,
    log: createLogger({ level: 'silent' }),
  })
  const feed = feedOf('open_interest', 'predmkt_b', 'BTC', '5m')
  const openInterest = '12345678901234567.89'
  const row = { time: START_MS, openInterest, openInterestUsd: openInterest, marketId: 'first' }
  await store.write({ rows: [{ feed, rows: [row] }] })
  const range = { fromMs: START_MS, toMs: START_MS + 300_000 }
  const { plan } = VENUES.kalshi
  const interest = pastOpenInterest({ plan, symbol: 'BTC', series: store.series, writer, range })
  for (const marketId of ['first', 'second'])
    await interest.contract(
      {
        ...{ marketId, source: 'predmkt_b', symbol: 'BTC', active: false, status: 'closed' },
        ...{ startTime: START_MS, endTime: range.toMs },
      },
      [],
      START_MS,
    )
  await interest.sum([])
  await writer.flush()
  const rows = await Array.fromAsync(scanExactRows(store.series, feed, { from: 0, to: range.toMs }))
  assert.deepEqual(
    rows.map((each) => [each.market_id, each.open_interest]),
    [
      [undefined, openInterest],
      ['first', openInterest],
      ['second', '0'],
    ],
  )
  await store.close()
})
