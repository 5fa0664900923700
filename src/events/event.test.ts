import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import { allEvents, caughtUp, startChainRig } from '../../test/fakes/chain-rig.ts'
import type { StoredEvent } from '../store/events.ts'
import { newEvent } from './event.ts'
import { eventSchema } from './event-schema.ts'
import { EVENT_KINDS, isEventKind } from './kinds.ts'

test('amounts above 2^53 keep their digits', () => {
  const { tail } = newEvent({
    kind: 'mempool_entry',
    network: 'mainnet',
    createdAtMs: 0,
    addresses: ['kaspa:a'],
    data: {
      tx_id: 'ab',
      fee_sompi: 2_899_999_999_999_999_999n,
      is_orphan: false,
      first_seen: 'mempool',
      tags: [],
      outputs: [],
    },
  })
  assert.ok(tail.includes('"fee_sompi":2899999999999999999,'))
  assert.ok(
    tail.startsWith('"kind":"mempool_entry","network":"mainnet","created_at":"1970-01-01T00:00:00.000Z"'),
  )
})

test('on a busy chain all kinds occur, each in the published form', async (t) => {
  const rig = await startChainRig({
    seed: 8,
    paced: false,
    transactionsPerSecond: 40,
    warmUpBlocks: 200,
    coinbaseMaturity: 30,
    reorgsPerMinute: 20,
  })
  t.after(() => rig.close())
  const [node] = rig.nodes
  const { database } = await rig.follow()
  const sink = () => node?.truth.sink() ?? ''
  await caughtUp(database, sink)
  let events: StoredEvent[] = []
  const kinds = new Set<string>()
  // Some kinds come from notifications, which arrive late on a busy machine.
  for (let round = 0; round < 20 && kinds.size < EVENT_KINDS.length; round++) {
    for (let i = 0; i < 150; i++) {
      rig.chain.chain.step()
      if (i % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await caughtUp(database, sink)
    await new Promise((resolve) => setTimeout(resolve, 300))
    events = await allEvents(database)
    for (const { kind } of events) kinds.add(kind)
  }
  assert.deepEqual([...kinds].sort(), [...EVENT_KINDS].sort())
  const schemas = Object.fromEntries(EVENT_KINDS.map((kind) => [kind, eventSchema(kind)]))
  for (const event of events) {
    assert.ok(isEventKind(event.kind))
    const schema = schemas[event.kind]
    assert.ok(schema)
    const value: unknown = JSON.parse(event.text)
    assert.ok(Value.Check(schema, value), `${event.text}: ${JSON.stringify(Value.Errors(schema, value)[0])}`)
  }
  const onceEach = events
    .filter((event) => event.kind === 'mempool_entry' || event.text.includes('"stage":'))
    .map((event) => {
      const { kind, data } = JSON.parse(event.text) as {
        kind: string
        data: { tx_id: string; stage?: string }
      }
      return `${kind} ${data.tx_id} ${data.stage}`
    })
  assert.equal(new Set(onceEach).size, onceEach.length, 'each transaction once for each kind and stage')
})
