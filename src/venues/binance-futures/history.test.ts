import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { type Asked, Refusal, restStandIn } from '../../../test/venues/rest-stand-in.ts'
import { endAll } from '../../../test/venues/scripted-venue.ts'
import { walkAll } from '../../../test/venues/walk.ts'
import { klinePrice } from './history.ts'
import { createBinanceFutures } from './venue.ts'

afterEach(endAll)

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.parse('2026-03-14T12:01:30Z')

const numbers = ({ query }: Asked) => ({
  from: Number(query.get('startTime')),
  to: Number(query.get('endTime') ?? NOW),
  limit: Number(query.get('limit')),
})

/** Grid times at every `stepMs` within the requested times, up to the limit. */
function grid(asked: Asked, stepMs: number): number[] {
  const { from, to, limit } = numbers(asked)
  const times = []
  for (
    let at = Math.ceil(from / stepMs) * stepMs;
    at <= Math.min(to, NOW) && times.length < limit;
    at += stepMs
  )
    times.push(at)
  return times
}

let statisticsKeptMs = 30 * DAY
const NEWEST_RATE_MS = Math.floor(NOW / (8 * HOUR)) * 8 * HOUR + 7

function answer(asked: Asked): unknown {
  const symbol = asked.query.get('symbol')
  switch (asked.path) {
    case '/fapi/v1/time':
      return { serverTime: NOW }
    case '/fapi/v1/klines':
      return grid(asked, MINUTE).map((open) => [
        open,
        '1',
        '2',
        '1',
        '2',
        '8',
        open + MINUTE - 1,
        '9',
        3,
        '5',
        '6',
        '0',
      ])
    case '/fapi/v1/fundingRate':
      if (!asked.query.has('startTime')) {
        return [NEWEST_RATE_MS - 8 * HOUR, NEWEST_RATE_MS].map((at) => ({
          symbol,
          fundingTime: at,
          fundingRate: '0.1',
          markPrice: '',
        }))
      }
      // The venue stamps some milliseconds late; a dividend row is not a funding rate of ours.
      return grid(asked, 8 * HOUR)
        .map((at) => ({ symbol, fundingTime: at + 7, fundingRate: '0.0001', rateType: 'Regular' }))
        .flatMap((row) => [row, { ...row, fundingTime: row.fundingTime + 1, rateType: 'Special' }])
        .slice(0, numbers(asked).limit)
    case '/futures/data/openInterestHist':
      if (numbers(asked).from < NOW - statisticsKeptMs)
        return new Refusal(-1130, "parameter 'startTime' is invalid.")
      return grid(asked, 5 * MINUTE)
        .filter((at) => at < NOW - 6 * MINUTE)
        .map((timestamp) => ({ symbol, sumOpenInterest: '10', sumOpenInterestValue: '600000', timestamp }))
    case '/fapi/v1/openInterest':
      return { symbol, openInterest: '104935.279', time: NOW - 10 }
    case '/fapi/v1/premiumIndex':
      return {
        symbol,
        markPrice: '63392.8',
        indexPrice: '63415.2',
        lastFundingRate: '0.0001',
        nextFundingTime: 1,
        time: NOW - 5,
      }
    case '/fapi/v1/aggTrades':
      assert.ok(!asked.query.has('startTime') || numbers(asked).from > NOW - DAY)
      return [{ a: 0, p: '1', q: '1', nq: '1', f: 1, l: 1, T: NOW - 40 * MINUTE, m: true }]
        .filter(({ a }) => a >= Number(asked.query.get('fromId') ?? 0))
        .filter(
          ({ T }) => !asked.query.has('startTime') || (T >= numbers(asked).from && T <= numbers(asked).to),
        )
    case '/fapi/v1/depth':
      return { lastUpdateId: 9, E: NOW, T: NOW - 1, bids: [], asks: [] }
    default:
      return undefined
  }
}

async function futures() {
  const rest = await restStandIn(answer)
  return { rest, venue: createBinanceFutures({ clock: manualClock(NOW), hosts: { rest: rest.url } }) }
}

