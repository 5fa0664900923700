/** Sealed pages: what is called immutable never changes, and what can change is never called so. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { FeedRows } from '../../src/core/rows/row-kinds.ts'
import { seeded } from '../../src/store/conformance/engine.ts'
import { gap, observed, retracted } from '../../src/store/coverage.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import type { Answer } from '../fakes/client.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import {
  DAY,
  FINAL,
  FIRST,
  feedOf,
  fillWorld,
  HOUR,
  iso,
  MINUTE,
  NOW,
  TICKER,
  worldRows,
} from '../fakes/market-world.ts'
import { dataFolder } from '../fakes/service.ts'
import { removeEnvironment } from '../fakes/stores.ts'

const isSealed = (answer: Answer) =>
  answer.headers.get('cache-control') === 'private, max-age=31536000, immutable'
const isOpen = (answer: Answer) => answer.headers.get('cache-control') === 'private, no-cache'
const hashOf = (answer: Answer) => createHash('sha256').update(answer.text).digest('hex')

const TODAY = Math.floor(FINAL / DAY) * DAY
const RANGE = `start=${iso(FINAL - 2 * DAY)}&end=${iso(FINAL)}`
const QUERIES = [
  `/v1/candles?symbol=BTC&source=cexa&${RANGE}&limit=10`,
  // A day's candle is final when the day is over.
  `/v1/candles?symbol=BTC&source=cexa_spot&interval=24h&start=${iso(TODAY - 2 * DAY)}&end=${iso(TODAY)}&limit=1&order=desc`,
  `/v1/candles?symbol=BTC&interval=5m&start=${iso(FINAL - HOUR)}&end=${iso(FINAL)}&limit=7`,
  `/v1/trades?symbol=BTC&start=${iso(FINAL - 5 * MINUTE)}&end=${iso(FINAL)}&limit=40&order=desc`,
  `/v1/flow?symbol=BTC&interval=1h&${RANGE}&limit=20`,
  `/v1/snapshots?symbol=BTC&source=predmkt_a&market_type=5m&include_orderbook=true&start=${iso(FINAL - MINUTE)}&end=${iso(FINAL - 500)}&limit=50`,
  `/v1/snapshots?symbol=BTC&source=predmkt_b&market_type=1h&interval=1s&start=${iso(FINAL - MINUTE)}&end=${iso(FINAL - 500)}&limit=25`,
  `/v1/perpdex/snapshots?symbol=BTC&start=${iso(FINAL - MINUTE)}&end=${iso(FINAL - 500)}&limit=60`,
  `/v1/open-interest?symbol=BTC&start=${iso(FINAL - DAY)}&end=${iso(FINAL)}&limit=20`,
  `/v1/liquidations?symbol=BTC&side=long&${RANGE}&limit=10`,
  `/v1/funding?symbol=BTC&${RANGE}&limit=13`,
  `/v1/ticker?symbol=BTC&start=${iso(FINAL - MINUTE)}&end=${iso(FINAL)}&limit=55`,
]

/** Walks every query and returns the hash and tag of each page; all pages must be sealed. */
async function sealedPages(service: MarketService): Promise<Map<string, string>> {
  const pages = new Map<string, string>()
  for (const query of QUERIES) {
    let url: string | undefined = query
    while (url !== undefined) {
      const answer: Answer = await service.get(url)
      assert.equal(answer.status, 200, answer.text.slice(0, 300))
      assert.ok(isSealed(answer), `${url} is sealed`)
      pages.set(url, `${hashOf(answer)} ${answer.headers.get('etag')}`)
      const next = answer.headers.get('x-next-cursor')
      url = next === null ? undefined : `${query}&after=${next}`
    }
  }
  return pages
}

/** Filled once, for the tests that only read. */
let shared: MarketService
before(async () => {
  shared = await startMarketService({ nowMs: NOW, fill: fillWorld })
})
after(() => shared.stop())

