/** Paging over HTTP: no row twice, none lost, the order never broken, whatever is written during the walk. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FeedRows } from '../../src/core/rows/row-kinds.ts'
import { type Random, seeded } from '../../src/store/conformance/engine.ts'
import { observed } from '../../src/store/coverage.ts'
import { SOURCE_ORDER } from '../contract/market-table.ts'
import { type Answer, assertError } from '../fakes/client.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import { CONDITION, FINAL, feedOf, fillWorld, HOUR, iso, NOW, TOKENS } from '../fakes/market-world.ts'
import { drawnSeed } from '../seeded-random.ts'

const ROUNDS = process.env.TAPELINE_SOAK ? 600 : 6
const SEED = drawnSeed()

let service: MarketService
before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
})
after(() => service.stop())

type Row = Record<string, unknown>

/** Rows of this round are in a separate hour, and each has a unique id. */
interface Drawn {
  id: string
  key: [number, number, string, number]
  matches: boolean
  batch: FeedRows
}

interface Game {
  path: string
  query: Record<string, string>
  idOf: (row: Row) => string
  draw: (random: Random, baseMs: number, count: number, filter: boolean) => Drawn[]
  /** Queries that narrow the rows to those that `matches` says. */
  filter: Record<string, string>
}

let nextId = 1

const GAMES: Game[] = [
  {
    path: '/v1/trades',
    query: { symbol: 'SOL' },
    filter: { side: 'sell' },
    idOf: (row) => String(row.trade_id),
    draw: (random, baseMs, count) =>
      Array.from({ length: count }, () => {
        const source = random.pick(['perpdex', 'predmkt_a', 'predmkt_b'] as const)
        // Few instants for many rows: ties over sources, instruments and sequence.
        const time = baseMs + random.below(12) * 7
        const seq = nextId++
        const side = random.pick(['buy', 'sell'] as const)
        const token = random.pick(['111', '222', '333'])
        const market = source === 'perpdex' ? {} : { marketId: `KX-${token}`, outcome: 'Yes' }
        const leg = source === 'predmkt_a' ? { tokenId: token } : {}
        const row = { time, seq, tradeId: `t${seq}`, price: 0.5, size: 1, side, ...market, ...leg }
        const instrument = source === 'perpdex' ? '' : source === 'predmkt_a' ? token : `KX-${token}`
        return {
          id: `t${seq}`,
          key: [time, SOURCE_ORDER.indexOf(source), instrument, seq],
          matches: side === 'sell',
          batch: { feed: feedOf('trades', source, '', 'SOL'), rows: [row] },
        }
      }),
  },
  {
    path: '/v1/liquidations',
    query: { symbol: 'SOL' },
    filter: { side: 'long', min_usd: '5000' },
    idOf: (row) => String(row.price),
    draw: (random, baseMs, count) =>
      Array.from({ length: count }, () => {
        const time = baseMs + random.below(9)
        const seq = nextId++
        const side = random.pick(['long', 'short'] as const)
        const quantity = random.below(10) + 1
        return {
          id: String(seq),
          key: [time, 1, '', seq],
          matches: side === 'long' && quantity * 1000 >= 5000,
          batch: {
            feed: feedOf('liquidations', 'cexa_futures', '', 'SOL'),
            rows: [{ time, seq, side, quantity, price: seq, avgPrice: 1000 }],
          },
        }
      }),
  },
  {
    path: '/v1/candles',
    query: { symbol: 'XRP', interval: '5m' },
    filter: {},
    idOf: (row) => `${row.timestamp} ${row.source} ${row.token_id ?? row.market_id ?? ''}`,
    draw: (random, baseMs, count) =>
      Array.from({ length: count }, () => {
        const source = random.pick([
          'cexa',
          'cexa_futures',
          'perpdex',
          'predmkt_a',
          'predmkt_b',
          'oracle',
        ] as const)
        const time = baseMs + random.below(12) * 300_000
        const leg = random.pick(['a', 'b', 'c'])
        const isMarket = source.startsWith('predmkt')
        const instrument = isMarket ? `L-${leg}` : ''
        const market = isMarket ? { market: { marketId: instrument } } : {}
        const volume = source === 'oracle' ? {} : { volume: 1 }
        const at = 0.5
        return {
          id: `${iso(time)} ${source} ${instrument}`,
          key: [time, SOURCE_ORDER.indexOf(source), instrument, 0],
          matches: true,
          batch: {
            feed: feedOf('candles', source, '5m', 'XRP'),
            rows: [{ time, open: at, high: at, low: at, close: at, closed: true, ...volume, ...market }],
          },
        }
      }),
  },
  {
    path: '/v1/predmkt_a/snapshots',
    query: { symbol: 'ETH' },
    filter: { market_type: '15m' },
    idOf: (row) => `${row.timestamp} ${row.market_id}`,
    draw: (random, baseMs, count) =>
      Array.from({ length: count }, () => {
        const type = random.pick(['5m', '15m'] as const)
        const marketId = `0x${type}${random.pick(['a', 'b', 'c', 'd'])}`
        const time = baseMs + random.below(30) * 500
        const book = { bids: [[0.4, 1]] as const, asks: [[0.5, 1]] as const }
        return {
          id: `${iso(time)} ${marketId}`,
          key: [time, 3, marketId, 0],
          matches: type === '15m',
          batch: {
            feed: feedOf('snapshots', 'predmkt_a', type, 'ETH'),
            rows: [{ time, marketId, tokenUp: 'u', tokenDown: 'd', up: book, down: book }],
          },
        }
      }),
  },
]