test('klines are asked at the cheapest price per row and carry the taker-buy volumes', async () => {
  assert.deepEqual(klinePrice(3), { limit: 3, weight: 1 })
  assert.deepEqual(klinePrice(99), { limit: 99, weight: 1 })
  assert.deepEqual(klinePrice(100), { limit: 499, weight: 2 })
  const { venue } = await futures()
  const range = { fromMs: NOW - 1_000 * MINUTE, toMs: NOW }
  const walked = await walkAll(venue, { topic: 'candles', symbol: 'SOL', interval: '1m', range })
  assert.equal(walked.observations.length, 999)
  const [candle] = walked.observations
  assert.ok(candle?.kind === 'candle' && candle.takerBuyVolume === '5' && candle.volume === '8')
})

test('aggregate trades reach back one day; what is older is missing with its reason', async () => {
  const { venue } = await futures()
  const range = { fromMs: NOW - 2 * DAY, toMs: NOW - 30 * MINUTE }
  const walked = await walkAll(venue, { topic: 'aggregate_trades', symbol: 'BTC', range })
  assert.deepEqual(walked.missing, [{ fromMs: NOW - 2 * DAY, toMs: NOW - DAY + MINUTE }])
  assert.equal(walked.observations.length, 1)
  assert.equal(walked.settledMs, range.toMs)
})

test('settled funding: regular rates only, each once, with the time of the next', async () => {
  const { venue } = await futures()
  const range = { fromMs: NOW - 500 * DAY, toMs: NOW }
  const walked = await walkAll(venue, { topic: 'funding', symbol: 'BTC', range })
  const times = walked.observations.map((each) => (each.kind === 'funding' ? each.fundingTimeMs : 0))
  assert.equal(new Set(times).size, times.length)
  assert.equal(times.length, 1_500)
  assert.ok(walked.pages > 1)
  for (const row of walked.observations) {
    assert.ok(row.kind === 'funding' && row.nextFundingTimeMs === row.fundingTimeMs + 8 * HOUR)
  }
  assert.equal(walked.settledMs, NOW - MINUTE)
})

const premium = (nextFundingTime: number, time = NOW) => ({
  ...{ symbol: 'BTCUSDT', markPrice: '1', indexPrice: '1', lastFundingRate: '0.1', nextFundingTime, time },
})

test('the newest rate has the time that the venue announces for the next, also after a change of the period', async () => {
  const newestMs = Date.parse('2026-03-14T08:00Z')
  const hourMs = newestMs + 4 * HOUR
  const nextOf = async (announcedMs: number, nowMs: number, announcement = premium(announcedMs, nowMs)) => {
    const rest = await restStandIn((asked) => {
      if (asked.path === '/fapi/v1/time') return { serverTime: nowMs }
      if (asked.path === '/fapi/v1/premiumIndex') return announcement
      return [newestMs - 8 * HOUR, newestMs]
        .filter((at) => at >= Number(asked.query.get('startTime') ?? 0))
        .map((at) => ({ symbol: 'BTCUSDT', fundingTime: at + 3, fundingRate: '0.1', markPrice: '' }))
    })
    const venue = createBinanceFutures({ clock: manualClock(nowMs), hosts: { rest: rest.url } })
    const range = { fromMs: newestMs - HOUR, toMs: newestMs + HOUR }
    const { observations } = await walkAll(venue, { topic: 'funding', symbol: 'BTC', range })
    return observations.map((each) => each.kind === 'funding' && each.nextFundingTimeMs - newestMs)
  }
  const nowMs = newestMs + 2.5 * HOUR
  assert.deepEqual(await nextOf(hourMs, nowMs), [4 * HOUR], 'the period was eight hours')
  assert.deepEqual(await nextOf(newestMs + 16 * HOUR, nowMs), [16 * HOUR])
  assert.deepEqual(await nextOf(0, nowMs), [8 * HOUR], 'nothing is announced')
  assert.deepEqual(await nextOf(newestMs, nowMs, premium(newestMs, newestMs - 1)), [8 * HOUR], 'outdated')
  // In the first minute of an hour, a rate may be settled and not published.
  assert.deepEqual(await nextOf(newestMs + 16 * HOUR, newestMs + 8 * HOUR + 59_000), [8 * HOUR])
  const other = { ...premium(hourMs, nowMs), symbol: 'ETHUSDT' }
  await assert.rejects(nextOf(hourMs, nowMs, other), /of ETHUSDT/)
})

