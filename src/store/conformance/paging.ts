import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawnSeed } from '../../../test/seeded-random.ts'
import type { Feed } from '../../core/feed.ts'
import type { TradeInput } from '../../core/rows/trade.ts'
import { SOURCES, type Source } from '../../core/source.ts'
import type { RowFilters } from '../series.ts'
import { candle, candleFeed, type Engine, type Random, START, seeded, walk, withStore } from './engine.ts'

/** A row in the model. */
interface Known {
  feed: Feed<'trades'>
  input: TradeInput
  instrument: string
}

const tradeFeed = (source: Source): Feed<'trades'> => ({
  dataset: 'trades',
  source,
  symbol: 'BTC',
  interval: '',
})
const SPAN_MS = 40
const SEED = drawnSeed()
/** How many pages of final candles are compared around each change. */
const PAGES = process.env.TAPELINE_SOAK ? 100 : 25
/**
 * Rows are added after at most this many pages; otherwise a walk of one row per page ends only with all possible rows.
 */
const MAX_LATE_PAGES = 20

/** Few times, instruments and sequence numbers, so that most rows tie with others. */
function randomTrade(random: Random, id: number): Known {
  const source = random.pick(['perpdex', 'predmkt_a', 'predmkt_b'] as const)
  const market = source === 'perpdex' ? undefined : random.pick(['m1', 'm2', 'é', '𝒳', 'zz'])
  const input: TradeInput = {
    time: START + random.below(SPAN_MS),
    seq: random.below(6),
    tradeId: `t${id}`,
    price: '0.5',
    size: 1 + random.below(5),
    side: random.pick(['buy', 'sell']),
    ...(market === undefined ? {} : { marketId: market }),
    ...(source === 'predmkt_a' ? { tokenId: market ?? '' } : {}),
  }
  return { feed: tradeFeed(source), input, instrument: market ?? '' }
}

const key = (row: Known) => `${row.feed.source}/${row.input.time}/${row.instrument}/${row.input.seq}`
const rank = (row: Known) => SOURCES.indexOf(row.feed.source)

function compare(a: Known, b: Known): number {
  return (
    a.input.time - b.input.time ||
    rank(a) - rank(b) ||
    Buffer.compare(Buffer.from(a.instrument), Buffer.from(b.instrument)) ||
    a.input.seq - b.input.seq
  )
}

