import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { type Asked, restStandIn } from '../../../test/venues/rest-stand-in.ts'
import { endAll } from '../../../test/venues/scripted-venue.ts'
import { walkAll } from '../../../test/venues/walk.ts'
import { systemClock } from '../../kit/clock.ts'
import { createBinanceSpot } from './venue.ts'

afterEach(endAll)

const MINUTE = 60_000
/** The venue's present time: 20 s into a minute. Our own clock is three seconds slow. */
const NOW = Date.parse('2026-03-14T12:00:20Z')
const SKEW = 3_000
/** The venue has aggregate trades from this id on, four per second with the same time. */
const OLDEST_ID = 1_000
const timeOf = (id: number) => NOW - 4 * 3_600_000 + Math.floor(id / 4) * 1_000

function klineRows({ query }: Asked) {
  const from = Number(query.get('startTime') ?? NOW - 60 * MINUTE)
  const to = Math.min(Number(query.get('endTime') ?? NOW), NOW)
  const rows = []
  for (
    let open = Math.ceil(from / MINUTE) * MINUTE;
    open <= to && rows.length < Number(query.get('limit'));
    open += MINUTE
  ) {
    rows.push([open, '1.0', '2.0', '0.5', '1.5', '10.0', open + MINUTE - 1, '15.0', 7, '6.0', '9.0', '0'])
  }
  return rows
}

function tradeRows({ query }: Asked) {
  assert.ok(!(query.has('fromId') && query.has('startTime')), 'an id and times are never sent together')
  const limit = Number(query.get('limit'))
  const from = Number(query.get('startTime') ?? 0)
  const to = Number(query.get('endTime') ?? Number.MAX_SAFE_INTEGER)
  if (query.has('startTime')) assert.ok(to - from < 3_600_000)
  const firstId = Math.max(OLDEST_ID, Number(query.get('fromId') ?? OLDEST_ID))
  const rows = []
  for (let a = firstId; timeOf(a) <= NOW && rows.length < limit; a++) {
    const T = timeOf(a)
    if (T >= from && T <= to) rows.push({ a, p: '1', q: '2', f: a, l: a, T, m: a % 2 === 0, M: true })
  }
  return query.has('startTime') || query.has('fromId')
    ? rows
    : [{ a: 9, p: '1', q: '1', f: 1, l: 2, T: NOW - 77, m: true }]
}

/** The venue's answer at the time when the last trade was at `endMs`. */
function tradesUpTo(endMs: number, asked: Asked) {
  if (asked.query.has('startTime') || asked.query.has('fromId'))
    return tradeRows(asked).filter(({ T }) => T <= endMs)
  return [{ a: 99_999, p: '1', q: '2', f: 1, l: 1, T: endMs, m: true }]
}

async function spot() {
  const rest = await restStandIn((asked) => {
    if (asked.path === '/api/v3/time') return { serverTime: NOW }
    if (asked.path === '/api/v3/klines') return klineRows(asked)
    if (asked.path === '/api/v3/aggTrades') return tradeRows(asked)
    if (asked.path === '/api/v3/depth')
      return { lastUpdateId: 42, bids: [['1.0', '2']], asks: [['1.1', '3']] }
    if (asked.path === '/api/v3/exchangeInfo') {
      const names: string[] = JSON.parse(asked.query.get('symbols') ?? '[]')
      return {
        serverTime: NOW,
        rateLimits: [],
        symbols: names.map((symbol) => ({ symbol, status: 'TRADING' })),
      }
    }
    return undefined
  })
  const venue = createBinanceSpot({ clock: manualClock(NOW - SKEW), hosts: { rest: rest.url } })
  return { venue, rest }
}

test('klines: every closed candle once, the forming one never, judged by the clock of the venue', async () => {
  const { venue, rest } = await spot()
  const range = { fromMs: NOW - 2_500 * MINUTE, toMs: NOW + MINUTE }
  const walked = await walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
  const lastOpen = Date.parse('2026-03-14T11:59:00Z')
  const opens = walked.observations.map((each) =>
    each.kind === 'candle' && each.closed ? each.openTimeMs : Number.NaN,
  )
  assert.equal(opens.length, 2_499)
  assert.equal(opens.at(-1), lastOpen)
  assert.ok(opens.every((open, index) => index === 0 || open - (opens[index - 1] ?? 0) === MINUTE))
  assert.equal(walked.settledMs, lastOpen + MINUTE, 'the walk ends where the present of the venue is')
  assert.equal(walked.pages, 3)
  assert.equal(rest.asked.filter((each) => each.path === '/api/v3/time').length, 1)
})

