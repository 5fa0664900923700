/** Which ranges the venue's history covers, and which it does not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fastClock, startLoopback } from '../../../test/predictions/loopback.ts'
import type { HistoryPage } from '../venue.ts'
import { createPolymarket } from './venue.ts'

const WINDOW = 1_784_851_200
const END = WINDOW + 300
const CONDITION = `0x${'a'.repeat(64)}`
const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()
const MARKET = {
  id: '91',
  conditionId: CONDITION,
  slug: `btc-updown-5m-${WINDOW}`,
  outcomes: '["Up", "Down"]',
  clobTokenIds: '["1100000011", "2200000022"]',
  eventStartTime: iso(WINDOW),
  endDate: iso(END),
  closed: true,
}

test('the first data interface refuses to go deeper: the newest trades are emitted, the older ones are not covered', async (t) => {
  const row = (index: number) => ({
    side: 'BUY',
    asset: '1100000011',
    conditionId: CONDITION,
    size: 1,
    price: 0.5,
    timestamp: END - Math.floor(index / 20),
    transactionHash: `0x${index}`,
  })
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname === '/markets') return url.searchParams.get('closed') === 'true' ? [MARKET] : []
      const offset = Number(url.searchParams.get('offset'))
      if (offset > 3_000) return { status: 400, body: { error: 'max offset exceeded' } }
      return Array.from({ length: 1_000 }, (_, index) => row(offset + index))
    },
  })
  t.after(() => server.close())
  const hosts = { rest: server.http, clob: server.http, data: server.http }
  const clock = fastClock((END + 3_600) * 1_000, 5)
  const venue = createPolymarket({ clock, hosts, polymarket: { dataVersion: 'v1' } })
  const range = { fromMs: WINDOW * 1_000, toMs: (END + 180) * 1_000 }
  const pages: HistoryPage[] = []
  const request = { topic: 'trades', symbol: 'BTC', market: CONDITION, range } as const
  for await (const page of venue.history(request, { signal: new AbortController().signal })) pages.push(page)
  assert.equal(pages.flatMap(({ observations }) => observations).length, 4_000)
  assert.deepEqual(
    pages.map(({ covered }) => covered),
    [{ fromMs: (END - 199 + 1) * 1_000, toMs: range.toMs }],
  )
})

test('equal fills of a transaction on two pages are two trades; pages that overlap, whatever their length, fail', async (t) => {
  const row = (index: number) => ({
    ...{ side: 'BUY', token_id: '1100000011', condition_id: CONDITION, size: 1, price: 0.5, outcome: 'Up' },
    ...{ timestamp: END - Math.floor(index / 20), transaction_hash: `0x${index}` },
  })
  const rows = Array.from({ length: 2_000 }, (_, index) => row(index === 1_000 ? 999 : index))
  let overlap = 0
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname === '/markets') return url.searchParams.get('closed') === 'true' ? [MARKET] : []
      const from = Number(url.searchParams.get('cursor') ?? 0)
      const to = from + Number(url.searchParams.get('limit'))
      const next = to < rows.length ? String(to - overlap) : null
      return { data: rows.slice(from, to), pagination: { has_more: next !== null, next_cursor: next } }
    },
  })
  t.after(() => server.close())
  const hosts = { rest: server.http, clob: server.http, data: server.http }
  const venue = createPolymarket({ clock: fastClock((END + 3_600) * 1_000, 5), hosts })
  const range = { fromMs: WINDOW * 1_000, toMs: (END + 180) * 1_000 }
  const request = { topic: 'trades', symbol: 'BTC', market: CONDITION, range } as const
  const walk = () => Array.fromAsync(venue.history(request, { signal: new AbortController().signal }))
  const ids = (await walk()).flatMap(({ observations }) => observations.map(({ key }) => key))
  assert.deepEqual([ids.length, new Set(ids).size], [2_000, 2_000])
  for (overlap of [1, 3]) await assert.rejects(walk(), /rows of the page before it/)
})

test('midpoints: every page of them, none of the settlement; what is coarser or older than a week is not covered', async (t) => {
  let resolution = 60
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname === '/markets') return url.searchParams.get('closed') === 'true' ? [MARKET] : []
      if (url.searchParams.get('token_id') !== '1100000011')
        return { data: [], pagination: { has_more: false } }
      const isSecond = url.searchParams.has('cursor')
      const point = (timestamp: number, price: number) => ({
        timestamp,
        price,
        resolution_seconds: resolution,
      })
      return {
        data: isSecond
          ? [point(WINDOW + 150, 0.4), { timestamp: WINDOW + 190, price: 1, resolution_seconds: 0 }]
          : [point(WINDOW, 0.5)],
        pagination: { has_more: !isSecond, next_cursor: isSecond ? null : 'c1' },
      }
    },
  })
  t.after(() => server.close())
  const hosts = { rest: server.http, clob: server.http, data: server.http }
  const range = { fromMs: WINDOW * 1_000, toMs: END * 1_000 }
  const walk = async (nowS: number) => {
    const venue = createPolymarket({ clock: fastClock(nowS * 1_000, 1), hosts })
    const pages: HistoryPage[] = []
    const request = { topic: 'mids', symbol: 'BTC', market: `${CONDITION}#Up`, range } as const
    for await (const page of venue.history(request, { signal: new AbortController().signal }))
      pages.push(page)
    return pages
  }
  const [page] = await walk(END + 3_600)
  assert.deepEqual(
    page?.observations.map((each) => (each.kind === 'mid' ? [each.venueTimeMs, each.price] : [])),
    [
      [WINDOW * 1_000, '0.5'],
      [(WINDOW + 150) * 1_000, '0.4'],
    ],
  )
  assert.deepEqual(page?.covered, range)
  resolution = 300
  assert.deepEqual(
    (await walk(END + 3_600)).map(({ covered }) => covered),
    [null],
  )
  const old = await walk(END + 8 * 86_400)
  assert.deepEqual(
    old.map(({ covered, missing }) => [covered, missing.length]),
    [[null, 1]],
  )
})

test('an answer about a running market without midpoints for more than three minutes fails: it is cut or old', async (t) => {
  let times: number[] = []
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname === '/markets') return url.searchParams.get('closed') === 'true' ? [MARKET] : []
      const data = times.map((after) => ({ timestamp: WINDOW + after, price: 0.5, resolution_seconds: 60 }))
      return { data, pagination: { has_more: false } }
    },
  })
  t.after(() => server.close())
  const hosts = { rest: server.http, clob: server.http, data: server.http }
  const range = { fromMs: (WINDOW - 3_600) * 1_000, toMs: (END + 600) * 1_000 }
  const request = { topic: 'mids', symbol: 'BTC', market: `${CONDITION}#Up`, range } as const
  const isCovered = async (...seconds: number[]) => {
    times = seconds
    const venue = createPolymarket({ clock: fastClock((END + 3_600) * 1_000, 1), hosts })
    try {
      const pages = await Array.fromAsync(venue.history(request, { signal: new AbortController().signal }))
      return pages.every(({ covered }) => covered !== null)
    } catch {
      return false
    }
  }
  assert.equal(await isCovered(120, 270), true)
  assert.deepEqual(
    [await isCovered(60), await isCovered(10, 200), await isCovered(200, 290)],
    [false, false, false],
  )
})

test('an empty answer covers nothing if the market was traded, and fails if it ran and must have midpoints', async (t) => {
  let market: object = MARKET
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname === '/markets') return url.searchParams.get('closed') === 'true' ? [market] : []
      return { data: [], pagination: { has_more: false } }
    },
  })
  t.after(() => server.close())
  const hosts = { rest: server.http, clob: server.http, data: server.http }
  const covered = async (topic: 'trades' | 'mids', fromS: number, toS: number) => {
    const venue = createPolymarket({ clock: fastClock((END + 3_600) * 1_000, 1), hosts })
    const range = { fromMs: fromS * 1_000, toMs: toS * 1_000 }
    const about = { topic, symbol: 'BTC', market: topic === 'mids' ? `${CONDITION}#Up` : CONDITION } as const
    const pages: HistoryPage[] = []
    for await (const page of venue.history({ ...about, range }, { signal: new AbortController().signal }))
      pages.push(page)
    return pages.map(({ covered }) => covered !== null)
  }
  assert.deepEqual(await covered('trades', WINDOW, END), [true])
  market = { ...MARKET, volumeNum: 12.5 }
  assert.deepEqual(await covered('trades', WINDOW, END), [false])
  await assert.rejects(covered('mids', WINDOW, END), { isFinal: false })
  assert.deepEqual(await covered('mids', WINDOW - 3_600, WINDOW + 60), [true])
  assert.deepEqual(await covered('mids', END, END + 600), [true])
})

test('pages that overlap give no trade twice: moved offsets are recognised, a cursor that goes back is refused', async (t) => {
  const row = (index: number) => ({
    ...{ side: 'BUY', size: 1, price: 0.5, timestamp: END - index },
    ...{ asset: '1100000011', conditionId: CONDITION, transactionHash: `0x${index}` },
    ...{ token_id: '1100000011', condition_id: CONDITION, transaction_hash: `0x${index}` },
  })
  const rows = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => row(from + index))
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname === '/markets') return url.searchParams.get('closed') === 'true' ? [MARKET] : []
      if (url.pathname === '/v2/trades') {
        const isSecond = url.searchParams.has('cursor')
        const next = { has_more: !isSecond, next_cursor: isSecond ? null : 'c1' }
        return { data: isSecond ? rows(9, 15) : rows(0, 10), pagination: next }
      }
      // Two trades were made since the first page.
      const offset = Number(url.searchParams.get('offset'))
      return offset === 0 ? rows(0, 10) : offset === 10 ? rows(8, 15) : []
    },
  })
  t.after(() => server.close())
  const hosts = { rest: server.http, clob: server.http, data: server.http }
  const range = { fromMs: WINDOW * 1_000, toMs: (END + 180) * 1_000 }
  const walk = async (dataVersion: 'v1' | 'v2') => {
    const clock = fastClock((END + 3_600) * 1_000, 5)
    const venue = createPolymarket({ clock, hosts, polymarket: { dataVersion } })
    const request = { topic: 'trades', symbol: 'BTC', market: CONDITION, range } as const
    const ids: string[] = []
    for await (const { observations } of venue.history(request, { signal: new AbortController().signal }))
      for (const each of observations) if (each.kind === 'trade') ids.push(each.id)
    return ids
  }
  const ids = await walk('v1')
  assert.equal(ids.length, 15)
  assert.equal(new Set(ids).size, 15)
  await assert.rejects(walk('v2'), /rows of the page before it/)
})

test('an answer that has more, and no cursor to it, is refused: the rest would be missing in a time that is covered', async (t) => {
  let trades: { count: number; pagination?: object } = { count: 0 }
  const row = (index: number) => ({
    ...{ side: 'BUY', size: 1, price: 0.5, timestamp: END - index, token_id: '1100000011' },
    ...{ condition_id: CONDITION, transaction_hash: `0x${index}` },
  })
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname === '/markets') return url.searchParams.get('closed') === 'true' ? [MARKET] : []
      if (url.pathname !== '/v2/trades') return { data: [], pagination: { has_more: true } }
      const { count, pagination } = trades
      return { data: Array.from({ length: count }, (_, index) => row(index)), pagination }
    },
  })
  t.after(() => server.close())
  const hosts = { rest: server.http, clob: server.http, data: server.http }
  const range = { fromMs: (WINDOW - 3_600) * 1_000, toMs: END * 1_000 }
  const walk = async (topic: 'trades' | 'mids', answer: typeof trades = { count: 0 }) => {
    trades = answer
    const venue = createPolymarket({ clock: fastClock((END + 3_600) * 1_000, 5), hosts })
    const market = topic === 'mids' ? `${CONDITION}#Up` : CONDITION
    let rows = 0
    const request = { topic, symbol: 'BTC', market, range } as const
    for await (const page of venue.history(request, { signal: new AbortController().signal }))
      rows += page.observations.length
    return rows
  }
  await assert.rejects(walk('mids'), /no cursor/)
  await assert.rejects(walk('trades', { count: 3, pagination: { has_more: true } }), /no cursor/)
  await assert.rejects(walk('trades', { count: 1_000 }), /no cursor/)
  assert.equal(await walk('trades', { count: 1_000, pagination: { has_more: false } }), 999)
  assert.equal(await walk('trades', { count: 3 }), 2)
})

test('trades of one second keep the order of the venue, and their ids whatever that order is', async (t) => {
  const row = (hash: string, price: number, timestamp: number) => ({
    ...{ side: 'BUY', size: 1, price, timestamp },
    ...{ token_id: '1100000011', condition_id: CONDITION, transaction_hash: hash },
  })
  /** Newest first. */
  let listed = [
    row('0xd', 0.4, WINDOW + 61),
    row('0xa', 0.6, WINDOW + 60),
    row('0xa', 0.5, WINDOW + 60),
    row('0xc', 0.7, WINDOW + 60),
    row('0xb', 0.3, WINDOW + 60),
  ]
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname === '/markets') return url.searchParams.get('closed') === 'true' ? [MARKET] : []
      return { data: listed, pagination: { has_more: false } }
    },
  })
  t.after(() => server.close())
  const hosts = { rest: server.http, clob: server.http, data: server.http }
  const range = { fromMs: WINDOW * 1_000, toMs: END * 1_000 }
  const walk = async () => {
    const venue = createPolymarket({ clock: fastClock((END + 3_600) * 1_000, 5), hosts })
    const request = { topic: 'trades', symbol: 'BTC', market: CONDITION, range } as const
    const found: string[] = []
    for await (const { observations } of venue.history(request, { signal: new AbortController().signal }))
      for (const each of observations) if (each.kind === 'trade') found.push(`${each.price} ${each.id}`)
    return found
  }
  const found = await walk()
  assert.deepEqual(found, [
    '0.3 0xb-00000011-0',
    '0.7 0xc-00000011-0',
    '0.5 0xa-00000011-0',
    '0.6 0xa-00000011-1',
    '0.4 0xd-00000011-0',
  ])
  listed = [0, 2, 1, 3, 4].flatMap((place) => listed[place] ?? [])
  assert.deepEqual((await walk()).sort(), found.sort(), 'the fills of a transaction in another order')
})

