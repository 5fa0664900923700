import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { checkWrites, killDuringWrites } from './chain-kill.ts'
import { seeded } from './engine.ts'
import { ENGINES } from './engines.ts'

const ROUNDS = process.env.TAPELINE_SOAK ? 40 : 1

for (const engine of ENGINES) {
  test(`${engine.name}: kill -9 while the chain is written loses no acknowledged write, leaves none in part, gives no number twice`, async () => {
    const random = seeded(9)
    const place = engine.create()
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const after = 3 + random.below(20)
        const acknowledged = await killDuringWrites(place.address, { after, delayMs: random.below(20) })
        assert.ok(acknowledged.length >= after)
        const stores = place.open(manualClock(0)).chain('test')
        await checkWrites(stores, acknowledged)
        await stores.close()
      }
    } finally {
      await place.remove()
    }
  })
}