test('a sealed page has the same bytes after a restart and after re-ingesting in another order', async () => {
  const folder = dataFolder()
  const start = (fill?: (store: EnvironmentStore) => Promise<void>) =>
    startMarketService({ nowMs: NOW, folder: folder.path, ...(fill ? { fill } : {}) })
  try {
    let service = await start(fillWorld)
    const first = await sealedPages(service)
    assert.ok(first.size > 40, `${first.size} pages`)
    assert.deepEqual(await sealedPages(service), first, 'repeated')
    await service.stop()

    service = await start()
    assert.deepEqual(await sealedPages(service), first, 'after a restart')
    // The same rows again change nothing.
    await fillWorld(service.store)
    service.tick()
    assert.deepEqual(await sealedPages(service), first, 'written again')
    await service.stop()

    await removeEnvironment(folder.path, 'test')
    service = await start(fillInAnotherOrder)
    assert.deepEqual(await sealedPages(service), first, 're-ingested in another order')
    await service.stop()
  } finally {
    folder.remove()
  }
})

/** The same world in small pieces, newest first, shuffled, with pieces that arrive twice. */
async function fillInAnotherOrder(store: EnvironmentStore): Promise<void> {
  const random = seeded(7)
  const pieces = worldRows().flatMap(({ feed, rows }) => {
    const mixed = random.shuffle(rows as readonly unknown[])
    const size = 97
    return Array.from({ length: Math.ceil(mixed.length / size) }, (_, i) => ({
      feed,
      rows: mixed.slice(i * size, (i + 1) * size),
    }))
  }) as FeedRows[]
  const order = random.shuffle(pieces)
  for (const piece of order) await store.write({ rows: [piece] })
  await store.write({ rows: order.slice(0, 5) })
  for (const feed of new Set(order.map((piece) => piece.feed))) {
    await store.write({ coverage: [observed(feed, FINAL - DAY, FINAL)] })
    await store.write({ coverage: [observed(feed, FIRST - DAY, FINAL - DAY)] })
    await store.write({ finalize: [{ feed: feed, before: FINAL }] })
  }
}

const bar = (time: number, close = 60_000) => ({
  time,
  open: 60_000,
  high: 60_100,
  low: 59_900,
  close,
  volume: 1,
  closed: true,
})

test('a page with a gap is open, names it, and is sealed when the gap is filled', async (t) => {
  const feed = feedOf('candles', 'cexa', '1m')
  const from = FINAL - HOUR
  const times = Array.from({ length: 60 }, (_, i) => from + i * MINUTE)
  const [lostFrom, lostTo] = [from + 20 * MINUTE, from + 30 * MINUTE]
  const service = await startMarketService({
    nowMs: NOW,
    fill: async (store) => {
      await store.write({
        rows: [{ feed, rows: times.filter((t) => t < lostFrom || t >= lostTo).map((t) => bar(t)) }],
      })
      await store.write({ coverage: [observed(feed, from - HOUR, lostFrom)] })
      await store.write({ coverage: [gap(feed, lostFrom, lostTo, 'venue_down')] })
      await store.write({ coverage: [observed(feed, lostTo, FINAL)] })
      await store.write({ finalize: [{ feed: feed, before: FINAL }] })
    },
  })
  t.after(() => service.stop())
  const url = `/v1/candles?symbol=BTC&source=cexa&interval=1m&start=${iso(from)}&end=${iso(FINAL)}`
  const holed = await service.get(url)
  assert.ok(isOpen(holed))
  assert.equal(holed.headers.get('x-coverage-complete'), 'false')
  assert.deepEqual((holed.json.meta as { coverage: object }).coverage, {
    from: iso(from),
    to: iso(FINAL),
    complete: false,
    gaps: [{ source: 'cexa', from: iso(lostFrom), to: iso(lostTo), reason: 'venue_down' }],
  })
  // A page of the same walk that lies before the gap is complete.
  assert.ok(isSealed(await service.get(`${url}&limit=20`)))
  // The candle before the gap was the last one that was observed to its end.
  assert.ok(isOpen(await service.get(`${url}&limit=21`)))

  await service.store.write({
    rows: [{ feed, rows: times.filter((t) => t >= lostFrom && t < lostTo).map((t) => bar(t)) }],
  })
  await service.store.write({ coverage: [observed(feed, lostFrom, lostTo)] })
  service.tick()
  const whole = await service.get(url)
  assert.ok(isSealed(whole))
  assert.equal((whole.json.data as unknown[]).length, 60)
  assert.notEqual(whole.headers.get('etag'), holed.headers.get('etag'))
  // If an observation is retracted, the page is no longer sealed.
  await service.store.write({ coverage: [retracted(feed, lostFrom, lostTo)] })
  service.tick()
  assert.ok(isOpen(await service.get(url)))
})

