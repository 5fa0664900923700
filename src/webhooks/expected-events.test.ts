import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { type ManualClock, manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { EVENT_KINDS, type EventKind } from '../events/kinds.ts'
import type { ChainStores } from '../store/chain.ts'
import { appendEvents } from '../store/conformance/chain-engine.ts'
import { createExpectedEvents, type ExpectedKind } from './expected-events.ts'

const NOW = Date.UTC(2026, 5, 10)
const opened: (() => Promise<void>)[] = []
let clock: ManualClock
let chain: ChainStores
let expected: () => Promise<ExpectedKind[]>

beforeEach(() => {
  clock = manualClock(NOW)
  const database = storesIn(':memory:').chain('test')
  opened.push(() => database.close())
  chain = database
  expected = createExpectedEvents({ events: chain.events, clock })
})
after(async () => {
  for (const close of opened) await close()
})

const of = async (kind: EventKind) => (await expected()).find((one) => one.kind === kind)

/** Writes this many events per second over some seconds, up to now. */
async function write(
  kind: EventKind,
  { perSecond, seconds, until = NOW }: { perSecond: number; seconds: number; until?: number },
) {
  await appendEvents(
    chain.chain,
    Array.from({ length: perSecond * seconds }, (_, index) => ({
      kind,
      addresses: [],
      createdAtMs: Math.floor(until - seconds * 1000 + (index * 1000) / perSecond),
      tail: `"kind":"${kind}"}`,
    })),
  )
}

test('before anything is measured the kinds about the chain follow from its block rate, the others are unknown', async () => {
  const declared = { eventsPerDay: 864_000, creditsPerDay: 864_000, basis: 'declared' }
  assert.deepEqual(await of('block_added'), { kind: 'block_added', ...declared })
  const unknown = { eventsPerDay: null, creditsPerDay: null, basis: 'unknown' }
  assert.deepEqual(await of('mempool_entry'), { kind: 'mempool_entry', ...unknown })
  assert.deepEqual(
    (await expected()).map(({ kind }) => kind),
    EVENT_KINDS,
  )
})

test('the expected events of a day are extrapolated from the last minute of the log', async () => {
  await write('block_added', { perSecond: 8, seconds: 90 })
  await write('mempool_entry', { perSecond: 1, seconds: 60 })
  const { eventsPerDay, creditsPerDay, basis } = (await of('block_added')) ?? {}
  assert.deepEqual([eventsPerDay, creditsPerDay, basis], [691_000, 691_000, 'measured'])
  assert.equal((await of('mempool_entry'))?.eventsPerDay, 86_400)
  assert.equal((await of('krc20_activity'))?.eventsPerDay, 0)
})

test('a log that began within the minute is measured from its beginning on, one of a few seconds not at all', async () => {
  await write('block_added', { perSecond: 10, seconds: 20 })
  assert.equal((await of('block_added'))?.eventsPerDay, 864_000)
  assert.equal((await of('block_added'))?.basis, 'measured')
  const young = storesIn(':memory:').chain('test')
  opened.push(() => young.close())
  chain = young
  await write('block_added', { perSecond: 100, seconds: 5 })
  expected = createExpectedEvents({ events: chain.events, clock })
  assert.equal((await of('block_added'))?.basis, 'declared')
})

test('an outage in the minute does not make the chain look slower than it is', async () => {
  await write('block_added', { perSecond: 10, seconds: 60, until: NOW - 40_000 })
  await write('block_added', { perSecond: 10, seconds: 10 })
  const { eventsPerDay = 0, basis } = (await of('block_added')) ?? {}
  assert.equal(basis, 'measured')
  assert.ok(eventsPerDay !== null && eventsPerDay > 780_000 && eventsPerDay <= 864_000, `${eventsPerDay}`)
})

test('of a busy log only a bounded part is read, and the rate comes from it', async () => {
  await write('mempool_entry', { perSecond: 600, seconds: 60 })
  assert.equal((await of('mempool_entry'))?.eventsPerDay, 51_800_000)
})

test('for events of addresses no rate is given, whatever the log holds', async () => {
  await write('utxos_changed', { perSecond: 5, seconds: 60 })
  const { eventsPerDay, basis } = (await of('utxos_changed')) ?? {}
  assert.deepEqual([eventsPerDay, basis], [null, 'addresses'])
})

test('concurrent readers share one measurement, which is repeated after half a minute', async () => {
  await write('block_added', { perSecond: 10, seconds: 60 })
  assert.equal(await expected(), await expected())
  const before = await expected()
  clock.advance(30_000)
  assert.notEqual(await expected(), before)
})
