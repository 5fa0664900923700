/** A listed market of ours that cannot be mapped is seen: it becomes a dead letter, and those of others do not. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { restStandIn } from '../../../test/venues/rest-stand-in.ts'
import { endAll } from '../../../test/venues/scripted-venue.ts'
import { systemClock } from '../../kit/clock.ts'
import { VENUES } from '../list.ts'

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
  const request = { topic: 'markets', symbol: 'BTC', range } as const
  for await (const { observations } of venue.history(request, { signal }))
    for (const row of observations) found.push(row.instrument)
  return { found, letters: venue.deadLetters }
}

for (const [what, changes] of [
  ['a version', { version: 'v3' }],
  ['a name', { slug: 'btc-five-minutes-1' }],
  ['outcomes', { outcomes: '["Yes", "No"]' }],
] as const)
  test(`polymarket: ${what} that the venue has not documented is a dead letter`, async () => {
    const { found, letters } = await listed('polymarket', ({ query }) => {
      const isOurs = query.get('series_slug') === 'btc-up-or-down-5m' && query.get('offset') === '0'
      return isOurs && query.get('closed') === 'false'
        ? [{ id: '9', markets: [gammaMarket(changes), gammaMarket({})] }]
        : []
    })
    assert.deepEqual(found, [`0x${'a'.repeat(64)}`])
    assert.deepEqual(letters.counts(), { unknown_kind: 1 })
    assert.match(letters.recent()[0]?.text ?? '', /v3|five-minutes|Yes/)
  })

test('kalshi: a status that the venue has not documented is a dead letter, a contract of another series is none', async () => {
  const contract = (ticker: string, status: string) => ({
    ticker,
    event_ticker: ticker.slice(0, ticker.lastIndexOf('-')),
    open_time: iso(NOW_S - 300),
    close_time: iso(NOW_S + 300),
    status,
    volume_fp: '1.00',
    open_interest_fp: '1.00',
  })
  const { found, letters } = await listed('kalshi', ({ path, query }) => {
    if (path.endsWith('/historical/cutoff'))
      return { trades_created_ts: iso(0), market_settled_ts: iso(0), orders_updated_ts: iso(0) }
    const markets = [
      contract('KXBTC15M-A-1', 'active'),
      contract('KXBTC15M-A-2', 'pondering'),
      contract('KXBTCMAXY-A-3', 'pondering'),
    ]
    return { markets: query.get('series_ticker') === 'KXBTC15M' ? markets : [], cursor: '' }
  })
  assert.deepEqual(found, ['KXBTC15M-A-1'])
  assert.deepEqual(letters.counts(), { unknown_kind: 1 })
  assert.match(letters.recent()[0]?.text ?? '', /KXBTC15M-A-2/)
})
