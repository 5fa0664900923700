/**
 * Answers for every REST reader, one of them spoiled at random, judged by a reader that knows what was sent. Nothing
 * comes out that was not sent, an unreadable answer fails the walk, and no range counts as covered or `not_provided` if
 * something in it was sent and did not come out. TAPELINE_SEED repeats a run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leapingClock } from '../../test/fakes/leaping-clock.ts'
import { type SeededRandom, seededRandom } from '../../test/seeded-random.ts'
import { answeringFetch, RawText } from '../../test/venues/answering-fetch.ts'
import {
  CASES,
  type Case,
  CONDITION,
  MINUTE,
  NOW,
  type Row,
  TICKER,
  TOKENS,
} from '../../test/venues/rest-cases.ts'
import type { Asked } from '../../test/venues/rest-stand-in.ts'
import { spoilFrame } from '../../test/venues/spoil-frame.ts'
import { hasTooManyValues } from './json-values.ts'
import type { DataObservation } from './observation.ts'
import { EXCHANGE_ANSWERS, REST_LIMITS } from './rest/rest-client.ts'
import type { HistoryRange } from './venue.ts'

const WALKS = process.env.TAPELINE_SOAK === undefined ? 10 : 1_000
/** The soak run draws its own seeds. */
const USUAL_SEED = process.env.TAPELINE_SOAK === undefined ? 17 : undefined
/** CPU time limit of a walk; walks take some hundredths of a second. */
const MAX_WALK_MS = 10_000

const isDecimal = (value: unknown) => typeof value === 'string' && /^-?\d{1,40}(\.\d{1,40})?$/.test(value)
const isWhole = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0
const isFill = (value: unknown) => value === -1 || isWhole(value)
const isAmount = (value: unknown) =>
  typeof value === 'number'
    ? value >= 0 && value < 1e300
    : typeof value === 'string' && /^\d*\.?\d+$/.test(value)
const isObject = (row: unknown): row is Record<string, unknown> =>
  typeof row === 'object' && row !== null && !Array.isArray(row)

/** The content of a row as one string; undefined if it has nothing that can be believed. */
type Facts = (row: unknown) => string | undefined
type Told = (observation: DataObservation) => string

const facts =
  (checks: Readonly<Record<string, (value: unknown) => boolean>>, shown: readonly string[]): Facts =>
  (row) => {
    if (!isObject(row)) return undefined
    for (const [name, check] of Object.entries(checks)) if (!check(row[name])) return undefined
    return shown.map((name) => String(row[name])).join()
  }
const is = (expected: unknown) => (value: unknown) => value === expected
const told =
  (...names: string[]): Told =>
  (observation) =>
    names.map((name) => String((observation as unknown as Record<string, unknown>)[name])).join()

const KLINE_DECIMALS = [1, 2, 3, 4, 5, 7, 9, 10]
const kline: Facts = (row) => {
  if (!Array.isArray(row) || row.length < 12) return undefined
  if (!isWhole(row[0]) || row[0] % MINUTE !== 0 || row[6] !== row[0] + MINUTE - 1) return undefined
  if (!KLINE_DECIMALS.every((place) => isDecimal(row[place])) || !isWhole(row[8])) return undefined
  return typeof row[11] === 'string'
    ? [0, 1, 2, 3, 4, 5, 8].map((place) => String(row[place])).join()
    : undefined
}
const toldCandle = told('openTimeMs', 'open', 'high', 'low', 'close', 'volume', 'tradeCount')

