/** `/asyncapi.json` says what really goes over the socket: every frame and all kinds of events, both ways. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { gapEvent } from '../../src/events/gap-event.ts'
import { EVENT_KINDS } from '../../src/events/kinds.ts'
import { appendEvents } from '../../src/store/conformance/chain-engine.ts'
import { type ChainService, startChainService } from '../fakes/chain-service.ts'
import { storesIn } from '../fakes/stores.ts'
import { connectStream, type Frame } from '../fakes/stream-client.ts'
import { until } from '../until.ts'

interface Document {
  components: {
    messages: Record<string, { payload: { properties: Record<string, unknown> } }>
    schemas: Record<string, { properties: Record<string, unknown> }>
  }
}

let chain: ChainService
let key: string
let document: Document
let ajv: Ajv2020

before(async () => {
  chain = await startChainService({ nodes: 1, chain: { seed: 3, transactionsPerSecond: 20 } })
  key = await chain.key()
  document = (await (await fetch(`${chain.service.url}/asyncapi.json`)).json()) as Document
  ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addSchema({ $id: 'doc', ...document })
})
after(() => chain.stop())

/** The message has the documented form, and nothing that is not documented. */
function conforms(place: string, value: object, properties: Record<string, unknown>): void {
  const validate = ajv.getSchema(`doc#/components/${place}`)
  assert.ok(validate, `the document has ${place}`)
  assert.ok(validate(value), `${place}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`)
  const unknown = Object.keys(value).filter((name) => !(name in properties))
  assert.deepEqual(unknown, [], `${place} names every member`)
}

const frameConforms = (frame: Frame) => {
  const { payload } = document.components.messages[frame.type] ?? { payload: { properties: {} } }
  conforms(`messages/${frame.type}/payload`, frame, payload.properties)
}

test('all kinds arrive over one socket, each in its documented form', async () => {
  const addresses = chain.nodes[0]?.wallets().map(({ address }) => address) ?? []
  const client = connectStream(chain.service.url, key)
  client.send({ op: 'subscribe', id: 'chain', kinds: EVENT_KINDS, addresses, resume_after: 0 })
  client.send({ op: 'subscribe', id: 'rest', kinds: EVENT_KINDS.filter((kind) => kind !== 'utxos_changed') })
  const seen = () => new Set(client.events.map(({ kind }) => kind))
  await until('all kinds', () => seen().size === EVENT_KINDS.length, 180_000)
  for (const event of client.events) {
    const { properties } = document.components.schemas[event.kind] ?? { properties: {} }
    conforms(`schemas/${event.kind}`, event, properties)
    frameConforms({ type: 'event', event })
  }
  for (const frame of client.frames) frameConforms(frame)
  client.close()
})

test('every other frame of the server, and what the document lets a client say', async () => {
  const database = storesIn(chain.service.folder).chain('live')
  const ends = { fromHash: 'a'.repeat(64), fromBlueScore: 1, toHash: 'b'.repeat(64) }
  const times = { atMs: Date.now(), fromTimeMs: 1_000, toTimeMs: 2_000 }
  for (const reason of ['pruned', 'blocks_pruned', 'unreadable'] as const) {
    await appendEvents(database.chain, [gapEvent({ ...ends, ...times, reason })])
  }
  await database.close()
  const orders: { op: string; [field: string]: unknown }[] = [
    { op: 'subscribe', id: 'a', kinds: ['block_added'], addresses: [], resume_after: 0 },
    { op: 'subscribe', id: 'b', kinds: ['krc20_activity'], resume_after: 0 },
    { op: 'subscribe', id: 'c', kinds: ['block_added'], resume_after: 999_999_999_999 },
    { op: 'unsubscribe', id: 'a' },
    { op: 'ping', id: 'x' },
    { op: 'ping' },
  ]
  const client = connectStream(chain.service.url, key)
  for (const order of orders) {
    const validate = ajv.getSchema(`doc#/components/messages/${order.op}/payload`)
    assert.ok(validate?.(order), `${JSON.stringify(order)}: ${ajv.errorsText(validate?.errors)}`)
    client.send(order)
    if (order.op === 'subscribe') await client.next('live')
  }
  await client.next('pong')
  assert.equal(client.frames.filter(({ type }) => type === 'error').length, 0, 'what is documented is taken')
  const wrong = [{ op: 'subscribe', kinds: [] }, { op: 'subscribe', kinds: ['nothing'] }, { op: 'x' }]
  for (const order of wrong) {
    client.send(order)
    await client.next('error')
    const validate = ajv.getSchema('doc#/components/messages/subscribe/payload')
    assert.equal(validate?.(order), false, `${JSON.stringify(order)} is refused by both`)
  }
  client.send({ op: 'unsubscribe', id: 'nothing' })
  await client.next('error')
  const reasons = () =>
    new Set(client.frames.flatMap(({ type, reason }) => (type === 'gap' ? [String(reason)] : [])))
  // Writes of other processes to the log are noticed within half a second.
  await until('every gap', () => reasons().size === 4)
  for (const frame of client.frames) frameConforms(frame)
  const types = new Set(client.frames.map(({ type }) => type))
  const documented = Object.keys(document.components.messages)
  const ours = ['subscribe', 'unsubscribe', 'ping', 'event', 'delivery']
  assert.deepEqual(
    documented.filter((type) => !ours.includes(type) && !types.has(type)),
    [],
    'every documented frame was seen',
  )
  assert.deepEqual([...reasons()].sort(), ['blocks_pruned', 'pruned', 'unknown_position', 'unreadable'])
  client.close()
})