test('open time, a moving end, a clamped start and a cut by plan or balance are never immutable', async () => {
  const service = shared
  const candles = '/v1/candles?symbol=BTC&source=cexa'
  const open: [string, Parameters<MarketService['get']>[1]?][] = [
    // reaches into the open bar
    [`${candles}&start=${iso(FINAL - HOUR)}&end=${iso(FINAL + HOUR)}`],
    [`${candles}&start=${iso(FINAL - HOUR)}&end=${iso(FINAL + 1)}`],
    // an end or a start that moves with the clock
    [`${candles}&start=${iso(FINAL - HOUR)}`],
    [`${candles}&end=${iso(FINAL)}&limit=10000`],
    [`${candles}&end=${iso(FINAL)}&order=asc&limit=5`],
    [candles],
    // clamped by the plan, and by the first row
    [`${candles}&start=${iso(FINAL - 20 * DAY)}&end=${iso(FINAL)}`, { plan: 'free' }],
    [`${candles}&start=${iso(FINAL - 20 * DAY)}&end=${iso(FINAL)}&order=desc&limit=5`, { plan: 'free' }],
    [`/v1/predmkt_a/candles?symbol=BTC&start=${iso(FINAL - DAY)}&end=${iso(FINAL)}`],
    // cut by the plan's row cap, and by the balance
    [`${candles}&start=${iso(FINAL - 6 * DAY)}&end=${iso(FINAL)}&limit=120`, { plan: 'free' }],
    [
      `${candles}&start=${iso(FINAL - DAY)}&end=${iso(FINAL)}`,
      { key: await service.key({ plan: 'business', credits: 80 }) },
    ],
    // one of several feeds was never observed
    [`/v1/candles?symbol=ETH&start=${iso(FINAL - DAY)}&end=${iso(FINAL)}`],
    // what changed since the row before
    [
      `/v1/predmkt_b/orderbook?symbol=BTC&market_type=1h&include_diffs=true&start=${iso(FINAL - MINUTE)}&end=${iso(FINAL - 500)}`,
    ],
    // markets come and go
    ['/v1/markets'],
  ]
  for (const [url, asked] of open) {
    const answer = await service.get(url, asked)
    assert.equal(answer.status, 200, answer.text.slice(0, 200))
    assert.ok(isOpen(answer), url)
    assert.ok(answer.headers.has('etag'))
  }
  // The same page is sealed for a plan that does not cut it, and if only the caller's own limit cuts it.
  assert.ok(
    isSealed(await service.get(`${candles}&start=${iso(FINAL - 6 * DAY)}&end=${iso(FINAL)}&limit=120`)),
  )
  assert.ok(
    isSealed(
      await service.get(`${candles}&start=${iso(FINAL - 6 * DAY)}&end=${iso(FINAL)}&limit=10`, {
        plan: 'free',
      }),
    ),
  )
  // Both ends are fixed by the row before and the row after.
  const page = await service.get(`${candles}&end=${iso(FINAL)}&limit=5`)
  assert.ok(isSealed(page), 'newest first from a fixed end, with more to come')
})

