/** The toy venue of docs/recipes/add-a-venue.md: its folder is test/venues/toy, its line in the list is `line`. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { storesIn } from '../../test/fakes/stores.ts'
import { restStandIn } from '../../test/venues/rest-stand-in.ts'
import { endAfterTest, endAll, scriptedVenue } from '../../test/venues/scripted-venue.ts'
import { toyPlan } from '../../test/venues/toy/plan.ts'
import { createToy } from '../../test/venues/toy/venue.ts'
import { toyRest } from '../../test/venues/toy-rest.ts'
import { walkAll } from '../../test/venues/walk.ts'
import { chooseRecorder } from '../ingest/choose-recorder.ts'
import { candleFeed, feedOf } from '../ingest/shared/feeds.ts'
import { supervise } from '../ingest/supervise.ts'
import { systemClock } from '../kit/clock.ts'
import { createLogger } from '../kit/log.ts'
import type { VenueEntry } from './list.ts'
import type { Observation } from './observation.ts'
import { floorTo } from './rest/history-range.ts'

afterEach(endAll)

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

// The line in list.ts.
const line: VenueEntry = { create: createToy, plan: toyPlan, sandbox: null }

test('a toy venue made after the recipe streams, answers and is checked like the others', async () => {
  const t = Date.now()
  const sockets = await scriptedVenue({
    onMessage(visit, text) {
      if (text !== 'listen XBT') return
      const frames = [
        { n: 1, coin: 'XBT', px: '5.5', t },
        { n: 1, coin: 'XBT', px: '5.5', t },
        { n: 2, coin: 'DOGE', px: '1', t },
        { odd: 1 },
        { n: 3, coin: 'XBT', px: '5.6', t },
      ]
      for (const frame of frames) visit.socket.send(JSON.stringify(frame))
    },
  })
  const rest = await restStandIn(() => ({ now: 12 }))
  const venue = line.create({ clock: systemClock, hosts: { rest: rest.url, stream: sockets.url } })
  const session = venue.live([{ topic: 'trades', symbol: 'BTC' }], { signal: AbortSignal.timeout(60_000) })
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
  assert.deepEqual((await walkAll(venue, { topic: 'trades', symbol: 'BTC', range })).missing, [range])
  const check = await venue.check({ signal: AbortSignal.timeout(60_000) })
  assert.equal(check.line, `toy (cexa) at ${rest.url}: its clock reads 12`)
})

test('and with nothing but its line it is recorded: trades as they come, the past behind them, and coverage', async () => {
  const frame = (n: number) => ({ n, coin: 'XBT', px: `5.${n}`, t: Date.now() })
  const sockets = await scriptedVenue({
    onMessage(visit) {
      for (const n of [1, 2, 3]) visit.socket.send(JSON.stringify(frame(n)))
    },
  })
  const rest = await toyRest()
  const store = await storesIn(':memory:').environment('test')
  endAfterTest(() => store.close())
  const log = createLogger({ level: 'silent' })
  const venue = line.create({ clock: systemClock, hosts: { rest: rest.url, stream: sockets.url } })
  const recorder = chooseRecorder(line.plan, { venue, store, random: Math.random, clock: systemClock, log })
  const supervisor = supervise({
    recorders: [recorder],
    coverage: store.coverage,
    random: Math.random,
    clock: systemClock,
    log,
  })
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
  const candles = () => read(candleFeed('cexa', 'BTC', '1m'), dayMs - HOUR_MS, dayMs)
  const endMs = Date.now() + 10_000
  while ((await trades()).length < 3 || (await candles()).length < 60) {
    assert.ok(Date.now() < endMs, `${(await trades()).length} trades, ${(await candles()).length} candles`)
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
  assert.ok((await candles()).every(({ close, closed }) => close === 7.5 && closed === true))
  await supervisor.close()
  const { gaps } = await store.coverage.read([candleFeed('cexa', 'BTC', '1m')], dayMs - HOUR_MS, dayMs)
  assert.deepEqual(gaps, [])
})
