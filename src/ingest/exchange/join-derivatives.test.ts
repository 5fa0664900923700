import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { feedOf } from '../shared/feeds.ts'
import { loadDerivatives } from './join-derivatives.ts'

const TIME_MS = Date.parse('2026-03-14T12:00:00Z')
const HOUR_MS = 3_600_000

test('after a restart the joined values have the same digits as live, even those that a double does not hold', async () => {
  const store = await storesIn(mkdtempSync(join(tmpdir(), 'tapeline-'))).environment('test')
  const interest = { time: TIME_MS, openInterest: '1485517.8400000001', openInterestUsd: '1' }
  const funding = {
    ...{ time: TIME_MS, fundingRate: '0.0000125000000000000001', nextFundingTime: TIME_MS + HOUR_MS },
  }
  const about = { series: store.series, source: 'perpdex', symbol: 'SOL', fromMs: TIME_MS - HOUR_MS } as const
  const live = await loadDerivatives(about)
  live.addOpenInterest(interest)
  live.addFunding(funding)
  await store.write({
    rows: [
      { feed: feedOf('open_interest', 'perpdex', 'SOL', '5m'), rows: [interest] },
      { feed: feedOf('funding', 'perpdex', 'SOL'), rows: [funding] },
    ],
  })
  const restarted = await loadDerivatives(about)
  const valuesOf = ({ openInterestAt, fundingAt }: typeof live) => [
    openInterestAt(TIME_MS + 1),
    fundingAt(TIME_MS + 1),
  ]
  assert.deepEqual(valuesOf(live), [interest.openInterest, funding.fundingRate])
  assert.deepEqual(valuesOf(restarted), valuesOf(live))
  await store.close()
})