test('an announced rate is not the next one of a rate after which the answer was cut off', async () => {
  const rateMs = Date.parse('2026-03-14T00:00Z')
  const rates = [rateMs - 4 * HOUR, rateMs, rateMs + 4 * HOUR]
  const nowMs = rateMs + 5.5 * HOUR
  const nextOf = async (isCut: boolean) => {
    const rest = await restStandIn(({ path, query }) => {
      if (path === '/fapi/v1/time') return { serverTime: nowMs }
      if (path === '/fapi/v1/premiumIndex') return premium(rateMs + 8 * HOUR, nowMs)
      const found = rates.filter((at) => at >= Number(query.get('startTime') ?? 0))
      return (isCut && query.has('startTime') ? found.slice(0, -1) : found).map((fundingTime) => ({
        ...{ symbol: 'BTCUSDT', fundingTime, fundingRate: '0.1', markPrice: '' },
      }))
    })
    const venue = createBinanceFutures({ clock: manualClock(nowMs), hosts: { rest: rest.url } })
    const range = { fromMs: rateMs - HOUR, toMs: rateMs + HOUR / 2 }
    const { observations } = await walkAll(venue, { topic: 'funding', symbol: 'BTC', range })
    return observations.map((each) => each.kind === 'funding' && each.nextFundingTimeMs - rateMs)
  }
  assert.deepEqual([await nextOf(false), await nextOf(true)], [[4 * HOUR], [4 * HOUR]])
})

test('the last rate of a full page has the time of the one after it, although the period changes there', async () => {
  const fromMs = Date.parse('2025-06-01T00:00Z')
  const rates: number[] = []
  for (let at = fromMs - 8 * HOUR; rates.length < 1_000; at += 8 * HOUR) rates.push(at)
  const lastMs = rates.at(-1) ?? 0
  for (let at = lastMs + 4 * HOUR; rates.length < 1_020; at += 4 * HOUR) rates.push(at)
  const nowMs = (rates.at(-1) ?? 0) + 2 * HOUR
  const rest = await restStandIn(({ path, query }) => {
    if (path === '/fapi/v1/time') return { serverTime: nowMs }
    if (path === '/fapi/v1/premiumIndex') return premium(nowMs + 2 * HOUR, nowMs)
    const found = rates.filter((at) => at >= Number(query.get('startTime') ?? 0))
    return found
      .slice(0, Number(query.get('limit')))
      .map((fundingTime) => ({ symbol: 'BTCUSDT', fundingTime, fundingRate: '0.1', markPrice: '' }))
  })
  const venue = createBinanceFutures({ clock: manualClock(nowMs), hosts: { rest: rest.url } })
  const range = { fromMs, toMs: nowMs - HOUR }
  const { observations } = await walkAll(venue, { topic: 'funding', symbol: 'BTC', range })
  assert.equal(observations.length, 1_019)
  const last = observations.find(({ venueTimeMs }) => venueTimeMs === lastMs)
  assert.equal(last?.kind === 'funding' && last.nextFundingTimeMs - lastMs, 4 * HOUR)
})

test('a rate that is alone in its answer has the period of the newest two', async () => {
  const newestMs = NOW - (NOW % HOUR) - 3 * HOUR
  const rest = await restStandIn((asked) => {
    if (asked.path === '/fapi/v1/time') return { serverTime: NOW }
    if (asked.path === '/fapi/v1/premiumIndex') return premium(0)
    return [newestMs - 4 * HOUR, newestMs]
      .filter((at) => at >= Number(asked.query.get('startTime') ?? 0))
      .map((fundingTime) => ({ symbol: 'BTCUSDT', fundingTime, fundingRate: '0.1', markPrice: '' }))
  })
  const venue = createBinanceFutures({ clock: manualClock(NOW), hosts: { rest: rest.url } })
  const range = { fromMs: newestMs - HOUR, toMs: NOW }
  const { observations } = await walkAll(venue, { topic: 'funding', symbol: 'BTC', range })
  assert.deepEqual(
    observations.map((each) => each.kind === 'funding' && each.nextFundingTimeMs - each.fundingTimeMs),
    [4 * HOUR],
  )
})

