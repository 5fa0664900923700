/** `tapeline store copy`: everything is there, byte by byte, in both directions. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import {
  copyStore,
  openCopy,
  openStores,
  parseStoreAddress,
  type StoreAddress,
} from '../../src/store/open-stores.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'
import { seededRandom } from '../seeded-random.ts'
import { drawn, START_MS } from './drawn-data.ts'
import { fillStores, servedOf } from './filled-store.ts'

const READS = 60

async function copy(from: StoreAddress, to: StoreAddress) {
  const sides = await openCopy(from, to, systemClock)
  try {
    return await copyStore({ ...sides, onProgress: () => {}, copySecrets: async () => {} })
  } finally {
    await Promise.all([sides.source.close(), sides.target.close()])
  }
}

test('a store is copied to the other engine and back: the same rows, the same answers, and it goes on from there', {
  skip: withoutPostgres,
}, async (t) => {
  const random = seededRandom(t)
  const clock = manualClock(START_MS)
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-copy-'))
  const place = postgresPlace()
  const [first, second, third] = [join(folder, 'a'), place.address, join(folder, 'b')].map((text) =>
    parseStoreAddress(text),
  ) as [StoreAddress, StoreAddress, StoreAddress]
  try {
    mkdirSync(join(folder, 'a'))
    await fillStores(openStores(first, clock), random, clock)
    const there = await copy(first, second)
    assert.deepEqual(there.differences, [])
    assert.ok(there.rows > 3_000, `${there.rows} rows`)
    const back = await copy(second, third)
    assert.deepEqual(back.differences, [])
    assert.equal(back.rows, there.rows)
    assert.ok(!existsSync(join(folder, 'b', 'live-chain.db')), 'what was never used is not created')

    const stores = [first, second, third].map((address) => openStores(address, clock))
    const [expected, ...others] = await Promise.all(stores.map((each) => servedOf(each, clock)))
    for (const other of others) assert.deepEqual(other, expected)
    const markets = await Promise.all(stores.map((each) => each.environment('test')))
    const draw = drawn(random)
    for (let i = 0; i < READS; i++) {
      const { name, run } = draw.read()
      const [wanted, ...found] = await Promise.all(
        markets.map(async (each) => JSON.stringify(await run(each))),
      )
      for (const other of found) assert.equal(other, wanted, `${name}, read ${i}`)
    }
    // And it goes on: the same writes have the same results.
    for (let i = 0; i < 5; i++) {
      const write = draw.write()
      clock.advance(500)
      const [wanted, ...found] = [
        await markets[0]?.write(write),
        await markets[1]?.write(write),
        await markets[2]?.write(write),
      ]
      for (const other of found) assert.deepEqual(other, wanted)
    }
    await Promise.all(markets.map((each) => each.close()))
  } finally {
    await place.remove()
    rmSync(folder, { recursive: true })
  }
})
