/** The recipe docs/recipes/add-a-venue.md, followed for a toy venue: its folder, its line in the list, nothing else. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import Type, { type Static } from 'typebox'
import { restStandIn } from '../../test/venues/rest-stand-in.ts'
import { endAfterTest, endAll, scriptedVenue } from '../../test/venues/scripted-venue.ts'
import { walkAll } from '../../test/venues/walk.ts'
import { chooseRecorder } from '../ingest/choose-recorder.ts'
import { candleFeed, feedOf } from '../ingest/plans.ts'
import { supervise } from '../ingest/supervise.ts'
import { systemClock } from '../kit/clock.ts'
import { createLogger } from '../kit/log.ts'
import { openSqliteEnvironment } from '../store/sqlite/environment.ts'
import { askTyped } from './ask-typed.ts'
import { type Channel, channelKey } from './channel.ts'
import { data, type FeedProtocol, ignored, parseObject, refused } from './frame.ts'
import { floorTo, notProvided } from './history-range.ts'
import type { Route } from './link.ts'
import type { VenueEntry } from './list.ts'
import type { KlineObservation, Observation, TradeObservation } from './observation.ts'
import { VenueError } from './pager.ts'
import { BARS_ONLY, barsStep, type ExchangePlan } from './plan.ts'
import { supportedChannels } from './supported.ts'
import type { SymbolMap } from './symbol-map.ts'
import type { Venue, VenueDependencies, VenueDescription } from './venue.ts'
import { assembleVenue, checkLine } from './venue-parts.ts'
import { createVenueTime } from './venue-time.ts'
import { DecimalText, Millis, wireType } from './wire-type.ts'

afterEach(endAll)

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

// describe.ts
const describe: VenueDescription = {
  name: 'toy',
  source: 'cexa',
  symbols: { BTC: 'XBT' },
  live: {
    trades: { via: 'stream', longestSilenceMs: 60_000 },
    klines: { via: 'stream', intervals: ['1m'], longestSilenceMs: 60_000 },
  },
  history: { klines: { intervals: ['1m'], maxAgeMs: null, pageRows: 5_000 } },
  notProvided: { trades: 'the toy remembers nothing' },
  budgets: { weight: { limit: 100, windowMs: 60_000 } },
  hosts: { rest: 'https://toy.example', stream: 'wss://toy.example' },
  renewAfterMs: null,
}

// wire.ts
const TradeSchema = Type.Object({ n: Type.Integer(), coin: Type.String(), px: DecimalText, t: Millis })
const Trade = wireType(TradeSchema)
const Bars = wireType(Type.Array(Type.Object({ t: Millis, px: DecimalText })))
const Time = wireType(Type.Object({ now: Millis }))

// mapper.ts
function mapTrade(
  wire: Static<typeof TradeSchema>,
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP',
  receivedMs: number,
): TradeObservation {
  const key = String(wire.n)
  return {
    kind: 'trade',
    source: 'cexa',
    symbol,
    instrument: wire.coin,
    venueTimeMs: wire.t,
    receivedMs,
    key,
    id: key,
    price: wire.px,
    size: '1',
    side: 'buy',
  }
}

const mapBar = (wire: { t: number; px: string }, receivedMs: number): KlineObservation => ({
  ...{ kind: 'kline', source: 'cexa', symbol: 'BTC', instrument: 'XBT', interval: '1m', receivedMs },
  ...{ venueTimeMs: wire.t + MINUTE_MS, key: null, openTimeMs: wire.t, closeTimeMs: wire.t + MINUTE_MS - 1 },
  ...{ closed: true, open: wire.px, high: wire.px, low: wire.px, close: wire.px, volume: '2', tradeCount: 1 },
  ...{ quoteVolume: null, takerBuyVolume: null, takerBuyQuoteVolume: null },
})

// plan.ts
const plan: ExchangePlan = {
  ...BARS_ONLY,
  source: 'cexa',
  secondsFrom: 'trades',
  hasTrades: true,
  backfill: [{ ...barsStep('1m'), backMs: HOUR_MS, chunkMs: HOUR_MS }],
}

// feed.ts
const routesOf = (channels: readonly Channel[], host: string, symbols: SymbolMap): Route[] => [
  {
    name: 'toy',
    url: `${host}/feed`,
    channels,
    greeting: [...new Set(channels.map((each) => `listen ${symbols.toVenue(each.symbol)}`))],
  },
]
const createReader = (symbols: SymbolMap): FeedProtocol => ({
  accepts: false,
  heartbeat: null,
  greetingPaceMs: 0,
  read(text, receivedMs) {
    const message = parseObject(text)
    if (message === undefined) return refused('malformed')
    if (!Trade.is(message)) return refused('wrong_shape')
    const symbol = symbols.fromVenue(message.coin)
    if (symbol === undefined) return ignored('not recorded')
    return data(channelKey({ dataset: 'trades', symbol }), mapTrade(message, symbol, receivedMs))
  },
})

// venue.ts, with history.ts' one question inside
function createToy(dependencies: VenueDependencies): Venue {
  const parts = assembleVenue(describe, dependencies)
  const venueTime = createVenueTime({
    clock: dependencies.clock,
    async askVenue(signal) {
      const answer = await parts.pager.ask({ path: '/time', weight: 1 }, signal)
      if (!Time.is(answer.value))
        throw new VenueError('/time: an answer of unknown shape', { isFinal: false })
      return { venueMs: answer.value.now, roundTripMs: answer.roundTripMs }
    },
  })
  return {
    describe,
    deadLetters: parts.deadLetters,
    live(channels, options) {
      const routes = routesOf(supportedChannels(describe, channels), parts.hosts.stream, parts.symbols)
      return parts.listen({ routes, polls: [], protocol: createReader(parts.symbols) }, options)
    },
    async *history({ dataset, range }, { signal }) {
      if (dataset !== 'klines') return yield notProvided(range)
      const { venueMs } = await venueTime.ask(signal)
      const toMs = Math.min(range.toMs, floorTo(venueMs, MINUTE_MS))
      if (toMs <= range.fromMs) return
      const question = { path: '/bars', query: { from: range.fromMs, to: toMs }, weight: 1 }
      const { value, answer } = await askTyped(parts, question, Bars, signal)
      const observations = value.map((bar) => mapBar(bar, answer.receivedMs))
      yield { observations, covered: { fromMs: range.fromMs, toMs }, missing: [] }
    },
    witness: async () => undefined,
    book: async () => {
      throw new VenueError('the toy has no book', { isFinal: true })
    },
    serverTime: ({ signal }) => venueTime.ask(signal),
    check: ({ signal }) =>
      checkLine(describe, parts.hosts, async () => `its clock says ${(await venueTime.ask(signal)).venueMs}`),
  }
}

// list.ts: the line.
const line: VenueEntry = { create: createToy, plan, sandbox: null }

test('a toy venue made after the recipe is heard, asked and checked like the others', async () => {
  const sockets = await scriptedVenue({
    onMessage(visit, text) {
      if (text !== 'listen XBT') return
      const frames = [
        { n: 1, coin: 'XBT', px: '5.5', t: 7 },
        { n: 1, coin: 'XBT', px: '5.5', t: 7 },
        { n: 2, coin: 'DOGE', px: '1', t: 8 },
        { odd: 1 },
        { n: 3, coin: 'XBT', px: '5.6', t: 9 },
      ]
      for (const frame of frames) visit.socket.send(JSON.stringify(frame))
    },
  })
  const rest = await restStandIn(() => ({ now: 12 }))
  const venue = line.create({ clock: systemClock, hosts: { rest: rest.url, stream: sockets.url } })
  const session = venue.live([{ dataset: 'trades', symbol: 'BTC' }], { signal: AbortSignal.timeout(5_000) })
  endAfterTest(() => session.close())
  const seen: Observation[] = []
  for await (const observation of session) {
    seen.push(observation)
    if (observation.kind === 'trade' && observation.id === '3') break
  }
  assert.deepEqual(
    seen.map((each) => each.kind),
    ['connected', 'subscribed', 'trade', 'damaged', 'trade'],
  )
  assert.deepEqual(venue.deadLetters.counts(), { wrong_shape: 1 })
  const range = { fromMs: 0, toMs: 5 }
  assert.deepEqual((await walkAll(venue, { dataset: 'trades', symbol: 'BTC', range })).missing, [range])
  const check = await venue.check({ signal: AbortSignal.timeout(2_000) })
  assert.equal(check.line, `toy (cexa) at ${rest.url}: its clock says 12`)
})

test('and with nothing but its line it is recorded: trades as they come, the past behind them, and coverage', async () => {
  const frame = (n: number) => ({ n, coin: 'XBT', px: `5.${n}`, t: Date.now() })
  const sockets = await scriptedVenue({
    onMessage(visit) {
      for (const n of [1, 2, 3]) visit.socket.send(JSON.stringify(frame(n)))
    },
  })
  const rest = await restStandIn(({ path, query }) => {
    if (path === '/time') return { now: Date.now() }
    const [from, to] = [Number(query.get('from')), Number(query.get('to'))]
    return Array.from({ length: (to - from) / MINUTE_MS }, (_, at) => ({
      t: from + at * MINUTE_MS,
      px: '7.5',
    }))
  })
  const store = await openSqliteEnvironment({ file: ':memory:', clock: systemClock })
  endAfterTest(() => store.close())
  const log = createLogger({ level: 'silent' })
  const venue = line.create({ clock: systemClock, hosts: { rest: rest.url, stream: sockets.url } })
  const recorder = chooseRecorder(line.plan, { venue, store, clock: systemClock, log })
  const supervisor = supervise({ recorders: [recorder], coverage: store.coverage, clock: systemClock, log })
  endAfterTest(() => supervisor.close())
  const dayMs = floorTo(Date.now(), 24 * HOUR_MS)
  const read = async (
    feed: Parameters<typeof store.series.page>[0]['feeds'][number],
    from: number,
    to: number,
  ) => {
    const page = await store.series.page({
      ...{ feeds: [feed], range: { from, to }, order: 'asc', limit: 5_000, separator: '\n' },
    })
    return page.text === '' ? [] : page.text.split('\n').map((text) => JSON.parse(text))
  }
  const trades = () => read(feedOf('trades', 'cexa', 'BTC'), dayMs, Date.now() + MINUTE_MS)
  const bars = () => read(candleFeed('cexa', 'BTC', '1m'), dayMs - HOUR_MS, dayMs)
  const endMs = Date.now() + 10_000
  while ((await trades()).length < 3 || (await bars()).length < 60) {
    assert.ok(Date.now() < endMs, `${(await trades()).length} trades, ${(await bars()).length} bars`)
    await systemClock.sleep(50)
  }
  assert.deepEqual(
    (await trades()).map(({ price, source }) => [price, source]),
    [
      [5.1, 'cexa'],
      [5.2, 'cexa'],
      [5.3, 'cexa'],
    ],
  )
  assert.ok((await bars()).every(({ close, closed }) => close === 7.5 && closed === true))
  await supervisor.close()
  const { gaps } = await store.coverage.read([candleFeed('cexa', 'BTC', '1m')], dayMs - HOUR_MS, dayMs)
  assert.deepEqual(gaps, [])
})
