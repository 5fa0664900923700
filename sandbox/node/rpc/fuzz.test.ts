/** Whatever a client sends, the simulator answers like a node and never fails by itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PlainClient, plainClient, stringify } from '../../../test/fakes/plain-node-client.ts'
import { drawnSeed } from '../../../test/seeded-random.ts'
import { createRandom } from '../random.ts'
import { startSandboxNode } from '../run.ts'
import { METHODS } from './dispatch.ts'

const SIZE = process.env.TAPELINE_SOAK ? 100_000 : 400
const SEED = drawnSeed()

test(`random and half-right requests (seed ${SEED}) get an answer or a dropped connection, never a failure of the simulator`, async (t) => {
  const node = await startSandboxNode({ seed: 71, transactionsPerSecond: 10, warmUpBlocks: 80 })
  t.after(() => node.close())
  const random = createRandom(SEED)
  const hash = node.truth.sink()
  const address = node.wallets()[2]?.address ?? ''
  const names = [
    ...'hash lowHash startHash includeTransactions includeBlocks address addresses transactionId includeOrphanPool filterTransactionPool'.split(
      ' ',
    ),
    ...'transaction allowOrphan block payAddress extraData daaScores windowSize verbose txid acceptingBlockDaaScore blockHash laneKey'.split(
      ' ',
    ),
    ...'dataVerbosityLevel minConfirmationCount includeAcceptedTransactionIds UtxosChanged BlockAdded VirtualChainChanged'.split(
      ' ',
    ),
    ...'version inputs outputs lockTime subnetworkId gas payload mass storageMass previousOutpoint signatureScript sequence sigOpCount value scriptPublicKey covenant header transactions'.split(
      ' ',
    ),
  ]
  const value = (depth: number): unknown => {
    const roll = random.below(depth > 3 ? 13 : 16)
    const leaves = [
      true,
      false,
      null,
      0,
      1,
      -1,
      1.5,
      0xffffffffffffffffn,
      hash,
      address,
      '',
      'zz',
      '00'.repeat(20),
    ]
    if (roll < 13) return leaves[roll]
    if (roll === 13) return Array.from({ length: random.below(4) }, () => value(depth + 1))
    return Object.fromEntries(
      Array.from({ length: 1 + random.below(8) }, () => [random.pick(names), value(depth + 1)]),
    )
  }
  const likely = (): Record<string, unknown> => ({
    hash,
    lowHash: hash,
    startHash: hash,
    blockHash: hash,
    laneKey: hash,
    address,
    addresses: [address],
    payAddress: address,
    extraData: [],
    daaScores: [1],
    windowSize: 10,
    transactionId: hash,
    txid: hash,
    acceptingBlockDaaScore: 1,
    includeTransactions: random.chance(0.1),
    includeBlocks: true,
    includeOrphanPool: true,
    filterTransactionPool: false,
    includeAcceptedTransactionIds: true,
    allowOrphan: true,
    verbose: true,
    [random.pick(names)]: value(0),
  })
  const methods = [...Object.keys(METHODS), 'subscribe', 'unsubscribe', 'notifyBlockAdded', 'nothing']
  let client: PlainClient | undefined
  const failures: string[] = []
  let answered = 0
  for (let i = 0; i < SIZE; i++) {
    if (client === undefined || client.socket.readyState !== client.socket.OPEN)
      client = await plainClient(node.url)
    const params = random.chance(0.5) ? likely() : value(0)
    const id = random.chance(0.05) ? value(3) : i
    const before: number = client.frames.length
    client.send(stringify({ id, method: random.pick(methods), params }))
    client.send(`{"id":18446744073709551615,"method":"ping","params":{}}`)
    await settled(client, before)
    failures.push(...client.frames.filter((frame) => frame.includes('sandbox node failed')))
    answered += client.frames.length - before
    client.frames.length = 0
  }
  client?.close()
  assert.deepEqual(failures.slice(0, 3), [])
  assert.ok(answered > SIZE)
})

/** Waits until the ping after the request was answered or the connection is gone. */
async function settled(client: PlainClient, before: number): Promise<void> {
  const isDone = () =>
    client.frames
      .slice(before)
      .some((frame) => frame.startsWith('{"id":18446744073709551615,"method":"ping"'))
  while (!isDone() && client.socket.readyState === client.socket.OPEN) {
    await new Promise<void>((resolve) => {
      const done = () => {
        client.socket.off('message', done)
        client.socket.off('close', done)
        resolve()
      }
      client.socket.on('message', done)
      client.socket.on('close', done)
    })
  }
}
