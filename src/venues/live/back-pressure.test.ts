import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { endAll, scriptedVenue } from '../../../test/venues/scripted-venue.ts'
import { BTC, frameOf, listen, QUICK, toyProtocol } from '../../../test/venues/toy-feed.ts'
import { systemClock } from '../../kit/clock.ts'

afterEach(endAll)

test('a consumer that falls behind stops the reading; the queue stays bounded and nothing is lost', async () => {
  const venue = await scriptedVenue()
  const limits = { ...QUICK, queueHighWater: 200, queueLowWater: 50 }
  const feed = listen(venue.url, { limits, read: false, silenceOf: () => 1_000 })
  await feed.until(() => venue.open().length === 1)
  const pad = 'x'.repeat(2_000)
  const TOTAL = 6_000
  for (let id = 1; id <= TOTAL; id++) venue.broadcast(JSON.stringify({ id, symbol: 'BTC', pad }))
  await feed.until(() => feed.session.stats().paused)
  await systemClock.sleep(1_500)
  const { queued } = feed.session.stats()
  assert.ok(queued < 200 + 128, `${queued} wait`)
  const ids: number[] = []
  for await (const observation of feed.session) {
    if (observation.kind === 'stale')
      assert.equal(ids.length, TOTAL, 'a stopped reading is no silence of the venue')
    if (observation.kind !== 'trade') continue
    ids.push(Number(observation.id))
    assert.ok(feed.session.stats().queued < 400)
    if (ids.length === TOTAL) break
  }
  assert.deepEqual(
    ids,
    Array.from({ length: TOTAL }, (_, index) => index + 1),
  )
  await feed.close()
  await venue.close()
})

test('a consumer that stays behind loses the connection, and that loss is in its queue', async () => {
  const venue = await scriptedVenue()
  const limits = { ...QUICK, queueHighWater: 100, queueLowWater: 20, maxPauseMs: 200 }
  const feed = listen(venue.url, { limits, read: false })
  await feed.until(() => venue.open().length === 1)
  for (let id = 1; id <= 150; id++) venue.broadcast(frameOf(id))
  await systemClock.sleep(800)
  assert.equal(venue.visits.length, 1, 'no new socket for a consumer that does not read')
  const reasons: string[] = []
  for await (const observation of feed.session) {
    if (observation.kind === 'disconnected') reasons.push(observation.reason)
    if (observation.kind === 'connected' && reasons.length > 0) break
  }
  assert.deepEqual(reasons, ['consumer too slow'])
  await feed.close()
  await venue.close()
})

test('polls join the stream, repeats of the same fact are left out, failures are counted', async () => {
  const venue = await scriptedVenue()
  let asked = 0
  const feed = listen(venue.url, {
    routes: [],
    random: () => 0,
    polls: [
      {
        channel: BTC,
        everyMs: 20,
        request: async () => {
          asked += 1
          if (asked === 2) throw new Error('refused')
          const outcome = toyProtocol.read(frameOf(asked < 4 ? 1 : 2), Date.now())
          return outcome.kind === 'data' ? outcome.items.map((item) => item.observation) : []
        },
      },
    ],
  })
  await feed.until(() => asked > 5)
  assert.deepEqual(feed.ids(), [1, 2])
  assert.equal(feed.session.stats().pollFailures, 1)
  await feed.close()
  await venue.close()
})

test('closing ends the iteration and every socket', async () => {
  const venue = await scriptedVenue({ onOpen: (visit) => visit.socket.send(frameOf(1)) })
  const feed = listen(venue.url)
  await feed.until(() => feed.ids().length === 1)
  await feed.close()
  await feed.until(() => venue.open().length === 0)
  await systemClock.sleep(200)
  assert.equal(venue.visits.length, 1, 'a closed feed does not come back')
  await venue.close()
})
