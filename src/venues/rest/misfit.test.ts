/**
 * Every walk through a venue's history, against a stand-in whose answers are right except for one, which is spoiled at
 * random. Whatever is wrong with it, the walk fails, the answer is kept as a dead letter, and nothing is covered that
 * was not read.
 */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { type SeededRandom, seededRandom } from '../../../test/seeded-random.ts'
import { bodyOf, CASES, type Case, HOUR, MINUTE, NOW, type Row } from '../../../test/venues/rest-cases.ts'
import { restStandIn } from '../../../test/venues/rest-stand-in.ts'
import { endAll } from '../../../test/venues/scripted-venue.ts'
import { phaseOf, roundIdOf, roundOf, word } from '../chainlink/abi.ts'
import { createChainlink } from '../chainlink/venue.ts'
import type { CandleObservation } from '../observation.ts'
import type { HistoryRange, HistoryRequest, Venue } from '../venue.ts'
import { createPageCheck } from './check-history.ts'

afterEach(endAll)

/** Each takes the rows of an answer and returns rows that do not fit, or undefined where it does not apply. */
const SPOILERS: Record<string, (rows: Row[], about: Case, random: SeededRandom) => Row[] | undefined> = {
  'in microseconds': (rows, { timeOf, setTime }) => rows.map((row) => setTime(row, timeOf(row) * 1_000)),
  'in seconds': (rows, { timeOf, setTime }) =>
    rows.map((row) => setTime(row, Math.floor(timeOf(row) / 1_000))),
  'of another year': (rows, { timeOf, setTime }, random) => {
    const awayMs = random.pick([-1, 1]) * random.int(20, 300) * 24 * HOUR
    return rows.map((row) => setTime(row, timeOf(row) + awayMs))
  },
  'one row from elsewhere': (rows, { timeOf, setTime }, random) => {
    const index = random.int(0, rows.length - 1)
    return rows.map((row, i) => (i === index ? setTime(row, timeOf(row) + 2 * 365 * 24 * HOUR) : row))
  },
  'out of order': (rows, { timeOf }) =>
    rows.length > 1 && timeOf(rows[0] ?? []) !== timeOf(rows.at(-1) ?? []) ? rows.toReversed() : undefined,
  'a row twice': (rows, { timeOf, name }, random) => {
    // Fills of one transaction may be equal, so a duplicate is not wrong there.
    if (name.startsWith('polymarket') || !Number.isFinite(timeOf(rows[0] ?? []))) return undefined
    const index = random.int(0, rows.length - 1)
    return rows.toSpliced(index, 0, rows[index] ?? [])
  },
  'of something else': (rows, { foreign }, random) => {
    const change = random.pick(foreign)
    const index = random.int(0, rows.length - 1)
    return rows.map((row, i) => (i === index ? change(row) : row))
  },
  'with a row left out': (rows, { isDense, name }, random) =>
    (isDense || /funding|futures open interest/.test(name)) && rows.length > 2
      ? rows.toSpliced(random.int(1, rows.length - 2), 1)
      : undefined,
  'cut short': (rows, { isDense, name }, random) =>
    isDense && !name.includes('aggregate') && rows.length > 1
      ? rows.slice(0, random.int(1, rows.length - 1))
      : undefined,
  'off its grid': (rows, { name, timeOf, setTime }, random) => {
    if (!name.includes('klines')) return undefined
    const index = random.int(0, rows.length - 2)
    return rows.map((row, i) => (i === index ? setTime(row, timeOf(row) + random.int(1, 59_000)) : row))
  },
  'all off their grid': (rows, { name, timeOf, setTime }) =>
    name.includes('klines') ? rows.map((row) => setTime(row, timeOf(row) + 14_000)) : undefined,
  'without its last rates': (rows, { name }, random) =>
    name.endsWith(' funding') && rows.length > 3 ? rows.slice(0, random.int(1, rows.length - 2)) : undefined,
  empty: (_rows, { isDense, name }) =>
    (isDense && !name.includes('aggregate')) || /open interest|funding|hyperliquid/.test(name)
      ? []
      : undefined,
  'not rows at all': () => [7 as unknown as Row],
}

/** Runs a walk to its end or its failure and returns what it covered and read. */
async function walk(venue: Venue, request: HistoryRequest) {
  const covered: HistoryRange[] = []
  const times: number[] = []
  let error: unknown
  try {
    for await (const page of venue.history(request, { signal: AbortSignal.timeout(60_000) })) {
      if (page.covered !== null) covered.push(page.covered)
      for (const row of page.observations)
        times.push(row.kind === 'candle' || row.kind === 'contract_candle' ? row.openTimeMs : row.venueTimeMs)
    }
  } catch (caught) {
    error = caught
  }
  return { covered, times, error }
}