export function pagingSuite(engine: Engine, rounds: number): void {
  test(`${engine.name}: a walk gives every row once and in order (seed ${SEED}): ties, filters, both orders, late rows`, () =>
    withStore(engine, async (store) => {
      const random = seeded(SEED)
      const known = new Map<string, Known>()
      let nextId = 1
      const insert = async (count: number) => {
        const fresh: Known[] = []
        for (let i = 0; i < count; i++) {
          const row = randomTrade(random, nextId++)
          if (known.has(key(row))) continue
          known.set(key(row), row)
          fresh.push(row)
        }
        await store.write({ rows: fresh.map(({ feed, input }) => ({ feed, rows: [input] })) })
      }
      await insert(300)
      for (let round = 0; round < rounds; round++) {
        const order = random.pick(['asc', 'desc'] as const)
        const from = START + random.below(SPAN_MS)
        const to = from + random.below(SPAN_MS)
        const toInclusive = random.below(2) === 0
        const sources = random.shuffle(['perpdex', 'predmkt_a', 'predmkt_b'] as const)
        const feeds = sources.slice(0, 1 + random.below(3)).map(tradeFeed)
        const filters: RowFilters = {}
        if (random.below(3) === 0) filters.side = 'buy'
        if (random.below(3) === 0) {
          filters.instruments = random
            .shuffle(['m1', 'm2', 'é', '𝒳', 'zz', '', 'absent'])
            .slice(0, 1 + random.below(3))
        }
        const wanted = (row: Known) =>
          feeds.some((feed) => feed.source === row.feed.source) &&
          row.input.time >= from &&
          (toInclusive ? row.input.time <= to : row.input.time < to) &&
          (filters.side === undefined || row.input.side === filters.side) &&
          (filters.instruments === undefined || filters.instruments.includes(row.instrument))
        const expected = () =>
          [...known.values()].filter(wanted).sort((a, b) => compare(a, b) * (order === 'asc' ? 1 : -1))
        const present = new Set(expected().map((row) => row.input.tradeId))
        const late = round % 4 === 0
        const limit = 1 + random.below(12)
        const range = { from, to, toInclusive }
        const query = { feeds, range, order, limit, filters }
        let pages = 0
        const texts = await walk(store, query, async () => {
          if (late && ++pages <= MAX_LATE_PAGES) await insert(3)
        })
        const ids = texts.map((text) => String(JSON.parse(text).trade_id))
        assert.equal(new Set(ids).size, ids.length, 'no row twice')
        const seen = new Set(ids)
        assert.deepEqual(
          ids,
          expected()
            .map((row) => row.input.tradeId)
            .filter((id) => seen.has(id)),
          `order, round ${round}`,
        )
        for (const id of present) assert.ok(seen.has(id), `row ${id} is missing in round ${round}`)
        if (!late) assert.equal(ids.length, present.size)
        const count = await store.series.count({ ...query, limit: 10_000 })
        assert.equal(count, expected().length)
      }
    }))

  test(`${engine.name}: what no engine stores, a character zero, is not found and is no failure`, () =>
    withStore(engine, async (store) => {
      const feed = tradeFeed('predmkt_a')
      const trade = {
        time: START,
        seq: 1,
        tradeId: 't',
        price: '0.5',
        size: 1,
        side: 'buy',
        marketId: 'm',
      } as const
      await store.write({ rows: [{ feed, rows: [{ ...trade, tokenId: 'm' }] }] })
      const range = { from: 0, to: START + SPAN_MS }
      const query = { feeds: [feed], range, order: 'asc', limit: 5, separator: '\n' } as const
      assert.equal((await store.series.page(query)).count, 1)
      const filtered = await store.series.page({ ...query, filters: { instruments: ['m\0'] } })
      assert.equal(filtered.count, 0)
      const position = { ts: START, source: 'predmkt_a', instrument: 'm\0', seq: 1 } as const
      await store.series.page({ ...query, position })
      assert.equal(
        await store.series.at({ feeds: [feed], time: START, notBefore: 0, instrument: '\0' }),
        undefined,
      )
      assert.equal(await store.markets.get('m\0'), undefined)
    }))

  test(`${engine.name}: has_more is true exactly when rows follow, and the page names its first and last row`, () =>
    withStore(engine, async (store) => {
      const feeds = [candleFeed('cexa'), candleFeed('perpdex')]
      await store.write({
        rows: feeds.map((feed) => ({ feed, rows: Array.from({ length: 5 }, (_, i) => candle(i)) })),
      })
      const range = { from: START, to: START + 86_400_000 }
      const read = (limit: number, order: 'asc' | 'desc') =>
        store.series.page({ feeds, range, order, limit, separator: ',' })
      const whole = await read(10, 'asc')
      assert.equal(whole.hasMore, false)
      assert.equal(whole.count, 10)
      assert.deepEqual(whole.last, { ts: START + 240_000, source: 'perpdex', instrument: '', seq: 0 })
      assert.equal(JSON.parse(`[${whole.text}]`).length, 10)
      const cut = await read(9, 'desc')
      assert.equal(cut.hasMore, true)
      assert.deepEqual(cut.last, { ts: START, source: 'perpdex', instrument: '', seq: 0 })
      assert.deepEqual([cut.firstTs, cut.lastTs], [START + 240_000, START])
      const none = await store.series.page({
        feeds: [candleFeed('oracle')],
        range,
        order: 'asc',
        limit: 5,
        separator: ',',
      })
      assert.deepEqual(none, {
        text: '',
        count: 0,
        hasMore: false,
        last: undefined,
        firstTs: undefined,
        lastTs: undefined,
      })
    }))

  test(`${engine.name}: pages of final candles are the same from memory and from the tables`, () =>
    withStore(engine, async (store, _, clock) => {
      const random = seeded(7)
      const feed = candleFeed('cexa')
      const minutes = Array.from({ length: 700 }, (_, i) => i).filter((i) => i < 300 || random.below(3) > 0)
      await store.write({ rows: [{ feed, rows: random.shuffle(minutes).map((i) => candle(i)) }] })
      await store.write({ finalize: [{ feed: feed, before: START + 650 * 60_000 }] })
      const compare = async (round: number) => {
        const [final] = await store.series.finality([feed])
        assert.ok(final !== undefined && final.before > START)
        const from = START + random.below(720 * 60_000)
        const to = from + random.below(400 * 60_000)
        const range = { from, to, toInclusive: random.below(2) === 0 }
        const position = {
          ts: from + random.below(9) * 30_000,
          source: 'cexa',
          instrument: '',
          seq: 0,
        } as const
        const query = {
          feeds: [feed],
          range,
          order: random.pick(['asc', 'asc', 'desc'] as const),
          limit: 1 + random.below(300),
          separator: ',\n',
          ...(random.below(3) === 0 ? { position } : {}),
        }
        const read = await store.series.page(query)
        const covered = await store.coveredPage({
          ...query,
          coverageTo: START,
          maxAgeMs: random.below(2) * 100,
        })
        const known = covered.page
        assert.deepEqual(covered.finality, [final])
        const facts = ({ text, parts, ...rest }: typeof read) => ({ text, ...rest })
        assert.deepEqual(facts(known), facts(read), `round ${round}`)
        if (known.parts !== undefined) assert.equal(known.parts.join(''), known.text)
      }
      for (let round = 0; round < 2 * PAGES; round++) await compare(round)
      // A correction, a late row and a deleted row each change what is final.
      const late = Array.from({ length: 700 }, (_, i) => i).find((i) => !minutes.includes(i)) ?? 0
      await store.write({ rows: [{ feed, rows: [candle(10, { close: 104 }), candle(late)] }] })
      for (let round = 2 * PAGES; round < 3 * PAGES; round++) await compare(round)
      clock.set(START + 40 * 60_000)
      await store.series.retain({ dataset: 'candles' }, 0)
      for (let round = 3 * PAGES; round < 4 * PAGES; round++) await compare(round)
    }))

  test(`${engine.name}: at gives the newest row at or before a time, earliest the oldest`, () =>
    withStore(engine, async (store) => {
      const [spot, perp] = [candleFeed('cexa'), candleFeed('perpdex')]
      await store.write({
        rows: [
          { feed: spot, rows: [candle(1), candle(5)] },
          { feed: perp, rows: [candle(3), candle(5)] },
        ],
      })
      const at = async (minute: number, extra = 0) => {
        const found = await store.series.at({ feeds: [spot, perp], time: START + minute * 60_000 + extra })
        return found && [(found.position.ts - START) / 60_000, found.position.source]
      }
      assert.equal(await at(0), undefined)
      assert.deepEqual(await at(1), [1, 'cexa'])
      assert.deepEqual(await at(3, -1), [1, 'cexa'])
      assert.deepEqual(await at(4), [3, 'perpdex'])
      assert.deepEqual(await at(9), [5, 'perpdex'])
      assert.equal(await store.series.earliest({}), START + 60_000)
      assert.equal(await store.series.earliest({ source: 'perpdex' }), START + 180_000)
      assert.equal(await store.series.earliest({ symbol: 'ETH' }), undefined)
      await store.probe()
    }))

  test(`${engine.name}: liquidations are filtered by side and by value`, () =>
    withStore(engine, async (store) => {
      const feed: Feed<'liquidations'> = {
        dataset: 'liquidations',
        source: 'cexa_futures',
        symbol: 'BTC',
        interval: '',
      }
      const rows = Array.from({ length: 20 }, (_, i) => ({
        time: START + i,
        seq: 0,
        side: i % 2 === 0 ? ('long' as const) : ('short' as const),
        quantity: i + 1,
        price: 10,
        avgPrice: 10,
      }))
      await store.write({ rows: [{ feed, rows }] })
      const range = { from: START, to: START + 100 }
      const texts = await walk(store, {
        feeds: [feed],
        range,
        order: 'asc',
        limit: 3,
        filters: { side: 'long', minUsd: 150 },
      })
      const values = texts.map((text) => JSON.parse(text).usd_value)
      assert.deepEqual(values, [150, 170, 190])
    }))

  test(`${engine.name}: a filter selects open rows only`, () =>
    withStore(engine, async (store) => {
      const feed = candleFeed('cexa')
      const rows = Array.from({ length: 12 }, (_, i) => candle(i, { closed: i % 3 !== 0 }))
      await store.write({ rows: [{ feed, rows }] })
      await store.write({ finalize: [{ feed: feed, before: START + 3_600_000 }] })
      const open = async () =>
        (
          await walk(store, {
            feeds: [feed],
            range: { from: START, to: START + 3_600_000 },
            order: 'asc',
            limit: 3,
            filters: { open: true },
          })
        ).map((text) => (Date.parse(JSON.parse(text).timestamp) - START) / 60_000)
      assert.deepEqual(await open(), [0, 3, 6, 9])
      await store.write({ rows: [{ feed, rows: [candle(3)] }] })
      assert.deepEqual(await open(), [0, 6, 9])
    }))
}