const JUDGES: Readonly<Record<string, { facts: Facts; told: Told }>> = {
  'binance-spot klines': { facts: kline, told: toldCandle },
  'binance-futures klines': { facts: kline, told: toldCandle },
  'binance-spot aggregate trades': {
    facts: facts(
      {
        a: isWhole,
        p: isDecimal,
        q: isDecimal,
        f: isFill,
        l: isFill,
        T: isWhole,
        m: (m) => typeof m === 'boolean',
      },
      ['T', 'a', 'p', 'q'],
    ),
    told: told('venueTimeMs', 'id', 'price', 'size'),
  },
  'binance-futures funding': {
    facts: facts({ symbol: is('BTCUSDT'), fundingTime: isWhole, fundingRate: isDecimal }, [
      'fundingTime',
      'fundingRate',
    ]),
    told: told('venueTimeMs', 'fundingRate'),
  },
  'binance-futures open interest': {
    facts: facts(
      {
        symbol: is('BTCUSDT'),
        sumOpenInterest: isDecimal,
        sumOpenInterestValue: isDecimal,
        timestamp: (time) =>
          isWhole(Number(time)) && time !== '' && time !== null && Number(time) % (5 * MINUTE) === 0,
      },
      ['timestamp', 'sumOpenInterest', 'sumOpenInterestValue'],
    ),
    told: told('venueTimeMs', 'openInterest', 'valueUsd'),
  },
  'hyperliquid klines': {
    facts: facts(
      {
        t: (t) => isWhole(t) && Number(t) % MINUTE === 0,
        T: isWhole,
        s: is('BTC'),
        i: is('1m'),
        o: isDecimal,
        h: isDecimal,
        l: isDecimal,
        c: isDecimal,
        v: isDecimal,
        n: isWhole,
      },
      ['t', 'o', 'h', 'l', 'c', 'v', 'n'],
    ),
    told: toldCandle,
  },
  'hyperliquid funding': {
    facts: facts({ coin: is('BTC'), fundingRate: isDecimal, premium: isDecimal, time: isWhole }, [
      'time',
      'fundingRate',
    ]),
    told: told('venueTimeMs', 'fundingRate'),
  },
  'kalshi trades': {
    facts: facts(
      {
        trade_id: (id) => typeof id === 'string',
        ticker: is(TICKER),
        count_fp: isDecimal,
        yes_price_dollars: isDecimal,
        taker_book_side: (side) => side === 'bid' || side === 'ask',
        created_time: (time) => typeof time === 'string' && /^20\d\d-\d\d-\d\dT[\d:.]+Z$/.test(time),
      },
      ['trade_id', 'yes_price_dollars', 'count_fp'],
    ),
    told: told('id', 'price', 'size'),
  },
  'kalshi candles': {
    facts: facts({ end_period_ts: (end) => isWhole(end) && Number(end) % 60 === 0, volume_fp: isDecimal }, [
      'end_period_ts',
      'volume_fp',
    ]),
    told: (observation) => [observation.venueTimeMs / 1_000, told('volume')(observation)].join(),
  },
  'polymarket trades': {
    facts: facts(
      {
        side: (side) => side === 'BUY' || side === 'SELL',
        token_id: (id) => TOKENS.includes(String(id)) && typeof id === 'string',
        condition_id: (id) => typeof id === 'string' && id.toLowerCase() === CONDITION,
        size: isAmount,
        price: isAmount,
        timestamp: isWhole,
        transaction_hash: (hash) => typeof hash === 'string',
      },
      ['timestamp', 'token_id', 'transaction_hash'],
    ),
    told: (observation) => {
      const id = observation.kind === 'trade' ? observation.id : ''
      return [
        observation.venueTimeMs / 1_000,
        observation.instrument,
        id.slice(0, id.lastIndexOf('-', id.lastIndexOf('-') - 1)),
      ].join()
    },
  },
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The list in an answer: the answer itself, or its one member that should be a list. */
function rowsIn(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (!isObject(value)) return undefined
  for (const name of ['trades', 'candlesticks', 'data']) if (Array.isArray(value[name])) return value[name]
  return undefined
}

const isOfExchange = (name: string) => /^(binance|hyperliquid)/.test(name)

/** Runs one walk in which the answer with this number is spoiled. */
async function walk(about: Case, spoiltAt: number, spoil: (text: string) => string) {
  const judge = JUDGES[about.name]
  assert.ok(judge)
  const truth = about.truth as Row[]
  const lost = new Set<string>()
  const sent = new Set<string>()
  let questions = 0
  let text = ''
  let mustFail: string | undefined
  const answer = (asked: Asked): unknown => {
    const found = about.rows(asked, truth)
    const value = found === undefined ? about.around(asked) : found.wrap(found.rows)
    questions += 1
    if (questions !== spoiltAt) {
      for (const row of found?.rows ?? []) sent.add(judge.facts(row) ?? 'a wrong judge')
      return value
    }
    text = spoil(JSON.stringify(value))
    const spoilt = parsed(text)
    // A text that is not JSON, or is too large, is requested again.
    const { maxAnswerBytes, maxAnswerValues } = isOfExchange(about.name) ? EXCHANGE_ANSWERS : REST_LIMITS
    const isTooMuch = hasTooManyValues(Buffer.from(text), maxAnswerValues) || text.length > maxAnswerBytes
    if (found === undefined || spoilt === undefined || isTooMuch) return new RawText(text)
    const rows = rowsIn(spoilt)
    const read = rows?.map(judge.facts)
    for (const row of read ?? []) if (row !== undefined) sent.add(row)
    const unread = read?.indexOf(undefined) ?? -1
    if (rows === undefined || unread >= 0)
      mustFail = `row ${unread}: ${JSON.stringify(rows?.[unread])?.slice(0, 500)}`
    const known = new Set(read)
    for (const row of found.rows) {
      const fact = judge.facts(row) ?? ''
      if (!known.has(fact)) lost.add(fact)
    }
    return new RawText(text)
  }
  const venue = about.create({
    clock: leapingClock(NOW),
    fetch: answeringFetch(answer),
    hosts: { rest: 'http://venue' },
    random: () => 0.5,
  })
  const covered: HistoryRange[] = []
  const missing: HistoryRange[] = []
  const out = new Set<string>()
  let error: unknown
  try {
    for await (const page of venue.history(about.request, { signal: new AbortController().signal })) {
      if (page.covered !== null) covered.push(page.covered)
      missing.push(...page.missing.map(({ range }) => range))
      for (const row of page.observations) out.add(judge.told(row))
    }
  } catch (caught) {
    error = caught
  }
  return { covered, missing, out, error, questions, sent, lost, text, mustFail, factsOf: judge.facts }
}

type Walked = Awaited<ReturnType<typeof walk>>

function assertJudged(about: Case, walked: Walked): void {
  const { covered, missing, out, error, sent, lost, mustFail, factsOf } = walked
  if (mustFail !== undefined) assert.ok(error instanceof Error, `the walk went on over ${mustFail}`)
  for (const row of out) assert.ok(sent.has(row), `${row} was not sent`)
  const isIn = (ranges: readonly HistoryRange[], timeMs: number) =>
    ranges.some(({ fromMs, toMs }) => timeMs >= fromMs && timeMs < toMs)
  for (const row of about.truth as Row[]) {
    const timeMs = about.timeOf(row)
    const fact = factsOf(row) ?? ''
    assert.ok(!isIn(missing, timeMs), `${fact} is said not to be provided`)
    if (!isIn(covered, timeMs) || lost.has(fact)) continue
    assert.ok(out.has(fact), `${fact} was sent, is covered and did not come out`)
  }
}

async function fuzz(about: Case, random: SeededRandom): Promise<void> {
  const good = await walk(about, 0, (text) => text)
  assert.equal(good.error, undefined)
  assertJudged(about, good)
  assert.equal(good.covered.at(-1)?.toMs, about.request.range.toMs)
  for (let count = 0; count < WALKS; count++) {
    const started = process.threadCpuUsage()
    const walked = await walk(about, random.int(1, good.questions), (text) => spoilFrame(text, random))
    const { user, system } = process.threadCpuUsage(started)
    const shown = `\nafter the answer ${walked.text.slice(0, 2_000)}\n${walked.error}`
    try {
      assertJudged(about, walked)
      assert.ok(walked.questions <= 4 * good.questions + 40, `${walked.questions} questions`)
      assert.ok((user + system) / 1_000 < MAX_WALK_MS, `${user + system} µs`)
    } catch (error) {
      assert.fail(`${error instanceof Error ? error.message : error}${shown}`)
    }
  }
  assert.equal(Object.getPrototypeOf({}).polluted, undefined)
}

for (const about of CASES)
  test(
    `${about.name}: of spoiled answers nothing is believed that was not sent, and nothing covered that was not read`,
    { timeout: 30 * 60_000 },
    async (t) => fuzz(about, seededRandom(t, USUAL_SEED)),
  )
