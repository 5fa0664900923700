/**
 * A listed market of ours that cannot be mapped is noticed: it becomes a dead letter and its time is not covered.
 * Markets that are not ours do not count.
 */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { restStandIn } from '../../../test/venues/rest-stand-in.ts'
import { endAll } from '../../../test/venues/scripted-venue.ts'
import { systemClock } from '../../kit/clock.ts'
import { createDeadLetters } from '../dead-letter.ts'
import { createKalshiCatalogue } from '../kalshi/catalogue.ts'
import { VENUES } from '../list.ts'
import { fetchOverHttp } from '../rest/fetch-over-http.ts'
import { createRestClient } from '../rest/rest-client.ts'
import type { HistoryRange } from '../venue.ts'

afterEach(endAll)

const NOW_S = Math.floor(Date.now() / 1_000)
const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()
const range = { fromMs: (NOW_S - 600) * 1_000, toMs: (NOW_S + 600) * 1_000 }
const { signal } = new AbortController()

function gammaMarket(changes: Record<string, unknown>) {
  const startS = Math.floor(NOW_S / 300) * 300
  return {
    id: '1',
    conditionId: `0x${'a'.repeat(64)}`,
    slug: `btc-updown-5m-${startS}`,
    question: 'Bitcoin Up or Down',
    outcomes: '["Up", "Down"]',
    outcomePrices: '["0.5", "0.5"]',
    clobTokenIds: '["1", "2"]',
    endDate: iso(startS + 300),
    closed: false,
    ...changes,
  }
}

async function listed(name: 'polymarket' | 'kalshi', answer: Parameters<typeof restStandIn>[0]) {
  const { url } = await restStandIn(answer)
  const hosts = { rest: url, stream: url.replace('http', 'ws') }
  const venue = VENUES[name].create({ clock: systemClock, hosts })
  const found: string[] = []
  const covered: HistoryRange[] = []
  const request = { topic: 'markets', symbol: 'BTC', range } as const
  for await (const page of venue.history(request, { signal })) {
    for (const row of page.observations) found.push(row.instrument)
    if (page.covered !== null) covered.push(page.covered)
  }
  return { found, covered, letters: venue.deadLetters }
}

for (const [what, changes] of [
  ['a version', { version: 'v3' }],
  ['a name', { slug: 'btc-five-minutes-1' }],
  ['outcomes', { outcomes: '["Yes", "No"]' }],
] as const)
  test(`polymarket: ${what} that the venue has not documented is a dead letter`, async () => {
    const { found, covered, letters } = await listed('polymarket', ({ query }) => {
      const isOurs = query.get('series_slug') === 'btc-up-or-down-5m' && query.get('offset') === '0'
      return isOurs && query.get('closed') === 'false'
        ? [{ id: '9', markets: [gammaMarket(changes), gammaMarket({})] }]
        : []
    })
    assert.deepEqual(found, [`0x${'a'.repeat(64)}`])
    assert.deepEqual(covered, [])
    assert.deepEqual(letters.counts(), { unknown_kind: 1 })
    assert.match(letters.recent()[0]?.text ?? '', /v3|five-minutes|Yes/)
  })

const contract = (ticker: string, status: string, changes: Record<string, unknown> = {}) => ({
  ticker,
  event_ticker: ticker.slice(0, ticker.lastIndexOf('-')),
  open_time: iso(NOW_S - 300),
  close_time: iso(NOW_S + 300),
  status,
  volume_fp: '1.00',
  open_interest_fp: '1.00',
  ...changes,
})

const CUTOFF_S = NOW_S - 90 * 86_400
/** Lists these contracts as the quarter-hour series; the other lists are empty. */
const quarterOf =
  (markets: readonly unknown[], cutoff: unknown = iso(CUTOFF_S)): Parameters<typeof restStandIn>[0] =>
  ({ path, query }) =>
    path.endsWith('/historical/cutoff')
      ? { trades_created_ts: cutoff, market_settled_ts: cutoff }
      : { markets: query.get('series_ticker') === 'KXBTC15M' ? markets : [], cursor: '' }

test('kalshi: a status that the venue has not documented is a dead letter, a contract of another series is none', async () => {
  const { found, covered, letters } = await listed(
    'kalshi',
    quarterOf([
      contract('KXBTC15M-A-1', 'active'),
      contract('KXBTC15M-A-2', 'pondering'),
      contract('KXBTCMAXY-A-3', 'pondering'),
    ]),
  )
  assert.deepEqual(found, ['KXBTC15M-A-1'])
  assert.deepEqual(covered, [])
  assert.deepEqual(letters.counts(), { unknown_kind: 1 })
  assert.match(letters.recent()[0]?.text ?? '', /KXBTC15M-A-2/)
})

test('kalshi: a contract that cannot be read leaves its time uncovered', async () => {
  const good = contract('KXBTC15M-A-1', 'active')
  assert.deepEqual((await listed('kalshi', quarterOf([good]))).covered, [range])
  for (const changes of [
    { close_time: 'noon' },
    // Without a zone, the time would depend on the machine.
    { close_time: '2026-03-14T12:00:00' },
    { volume_fp: 1 },
    { volume_fp: '1e5' },
    { title: 'x'.repeat(100_000) },
  ]) {
    const { found, covered, letters } = await listed(
      'kalshi',
      quarterOf([good, contract('KXBTC15M-A-2', 'active', changes)]),
    )
    assert.deepEqual({ found, covered }, { found: ['KXBTC15M-A-1'], covered: [] }, JSON.stringify(changes))
    assert.equal(letters.total, 1)
  }
})

test('a list of other series alone is not the answer to the request', async () => {
  await assert.rejects(
    listed('kalshi', quarterOf([contract('KXETH15M-A-1', 'active')])),
    /does not fit the question: no contract of KXBTC15M/,
  )
  const others = [gammaMarket({ slug: `eth-updown-5m-${Math.floor(NOW_S / 300) * 300}` })]
  await assert.rejects(
    listed('polymarket', ({ query }) => (query.get('offset') === '0' ? [{ id: '9', markets: others }] : [])),
    /does not fit the question: only windows of other series/,
  )
})

test('kalshi: a cutoff that is no time of the venue fails the walk', async () => {
  for (const cutoff of ['soon', '', iso(0), 0, NOW_S * 1_000, iso(NOW_S + 90 * 86_400), -1])
    await assert.rejects(
      listed('kalshi', quarterOf([contract('KXBTC15M-A-1', 'active')], cutoff)),
      /does not fit the question: a cutoff of/,
      String(cutoff),
    )
  const { covered } = await listed('kalshi', quarterOf([contract('KXBTC15M-A-1', 'active')], CUTOFF_S))
  assert.deepEqual(covered, [range])
})

test('kalshi: contracts of another symbol are not taken for those of the one that was listed', async () => {
  const rows = [contract('KXBTC15M-A-1', 'active'), contract('KXETH15M-A-1', 'active')]
  const { url } = await restStandIn(quarterOf(rows))
  const deadLetters = createDeadLetters({ venue: 'kalshi' })
  const limits = { tries: 1 }
  const client = createRestClient({
    ...{ venue: 'kalshi', baseUrl: url, budgets: { a: { limit: 1_000, windowMs: 1_000 } }, limits },
    ...{ fetch: fetchOverHttp, clock: systemClock, random: Math.random },
  })
  const catalogue = createKalshiCatalogue({ client, deadLetters })
  await catalogue.refresh('BTC', 0, signal)
  assert.deepEqual(
    catalogue.of('BTC').map(({ market }) => market.marketId),
    ['KXBTC15M-A-1'],
  )
})