function compareKeys(a: Drawn['key'], b: Drawn['key']): number {
  return a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : a[2] > b[2] ? 1 : 0) || a[3] - b[3]
}

for (const game of GAMES) {
  test(`${game.path}: random rows, filters, orders and limits (seed ${SEED}), rows written during the walk`, async () => {
    for (let round = 0; round < ROUNDS / 2; round++) {
      const random = seeded(SEED + round * 31 + game.path.length)
      const baseMs = FINAL - 26 * 24 * HOUR + round * HOUR
      const filtered = random.below(2) === 0
      const order = random.pick(['asc', 'desc'] as const)
      const byId = new Map(
        game.draw(random, baseMs, 5 + random.below(60), filtered).map((row) => [row.id, row] as const),
      )
      await service.store.write({ rows: [...byId.values()].map((row) => row.batch) })
      const expected = [...byId.values()].filter((row) => !filtered || row.matches)
      const inserted = new Map<string, Drawn>()
      const insertSome = async () => {
        const fresh = game.draw(random, baseMs, random.below(6), filtered).filter((row) => !byId.has(row.id))
        for (const row of fresh) inserted.set(row.id, row)
        await service.store.write({ rows: fresh.map((row) => row.batch) })
      }
      const range = { start: iso(baseMs), end: iso(baseMs + HOUR - 1) }
      const seen: string[] = []
      const query = { ...game.query, ...(filtered ? game.filter : {}), limit: String(1 + random.below(9)) }
      // The order is given, or follows from the start; later pages may repeat the range or not.
      const first = { ...query, ...range, ...(order === 'desc' || random.below(2) ? { order } : {}) }
      let url = `${game.path}?${new URLSearchParams(first)}`
      for (;;) {
        const answer: Answer = await service.get(url)
        assert.equal(answer.status, 200, `${url} ${answer.text.slice(0, 200)}`)
        seen.push(...(answer.json.data as Row[]).map(game.idOf))
        const cursor = (answer.json.meta as { next_cursor: string | null }).next_cursor
        if (cursor === null) break
        await insertSome()
        const again = random.below(2) ? first : query
        url = `${game.path}?${new URLSearchParams({ ...again, limit: String(1 + random.below(9)), after: cursor })}`
      }
      const told = `round ${round} ${url}`
      assert.equal(new Set(seen).size, seen.length, `no row twice: ${told}`)
      for (const row of expected) assert.ok(seen.includes(row.id), `${row.id} is not lost: ${told}`)
      const keys = seen.map((id) => {
        const row = byId.get(id) ?? inserted.get(id)
        assert.ok(row !== undefined && (!filtered || row.matches), `${id} was not asked for: ${told}`)
        return row.key
      })
      const step = order === 'asc' ? 1 : -1
      for (let i = 1; i < keys.length; i++) {
        const [previous, here] = [keys[i - 1], keys[i]]
        assert.ok(previous && here && compareKeys(previous, here) * step < 0, `the order holds: ${told}`)
      }
    }
  })
}