test('klines: a range of the past is settled exactly, aligned to candles or not', async () => {
  const { venue } = await spot()
  const base = Date.parse('2026-03-14T10:00:00Z')
  for (const range of [
    { fromMs: base, toMs: base + 5 * MINUTE },
    { fromMs: base + 1, toMs: base + 5 * MINUTE + 1 },
    { fromMs: base + 1, toMs: base + 2 },
  ]) {
    const walked = await walkAll(venue, { topic: 'candles', symbol: 'ETH', interval: '1m', range })
    assert.equal(walked.settledMs, range.toMs)
    assert.equal(walked.observations.length, range.toMs - range.fromMs === 1 ? 0 : 5)
  }
})

test('klines: a candle off its grid is a dead letter, and the candle that should be there is not provided', async () => {
  const offGrid = Date.parse('2026-03-14T11:54:14Z')
  const rest = await restStandIn((asked) => {
    if (asked.path === '/api/v3/time') return { serverTime: NOW }
    return klineRows(asked).map((row) => (row[0] === offGrid - 14_000 ? [offGrid, ...row.slice(1)] : row))
  })
  const venue = createBinanceSpot({ clock: manualClock(NOW), hosts: { rest: rest.url } })
  const range = { fromMs: NOW - 10 * MINUTE, toMs: NOW }
  const walked = await walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
  assert.equal(walked.observations.length, 8)
  assert.deepEqual(walked.missing, [{ fromMs: offGrid - 14_000, toMs: offGrid - 14_000 + MINUTE }])
  assert.deepEqual(venue.deadLetters.counts(), { off_grid: 1 })
})