test('a page that is given again is still cut to the balance and to the plan', async () => {
  const service = shared
  const url = `/v1/candles?symbol=BTC&source=cexa&start=${iso(FINAL - 6 * DAY)}&end=${iso(FINAL)}&limit=120`
  for (let turn = 0; turn < 4; turn++) {
    const whole = await service.get(url, { plan: 'business' })
    assert.ok(isSealed(whole))
    assert.equal(whole.headers.get('x-credits-used'), '410', 'every time at its price')
  }
  const poor = await service.key({ plan: 'business', credits: 50 + 3 * 7 })
  const cut = await service.get(url, { key: poor })
  assert.deepEqual(
    [cut.headers.get('x-rows-returned'), cut.headers.get('x-rows-capped'), isOpen(cut)],
    ['7', 'true', true],
  )
  const free = await service.get(url, { plan: 'free' })
  assert.deepEqual([free.headers.get('x-rows-returned'), isOpen(free)], ['100', true])
  assert.equal((await service.get(`${url}&dry_run=true`, { plan: 'business' })).json.credits, 410)
  const head = await service.get(url, { plan: 'business', method: 'HEAD' })
  assert.equal(head.headers.get('x-credits-used'), '0')
  assert.equal((await service.get(url, { key: 'svc_test_wrong' })).status, 401)
})

test('a page of one market speaks of the series of its duration only', async () => {
  const service = shared
  const range = `start=${iso(FINAL - MINUTE)}&end=${iso(FINAL - 500)}`
  const one = await service.get(`/v1/snapshots?symbol=BTC&source=predmkt_b&market_id=${TICKER}&${range}`)
  assert.deepEqual((one.json.meta as { coverage: { gaps: unknown[] } }).coverage.gaps, [])
  assert.ok(isSealed(one))
  // Without a market every duration is read, and most of them were never observed here.
  const all = await service.get(`/v1/snapshots?symbol=BTC&source=predmkt_b&${range}`)
  assert.ok(isOpen(all))
  // A duration that the market does not have finds nothing.
  const other = await service.get(
    `/v1/snapshots?symbol=BTC&source=predmkt_b&market_id=${TICKER}&market_type=5m&${range}`,
  )
  assert.deepEqual(other.json.data, [])
})

test('an inclusive end at the watermark is open: the row of that instant may still come', async (t) => {
  const feed = feedOf('snapshots', 'perpdex')
  const service = await startMarketService({ nowMs: NOW, fill: fillWorld })
  t.after(() => service.stop())
  await service.store.write({ coverage: [observed(feed, FINAL, FINAL + MINUTE)] })
  service.tick()
  const url = (end: number) =>
    `/v1/snapshots?symbol=BTC&source=perpdex&start=${iso(FINAL - 5_000)}&end=${iso(end)}`
  assert.ok(isSealed(await service.get(url(FINAL - 1))))
  const at = await service.get(url(FINAL))
  assert.ok(isOpen(at))
  const book = { bids: [[1, 1]] as const, asks: [[2, 1]] as const }
  await service.store.write({ rows: [{ feed, rows: [{ time: FINAL, book }] }] })
  service.tick()
  assert.equal((await service.get(url(FINAL))).headers.get('x-rows-returned'), '11')
  await service.store.write({ finalize: [{ feed: feed, before: FINAL + 1 }] })
  service.tick()
  assert.ok(isSealed(await service.get(url(FINAL))))
})

test('a sampling step that is not over is open, however many rows follow', async (t) => {
  const feed = feedOf('snapshots', 'predmkt_b', '1h')
  const sample = (marketId: string, time: number) => ({
    time,
    marketId,
    yes: { bids: [[0.4, 1]] as const, asks: [[0.5, 1]] as const },
    no: { bids: [[0.4, 1]] as const, asks: [[0.5, 1]] as const },
  })
  const from = FINAL - HOUR
  const service = await startMarketService({
    nowMs: NOW,
    fill: async (store) => {
      // Two markets in one five-minute step; finality ends inside the step.
      await store.write({
        rows: [{ feed, rows: [sample('A-1', from + 60_000), sample('B-1', from + 90_000)] }],
      })
      await store.write({ coverage: [observed(feed, from - HOUR, FINAL)] })
      await store.write({ finalize: [{ feed: feed, before: from + 120_000 }] })
    },
  })
  t.after(() => service.stop())
  const url = `/v1/snapshots?symbol=BTC&source=predmkt_b&market_type=1h&interval=5m&limit=1&start=${iso(from)}&end=${iso(FINAL)}`
  const early = await service.get(url)
  assert.equal((early.json.meta as { has_more: boolean }).has_more, true)
  assert.ok(isOpen(early), 'a later sample of the same step would take the place of this row')
  await service.store.write({ rows: [{ feed, rows: [sample('A-1', from + 240_000)] }] })
  service.tick()
  assert.notEqual(hashOf(await service.get(url)), hashOf(early))
  await service.store.write({ finalize: [{ feed: feed, before: from + 300_001 }] })
  service.tick()
  assert.ok(isSealed(await service.get(url)))
})