test('funding and open interest: an old or a cut answer settles nothing that it lacks', async () => {
  const dueMs = NOW - (NOW % HOUR) - HOUR
  const knownRates = [dueMs - 16 * HOUR, dueMs - 8 * HOUR]
  /** By how much the times of the answers are later than requested. */
  let hoursOff = 0
  const rest = await restStandIn((asked) => {
    if (asked.path === '/fapi/v1/time') return { serverTime: NOW }
    if (asked.path === '/fapi/v1/premiumIndex') return premium(dueMs)
    const symbol = 'BTCUSDT'
    // Returns half of the samples, and the rates as they were an hour ago.
    if (asked.path !== '/fapi/v1/fundingRate')
      return grid(asked, 5 * MINUTE)
        .map((timestamp) => ({ symbol, sumOpenInterest: '1', sumOpenInterestValue: '1', timestamp }))
        .filter((_, index, all) => index < Math.floor(all.length / 2))
    const start = asked.query.get('startTime')
    const from = start === null ? 0 : Number(start) + hoursOff * HOUR
    return knownRates
      .filter((at) => at >= from)
      .map((fundingTime) => ({ symbol, fundingTime, fundingRate: '0.1', markPrice: '' }))
  })
  const venue = createBinanceFutures({ clock: manualClock(NOW), hosts: { rest: rest.url } })
  const rates = { fromMs: dueMs - HOUR, toMs: NOW }
  const walked = await walkAll(venue, { topic: 'funding', symbol: 'BTC', range: rates })
  assert.equal(walked.settledMs, dueMs, 'the rate that is due may have come')
  const before = { fromMs: dueMs - 8 * HOUR, toMs: NOW }
  hoursOff = 1
  const { observations } = await walkAll(venue, { topic: 'funding', symbol: 'BTC', range: before })
  assert.equal(observations[0]?.venueTimeMs, before.fromMs, 'what is requested around the range has it')
  hoursOff = 9
  await assert.rejects(walkAll(venue, { topic: 'funding', symbol: 'BTC', range: before }), /was left out/)
  const range = { fromMs: NOW - (NOW % HOUR) - 5 * HOUR, toMs: NOW - (NOW % HOUR) - HOUR }
  await assert.rejects(walkAll(venue, { topic: 'open_interest', symbol: 'BTC', range }), /no sample at all/)
})

