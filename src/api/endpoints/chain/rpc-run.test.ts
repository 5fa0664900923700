import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateParams } from '../../../upstreams/validate-params.ts'
import type { ChainData } from './chain-data.ts'
import { MAX_BATCH_ANSWERS_BYTES } from './rpc-codes.ts'
import { type RpcItem, readRpcBody } from './rpc-read.ts'
import { runRpc } from './rpc-run.ts'

/** Answers every call with so many bytes. */
function nodeOf(bytes: number) {
  const node = { asked: 0 }
  const sendRaw = async () => {
    node.asked++
    return { ok: true, node: 'a', bytes: Buffer.alloc(bytes, '{'), attempts: 1, inDoubt: false }
  }
  return { node, chain: { upstreams: { sendRaw } } as unknown as ChainData }
}

const callsOf = (...methods: string[]) =>
  readRpcBody(
    Buffer.from(JSON.stringify(methods.map((method, id) => ({ jsonrpc: '2.0', id, method })))),
    (method, params) => validateParams(method, params, 'mainnet'),
  )

test('the answers of a batch are held up to a number of bytes; the rest is refused and not asked for', async () => {
  const { node, chain } = nodeOf(MAX_BATCH_ANSWERS_BYTES / 4)
  const { items } = await callsOf(...Array<string>(20).fill('getMempoolEntries'))
  const answers = await runRpc(items, chain, { heavySlots: 2, isAbandoned: undefined })
  const held = answers.reduce((sum, { result }) => sum + (result?.length ?? 0), 0)
  assert.equal(held, MAX_BATCH_ANSWERS_BYTES)
  assert.ok(node.asked <= 6, `${node.asked} calls`)
  const refused = answers.filter(({ unit }) => unit === undefined)
  assert.equal(refused.length, 16)
  for (const { text } of refused) assert.match(text ?? '', /"code":-32020.*"reason":"batch_too_large"/)
})

test('a batch whose answers are small is answered whole', async () => {
  const { chain } = nodeOf(10)
  const { items } = await callsOf('getSinkBlueScore', 'getMempoolEntries', 'getBlockDagInfo')
  const answers = await runRpc(items, chain, { heavySlots: 2, isAbandoned: undefined })
  assert.deepEqual(
    answers.map(({ unit }) => unit),
    ['light call', 'heavy call', 'light call'],
  )
})

test('a block that was sent to a node which did not answer is in doubt', async () => {
  const failure = { kind: 'timeout', detail: 'no answer' }
  const sendRaw = async () => ({ ok: false, failure, attempts: 1, inDoubt: true })
  const chain = { upstreams: { sendRaw } } as unknown as ChainData
  const method = { name: 'submitBlock', weight: 'heavy', write: true }
  const item = { call: { method }, idText: '1', params: null } as unknown as RpcItem
  const [answer] = await runRpc([item], chain, { heavySlots: 1, isAbandoned: undefined })
  assert.match(answer?.text ?? '', /"code":-32020.*"in_doubt":true/)
})