test('a walk backwards to a start before the window is clamped on every page, with and without the start', async () => {
  const service = shared
  const start = iso(NOW - 9 * DAY)
  const query = `/v1/candles?symbol=BTC&source=cexa&interval=4h&order=desc&limit=15&end=${iso(FINAL)}`
  const first = await service.get(`${query}&start=${start}`, { plan: 'free' })
  for (const given of ['', `&start=${start}`]) {
    let cursor = first.headers.get('x-next-cursor')
    let rows = 15
    while (cursor !== null) {
      const answer: Answer = await service.get(`${query}${given}&after=${cursor}`, { plan: 'free' })
      const meta = answer.json.meta as Record<string, unknown>
      assert.deepEqual(
        [meta.clamped, meta.clamped_reason, meta.original_start, meta.effective_start],
        [true, 'plan_history', start, iso(NOW - 7 * DAY)],
      )
      assert.ok(isOpen(answer))
      rows += (answer.json.data as unknown[]).length
      cursor = answer.headers.get('x-next-cursor')
    }
    assert.equal(rows, 41)
  }
  // A cursor of a larger plan gives no access beyond the caller's plan.
  const wide = await service.get(`${query}&start=${iso(NOW - 20 * DAY)}`)
  const narrow = await service.get(`${query}&after=${wide.headers.get('x-next-cursor')}`, { plan: 'free' })
  assert.equal((narrow.json.meta as { clamped: boolean }).clamped, true)
})

test('a walk that began in the window goes on while the window moves', async (t) => {
  const service = await startMarketService({ nowMs: NOW, fill: fillWorld })
  t.after(() => service.stop())
  const query = `/v1/funding?symbol=BTC&source=perpdex&limit=50&start=${iso(NOW - 7 * DAY)}`
  const first = await service.get(query, { plan: 'free' })
  service.clock.set(NOW + 20 * MINUTE)
  const next = await service.get(`${query}&after=${first.headers.get('x-next-cursor')}`, { plan: 'free' })
  assert.equal(next.status, 200, next.text)
  assert.equal((next.json.meta as { clamped: null }).clamped, null)
  assert.equal((await service.get(query, { plan: 'free' })).status, 400)
})

test('If-None-Match answers 304 for nothing, in every format and encoding', async () => {
  const service = shared
  const key = await service.key({ plan: 'business', credits: 100_000 })
  const url = `/v1/candles?symbol=BTC&source=cexa&${RANGE}`
  const tags = new Set<string>()
  for (const format of ['json', 'ndjson', 'csv']) {
    for (const encoding of ['identity', 'gzip', 'br', 'zstd']) {
      const headers = { 'Accept-Encoding': encoding }
      const full = await service.get(`${url}&format=${format}`, { key, headers })
      const etag = full.headers.get('etag') ?? ''
      assert.match(etag, /^"[^"]+"$/, 'strong')
      tags.add(etag)
      const remaining = full.headers.get('x-credits-remaining')
      for (const given of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const same = await service.get(`${url}&format=${format}`, {
          key,
          headers: { ...headers, 'If-None-Match': given },
        })
        assert.equal(same.status, 304)
        assert.equal(same.text, '')
        assert.equal(same.headers.get('x-credits-used'), '0')
        assert.equal(same.headers.get('x-credits-remaining'), remaining)
        assert.equal(same.headers.get('cache-control'), full.headers.get('cache-control'))
        if (given !== '*') assert.equal(same.headers.get('etag'), etag, 'the tag that the caller holds')
      }
      const other = await service.get(`${url}&format=${format}`, {
        key,
        headers: { ...headers, 'If-None-Match': '"other"' },
      })
      assert.equal(other.status, 200)
    }
  }
  assert.equal(tags.size, 12, 'each form has a tag of its own')
})

