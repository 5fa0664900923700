/** What every venue must show against the real thing: reachable, history, and a live word on each asked channel. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import { type Channel, channelKey } from '../../src/venues/channel.ts'
import { isControl } from '../../src/venues/observation.ts'
import type { Venue, VenueDependencies } from '../../src/venues/venue.ts'

export function proveLive(
  create: (dependencies: VenueDependencies) => Venue,
  options: { channels: Channel[]; listenMs: number },
): void {
  const venue = create({ clock: systemClock })

  test(`${venue.describe.name} can be reached`, async (t) => {
    const result = await venue.check({ signal: AbortSignal.timeout(60_000) })
    t.diagnostic(result.line)
    assert.ok(result.ok, result.line)
  })

  test(`${venue.describe.name} answers with an hour of closed bars`, async () => {
    const { venueMs } = await venue.serverTime({ signal: AbortSignal.timeout(30_000) })
    const range = { fromMs: venueMs - 3_600_000, toMs: venueMs }
    const request = { dataset: 'klines', symbol: 'BTC', interval: '1m', range } as const
    let bars = 0
    for await (const page of venue.history(request, { signal: AbortSignal.timeout(30_000) })) {
      bars += page.observations.length
    }
    assert.ok(bars >= 50, `${bars} bars`)
  })

  test(`${venue.describe.name} speaks on every channel and nothing is unreadable`, async (t) => {
    const session = venue.live(options.channels, { signal: AbortSignal.timeout(options.listenMs) })
    const heard = new Map<string, number>()
    for await (const observation of session) {
      if (isControl(observation)) continue
      heard.set(observation.kind, (heard.get(observation.kind) ?? 0) + 1)
    }
    t.diagnostic(JSON.stringify({ ...session.stats(), heard: [...heard] }))
    assert.deepEqual(venue.deadLetters.recent(), [])
    assert.ok(heard.size > 0, options.channels.map(channelKey).join(', '))
    for (const channel of options.channels) {
      const witness = await venue.witness(channel, { signal: AbortSignal.timeout(30_000) })
      assert.ok(witness !== undefined, channelKey(channel))
    }
  })
}