for (const about of CASES) {
  test(`${about.name}: an answer that does not fit fails the walk, is kept, and covers nothing`, async (t) => {
    const random = seededRandom(t)
    const { request, timeOf } = about
    const truth = about.truth as Row[]
    let questions = 0
    let spoil: ((rows: Row[]) => Row[] | undefined) | undefined
    let spoiltAt = 0
    let hasSpoilt = false
    const rest = await restStandIn((asked) => {
      const found = about.rows(asked, truth)
      if (found === undefined) return about.around(asked)
      questions += 1
      if (questions !== spoiltAt || found.rows.length === 0) return found.wrap(found.rows)
      const wrong = spoil?.(found.rows)
      if (wrong === undefined) return found.wrap(found.rows)
      hasSpoilt = true
      return found.wrap(wrong)
    })
    const create = () => about.create({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const inside = (range: HistoryRange) =>
      truth.map(timeOf).filter((timeMs) => timeMs >= range.fromMs && timeMs < range.toMs)

    const good = await walk(create(), request)
    assert.equal(good.error, undefined)
    assert.deepEqual(good.times, inside(request.range))
    assert.equal(good.covered.at(-1)?.toMs, request.range.toMs)
    const goodQuestions = questions

    for (const [name, spoiler] of Object.entries(SPOILERS)) {
      questions = 0
      hasSpoilt = false
      spoiltAt = random.int(1, goodQuestions)
      spoil = (rows) => spoiler(rows, about, random)
      const venue = create()
      const bad = await walk(venue, request)
      if (!hasSpoilt) continue
      const what = `${about.name}, answer ${spoiltAt} of ${goodQuestions} ${name}`
      assert.ok(bad.error instanceof Error, `${what}: the walk went on`)
      assert.ok(venue.deadLetters.total > 0, `${what}: no dead letter`)
      const brought = new Set(bad.times)
      for (const range of bad.covered)
        for (const timeMs of inside(range))
          assert.ok(brought.has(timeMs), `${what}: ${timeMs} is covered and missing`)
    }
  })
}

test('a page that repeats itself ends the walk, by id and by cursor', async () => {
  for (const about of CASES.filter(({ name }) => /aggregate|kalshi trades|polymarket trades/.test(name))) {
    let first: unknown
    const rest = await restStandIn((asked) => {
      const found = about.rows(asked, about.truth as Row[])
      if (found === undefined) return about.around(asked)
      if (found.rows.length === 0) return found.wrap([])
      first ??= found.wrap(found.rows)
      return first
    })
    const venue = about.create({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const { error } = await walk(venue, about.request)
    assert.match(String(error), /does not fit/, about.name)
    assert.ok(rest.asked.length < 10, `${about.name}: ${rest.asked.length} questions`)
  }
})

test('an oracle node that answers with another round proves nothing about the round that was asked for', async () => {
  const PROXY = '0xc907E116054Ad103354f2D350FD2514433D57F6f'
  const newest = roundIdOf(1n, 40n)
  const hex = (roundId: bigint, updatedAt: number) =>
    [roundId, 100_000_000n, BigInt(updatedAt), BigInt(updatedAt), roundId].map(word).join('')
  const timeOf = (round: bigint) => (NOW - 41 * HOUR) / 1_000 + Number(round) * 3_600
  let isWrong = false
  let unit = 1
  const rest = await restStandIn((asked) => {
    const { id, method, params } = bodyOf(asked)
    // What a node does not have is believed only of a block that reaches it.
    if (method === 'eth_getBlockByNumber')
      return {
        jsonrpc: '2.0',
        id,
        result: { number: '0x2710', timestamp: `0x${(NOW / 1_000).toString(16)}` },
      }
    const data = String(params?.[0]?.data ?? '')
    const result = () => {
      switch (data.slice(0, 10)) {
        case '0xfeaf968c':
          return `0x${hex(newest, timeOf(40n) * unit)}`
        case '0x9a6fc8f5': {
          const round = roundOf(BigInt(`0x${data.slice(10)}`))
          const reported = isWrong && round === 30n ? 29n : round
          return round > 40n
            ? '0x'
            : `0x${hex(roundIdOf(phaseOf(newest), reported), timeOf(reported) * unit)}`
        }
        case '0x313ce567':
          return `0x${word(8n)}`
        default:
          return '0x'
      }
    }
    return { jsonrpc: '2.0', id, result: result() }
  })
  const create = () =>
    createChainlink({
      clock: manualClock(NOW),
      chainlink: { providers: [rest.url], proxies: { BTC: PROXY } },
    })
  const request: HistoryRequest = {
    ...{ topic: 'oracle_rounds', symbol: 'BTC', range: { fromMs: NOW - 20 * HOUR, toMs: NOW } },
  }
  const missing = (covered: HistoryRange[], times: number[]) => {
    const brought = new Set(times)
    return Array.from({ length: 40 }, (_, i) => timeOf(BigInt(i + 1)) * 1_000).filter(
      (timeMs) =>
        covered.some(({ fromMs, toMs }) => timeMs >= fromMs && timeMs < toMs) && !brought.has(timeMs),
    )
  }
  const good = await walk(create(), request)
  assert.equal(good.error, undefined)
  assert.deepEqual(missing(good.covered, good.times), [])
  assert.ok(good.times.includes(timeOf(30n) * 1_000))
  isWrong = true
  const venue = create()
  const bad = await walk(venue, request)
  assert.ok(!bad.times.includes(timeOf(30n) * 1_000))
  assert.deepEqual(missing(bad.covered, bad.times), [])
  assert.ok((venue.deadLetters.counts().misfit ?? 0) > 0)
  isWrong = false
  // Tenths of a second: a valid time, but in another century.
  unit = 10
  const late = create()
  const tenths = await walk(late, request)
  assert.match(String(tenths.error), /does not fit/)
  assert.deepEqual(tenths.covered, [])
  assert.equal(late.deadLetters.counts().misfit, 1)
  unit = 1_000
  const milliseconds = await walk(create(), request)
  assert.ok(milliseconds.error instanceof Error)
  assert.deepEqual(milliseconds.covered, [])
})

test('whatever an adapter makes of it, a page of another request is not passed on', () => {
  const range = { fromMs: 10 * MINUTE, toMs: 20 * MINUTE }
  const request: HistoryRequest = { topic: 'candles', symbol: 'BTC', interval: '1m', range }
  const candle = (openTimeMs: number, more: Partial<CandleObservation> = {}): CandleObservation => ({
    ...{ kind: 'candle', source: 'cexa', symbol: 'BTC', instrument: 'BTCUSDT', interval: '1m', openTimeMs },
    ...{
      venueTimeMs: openTimeMs,
      receivedMs: 0,
      key: null,
      closeTimeMs: openTimeMs + MINUTE - 1,
      closed: true,
    },
    ...{ open: '1', high: '1', low: '1', close: '1', volume: '0', tradeCount: 0 },
    ...{ quoteVolume: null, takerBuyVolume: null, takerBuyQuoteVolume: null },
    ...more,
  })
  const page = (observations: CandleObservation[], covered: HistoryRange | null = null) => ({
    ...{ observations, covered, missing: [] },
  })
  const faultOf = (...pages: ReturnType<typeof page>[]) => {
    const check = createPageCheck(request, { source: 'cexa' })
    return pages.map(check).find((fault) => fault !== undefined)
  }
  const good = candle(12 * MINUTE)
  assert.equal(faultOf(page([good, candle(13 * MINUTE)], range)), undefined)
  assert.match(faultOf(page([candle(12 * MINUTE, { symbol: 'ETH' })])) ?? '', /ETH/)
  assert.match(faultOf(page([candle(12 * MINUTE, { source: 'cexa_futures' })])) ?? '', /cexa_futures/)
  assert.match(faultOf(page([candle(15 * MINUTE, { interval: '5m' })])) ?? '', /5m/)
  assert.match(faultOf(page([candle(12 * MINUTE + 1)])) ?? '', /grid/)
  assert.match(faultOf(page([candle(12 * MINUTE, { closed: false })])) ?? '', /open/)
  assert.match(faultOf(page([candle(20 * MINUTE)])) ?? '', /asked for/)
  assert.match(faultOf(page([good]), page([candle(11 * MINUTE)])) ?? '', /after/)
  assert.match(
    faultOf(page([candle(12 * MINUTE, { key: 'a' })]), page([candle(12 * MINUTE, { key: 'a' })])) ?? '',
    /twice/,
  )
  assert.match(faultOf(page([], { fromMs: 9 * MINUTE, toMs: 12 * MINUTE })) ?? '', /settled/)
  assert.match(faultOf(page([], range), page([], range)) ?? '', /settled/)
  assert.match(faultOf(...Array.from({ length: 200 }, () => page([]))) ?? '', /without anything/)
})
