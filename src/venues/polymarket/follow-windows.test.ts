import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { DataObservation } from '../observation.ts'
import type { PolymarketCatalogue } from './catalogue.ts'
import { DoubtedTrades } from './doubted-trades.ts'
import { TokenFeed } from './feed.ts'
import { followWindows } from './follow-windows.ts'
import type { PolymarketRest } from './history.ts'
import type { KnownMarket } from './known-market.ts'
import { createRepairs } from './repairs.ts'

const NOW = 1_784_851_200_000

test('trades that are not answered hold up neither the list nor the windows; they are swept when they are', async () => {
  const clock = manualClock(NOW)
  const stop = new AbortController()
  const listedMs: number[] = []
  const closed = {
    market: { marketId: '0xa', symbol: 'BTC', startTime: NOW - 900_000, endTime: NOW - 600_000 },
    legs: [{ tokenId: '7' }],
    observation: { kind: 'market' },
    closedSeenMs: NOW - 590_000,
  } as unknown as KnownMarket
  const list = [closed]
  const catalogue = {
    of: () => list,
    get: () => closed,
    refresh: async () => void listedMs.push(clock.now()),
    resolve: async () => {},
    ahead: async () => [],
    wanted: () => [],
  } as unknown as PolymarketCatalogue
  let answer = Promise.withResolvers<{ value: unknown; receivedMs: number; text: string }>()
  const client = { request: () => answer.promise }
  const doubts = new DoubtedTrades()
  const rest = { dataVersion: 'v2', now: clock.now, data: { client }, doubts } as unknown as PolymarketRest
  const actions = { send() {}, repair() {}, announced() {}, resolved() {} }
  const tasks = followWindows({
    feeds: [{ feed: new TokenFeed('BTC', actions), repairs: createRepairs() }],
    ...{ catalogue, rest, clock, random: () => 0, channels: [], announced: new Set(), onStart() {} },
  })
  const emitted: DataObservation[] = []
  const running = tasks.run({
    signal: stop.signal,
    emit: (_, observation) => void emitted.push(observation),
    ...{ answered() {}, report() {}, send: () => true, cut() {}, isPaused: () => false },
  })
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1_000)
      for (let turns = 0; turns < 5; turns++) await turn()
    }
  }
  await pass(65)
  assert.equal(listedMs.length, 3, 'listed every thirty seconds')
  const whole = { value: { data: [], pagination: { has_more: false } }, receivedMs: NOW, text: '' }
  const first = answer
  answer = Promise.withResolvers()
  answer.resolve(whole)
  first.resolve(whole)
  await pass(120)
  assert.deepEqual(
    emitted.filter(({ kind }) => kind === 'swept').map(({ instrument }) => instrument),
    ['0xa'],
  )
  stop.abort()
  await running
})
