/** While one reference price is silent and the others are sent, the channel is down; it comes back with that price. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import { startPredictionsRecording, startPredictionsWorld } from '../../../test/predictions/recording.ts'
import { sandboxPredictions } from '../../app/sandbox-venues.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import { recordPredictions } from './record-predictions.ts'

const START_MS = Date.parse('2026-11-15T10:01:00Z')

test('a mean that is not sent any more shows in the status of the source', async (t) => {
  const world = await startPredictionsWorld(pacedClock(START_MS, 1_000), { slotMs: 30_000 })
  const { clock, sandbox } = world
  t.after(() => world.close())
  const recording = await startPredictionsRecording(world, { venues: ['polymarket'], symbols: ['BTC'] })
  t.after(() => clock.during(recording.close()))
  const channelsDown = () => {
    const [status] = recording.supervisor.status()
    assert.ok(status)
    return status.detail.channels - status.detail.channelsUp
  }
  await clock.runUntil(START_MS + 30_000)
  assert.equal(channelsDown(), 0)
  const channel = 'crypto_prices_twap_sixty'
  sandbox.faults.set({ kind: 'mute', venue: 'polymarket', channel, durationMs: 40_000 })
  // The topic may be silent for ten seconds, and then its channel for ten more. From then on it is down, whatever the
  // others send and however often the socket is renewed.
  for (let second = 53; second < 70; second++) {
    await clock.runUntil(START_MS + second * 1_000)
    assert.equal(channelsDown(), 1, `second ${second}`)
  }
  await clock.runUntil(START_MS + 100_000)
  assert.equal(channelsDown(), 0)
})

test('a venue whose reference price is switched off is healthy without it', async (t) => {
  const world = await startPredictionsWorld(pacedClock(START_MS, 1_000), { slotMs: 30_000 })
  const { clock, sandbox } = world
  t.after(() => world.close())
  const setting = sandboxPredictions(sandbox).find(({ name }) => name === 'polymarket')
  assert.ok(setting)
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const recorder = recordPredictions({
    plan: VENUES.polymarket.plan,
    venue: VENUES.polymarket.create({ clock, ...setting, polymarket: { reference: 'none' } }),
    store,
    clock,
    random: Math.random,
    log: createLogger({ level: 'silent' }),
    symbols: ['BTC'],
  })
  const stop = new AbortController()
  const running = recorder.run(stop.signal)
  await clock.runUntil(START_MS + 20_000)
  const { channels, channelsUp } = recorder.status()
  stop.abort()
  await clock.during(running)
  assert.deepEqual([channels, channelsUp], [3, 3])
})
