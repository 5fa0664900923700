import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { VENUES } from '../../venues/list.ts'
import { FinalBooks } from './final-books.ts'
import type { FollowedMarket } from './followed-market.ts'

const START_MS = Date.parse('2026-11-15T12:00:00Z')
const MINUTE_MS = 60_000

test('while lists leave out a market that runs since before the start, what follows is a gap and not final, for half an hour', () => {
  for (const venue of ['kalshi', 'polymarket'] as const) {
    const markets = new Map<string, FollowedMarket>()
    const listed = (marketId: string) =>
      markets.set(marketId, { recorder: { market: { status: 'closed' } } } as unknown as FollowedMarket)
    const clock = manualClock(START_MS)
    const lost: unknown[][] = []
    const tracker = { lost: (_: unknown, ...range: unknown[]) => lost.push(range) }
    const interest = { missed() {} }
    const series = { finality: async () => [] }
    const parts = { plan: VENUES[venue].plan, symbol: 'BTC', markets, clock, series, tracker, interest }
    const finals = new FinalBooks(parts as unknown as ConstructorParameters<typeof FinalBooks>[0])
    const finalAt = (minutes: number) => {
      const nowMs = START_MS + minutes * MINUTE_MS
      return (finals.advance(nowMs, nowMs) - nowMs) / MINUTE_MS
    }
    assert.equal(finalAt(4), -2.5)
    const marketType = '1h' as const
    finals.expect(['A', 'B'].map((marketId) => ({ marketId, marketType })))
    listed('A')
    assert.equal(finalAt(5), -5)
    assert.equal(finalAt(29), -29)
    assert.equal(finalAt(30), -2.5, 'given up')
    const at = (minutes: number) => START_MS + minutes * MINUTE_MS
    assert.deepEqual(lost, [
      [at(1.5), at(5), 'not_observed'],
      [at(5), at(29), 'not_observed'],
    ])
    listed('B')
    assert.equal(finalAt(10), -2.5)
  }
})
