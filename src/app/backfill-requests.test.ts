import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManualClock, manualClock } from '../../test/fakes/manual-clock.ts'
import { createLogger } from '../kit/log.ts'
import type { Heartbeats } from '../store/heartbeats.ts'
import { openStores, parseStoreAddress } from '../store/open-stores.ts'
import { answerBackfills, askForBackfill, type BackfillOrder } from './backfill-requests.ts'

const log = createLogger({ level: 'silent' })
const PART = 'record:cexa/live'
const ORDER: BackfillOrder = { source: 'cexa', symbols: ['BTC'], fromMs: 0, toMs: 86_400_000 }
const RESULT = { ranges: 3, failed: 0, rowsInserted: 5, rowsCorrected: 1 }

async function pass(clock: ManualClock, ms: number) {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(100)
    for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** A leader whose backfills last until the test ends them. */
function leader(store: Heartbeats, clock: ManualClock, part = PART) {
  const orders: { order: BackfillOrder; signal: AbortSignal | undefined; end(failure?: string): void }[] = []
  const answering = answerBackfills({
    ...{ store, part, clock, log },
    run: (order, { signal, onProgress }) =>
      new Promise((resolve, reject) => {
        onProgress({ done: 1, total: 3, step: 'candles' })
        signal?.addEventListener('abort', () => reject(new Error('stopped')))
        const end = (failure?: string) =>
          failure === undefined ? resolve(RESULT) : reject(new Error(failure))
        orders.push({ order, signal, end })
      }),
  })
  return { orders, close: () => answering.close() }
}

function setup() {
  const clock = manualClock(1_000_000)
  const store = openStores(parseStoreAddress(':memory:'), clock).coordination()
  const seen: string[] = []
  let isLed = true
  const ask = () =>
    askForBackfill({
      ...{ store, part: PART, order: ORDER, clock, isLed: async () => isLed },
      onProgress: ({ done, total, step }) => seen.push(`${step} ${done}/${total}`),
    })
  return { clock, store, seen, ask, leave: () => (isLed = false) }
}

test('the leader carries it out once, the command sees its progress and result, and nothing is left behind', async () => {
  const { clock, store, seen, ask } = setup()
  const other = leader(store, clock, 'record:cexb/live')
  const leading = leader(store, clock)
  const asked = ask()
  await pass(clock, 30_000)
  assert.deepEqual(
    leading.orders.map(({ order }) => order),
    [ORDER],
  )
  assert.deepEqual([...new Set(seen)], ['candles 1/3'])
  leading.orders[0]?.end()
  await pass(clock, 3_000)
  assert.deepEqual(await asked, RESULT)
  assert.deepEqual(await store.listHeartbeats(), [])
  assert.equal(leading.orders.length, 1)
  assert.equal(other.orders.length, 0)
  await Promise.all([leading.close(), other.close()])
})

test('a failure is the command’s; after a change of leaders the next one begins again', async () => {
  const { clock, store, ask } = setup()
  const first = leader(store, clock)
  const asked = ask()
  asked.catch(() => {})
  await pass(clock, 2_000)
  assert.equal(first.orders.length, 1)
  await first.close()
  assert.equal(first.orders[0]?.signal?.aborted, true)
  const second = leader(store, clock)
  await pass(clock, 3_000)
  assert.equal(second.orders.length, 1)
  second.orders[0]?.end('the venue is away')
  await pass(clock, 3_000)
  await assert.rejects(asked, /the venue is away/)
  await second.close()
})

test('a report of progress that is still being written when the backfill ends does not replace its result', async () => {
  const { clock, store } = setup()
  const held: (() => void)[] = []
  let isSlow = false
  const slow: Heartbeats = {
    ...store,
    async putHeartbeat(beat) {
      if (isSlow && beat.text.includes('"result":null'))
        await new Promise<void>((resolve) => held.push(resolve))
      return store.putHeartbeat(beat)
    },
  }
  const leading = leader(slow, clock)
  const request = JSON.stringify({ report: { part: PART, order: ORDER }, problem: null })
  await store.putHeartbeat({ part: 'backfill/x', text: request })
  await pass(clock, 2_000)
  isSlow = true
  await pass(clock, 2_000)
  leading.orders[0]?.end()
  await pass(clock, 500)
  for (const write of held) write()
  await pass(clock, 3_000)
  const answer = (await store.listHeartbeats()).find(({ part }) => part === 'backfill/x/answer')
  assert.ok(held.length > 0)
  assert.deepEqual(JSON.parse(answer?.text ?? '{}').report?.result, RESULT)
  await leading.close()
})

test('a request of a command that died is given up', async () => {
  const { clock, store } = setup()
  const leading = leader(store, clock)
  const text = JSON.stringify({ report: { part: PART, order: ORDER }, problem: null })
  await store.putHeartbeat({ part: 'backfill/dead', text })
  await pass(clock, 2_000)
  assert.equal(leading.orders[0]?.signal?.aborted, false)
  await pass(clock, 25_000)
  assert.equal(leading.orders[0]?.signal?.aborted, true)
  await pass(clock, 120_000)
  assert.deepEqual(await store.listHeartbeats(), [])
  await leading.close()
})

test('without a leader the command goes on by itself; a leader that never answers is an error', async () => {
  const { clock, ask, leave } = setup()
  const silent = ask()
  silent.catch(() => {})
  await pass(clock, 65_000)
  await assert.rejects(silent, /does not answer/)
  const left = ask()
  await pass(clock, 2_000)
  leave()
  await pass(clock, 2_000)
  assert.equal(await left, undefined)
})
