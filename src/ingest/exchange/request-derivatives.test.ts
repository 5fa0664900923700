import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hyperliquidPlan } from '../../venues/hyperliquid/plan.ts'
import { putFunding, putOpenInterest } from './request-derivatives.ts'
import type { SymbolParts } from './symbol-parts.ts'

const TIME_MS = Date.parse('2026-11-10T10:00:00Z')

test('what the store refuses is joined to no candle: after a restart it would not be known', () => {
  const joined: string[] = []
  const put: number[] = []
  const parts = {
    plan: hyperliquidPlan,
    symbol: 'BTC',
    derivatives: {
      addOpenInterest: ({ openInterest }: { openInterest: string }) => void joined.push(openInterest),
      addFunding: ({ fundingRate }: { fundingRate: string }) => void joined.push(fundingRate),
    },
    writer: { put: (_feed: unknown, rows: readonly unknown[]) => void put.push(rows.length) },
  } as unknown as SymbolParts
  const sample = (openInterest: string, openInterestUsd: string) => ({
    ...{ time: TIME_MS, openInterest, openInterestUsd },
  })
  putOpenInterest(parts, [sample('10', '1000'), sample('11', '-1100')])
  const rate = (fundingRate: string) => ({ time: TIME_MS, fundingRate, nextFundingTime: TIME_MS + 3_600_000 })
  putFunding(parts, [rate('0.0001'), rate('none')])
  assert.deepEqual(joined, ['10', '0.0001'])
  assert.deepEqual([put[0], put.at(-1)], [2, 2], 'the store refuses them, which makes them a gap')
})
