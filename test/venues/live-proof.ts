/** What every venue must show against the real thing: reachable, history, and a live word on each asked channel. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { channelOf } from '../../src/ingest/shared/channel-of.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { type Channel, channelKey } from '../../src/venues/channel.ts'
import { isControl } from '../../src/venues/observation.ts'
import type { HistoryRequest, Venue, VenueDependencies } from '../../src/venues/venue.ts'

const HOUR_MS = 3_600_000

export interface LiveProof {
  readonly channels: readonly Channel[]
  readonly listenMs: number
  /** The last hour of what is asked for, and how much of it there is at least. */
  readonly history: Omit<HistoryRequest, 'range'> & { readonly atLeast: number }
  /** Topics about which there is no second question. */
  readonly unwitnessed?: readonly Channel['topic'][]
}

/** Nobody knows when the next one comes. */
const MAY_BE_SILENT: readonly Channel['topic'][] = ['liquidations']

export function proveLive(create: (dependencies: VenueDependencies) => Venue, proof: LiveProof): void {
  const venue = create({ clock: systemClock })
  const { name } = venue.describe

  test(`${name} can be reached`, async (t) => {
    const result = await venue.check({ signal: AbortSignal.timeout(60_000) })
    t.diagnostic(result.line)
    assert.ok(result.ok, result.line)
  })

  test(`${name} answers with the last hour of ${proof.history.topic}`, async () => {
    const nowMs = systemClock.now()
    const { atLeast, ...request } = proof.history
    const range = { fromMs: nowMs - HOUR_MS, toMs: nowMs }
    let found = 0
    for await (const page of venue.history({ ...request, range }, { signal: AbortSignal.timeout(60_000) }))
      found += page.observations.length
    assert.ok(found >= atLeast, `${found} of at least ${atLeast}`)
  })

  test(`${name} sends on every channel and nothing is unreadable`, async (t) => {
    const session = venue.live(proof.channels, { signal: AbortSignal.timeout(proof.listenMs) })
    const received = new Map<string, number>()
    for await (const observation of session) {
      if (isControl(observation)) continue
      const key = channelKey(channelOf(observation))
      received.set(key, (received.get(key) ?? 0) + 1)
    }
    t.diagnostic(JSON.stringify({ ...session.stats(), received: [...received] }))
    assert.deepEqual(venue.deadLetters.recent(), [])
    const silent = proof.channels
      .filter((channel) => !MAY_BE_SILENT.includes(channel.topic))
      .filter((channel) => !received.has(channelKey(channel)))
    assert.deepEqual(silent.map(channelKey), [])
  })

  test(`${name} can be asked about every channel, independently of the socket`, async () => {
    const unwitnessed = [...MAY_BE_SILENT, ...(proof.unwitnessed ?? [])]
    for (const channel of proof.channels.filter(({ topic }) => !unwitnessed.includes(topic))) {
      const witness = await venue.witness(channel, { signal: AbortSignal.timeout(30_000) })
      assert.ok(witness !== undefined, channelKey(channel))
    }
  })
}