test('funding: a rate that is left out is missed, at the start of an answer, at its end and between two', async () => {
  const dayMs = Date.parse('2026-02-12T00:00Z')
  const listedMs = dayMs - 10 * DAY
  const rates: number[] = []
  for (let at = listedMs; at <= NOW; at += 8 * HOUR) rates.push(at + 3)
  const walk = async (range: { fromMs: number; toMs: number }, spoil: (rows: number[]) => number[]) => {
    let number = 0
    const rest = await restStandIn(({ path, query }) => {
      if (path === '/fapi/v1/time') return { serverTime: NOW }
      if (path === '/fapi/v1/premiumIndex') return premium(0)
      const from = Number(query.get('startTime') ?? 0)
      const found = rates.filter((at) => at >= from && at <= Number(query.get('endTime') ?? NOW))
      const limit = Number(query.get('limit'))
      const rows = query.has('startTime') ? found.slice(0, limit) : found.slice(-limit)
      return (number++ === 0 ? spoil(rows) : rows).map((fundingTime) => ({
        ...{ symbol: 'BTCUSDT', fundingTime, fundingRate: '0.1', markPrice: '' },
      }))
    })
    const venue = createBinanceFutures({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const walked = await walkAll(venue, { topic: 'funding', symbol: 'BTC', range })
    return [walked.observations.length, walked.settledMs - range.fromMs, number]
  }
  const day = { fromMs: dayMs, toMs: dayMs + DAY }
  const all = (rows: number[]) => rows
  assert.deepEqual(await walk(day, all), [3, DAY, 1])
  assert.deepEqual(await walk({ fromMs: listedMs - DAY, toMs: listedMs + DAY }, all), [3, 2 * DAY, 3])
  assert.deepEqual(await walk({ fromMs: listedMs - DAY, toMs: listedMs }, all), [0, DAY, 3])
  const [count] = await walk({ fromMs: dayMs, toMs: NOW }, all)
  assert.equal(count, rates.filter((at) => at >= dayMs).length)
  // Two rates are after the day.
  for (const cut of [1, 2, 3, 4])
    await assert.rejects(
      walk(day, (rows) => rows.slice(0, -2 - cut)),
      /left out/,
      `without ${cut} at its end`,
    )
  for (const lost of [1, 2, 3, 4])
    await assert.rejects(
      walk(day, (rows) => rows.slice(lost + 1)),
      /left out/,
      `without ${lost} at its start`,
    )
  for (const index of [1, 2, 3])
    await assert.rejects(
      walk(day, (rows) => rows.toSpliced(index, 1)),
      /left out/,
      `without number ${index}`,
    )
  await assert.rejects(
    walk({ fromMs: dayMs, toMs: NOW }, (rows) => rows.slice(2)),
    /left out/,
  )
})

test('open interest: a sample that is missing at the end is none, if there are some on both sides of it', async () => {
  const range = { fromMs: Date.parse('2026-03-13T00:00Z'), toMs: Date.parse('2026-03-14T00:00Z') }
  const lostMs = range.toMs - 5 * MINUTE
  const walk = (isThere: (at: number) => boolean) =>
    restStandIn((asked) => {
      if (asked.path === '/fapi/v1/time') return { serverTime: NOW }
      return grid(asked, 5 * MINUTE)
        .filter(isThere)
        .map((timestamp) => ({
          ...{ symbol: 'BTCUSDT', sumOpenInterest: '1', sumOpenInterestValue: '1', timestamp },
        }))
    }).then((rest) => {
      const venue = createBinanceFutures({ clock: manualClock(NOW), hosts: { rest: rest.url } })
      return walkAll(venue, { topic: 'open_interest', symbol: 'BTC', range })
    })
  const { observations, settledMs } = await walk((at) => at !== lostMs)
  assert.deepEqual([observations.length, settledMs], [287, range.toMs])
  await assert.rejects(
    walk((at) => at < lostMs),
    /no sample at all/,
  )
  await assert.rejects(
    walk((at) => at >= range.toMs),
    /no sample at all/,
  )
})

test('open interest: samples that an answer leaves out are missed, at its start, between two, and where the month may end', async () => {
  const STEP = 5 * MINUTE
  const walk = async (range: { fromMs: number; toMs: number }, spoil: (rows: number[]) => number[]) => {
    let number = 0
    const rest = await restStandIn((asked) => {
      if (asked.path === '/fapi/v1/time') return { serverTime: NOW }
      const times = grid(asked, STEP)
      return (number++ === 0 ? spoil(times) : times).map((timestamp) => ({
        ...{ symbol: 'BTCUSDT', sumOpenInterest: '1', sumOpenInterestValue: '1', timestamp },
      }))
    })
    const venue = createBinanceFutures({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    return walkAll(venue, { topic: 'open_interest', symbol: 'BTC', range })
  }
  const base = NOW - (NOW % HOUR)
  const oldMs = base - 30 * DAY - 12 * HOUR
  for (const fromMs of [base - 2 * HOUR, base - 2 * DAY, oldMs]) {
    const range = { fromMs, toMs: fromMs + 2 * HOUR }
    const good = await walk(range, (rows) => rows)
    assert.deepEqual([good.observations.length, good.settledMs, good.missing], [24, range.toMs, []])
    await assert.rejects(
      walk(range, (rows) => rows.slice(12)),
      /left out|no sample/,
    )
    await assert.rejects(
      walk(range, (rows) => rows.toSpliced(12, 1)),
      /left out|no sample/,
    )
    const cut = await walk(range, (rows) => rows.slice(0, 12))
    assert.equal(cut.observations.length, (cut.settledMs - fromMs) / STEP)
  }
  const old = { fromMs: oldMs, toMs: oldMs + 2 * HOUR }
  await assert.rejects(
    walk(old, () => []),
    /left out/,
  )
})

test('open interest: around an outage of the venue all that it has is covered, wherever a range begins or ends', async () => {
  const STEP = 5 * MINUTE
  const base = NOW - (NOW % HOUR)
  const samples = Array.from({ length: 2_000 }, (_, index) => base - index * STEP).reverse()
  const walk = async (outage: { fromMs: number; toMs: number }, range: { fromMs: number; toMs: number }) => {
    let requests = 0
    const rest = await restStandIn((asked) => {
      if (asked.path === '/fapi/v1/time') return { serverTime: NOW }
      requests += 1
      const { from, to, limit } = numbers(asked)
      return samples
        .filter((at) => at >= from && at <= to && (at < outage.fromMs || at >= outage.toMs))
        .slice(0, limit)
        .map((timestamp) => ({
          ...{ symbol: 'BTCUSDT', sumOpenInterest: '1', sumOpenInterestValue: '1', timestamp },
        }))
    })
    const venue = createBinanceFutures({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const walked = await walkAll(venue, { topic: 'open_interest', symbol: 'BTC', range })
    return { rows: walked.observations.length, settledMs: walked.settledMs, requests }
  }
  for (const hours of [4, 20, 60]) {
    const endMs = base - 3 * HOUR
    const outage = { fromMs: endMs - hours * HOUR, toMs: endMs }
    const middleMs = endMs - (hours / 2) * HOUR
    const live = await walk(outage, { fromMs: middleMs, toMs: NOW })
    assert.deepEqual([live.rows, live.settledMs], [37, NOW], `begins within ${hours} h`)
    const ends = { fromMs: outage.fromMs - HOUR, toMs: middleMs }
    const past = await walk(outage, ends)
    assert.deepEqual([past.rows, past.settledMs], [12, middleMs], `ends within ${hours} h`)
    const within = { fromMs: middleMs - HOUR, toMs: middleMs + HOUR }
    const inside = await walk(outage, within)
    assert.deepEqual([inside.rows, inside.settledMs], [0, within.toMs], `within ${hours} h`)
    assert.ok(Math.max(live.requests, past.requests, inside.requests) <= 8)
  }
  const lasting = { fromMs: base - 4 * HOUR, toMs: NOW }
  await assert.rejects(
    walk(lasting, { fromMs: base - 5 * HOUR, toMs: base - 2 * HOUR }),
    /no sample at all/,
    'nobody knows how it ends',
  )
})

test('funding: one rate that is left out of a short answer, and two with one between them, are missed', async () => {
  const lostMs = Date.parse('2026-03-05T08:00:00Z')
  const walk = (range: { fromMs: number; toMs: number }, isLeftOut: (at: number) => boolean) => {
    let isFirst = true
    const rest = restStandIn(({ path, query }) => {
      if (path === '/fapi/v1/time') return { serverTime: NOW }
      const from = Number(query.get('startTime') ?? NOW - 4 * 8 * HOUR)
      const to = Math.min(Number(query.get('endTime') ?? NOW), NOW)
      const rows = []
      for (let at = Math.ceil(from / (8 * HOUR)) * 8 * HOUR; at <= to; at += 8 * HOUR)
        if (!isFirst || !isLeftOut(at))
          rows.push({ symbol: 'BTCUSDT', fundingTime: at, fundingRate: '0.1', markPrice: '' })
      isFirst = false
      return rows.slice(0, Number(query.get('limit')))
    })
    return rest.then(({ url }) => {
      const venue = createBinanceFutures({ clock: manualClock(NOW), hosts: { rest: url } })
      return walkAll(venue, { topic: 'funding', symbol: 'BTC', range })
    })
  }
  const hour = { fromMs: lostMs - HOUR / 2, toMs: lostMs + HOUR / 2 }
  await assert.rejects(
    walk(hour, (at) => at === lostMs),
    /was left out before/,
  )
  const days = { fromMs: lostMs - 4 * DAY, toMs: lostMs + 4 * DAY }
  await assert.rejects(
    walk(days, (at) => at === lostMs || at === lostMs + 16 * HOUR),
    /was left out before/,
  )
  assert.equal((await walk(days, () => false)).observations.length, 24)
})

test('many gaps in one answer are all confirmed: what is left out between later ones is missed too', async () => {
  const STEP = 5 * MINUTE
  const base = NOW - (NOW % HOUR)
  const range = { fromMs: base - 10 * HOUR, toMs: base - 2 * HOUR }
  const walk = async (lostMs: number, topic: 'open_interest' | 'funding', times: readonly number[]) => {
    let isFirst = true
    const rest = await restStandIn(({ path, query }) => {
      if (path === '/fapi/v1/time') return { serverTime: NOW }
      const from = Number(query.get('startTime') ?? 0)
      const found = times.filter((at) => at >= from && at <= Number(query.get('endTime') ?? NOW))
      const limit = Number(query.get('limit'))
      const rows = query.has('startTime') ? found.slice(0, limit) : found.slice(-limit)
      const spoilt = isFirst ? rows.filter((at) => at !== lostMs) : rows
      isFirst = false
      return spoilt.map((at) => ({
        ...{ symbol: 'BTCUSDT', sumOpenInterest: '1', sumOpenInterestValue: '1', timestamp: at },
        ...{ fundingTime: at, fundingRate: '0.1', markPrice: '' },
      }))
    })
    const venue = createBinanceFutures({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const walked = await walkAll(venue, { topic, symbol: 'BTC', range: topic === 'funding' ? months : range })
    return [walked.observations.map(({ venueTimeMs }) => venueTimeMs), walked.settledMs]
  }
  const months = { fromMs: base - 60 * DAY, toMs: base - 2 * DAY }
  const samples: number[] = []
  for (let at = range.fromMs - DAY; at <= NOW; at += STEP) if (at % (20 * MINUTE) !== 0) samples.push(at)
  const kept = samples.filter((at) => at >= range.fromMs && at < range.toMs)
  assert.deepEqual(await walk(0, 'open_interest', samples), [kept, range.toMs])
  const lateMs = kept.at(-3) ?? 0
  assert.deepEqual(await walk(lateMs, 'open_interest', samples), [kept, range.toMs])
  const rates: number[] = []
  // Every third rate was not settled.
  for (let at = months.fromMs - 4 * DAY, index = 0; at <= NOW; at += 4 * HOUR, index++)
    if (index % 3 !== 0) rates.push(at)
  const settled = rates.filter((at) => at >= months.fromMs && at < months.toMs)
  assert.deepEqual(await walk(0, 'funding', rates), [settled, months.toMs])
  assert.deepEqual(await walk(settled.at(-5) ?? 0, 'funding', rates), [settled, months.toMs])
})

test('funding: the end of a request is never in the future', async () => {
  const { venue, rest } = await futures()
  await walkAll(venue, { topic: 'funding', symbol: 'BTC', range: { fromMs: NOW - DAY, toMs: NOW } })
  await walkAll(venue, {
    topic: 'funding',
    symbol: 'BTC',
    range: { fromMs: NOW - 9 * DAY, toMs: NOW - 8 * DAY },
  })
  const ends = rest.asked.flatMap(({ query }) => query.get('endTime') ?? [])
  assert.ok(ends.length > 0 && ends.every((end) => Number(end) < NOW))
})

for (const days of [30, 31]) {
  test(`open interest: the ${days} days that the venue means by a month, near the present what has been published`, async () => {
    statisticsKeptMs = days * DAY
    const { venue } = await futures()
    const range = { fromMs: NOW - 40 * DAY, toMs: NOW }
    const walked = await walkAll(venue, { topic: 'open_interest', symbol: 'XRP', range })
    assert.equal(walked.missing[0]?.fromMs, range.fromMs)
    const keptMs = walked.missing.at(-1)?.toMs ?? 0
    const offMs = keptMs - (NOW - days * DAY)
    assert.ok(offMs >= 0 && offMs <= 5 * MINUTE, `begins ${offMs} ms after the oldest`)
    const times = walked.observations.map((each) => each.venueTimeMs)
    assert.ok(times.every((at, index) => index === 0 || at - (times[index - 1] ?? 0) === 5 * MINUTE))
    assert.equal(times[0], Math.ceil(keptMs / (5 * MINUTE)) * 5 * MINUTE)
    assert.equal(times.at(-1), Date.parse('2026-03-14T11:55:00Z'))
    assert.equal(walked.settledMs, Date.parse('2026-03-14T12:00:00Z'))
  })
}

test('liquidations of the past do not exist', async () => {
  const { venue, rest } = await futures()
  const range = { fromMs: NOW - DAY, toMs: NOW }
  assert.deepEqual((await walkAll(venue, { topic: 'liquidations', symbol: 'BTC', range })).missing, [range])
  assert.equal(rest.asked.length, 0)
})

test('witnesses and polls: what each channel can be held against', async () => {
  const { venue } = await futures()
  const signal = AbortSignal.timeout(60_000)
  const newest = async (topic: Parameters<typeof venue.witness>[0]['topic']) =>
    (await venue.witness({ topic, symbol: 'BTC' }, { signal }))?.newestMs
  assert.equal(await newest('aggregate_trades'), NOW - 40 * MINUTE)
  assert.equal(await newest('best_bid_ask'), NOW - 1)
  assert.equal(await newest('funding'), NEWEST_RATE_MS)
  assert.equal(await newest('liquidations'), undefined)
  assert.match((await venue.check({ signal })).line, /BTCUSDT mark 63392\.8, ETHUSDT mark/)
})
