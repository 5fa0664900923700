import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import type { PolymarketCatalogue } from './catalogue.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import { DoubtedTrades } from './doubted-trades.ts'
import { TokenFeed } from './feed.ts'
import type { PolymarketRest } from './history.ts'
import type { KnownMarket } from './known-market.ts'
import { createWindowSweeper } from './sweep-windows.ts'

const END = 1_784_851_200_000

/** A window that an answer called closed ten minutes before its end. */
const windowOf = (endTime: number, closedSeenMs: number | null) =>
  ({
    market: { marketId: '0xa', symbol: 'BTC', startTime: END - 900_000, endTime },
    ...{ legs: [{ tokenId: '7' }], observation: { kind: 'market' }, closedSeenMs },
  }) as unknown as KnownMarket

test('a window is swept for good only after its end, and once more if its end moves', async () => {
  const clock = manualClock(END)
  const whole = { value: { data: [], pagination: { has_more: false } }, receivedMs: END, text: '' }
  const client = { request: async () => whole }
  const doubts = new DoubtedTrades()
  const rest = { dataVersion: 'v2', now: clock.now, data: { client }, doubts } as unknown as PolymarketRest
  let market = windowOf(END, END - 600_000)
  const catalogue = { get: () => market } as unknown as PolymarketCatalogue
  const sweeper = createWindowSweeper({ catalogue, rest, clock, random: () => 0, emitMarkets() {} })
  const feed = new TokenFeed('BTC', { send() {}, repair() {}, announced() {}, resolved() {} })
  const emitted: string[] = []
  const session = {
    signal: new AbortController().signal,
    emit: (_, observation) => void emitted.push(observation.kind),
  } as SessionIo
  const sweep = async (endMs: number) => {
    for (const afterMs of TIMES.sweepsAfterMs) {
      assert.equal(sweeper.isDue(market, endMs + afterMs - 1), false)
      assert.equal(sweeper.isDue(market, endMs + afterMs), true)
      await sweeper.closed(session, feed, market)
    }
    assert.equal(sweeper.isDue(market, endMs + 86_400_000), false)
  }
  await sweep(END)
  assert.deepEqual(emitted, ['swept'])
  market = windowOf(END + 3_600_000, END + 3_620_000)
  await sweep(END + 3_620_000)
  assert.deepEqual(emitted, ['swept', 'swept'])
})