test('klines: beyond eight candles off their grid, each one is confirmed before its time is not provided', async () => {
  const range = { fromMs: NOW - 20_000 - 60 * MINUTE, toMs: NOW - 20_000 - 10 * MINUTE }
  const slots = Array.from({ length: 12 }, (_, index) => range.fromMs + (2 + 3 * index) * MINUTE)
  const walk = async (wrongMs?: number) => {
    let isFirst = true
    const rest = await restStandIn((asked) => {
      if (asked.path === '/api/v3/time') return { serverTime: NOW }
      const isOff = (openMs: unknown) => slots.includes(Number(openMs)) && (isFirst || openMs !== wrongMs)
      const rows = klineRows(asked).map((row) =>
        isOff(row[0]) ? [Number(row[0]) + 14_000, ...row.slice(1)] : row,
      )
      isFirst = false
      return rows
    })
    const venue = createBinanceSpot({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    return walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
  }
  const { observations, missing, settledMs } = await walk()
  assert.deepEqual([observations.length, settledMs], [38, range.toMs])
  assert.deepEqual(
    missing.map(({ fromMs }) => fromMs),
    slots,
  )
  for (const index of [8, 9, 11]) {
    const found = await walk(slots[index])
    assert.deepEqual([found.observations.length, found.settledMs], [39, range.toMs])
    assert.ok(found.observations.some(({ venueTimeMs }) => venueTimeMs === slots[index]))
    assert.deepEqual(
      found.missing.map(({ fromMs }) => fromMs),
      slots.toSpliced(index, 1),
    )
  }
  await assert.rejects(walk(slots[3]), /is not there/)
})

test('klines: what no later candle of the same answer proves to be closed is not read: an old answer, a cut one', async () => {
  const range = { fromMs: NOW - 20_000 - 2 * MINUTE, toMs: NOW - 20_000 }
  const spoilt: Record<string, (rows: unknown[]) => unknown[]> = {
    'of a minute ago: the last one was still forming': (rows) => rows.slice(0, 2),
    'of two minutes ago': (rows) => rows.slice(0, 1),
    'without rows': () => [],
  }
  for (const [name, spoil] of Object.entries(spoilt)) {
    const rest = await restStandIn((asked) =>
      asked.path === '/api/v3/time' ? { serverTime: NOW } : spoil(klineRows(asked)),
    )
    const venue = createBinanceSpot({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const read: number[] = []
    let coveredMs = range.fromMs
    const walk = async () => {
      const request = { topic: 'candles', symbol: 'BTC', interval: '1m', range } as const
      for await (const page of venue.history(request, { signal: new AbortController().signal })) {
        for (const row of page.observations) if (row.kind === 'candle') read.push(row.openTimeMs)
        coveredMs = page.covered?.toMs ?? coveredMs
      }
    }
    await walk().catch((error: unknown) => assert.match(String(error), /no candle from/, name))
    const isForming = name.includes('forming')
    assert.deepEqual(read, isForming ? [range.fromMs] : [], name)
    assert.equal(coveredMs, range.fromMs + (isForming ? MINUTE : 0), name)
  }
})

test('klines: answers that are all a candle off leave nothing out; an outage of the venue does', async () => {
  const range = { fromMs: NOW - 20_000 - 14 * MINUTE, toMs: NOW - 20_000 - 11 * MINUTE }
  const walk = async (answer: (asked: Asked) => unknown[]) => {
    const rest = await restStandIn((asked) =>
      asked.path === '/api/v3/time' ? { serverTime: NOW } : answer(asked),
    )
    const venue = createBinanceSpot({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    return walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
  }
  const shifted = ({ query, ...asked }: Asked) => {
    const later = new URLSearchParams(query)
    later.set('startTime', String(Number(query.get('startTime')) + MINUTE))
    return klineRows({ ...asked, query: later })
  }
  await assert.rejects(walk(shifted), /was left out/)
  const down = ({ query, ...asked }: Asked) => {
    const all = new URLSearchParams(query)
    all.set('limit', '100')
    const rows = klineRows({ ...asked, query: all }).filter(([openMs]) => openMs !== range.fromMs + MINUTE)
    return rows.slice(0, Number(query.get('limit')))
  }
  const { observations, settledMs } = await walk(down)
  assert.deepEqual([observations.length, settledMs], [2, range.toMs], 'the venue has nothing of that minute')
})

test('klines: after eight gaps of the venue, a candle that is left out is still missed', async () => {
  const range = { fromMs: NOW - 20_000 - 900 * MINUTE, toMs: NOW - 20_000 - 10 * MINUTE }
  const gaps = new Set(Array.from({ length: 8 }, (_, index) => range.fromMs + (10 + 20 * index) * MINUTE))
  const walk = async (lostMs: number) => {
    let isFirst = true
    const rest = await restStandIn((asked) => {
      if (asked.path === '/api/v3/time') return { serverTime: NOW }
      const isLost = (openMs: number) => isFirst && openMs === lostMs
      const all = new URLSearchParams(asked.query)
      all.set('limit', '2000')
      const rows = klineRows({ ...asked, query: all }).filter(
        ([openMs]) => !gaps.has(Number(openMs)) && !isLost(Number(openMs)),
      )
      isFirst = false
      return rows.slice(0, Number(asked.query.get('limit')))
    })
    const venue = createBinanceSpot({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    return walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
  }
  const times = (walked: Awaited<ReturnType<typeof walk>>) =>
    walked.observations.map(({ venueTimeMs }) => venueTimeMs)
  const whole = await walk(0)
  assert.deepEqual([whole.observations.length, whole.settledMs], [882, range.toMs])
  assert.deepEqual(times(await walk(range.fromMs + 500 * MINUTE)), times(whole))
})

test('klines: a candle that is missing before later ones may still come for three minutes after its end', async () => {
  const endMs = NOW - 20_000
  const settledOf = async (quietMs: number) => {
    const rest = await restStandIn((asked) => {
      if (asked.path === '/api/v3/time') return { serverTime: NOW }
      const all = new URLSearchParams(asked.query)
      all.set('limit', '100')
      const rows = klineRows({ ...asked, query: all }).filter(([openMs]) => openMs !== quietMs)
      return rows.slice(0, Number(asked.query.get('limit')))
    })
    const venue = createBinanceSpot({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const range = { fromMs: endMs - 5 * MINUTE, toMs: endMs }
    const walked = await walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
    assert.deepEqual(venue.deadLetters.counts(), {})
    return [walked.settledMs, walked.observations.length]
  }
  assert.deepEqual(await settledOf(endMs - 2 * MINUTE), [endMs - 2 * MINUTE, 3])
  assert.deepEqual(await settledOf(endMs - 3 * MINUTE), [endMs - 3 * MINUTE, 2])
  assert.deepEqual(await settledOf(endMs - 4 * MINUTE), [endMs, 4], 'it ended 3 min 20 s ago')
})

test('aggregate trades: each once and in order, across pages that split a millisecond', async () => {
  const { venue } = await spot()
  const range = { fromMs: timeOf(2_000), toMs: timeOf(6_001) }
  const walked = await walkAll(venue, { topic: 'aggregate_trades', symbol: 'BTC', range })
  assert.deepEqual(
    walked.observations.map((each) => Number(each.key)),
    Array.from({ length: 4_000 }, (_, index) => 2_000 + index),
  )
  assert.equal(walked.settledMs, range.toMs)
  assert.deepEqual(walked.missing, [])
})

test('aggregate trades: after an id, and up to the present but not into it', async () => {
  const { venue } = await spot()
  const range = { fromMs: NOW - 60_000, toMs: NOW + 60_000 }
  const from = OLDEST_ID + 4 * 14_000
  const walked = await walkAll(venue, { topic: 'aggregate_trades', symbol: 'BTC', range, afterId: from })
  assert.equal(walked.observations[0]?.key, String(from + 1))
  assert.equal(walked.settledMs, NOW - 1_000)
})

test('aggregate trades: an answer may be old, so a quiet time is settled by a later trade or after three minutes', async () => {
  let endMs = NOW - MINUTE
  const rest = await restStandIn((asked) =>
    asked.path === '/api/v3/time' ? { serverTime: NOW } : tradesUpTo(endMs, asked),
  )
  const venue = createBinanceSpot({ clock: manualClock(NOW), hosts: { rest: rest.url } })
  const settled = async (fromMs: number, toMs: number) => {
    const request = { topic: 'aggregate_trades', symbol: 'BTC', range: { fromMs, toMs } } as const
    return (await walkAll(venue, request)).settledMs - NOW
  }
  assert.equal(await settled(NOW - 10 * MINUTE, NOW - 2 * MINUTE), -2 * MINUTE, 'there are later trades')
  assert.equal(await settled(NOW - 2 * MINUTE, NOW - 5_000), -MINUTE, 'up to the last one')
  endMs = NOW - 20 * MINUTE
  assert.equal(await settled(NOW - 30 * MINUTE, NOW - 5 * MINUTE), -5 * MINUTE)
  assert.equal(await settled(NOW - 10 * MINUTE, NOW - 5_000), -3 * MINUTE)
})

test('aggregate trades: a page that is cut, or of a later time, covers nothing that it lacks', async () => {
  const range = { fromMs: timeOf(4_000), toMs: timeOf(8_000) }
  const later = ({ query, ...asked }: Asked, byMs: number) => {
    const moved = new URLSearchParams(query)
    for (const name of ['startTime', 'endTime'])
      if (query.has(name)) moved.set(name, String(Number(query.get(name)) + byMs))
    return { ...asked, query: moved }
  }
  const walk = async (answer: (asked: Asked, number: number) => unknown[]) => {
    let number = 0
    const rest = await restStandIn((asked) =>
      asked.path === '/api/v3/time' ? { serverTime: NOW } : answer(asked, number++),
    )
    const venue = createBinanceSpot({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const walked = await walkAll(venue, { topic: 'aggregate_trades', symbol: 'BTC', range })
    return { ...walked, requests: number }
  }
  const good = await walk(tradeRows)
  assert.deepEqual([good.observations.length, good.requests], [4_000, 5])
  for (const cut of [0, 1, 2, 3]) {
    const { observations, settledMs } = await walk((asked, number) => {
      const rows = tradeRows(asked)
      return number === cut ? rows.slice(0, 500) : rows
    })
    assert.deepEqual([observations.length, settledMs], [4_000, range.toMs], `answer ${cut} is cut`)
  }
  await assert.rejects(
    walk((asked) => tradeRows(later(asked, MINUTE))),
    /not the first/,
  )
  await assert.rejects(
    walk((asked, number) => (number === 2 ? [] : tradeRows(asked))),
    /not the last/,
  )
  const empty = ({ query }: Asked) => query.has('startTime')
  await assert.rejects(
    walk((asked) => (empty(asked) ? [] : tradesUpTo(NOW, asked))),
    /not the first/,
  )
})

test('aggregate trades: a pause of the venue of hours is covered, by the trade before it and the one after', async () => {
  const times = [240, 239, 20, 19].map((minutesAgo) => NOW - minutesAgo * MINUTE)
  const trades = times.map((T, index) => ({ a: index + 7, p: '1', q: '2', f: index, l: index, T, m: true }))
  const rest = await restStandIn(({ path, query }) => {
    if (path === '/api/v3/time') return { serverTime: NOW }
    const number = (name: string, otherwise: number) => Number(query.get(name) ?? otherwise)
    const found = trades.filter(
      ({ a, T }) => a >= number('fromId', 0) && T >= number('startTime', 0) && T <= number('endTime', NOW),
    )
    return query.has('fromId') || query.has('startTime')
      ? found.slice(0, number('limit', 500))
      : found.slice(-1)
  })
  const venue = createBinanceSpot({ clock: manualClock(NOW), hosts: { rest: rest.url } })
  const range = { fromMs: NOW - 180 * MINUTE, toMs: NOW - 120 * MINUTE }
  const walked = await walkAll(venue, { topic: 'aggregate_trades', symbol: 'BTC', range })
  assert.deepEqual([walked.observations.length, walked.settledMs], [0, range.toMs])
})

test('aggregate trades: ids that the venue no longer has are a gap with a reason, not an error', async () => {
  const { venue } = await spot()
  const range = { fromMs: timeOf(500), toMs: timeOf(1_101) }
  const walked = await walkAll(venue, { topic: 'aggregate_trades', symbol: 'BTC', range, afterId: 499 })
  assert.deepEqual(walked.missing, [{ fromMs: timeOf(500), toMs: timeOf(1_000) }])
  assert.equal(walked.observations.length, 100)
})

test('aggregate trades: the time before the oldest one that the venue still has is a gap, not a pause', async () => {
  const { venue } = await spot()
  const walk = (toMs: number) =>
    walkAll(venue, { topic: 'aggregate_trades', symbol: 'BTC', range: { fromMs: timeOf(500), toMs } })
  const walked = await walk(timeOf(1_101))
  assert.deepEqual(walked.missing, [{ fromMs: timeOf(500), toMs: timeOf(1_000) }])
  assert.equal(walked.observations.length, 100)
  assert.deepEqual((await walk(timeOf(900))).missing, [{ fromMs: timeOf(500), toMs: timeOf(900) }])
})

test('what spot does not provide is reported as missing, without a request', async () => {
  const { venue, rest } = await spot()
  const range = { fromMs: 0, toMs: NOW }
  for (const topic of ['liquidations', 'funding'] as const) {
    const walked = await walkAll(venue, { topic, symbol: 'BTC', range })
    assert.deepEqual(walked.missing, [range])
  }
  assert.equal(rest.asked.length, 0)
})

test('an answer of another shape fails the walk and is kept', async () => {
  const rest = await restStandIn(({ path }) =>
    path === '/api/v3/time' ? { serverTime: NOW } : [{ surprise: 1 }],
  )
  const venue = createBinanceSpot({ clock: manualClock(NOW), hosts: { rest: rest.url } })
  const range = { fromMs: NOW - 10 * MINUTE, toMs: NOW }
  await assert.rejects(
    walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range }),
    /unknown shape/,
  )
  assert.deepEqual(venue.deadLetters.counts(), { wrong_shape: 1 })
})

test('witness, clock and check answer from REST alone', async () => {
  const { venue } = await spot()
  const signal = AbortSignal.timeout(60_000)
  assert.deepEqual(await venue.witness({ topic: 'aggregate_trades', symbol: 'BTC' }, { signal }), {
    newestMs: NOW - 77,
    newestId: 9,
  })
  assert.deepEqual(await venue.witness({ topic: 'best_bid_ask', symbol: 'BTC' }, { signal }), {
    newestMs: null,
    newestId: 42,
  })
  const candle = await venue.witness({ topic: 'candles', symbol: 'BTC', interval: '1m' }, { signal })
  assert.equal((candle?.newestMs ?? 1) % MINUTE, 0)
  const check = await venue.check({ signal })
  assert.ok(check.ok)
  assert.match(
    check.line,
    /^binance-spot \(cexa\) at http.*clock offset 3000 ms; BTCUSDT TRADING, ETHUSDT TRADING/,
  )
})

test('a venue that cannot be reached is one line, not an exception', async () => {
  const venue = createBinanceSpot({
    clock: systemClock,
    hosts: { rest: 'http://127.0.0.1:9' },
    limits: { rest: { tries: 1, backoff: { baseMs: 0, capMs: 0 } } },
  })
  const checking = venue.check({ signal: AbortSignal.timeout(60_000) })
  const check = await checking
  assert.equal(check.ok, false)
  assert.match(check.line, /no useful answer/)
  assert.ok(!check.line.includes('\n'))
})
