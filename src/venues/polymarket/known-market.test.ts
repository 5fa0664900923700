import assert from 'node:assert/strict'
import { test } from 'node:test'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import {
  isFollowed,
  isPast,
  isResolveDue,
  type KnownMarket,
  mergeMarket,
  nextResolveMs,
  rangeOfEnds,
} from './known-market.ts'
import { mapMarket, type UpDownMarket } from './mapper.ts'
import { seriesOf } from './slug.ts'

const START_MS = 1_784_851_200_000
const END_MS = START_MS + 300_000
const HOUR_MS = 3_600_000

function seen(more: Record<string, unknown> = {}, nowMs = START_MS): UpDownMarket {
  const market = mapMarket(
    {
      id: '91',
      conditionId: `0x${'a'.repeat(64)}`,
      slug: `btc-updown-5m-${START_MS / 1_000}`,
      question: 'Bitcoin Up or Down',
      outcomes: '["Up", "Down"]',
      clobTokenIds: '["11", "22"]',
      outcomePrices: '["0.5", "0.5"]',
      eventStartTime: new Date(START_MS).toISOString(),
      endDate: new Date(END_MS).toISOString(),
      closed: false,
      acceptingOrders: true,
      volumeNum: 10,
      liquidityNum: 1234.5,
      ...more,
    } as Parameters<typeof mapMarket>[0],
    nowMs,
  )
  assert.ok(market !== undefined)
  return market
}
const resolved = (isProvisional = false): KnownMarket => {
  const { market, legs } = seen()
  return mergeMarket(
    undefined,
    { market: { ...market, active: false, status: 'resolved', winner: 'Up' }, legs },
    END_MS,
    isProvisional,
  )
}

test('an answer that leaves figures or tokens out keeps the ones from before', () => {
  const before = mergeMarket(undefined, seen(), START_MS)
  const after = mergeMarket(before, { market: { ...seen().market, liquidity: null }, legs: [] }, START_MS + 1)
  assert.equal(after.market.liquidity, 1234.5)
  assert.deepEqual(after.legs, before.legs)
  assert.deepEqual(after.market.tokens, before.market.tokens)
  assert.equal(after.observation, before.observation, 'nothing changed: nothing is emitted again')
  assert.notEqual(mergeMarket(after, seen({ volumeNum: 11 }), START_MS + 2).observation, before.observation)
})

test('a winner is not taken back by a late listing', () => {
  const before = resolved()
  assert.equal(mergeMarket(before, seen({ closed: true }), END_MS + 1), before)
})

test('a window is followed from before it begins until after it was seen closed, or without that after its end', () => {
  const open = mergeMarket(undefined, seen(), START_MS)
  const fromMs = START_MS - TIMES.followBeforeMs
  const toMs = END_MS + TIMES.followAfterEndMs
  assert.deepEqual(
    [fromMs - 1, fromMs, toMs - 1, toMs].map((nowMs) => isFollowed(open, nowMs)),
    [false, true, true, false],
  )
  const closed = { ...open, closedSeenMs: END_MS + 60_000 }
  const closedToMs = END_MS + 60_000 + TIMES.followAfterClosedMs
  assert.deepEqual(
    [closedToMs - 1, closedToMs].map((nowMs) => isFollowed(closed, nowMs)),
    [true, false],
  )
  for (const series of seriesOf('BTC')) {
    const range = rangeOfEnds(series, START_MS)
    assert.ok(range.fromMs < START_MS && range.toMs > START_MS + TIMES.followBeforeMs)
  }
})

test('an answer that calls a running window closed, with a winner, neither ends its following nor resolves it', () => {
  const won = { closed: true, acceptingOrders: false, outcomePrices: '["1", "0"]' }
  const open = mergeMarket(undefined, seen(), START_MS)
  const wrong = mergeMarket(open, seen(won, START_MS + 1_000), START_MS + 1_000)
  assert.deepEqual([wrong.market.status, wrong.market.winner], ['closed', null])
  const again = mergeMarket(wrong, seen({}, START_MS + 31_000), START_MS + 31_000)
  assert.deepEqual([again.market.status, again.closedSeenMs], ['open', null])
  const closed = mergeMarket(again, seen(won, END_MS + 20_000), END_MS + 20_000)
  assert.deepEqual([closed.market.winner, closed.closedSeenMs], ['Up', END_MS + 20_000])
  for (const market of [wrong, again]) assert.equal(isFollowed(market, END_MS - 1), true)
})

test('a winner is asked for soon after the end, then slowly, and no longer than a day', () => {
  const market = mergeMarket(undefined, seen(), START_MS)
  assert.equal(isResolveDue(market, END_MS + TIMES.resolveAfterMs - 1), false)
  assert.equal(isResolveDue(market, END_MS + TIMES.resolveAfterMs), true)
  assert.equal(isResolveDue({ ...market, nextAskMs: END_MS + HOUR_MS }, END_MS + HOUR_MS - 1), false)
  assert.equal(isResolveDue(market, END_MS + TIMES.resolveForMs), false)
  assert.equal(nextResolveMs(market, END_MS + 20_000) - END_MS - 20_000, TIMES.resolveEveryMs)
  assert.equal(nextResolveMs(market, END_MS + HOUR_MS) - END_MS - HOUR_MS, TIMES.resolveSlowlyMs)
  assert.equal(isResolveDue(resolved(), END_MS + HOUR_MS), false)
  assert.equal(isResolveDue(resolved(true), END_MS + HOUR_MS), true, 'the last figures are still to come')
})

test('a settled market is forgotten after an hour, one without a winner after a day', () => {
  const open = mergeMarket(undefined, seen(), START_MS)
  assert.deepEqual(
    [HOUR_MS - 1, HOUR_MS, TIMES.resolveForMs - 1, TIMES.resolveForMs].map((ms) => [
      isPast(resolved(), END_MS + ms),
      isPast(open, END_MS + ms),
    ]),
    [
      [false, false],
      [true, false],
      [true, false],
      [true, true],
    ],
  )
})

test('an answer that leaves out the event of a market does not take away the mean that it is settled on', () => {
  const resolutionSource = 'https://data.chain.link/streams/btc-usd'
  const config = { twapEnabled: true, twapLookbackSeconds: 60 }
  const listed = seen({ resolutionSource, events: [{ id: '7', cryptoMarketConfig: config }] })
  const alone = (source: string | null) =>
    mergeMarket(
      mergeMarket(undefined, listed, START_MS),
      seen({ resolutionSource: source, closed: true, outcomePrices: '["1", "0"]' }, END_MS),
      END_MS,
    ).market
  for (const source of [resolutionSource, null]) {
    const { status, settlement } = alone(source)
    assert.deepEqual([status, settlement], ['resolved', { of: 'chainlink', windowSeconds: 60 }])
  }
  const other = alone('https://data.chain.link/streams/btc-usd-twap-30s-streams')
  assert.deepEqual(other.settlement, { of: 'chainlink', windowSeconds: 30 })
})