test('markets are paged in their order, every one once', async () => {
  for (const limit of [1, 7, 50]) {
    const ids: string[] = []
    let after = ''
    for (;;) {
      const answer = await service.get(`/v1/markets?limit=${limit}${after}`)
      ids.push(...(answer.json.data as Row[]).map((row) => `${row.source} ${row.market_id}`))
      const cursor = answer.headers.get('x-next-cursor')
      if (cursor === null) break
      const preview = await service.get(`/v1/markets?limit=500&after=${cursor}&dry_run=true`)
      const rest = await service.get(`/v1/markets?limit=500&after=${cursor}`)
      assert.equal(
        String(preview.json.rows),
        rest.headers.get('x-rows-returned'),
        'the preview counts from the cursor on',
      )
      after = `&after=${cursor}`
    }
    assert.equal(new Set(ids).size, ids.length)
    assert.equal(ids.length, 69)
  }
})

test('markets are listed by their end in either direction; a cursor keeps its own', async () => {
  const endsOf = (rows: Row[]) => rows.map((row) => String(row.end_time ?? '9999'))
  const first = await service.get('/v1/markets?limit=40&order=asc')
  const cursor = first.headers.get('x-next-cursor')
  const second = await service.get(`/v1/markets?limit=40&after=${cursor}`)
  const ends = endsOf([...(first.json.data as Row[]), ...(second.json.data as Row[])])
  assert.equal(ends.length, 69)
  assert.deepEqual(ends, ends.toSorted())
  const latest = await service.get('/v1/markets?limit=500&order=desc')
  assert.deepEqual(endsOf(latest.json.data as Row[]), ends.toReversed())
  assertError(await service.get(`/v1/markets?limit=40&order=desc&after=${cursor}`), 422, 'invalid_param')
})

test('a sampled walk gives each step of each market once', async () => {
  const query =
    '/v1/snapshots?symbol=BTC&source=predmkt_b&interval=1s&start=2026-06-10T11:58:00Z&end=2026-06-10T12:00:00Z'
  const whole = await service.get(`${query}&limit=1000`)
  const rows: Row[] = []
  let after = ''
  for (;;) {
    const answer = await service.get(`${query}&limit=7${after}`)
    rows.push(...(answer.json.data as Row[]))
    const cursor = answer.headers.get('x-next-cursor')
    if (cursor === null) break
    after = `&after=${cursor}`
  }
  assert.deepEqual(rows, whole.json.data)
  assert.ok(rows.length > 200)
})

test('a sampled walk down from now loses no market of the step in which it began', async () => {
  const book = { bids: [[0.4, 1]] as const, asks: [[0.5, 1]] as const }
  const write = (time: number, markets: string[]) =>
    service.store.write({
      rows: [
        {
          feed: feedOf('snapshots', 'predmkt_a', '15m', 'XRP'),
          rows: markets.map((marketId) => {
            return { time, marketId, tokenUp: 'u', tokenDown: 'd', up: book, down: book }
          }),
        },
      ],
    })
  const markets = ['0xa', '0xb', '0xc', '0xd', '0xe']
  const ends = ['', `&end=${iso(NOW + HOUR)}`]
  for (const [round, end] of ends.entries()) {
    const time = NOW - 10_000 + round * 2_000
    await write(time, markets)
    const rows: Row[] = []
    let url = `/v1/snapshots?symbol=XRP&source=predmkt_a&interval=24h&limit=2${end}`
    for (;;) {
      const answer: Answer = await service.get(url)
      rows.push(...(answer.json.data as Row[]))
      const cursor = answer.headers.get('x-next-cursor')
      if (cursor === null) break
      // Rows of a time before the walk began that are written later.
      await write(time + 500, markets)
      url = `/v1/snapshots?symbol=XRP&source=predmkt_a&interval=24h&limit=2&after=${cursor}`
    }
    assert.deepEqual(
      rows.map((row) => [row.timestamp, row.market_id]),
      markets.toReversed().map((marketId) => [iso(time), marketId]),
    )
  }
})

const BASE = '/v1/trades?symbol=BTC&start=2026-06-10T11:55:00Z&end=2026-06-10T12:00:00Z&limit=20'

