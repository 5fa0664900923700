/** Answers and notifications have the members and JSON types of the recorded frames. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { plainClient } from '../../../test/fakes/plain-node-client.ts'
import { until } from '../../../test/until.ts'
import { startSandboxNode } from '../run.ts'
import { FloatLiteral, parseExact } from './json.ts'

const folder = join(
  process.env.TAPELINE_FIXTURES ?? join(import.meta.dirname, '../../../../shared/fixtures'),
  'kaspa/wrpc-frames',
)
const skip = existsSync(folder) ? false : 'fixtures are not here'

type Json = unknown

/**
 * Differences in members and types. A null on either side matches anything, and lists are compared by their first item.
 */
function differences(ours: Json, theirs: Json, path: string): string[] {
  if (ours === null || theirs === null || ours === undefined)
    return ours === undefined ? [`${path} is missing`] : []
  if (Array.isArray(ours) || Array.isArray(theirs)) {
    if (!Array.isArray(ours) || !Array.isArray(theirs)) return [`${path}: list against ${typeof theirs}`]
    const [a] = ours
    const [b] = theirs
    return a === undefined || b === undefined ? [] : differences(a, b, `${path}[]`)
  }
  const isNumber = (value: Json) =>
    typeof value === 'number' || typeof value === 'bigint' || value instanceof FloatLiteral
  if (isNumber(ours) || isNumber(theirs))
    return isNumber(ours) && isNumber(theirs) ? [] : [`${path}: number against not`]
  if (typeof ours !== 'object' || typeof theirs !== 'object') {
    return typeof ours === typeof theirs ? [] : [`${path}: ${typeof ours} against ${typeof theirs}`]
  }
  const left = ours as Record<string, Json>
  const right = theirs as Record<string, Json>
  const extra = Object.keys(left).filter((key) => !(key in right))
  return [
    ...extra.map((key) => `${path}.${key} is ours only`),
    ...Object.keys(right).flatMap((key) => differences(left[key], right[key], `${path}.${key}`)),
  ]
}

test('every recorded method is answered with the recorded members and types', { skip }, async (t) => {
  const node = await startSandboxNode({
    seed: 21,
    transactionsPerSecond: 40,
    dwellBlocks: 1000,
    warmUpBlocks: 120,
  })
  t.after(() => node.close())
  await until('a transaction in the mempool', () => node.status().mempool > 0)
  const client = await plainClient(node.url)
  t.after(() => client.close())
  const samples = parseExact(readFileSync(join(folder, 'samples.json'), 'utf8')) as Record<
    string,
    { params: Record<string, Json>; response: Json }
  >
  const chain = node.truth.chain()
  const pool = (await client.call('getMempoolEntries', {
    includeOrphanPool: true,
    filterTransactionPool: false,
  })) as {
    mempoolEntries: {
      transaction: { verboseData: { transactionId: string }; outputs: { verboseData: Json }[] }
    }[]
  }
  const waiting = pool.mempoolEntries[0]?.transaction
  const to = waiting?.outputs[0]?.verboseData as { scriptPublicKeyAddress: string }
  const known: Record<string, Json> = {
    hash: chain[50]?.hash,
    lowHash: chain[50]?.hash,
    startHash: chain[50]?.hash,
    address: node.wallets()[0]?.address,
    addresses: [to.scriptPublicKeyAddress],
    payAddress: node.wallets()[0]?.address,
    transactionId: waiting?.verboseData.transactionId,
  }
  /** The sample's request cannot produce their answers here, so they are checked elsewhere. */
  const elsewhere = new Set(['submitTransaction', 'submitTransactionReplacement'])
  const found: string[] = []
  let compared = 0
  for (const [method, { params, response }] of Object.entries(samples)) {
    if (elsewhere.has(method)) continue
    const adapted = Object.fromEntries(
      Object.entries(params).map(([key, value]) => [key, known[key] ?? value]),
    )
    const { startHash } = adapted
    if (method === 'estimateNetworkHashesPerSecond' && startHash !== undefined) adapted.startHash = null
    const answer = await client.ask(method, adapted)
    if (answer.error !== undefined) found.push(`${method}: ${answer.error.message}`)
    else found.push(...differences(answer.params, response, method))
    compared += 1
  }
  assert.deepEqual(found, [])
  assert.ok(compared >= 30, `${compared} methods compared`)
})

test('every recorded notification has the recorded members and types', { skip }, async (t) => {
  const node = await startSandboxNode({ seed: 22, transactionsPerSecond: 20 })
  t.after(() => node.close())
  const client = await plainClient(node.url)
  t.after(() => client.close())
  const lines = readFileSync(
    join(folder, 'all-notifications-validated-by-rust-types.frames.log'),
    'utf8',
  ).split('\n')
  const address = node.wallets().map((wallet) => wallet.address)
  const recorded = new Map<string, Json>()
  for (const line of lines) {
    const frame =
      line.startsWith('#') || line === '' ? undefined : (parseExact(line.slice(3)) as Record<string, Json>)
    if (frame?.method === 'subscribe' && line.startsWith('->')) {
      const params = frame.params as Record<string, Record<string, Json>>
      if (params.UtxosChanged !== undefined) params.UtxosChanged.addresses = address
      await client.call('subscribe', params)
    }
    if (frame !== undefined && frame.id === undefined) recorded.set(String(frame.method), frame.params)
  }
  node.publish('conflict', '11'.repeat(32))
  node.publish('conflict_resolved', '11'.repeat(32))
  node.publish('utxo_set_override', '')
  const ours = () => new Map(client.frames.map((text) => [String(Object(parseExact(text)).method), text]))
  await until('all nine notifications', () => [...recorded.keys()].every((method) => ours().has(method)))
  const found: string[] = []
  for (const [method, params] of recorded) {
    const frame = parseExact(ours().get(method) ?? '') as { params: Json }
    found.push(...differences(frame.params, params, method))
  }
  assert.deepEqual(found, [])
  assert.equal(recorded.size, 9)
})