test('a correction changes bytes and tag; the old bytes stay in the store', async (t) => {
  const service = await startMarketService({ nowMs: NOW, fill: fillWorld })
  t.after(() => service.stop())
  const url = `/v1/candles?symbol=BTC&source=cexa&${RANGE}`
  const old = await service.get(url)
  assert.ok(isSealed(old))
  const feed = feedOf('candles', 'cexa', '1h')
  const time = FINAL - DAY
  const before = (old.json.data as { timestamp: string }[]).find((row) => row.timestamp === iso(time))
  service.clock.set(NOW + 1_000)
  const result = await service.store.write({ rows: [{ feed, rows: [bar(time, 60_050)] }] })
  service.tick()
  assert.equal(result.corrected, 1)
  const etag = old.headers.get('etag') ?? ''
  const fresh = await service.get(url, { headers: { 'If-None-Match': etag } })
  assert.equal(fresh.status, 200)
  assert.notEqual(fresh.headers.get('etag'), etag)
  const after = (fresh.json.data as { timestamp: string; close: number }[]).find(
    (row) => row.timestamp === iso(time),
  )
  assert.equal(after?.close, 60_050)
  const kept = await service.store.series.revisions({
    feeds: [feed],
    range: { from: time, to: time + 1 },
    limit: 10,
  })
  assert.deepEqual(
    kept.map(({ revision, text, recordedAt, supersededAt }) => [
      revision,
      JSON.parse(text),
      recordedAt,
      supersededAt,
    ]),
    [[1, before, NOW, NOW + 1_000]],
  )
  // A second correction keeps both.
  await service.store.write({ rows: [{ feed, rows: [bar(time, 60_060)] }] })
  service.tick()
  const both = await service.store.series.revisions({
    feeds: [feed],
    range: { from: time, to: time + 1 },
    limit: 10,
  })
  assert.deepEqual(
    both.map((entry) => entry.revision),
    [1, 2],
  )
  assert.equal(JSON.parse(both[1]?.text ?? '{}').close, 60_050)
  // A late row in final time also invalidates the page.
  const late = await service.get(url)
  await service.store.write({ rows: [{ feed: feedOf('trades', 'perpdex'), rows: [] }] })
  service.tick()
  assert.equal(hashOf(await service.get(url)), hashOf(late))
})

test('corrected books keep their old bytes, and the page with books changes', async (t) => {
  const service = await startMarketService({ nowMs: NOW, fill: fillWorld })
  t.after(() => service.stop())
  const feed = feedOf('snapshots', 'predmkt_b', '1h')
  const time = FINAL - 10_000
  const url = `/v1/predmkt_b/orderbook?symbol=BTC&market_id=${TICKER}&market_type=1h&start=${iso(time)}&end=${iso(time)}`
  const old = await service.get(url)
  assert.equal((old.json.data as unknown[]).length, 1)
  const book = { bids: [[0.11, 7]] as const, asks: [[0.9, 3]] as const }
  const result = await service.store.write({
    rows: [{ feed, rows: [{ time, marketId: TICKER, yes: book, no: book }] }],
  })
  service.tick()
  assert.equal(result.corrected, 1)
  const fresh = await service.get(url)
  assert.deepEqual((fresh.json.data as { orderbook_yes: object }[])[0]?.orderbook_yes, {
    bids: [[0.11, 7]],
    asks: [[0.9, 3]],
  })
  const kept = await service.store.series.revisions({
    feeds: [feed],
    range: { from: time, to: time + 1 },
    limit: 10,
  })
  assert.equal(kept.length, 1)
  const [row] = old.json.data as { [field: string]: unknown; orderbook_yes: { bids: unknown[] } }[]
  const before = JSON.parse(kept[0]?.text ?? '{}')
  assert.ok((row?.orderbook_yes.bids.length ?? 0) > 0)
  for (const field of ['best_bid', 'orderbook_yes', 'orderbook_no']) {
    assert.deepEqual(before[field], row?.[field], field)
  }
})
