import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MARKET_STATUSES, type MarketInput, marketState, marketTextAt } from '../../core/rows/market.ts'
import { RowError } from '../../core/rows/row-error.ts'
import type { MarketRow } from '../../core/rows/schemas.ts'
import type { EnvironmentStore } from '../environment.ts'
import type { MarketPosition, MarketQuery } from '../markets.ts'
import { type Engine, START, withStore } from './engine.ts'

const FIVE_MINUTES = 300_000
/** Here markets 0 to 4 have ended and market 5 begins. */
const FIFTH_END = START + 5 * FIVE_MINUTES

function upDown(i: number, changes: Partial<MarketInput> = {}): MarketInput {
  const start = START + i * FIVE_MINUTES
  return {
    marketId: `0xC${i}`,
    conditionId: `0xC${i}`,
    source: 'predmkt_a',
    symbol: i % 2 === 0 ? 'BTC' : 'ETH',
    slug: `up-or-down-${i}`,
    marketType: '5m',
    startTime: start,
    endTime: start + FIVE_MINUTES,
    active: i >= 5,
    status: i >= 5 ? 'open' : 'closed',
    tokens: [
      { tokenId: `${1000 + i}`, outcome: 'Up' },
      { tokenId: `${2000 + i}`, outcome: 'Down' },
    ],
    aliases: [`${500_000 + i}`],
    ...changes,
  }
}

const perpetual: MarketInput = {
  marketId: 'BTC',
  ticker: 'BTC',
  source: 'perpdex',
  symbol: 'BTC',
  active: true,
  status: 'open',
}

async function idsOf(store: EnvironmentStore, query: Partial<MarketQuery>): Promise<string[]> {
  const ids: string[] = []
  let position: MarketPosition | undefined
  for (;;) {
    const page = await store.markets.list({
      limit: 3,
      separator: ',',
      ...query,
      ...(position ? { position } : {}),
    })
    ids.push(...JSON.parse(`[${page.text}]`).map((row: { market_id: string }) => row.market_id))
    if (!page.hasMore) return ids
    position = page.last
  }
}