test('a cursor without the start keeps the order and the range of its walk', async () => {
  for (const order of ['asc', 'desc']) {
    const whole = await service.get(`${BASE.replace('limit=20', 'limit=1000')}&order=${order}`)
    const rows: unknown[] = []
    let url = `${BASE}&order=${order}`
    for (;;) {
      const answer: Answer = await service.get(url)
      rows.push(...(answer.json.data as unknown[]))
      const cursor = answer.headers.get('x-next-cursor')
      if (cursor === null) break
      url = `/v1/trades?symbol=BTC&limit=33&after=${cursor}`
    }
    assert.deepEqual(rows, whole.json.data)
  }
})

test('forged, truncated, lengthened and foreign cursors are 422', async () => {
  const cursor = (await service.get(BASE)).headers.get('x-next-cursor') ?? ''
  assert.equal((await service.get(`${BASE}&after=${cursor}`)).status, 200)
  const refused = async (url: string, told: string) => {
    const answer = await service.get(url)
    assert.equal(answer.status, 422, told)
    const body = assertError(answer, 422, 'invalid_param')
    assert.equal(body.param, 'after', told)
  }
  for (let at = 0; at < cursor.length; at++) {
    const other = cursor[at] === 'A' ? 'B' : 'A'
    await refused(`${BASE}&after=${cursor.slice(0, at)}${other}${cursor.slice(at + 1)}`, `changed at ${at}`)
    if (at > 0) await refused(`${BASE}&after=${cursor.slice(0, at)}`, `cut at ${at}`)
  }
  for (const text of [
    `${cursor}A`,
    `A${cursor}`,
    'null',
    '0',
    'x'.repeat(601),
    `${cursor}%00`,
    `${cursor}%3D`,
  ]) {
    await refused(`${BASE}&after=${text}`, text)
  }
  const foreign = [
    BASE.replace('symbol=BTC', 'symbol=ETH'),
    `${BASE}&source=perpdex`,
    `${BASE}&side=buy`,
    `${BASE}&order=desc`,
    `${BASE}&token_id=${TOKENS.up}`,
    BASE.replace('11:55', '11:54'),
    BASE.replace('12:00:00Z', '12:00:01Z'),
    BASE.replace('/v1/trades', '/v1/perpdex/trades'),
    BASE.replace('/v1/trades', '/v1/funding'),
    BASE.replace('/v1/trades', '/v1/candles'),
  ]
  for (const url of foreign) await refused(`${url}&after=${cursor}`, url)
  // The page size may change during a walk, and the range may be spelled differently.
  assert.equal((await service.get(`${BASE.replace('limit=20', 'limit=3')}&after=${cursor}`)).status, 200)
  const epoch = BASE.replace('2026-06-10T11:55:00Z', String(Date.UTC(2026, 5, 10, 11, 55)))
  assert.equal((await service.get(`${epoch}&after=${cursor}`)).status, 200)
  const markets = (await service.get('/v1/markets?limit=5')).headers.get('x-next-cursor')
  await refused(`/v1/markets?limit=5&source=predmkt_b&after=${markets}`, 'markets of a source')
  await refused(`${BASE}&after=${markets}`, 'a cursor of markets')
  await refused(`/v1/markets?after=${cursor}`, 'a cursor of trades')
  const legs = `/v1/candles?symbol=BTC&market_id=${CONDITION}&limit=2`
  const leg = (await service.get(legs)).headers.get('x-next-cursor')
  await refused(`/v1/candles?symbol=BTC&limit=2&after=${leg}`, 'without its market')
})

test('cursors are the same for the same place', async () => {
  const [one, two] = [await service.get(BASE), await service.get(BASE)]
  assert.equal(one.headers.get('x-next-cursor'), two.headers.get('x-next-cursor'))
})

interface LateRow {
  readonly time: number
  readonly marketId: string
  readonly writtenMs: number
}

