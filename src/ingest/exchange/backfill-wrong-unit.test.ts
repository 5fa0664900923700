import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readGaps, readRows } from '../../../test/ingest/compare.ts'
import { fastClock } from '../../../test/predictions/loopback.ts'
import { restStandIn } from '../../../test/venues/rest-stand-in.ts'
import { endAll } from '../../../test/venues/scripted-venue.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { backfillRange } from './backfill-exchange.ts'

afterEach(endAll)

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const DAY = { fromMs: Date.UTC(2026, 2, 12), toMs: Date.UTC(2026, 2, 13) }

test('a day whose klines come in microseconds fails and is not observed; requested again, it is filled', async (t) => {
  const clock = fastClock(DAY.toMs + 5 * DAY_MS, 500)
  let unit = 1_000
  const rest = await restStandIn(({ path, query }) => {
    if (path.endsWith('/time')) return { serverTime: clock.now() }
    if (!path.endsWith('/klines')) return []
    const [from, limit] = [Number(query.get('startTime')), Number(query.get('limit'))]
    const to = Number(query.get('endTime') ?? clock.now())
    const opens = Array.from(
      { length: limit },
      (_, i) => Math.ceil(from / MINUTE_MS) * MINUTE_MS + i * MINUTE_MS,
    )
    return opens
      .filter((open) => open <= to)
      .map((open) => [
        ...[open * unit, '1.0', '2.0', '0.5', '1.5', '10.0', (open + MINUTE_MS) * unit - 1, '15.0', 7],
        ...['6.0', '9.0', '0'],
      ])
  })
  const { plan, create } = VENUES['binance-spot']
  assert.ok(plan !== undefined && 'secondsFrom' in plan)
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const venue = create({ clock, hosts: { rest: rest.url } })
  const fill = () =>
    backfillRange({
      ...{ plan, venue, store, random: Math.random, clock, symbols: ['BTC'], ...DAY, onProgress: () => {} },
      log: createLogger({ level: 'silent' }),
    })
  const feeds = [
    ...(['1m', '5m', '1d'] as const).map((interval) => candleFeed('cexa', 'BTC', interval)),
    feedOf('flow', 'cexa', 'BTC', '1h'),
  ]

  const wrong = await fill()
  assert.equal(wrong.failed, wrong.ranges)
  assert.ok(wrong.failed > 0)
  assert.equal(wrong.rowsInserted, 0)
  assert.ok((venue.deadLetters.counts().misfit ?? 0) > 0)
  for (const feed of feeds) {
    const gaps = await readGaps(store, feed, DAY)
    assert.deepEqual(
      gaps.map(({ from, to, reason }) => [from, to, reason]),
      [[DAY.fromMs, DAY.toMs, 'not_observed']],
    )
  }

  unit = 1
  const right = await fill()
  assert.equal(right.failed, 0)
  assert.equal((await readRows(store, candleFeed('cexa', 'BTC', '1m'), DAY)).length, 1_440)
  for (const feed of feeds) assert.deepEqual(await readGaps(store, feed, DAY), [])
})