export function marketSuite(engine: Engine): void {
  const it = (name: string, run: Parameters<typeof withStore>[1]) =>
    test(`${engine.name}: ${name}`, () => withStore(engine, run))

  it('a market is found by each of its identifiers, in any case', async (store) => {
    await store.write({ markets: [upDown(1), upDown(2), perpetual] })
    for (const id of ['0xC1', '0xc1', 'up-or-down-1', 'UP-OR-DOWN-1', '1001', '2001', '500001']) {
      assert.equal((await store.markets.get(id))?.market.market_id, '0xC1', id)
    }
    assert.equal(await store.markets.get('unknown'), undefined)
    assert.equal(await store.markets.get('0xC1', { symbol: 'BTC' }), undefined)
    assert.equal(await store.markets.get('0xC1', { source: 'perpdex' }), undefined)
    assert.equal((await store.markets.get('btc', { source: 'perpdex' }))?.market.active, true)
  })

  it('an entry is replaced as a whole with its old names, and an unchanged one is not written', async (store) => {
    const put = async (...markets: MarketInput[]) => (await store.write({ markets })).markets
    assert.equal(await put(upDown(1), upDown(2)), 2)
    assert.equal(await put(upDown(1), upDown(2)), 0)
    assert.equal(await put(upDown(1, { slug: 'renamed', winner: 'Up', status: 'resolved' })), 1)
    assert.equal(await store.markets.get('up-or-down-1'), undefined)
    assert.equal((await store.markets.get('renamed'))?.market.winner, 'Up')
  })

  it('the list walks by end, latest first with perpetuals before all, or soonest first, under every filter', async (store) => {
    const entries = Array.from({ length: 10 }, (_, i) => upDown(i))
    const twin = upDown(9, { marketId: '0xA', conditionId: '0xA', slug: 'twin', tokens: [], aliases: [] })
    await store.write({ markets: [...entries, twin, perpetual] })
    const latestFirst = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((i) => `0xC${i}`)
    assert.deepEqual(await idsOf(store, {}), ['BTC', '0xA', ...latestFirst])
    assert.deepEqual(
      await idsOf(store, { source: 'predmkt_a', state: { atMs: FIFTH_END, active: false }, limit: 1 }),
      latestFirst.slice(5),
    )
    assert.deepEqual(await idsOf(store, { symbol: 'BTC', marketType: '5m', limit: 2 }), [
      '0xC8',
      '0xC6',
      '0xC4',
      '0xC2',
      '0xC0',
    ])
    assert.deepEqual(await idsOf(store, { order: 'asc' }), [
      ...latestFirst.slice(1).toReversed(),
      '0xA',
      '0xC9',
      'BTC',
    ])
    assert.deepEqual(
      await idsOf(store, {
        order: 'asc',
        source: 'predmkt_a',
        state: { atMs: FIFTH_END, active: false },
        limit: 1,
      }),
      latestFirst.slice(5).toReversed(),
    )
    assert.equal(await store.markets.count({ source: 'predmkt_a', limit: 100 }), 11)
    assert.equal(await store.markets.count({ limit: 4 }), 4)
    for (const filter of [
      { symbol: 'BTC' },
      { symbol: 'ETH' },
      { marketType: '5m' },
      { symbol: 'BTC', marketType: '5m' },
      { source: 'predmkt_a', marketType: '5m', state: { atMs: FIFTH_END, active: true } },
      { marketType: '5m', state: { atMs: FIFTH_END, active: false } },
      { symbol: 'BTC', state: { atMs: FIFTH_END, status: 'resolved' } },
      { symbol: 'BTC', state: { atMs: FIFTH_END, active: false, status: 'closed' } },
    ] as const) {
      // In the order of the full list, however the engine reads it, and in both directions.
      const ids = await idsOf(store, filter)
      assert.deepEqual(
        ids,
        (await idsOf(store, {})).filter((id) => ids.includes(id)),
        JSON.stringify(filter),
      )
      assert.deepEqual(
        await idsOf(store, { ...filter, order: 'asc', limit: 1 }),
        (await idsOf(store, { order: 'asc' })).filter((id) => ids.includes(id)),
        JSON.stringify(filter),
      )
      const found = ids.length
      assert.equal(await store.markets.count({ ...filter, limit: 100 }), found, JSON.stringify(filter))
      assert.equal(await store.markets.count({ ...filter, limit: 2 }), Math.min(2, found))
    }
  })

  it('at every instant each market is in one state, and active is open or upcoming', async (store) => {
    const resolved = upDown(7, { status: 'resolved', winner: 'Up', active: false })
    // The venue's trading status does not decide; only the market's times and result do.
    const halted = upDown(8, { active: false, status: 'closed' })
    const entries = Array.from({ length: 7 }, (_, i) => upDown(i, { active: true, status: 'open' }))
    const all = [...entries, resolved, halted, perpetual]
    await store.write({ markets: all })
    for (const atMs of [
      START - 1,
      START,
      FIFTH_END - 1,
      FIFTH_END,
      FIFTH_END + 1,
      START + 99 * FIVE_MINUTES,
    ]) {
      const stateOf = (market: MarketInput) =>
        marketState(
          {
            startMs: market.startTime ?? null,
            endMs: market.endTime ?? null,
            resolved: market.status === 'resolved',
          },
          atMs,
        )
      const expected = (holds: (state: ReturnType<typeof marketState>) => boolean) =>
        all.flatMap((market) => (holds(stateOf(market)) ? [market.marketId] : [])).sort()
      for (const status of MARKET_STATUSES) {
        const found = await idsOf(store, { state: { atMs, status } })
        assert.deepEqual(
          found.sort(),
          expected((state) => state.status === status),
          `${status} at ${atMs}`,
        )
      }
      for (const active of [true, false]) {
        const found = await idsOf(store, { state: { atMs, active } })
        assert.deepEqual(
          found.sort(),
          expected((state) => state.active === active),
          `${active} at ${atMs}`,
        )
      }
    }
    assert.deepEqual(await idsOf(store, { state: { atMs: FIFTH_END, active: false, status: 'resolved' } }), [
      resolved.marketId,
    ])
    const page = await store.markets.list({ limit: 20, separator: ',' })
    const listed = JSON.parse(`[${marketTextAt(page.text, FIFTH_END)}]`) as MarketRow[]
    assert.deepEqual(Object.fromEntries(listed.map((row) => [row.market_id, [row.active, row.status]])), {
      ...Object.fromEntries([0, 1, 2, 3, 4].map((i) => [`0xC${i}`, [false, 'closed']])),
      '0xC5': [true, 'open'],
      '0xC6': [true, 'upcoming'],
      '0xC7': [false, 'resolved'],
      '0xC8': [true, 'upcoming'],
      BTC: [true, 'open'],
    })
  })

  it('the markets open at an instant are listed, shortest duration first', async (store) => {
    const hour = upDown(0, {
      marketId: 'hour',
      slug: 'hour',
      conditionId: null,
      marketType: '1h',
      endTime: START + 3_600_000,
      tokens: [],
      aliases: [],
    })
    await store.write({ markets: [hour, upDown(0), upDown(2), upDown(4)] })
    const holding = async (time: number, of: { marketType?: '1h' } = {}) =>
      (await store.markets.holding({ source: 'predmkt_a', symbol: 'BTC', time, limit: 5, ...of })).map(
        (found) => found.market.market_id,
      )
    assert.deepEqual(await holding(START + 1), ['0xC0', 'hour'])
    assert.deepEqual(await holding(START + FIVE_MINUTES), ['hour'])
    assert.deepEqual(await holding(START + 2 * FIVE_MINUTES), ['0xC2', 'hour'])
    assert.deepEqual(await holding(START + 3_600_000), [])
    assert.deepEqual(await holding(START + 1, { marketType: '1h' }), ['hour'])
    assert.deepEqual(await holding(START + 3_600_000, { marketType: '1h' }), [])
  })

  it('a wrong entry is refused', async (store) => {
    await assert.rejects(store.write({ markets: [upDown(1, { endTime: START })] }), RowError)
    assert.equal(await store.markets.count({ limit: 10 }), 0)
  })
}