/** A recorder that writes each row some seconds late; it covers the time before the oldest row that it still has. */
function lateRecorder(random: Random, baseMs: number, covers: boolean) {
  const feed = feedOf('snapshots', 'predmkt_b', '1h', 'SOL')
  const written: LateRow[] = []
  let waiting: LateRow[] = []
  let coveredMs = baseMs - 60_000
  const markets = Array.from({ length: 2 + random.below(9) }, (_, i) => `KXSOL-${i}`)
  for (let time = Math.ceil(coveredMs / 500) * 500; time < baseMs + 60_000; time += 500)
    for (const marketId of markets)
      if (random.below(4) === 0) waiting.push({ time, marketId, writtenMs: time + random.below(14_000) })
  const yes = { bids: [[0.4, 1]] as const, asks: [[0.5, 1]] as const }
  const advance = async (nowMs: number) => {
    service.clock.set(nowMs)
    const due = waiting.filter((row) => row.writtenMs <= nowMs)
    waiting = waiting.filter((row) => row.writtenMs > nowMs)
    written.push(...due)
    const toMs = Math.min(nowMs, ...waiting.map((row) => row.time))
    await service.store.write({
      rows: [{ feed, rows: due.map(({ time, marketId }) => ({ time, marketId, yes })) }],
      coverage: covers ? [observed(feed, coveredMs, toMs)] : [],
    })
    coveredMs = toMs
  }
  return { advance, written }
}

/** The time up to which a page claims to be complete. */
function completeTo({
  coverage,
}: {
  coverage: { to: string; gaps: { from: string; to: string }[] }
}): number {
  const open = coverage.gaps.filter((gap) => gap.to === coverage.to).map((gap) => Date.parse(gap.from))
  return Math.min(Date.parse(coverage.to), ...open)
}

const LATE_ROUNDS = process.env.TAPELINE_SOAK ? 400 : 12

test(`a sampled walk loses no market and lists none twice, however late rows are written (seed ${SEED})`, async () => {
  for (let round = 0; round < LATE_ROUNDS; round++) {
    const random = seeded(SEED + round * 31)
    const baseMs = NOW + (round + 1) * HOUR + random.below(300_000)
    const recorder = lateRecorder(random, baseMs, random.below(4) > 0)
    await recorder.advance(baseMs)
    const known = [...recorder.written]
    const [interval, stepMs] = random.pick([
      ['1s', 1_000],
      ['5m', 300_000],
    ] as const)
    const order = random.pick(['asc', 'desc'])
    const startMs = baseMs - 50_000
    const endMs = random.pick([undefined, baseMs - 5_000, baseMs, baseMs + HOUR])
    const query = `/v1/snapshots?symbol=SOL&source=predmkt_b&market_type=1h&interval=${interval}`
    const range = `&order=${order}&start=${iso(startMs)}${endMs === undefined ? '' : `&end=${iso(endMs)}`}`
    const idOf = (time: number, marketId: unknown) => `${Math.ceil(time / stepMs) * stepMs} ${marketId}`
    const inRange = known.filter(({ time }) => time >= startMs && time <= (endMs ?? time))
    const whole = await service.get(`${query}${range}&limit=1000`)
    assert.deepEqual(
      (whole.json.data as Row[]).map((row) => `${row.timestamp} ${row.market_id}`).sort(),
      [...new Map(inRange.map((row) => [idOf(row.time, row.marketId), row])).values()]
        .map(({ time, marketId }) => `${iso(time)} ${marketId}`)
        .sort(),
      'what fits on a page is as new as what is written',
    )
    const ids: string[] = []
    const completeMs: number[] = []
    let nowMs = baseMs
    let url = `${query}${range}&limit=${1 + random.below(30)}`
    const walked = () => `round ${round} ${url}`
    for (;;) {
      const answer: Answer = await service.get(url)
      assert.equal(answer.status, 200, answer.text)
      ids.push(
        ...(answer.json.data as Row[]).map((row) => idOf(Date.parse(String(row.timestamp)), row.market_id)),
      )
      completeMs.push(completeTo(answer.json.meta as never))
      const cursor = answer.headers.get('x-next-cursor')
      if (cursor === null) break
      nowMs += random.below(8_000)
      await recorder.advance(nowMs)
      url = `${query}&limit=${1 + random.below(30)}&after=${cursor}`
    }
    assert.equal(new Set(ids).size, ids.length, `nothing twice: ${walked()}`)
    const toMs = Math.max((order === 'asc' ? completeMs.at(-1) : completeMs[0]) ?? 0, baseMs - 15_000)
    const wanted = inRange.filter(({ time }) => time < toMs).map(({ time, marketId }) => idOf(time, marketId))
    assert.ok(wanted.length > 0)
    assert.deepEqual(
      wanted.filter((id) => !ids.includes(id)),
      [],
      `nothing lost: ${walked()}`,
    )
  }
})