test('trades of one token in a transaction name each other, and are no repeats of streamed ones', async (t) => {
  const row = (token_id: string, size: number, hash: string) => ({
    ...{ side: 'BUY', token_id, condition_id: CONDITION, size, price: 0.5 },
    ...{ timestamp: WINDOW + 20, transaction_hash: hash },
  })
  const data = [row('1100000011', 5, '0xa'), row('1100000011', 5, '0xa'), row('2200000022', 5, '0xa')]
  const server = await startLoopback({
    answer: ({ url }) =>
      url.pathname === '/markets'
        ? url.searchParams.get('closed') === 'true'
          ? [MARKET]
          : []
        : { data, pagination: { has_more: false } },
  })
  t.after(() => server.close())
  const hosts = { rest: server.http, clob: server.http, data: server.http }
  const venue = createPolymarket({ clock: fastClock((END + 3_600) * 1_000, 5), hosts })
  const range = { fromMs: WINDOW * 1_000, toMs: END * 1_000 }
  const request = { topic: 'trades', symbol: 'BTC', market: CONDITION, range } as const
  const pages = await Array.fromAsync(venue.history(request, { signal: new AbortController().signal }))
  const trades = pages
    .flatMap(({ observations }) => observations)
    .flatMap((each) => (each.kind === 'trade' ? [each] : []))
  assert.deepEqual(
    trades.map(({ id, key, fills }) => [id, key === id, fills?.map((each) => each.id)]).sort(),
    [
      ['0xa-00000011-0', false, ['0xa-00000011-1', '0xa-00000011-0']],
      ['0xa-00000011-1', false, ['0xa-00000011-1', '0xa-00000011-0']],
      ['0xa-00000022-0', true, undefined],
    ],
  )
})
