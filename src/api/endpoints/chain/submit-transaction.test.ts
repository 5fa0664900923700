/** What happens to a submission when answers are lost: scripted nodes on real sockets. */
import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { countTurns } from '../../../../test/fakes/count-turns.ts'
import { poolOver } from '../../../../test/fakes/pool.ts'
import { storesIn } from '../../../../test/fakes/stores.ts'
import { type FakeNode, startFakeNode } from '../../../../test/fakes/wrpc-node.ts'
import { promisedMs } from '../../../../test/promised-ms.ts'
import { until } from '../../../../test/until.ts'
import { readTransaction } from '../../../core/chain/transaction-json.ts'
import { StoreUnavailableError } from '../../../core/store-unavailable.ts'
import { systemClock } from '../../../kit/clock.ts'
import { transactionId } from '../../../parser/transaction-id.ts'
import { writeNext } from '../../../store/conformance/chain-engine.ts'
import type { CallOutcome } from '../../../upstreams/call-outcome.ts'
import type { Upstreams } from '../../../upstreams/pool.ts'
import type { ValidCall } from '../../../upstreams/validate-params.ts'
import { createSubmitter } from './submit-transaction.ts'

const OTHER = 'ab'.repeat(32)
const TX = {
  version: 0,
  inputs: [
    { previousOutpoint: { transactionId: OTHER, index: 0 }, signatureScript: '', sequence: 0, sigOpCount: 1 },
  ],
  outputs: [{ value: 1, scriptPublicKey: `000020${'7b'.repeat(32)}ac` }],
  lockTime: 0,
  subnetworkId: '00'.repeat(20),
  gas: 0,
  payload: '',
  mass: 0,
}
const read = readTransaction(TX)
assert.ok(read.ok)
const { transaction } = read
const ID = transactionId(transaction)

const ENTRY = JSON.stringify({ mempoolEntry: { fee: 5, is_orphan: false, transaction: TX } })
const NOT_FOUND = { error: `Transaction ${ID} not found` }
const ACCEPTED = {
  error: `Rejected transaction ${ID}: transaction ${ID} was already accepted by the consensus`,
}
const POOLED = { error: `Rejected transaction ${ID}: transaction ${ID} is already in the mempool` }
const NO_CONFLICT = {
  error: `Rejected transaction ${ID}: replace by fee found no double spending transaction in the mempool`,
}
const ORPHAN = {
  error: `Rejected transaction ${ID}: transaction ${ID} is an orphan where orphan is disallowed`,
}

const FULL = {
  error: `Rejected transaction ${ID}: transaction could not be added to the mempool because it's full with transactions`,
}
const SYNCING = { error: 'consensus is currently in a transitional ibd state' }

async function over(t: TestContext, count: number) {
  const nodes: FakeNode[] = []
  for (let i = 0; i < count; i++) nodes.push(await startFakeNode())
  const { chain, close } = storesIn(':memory:').chain('test')
  t.after(close)
  const process = async () => {
    const { pool } = poolOver(t, nodes)
    await until('all healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
    const submitter = createSubmitter({ upstreams: pool, index: chain, clock: systemClock })
    return { pool, submitter }
  }
  const { pool, submitter } = await process()
  const call = (method: string) => {
    const prepared = pool.prepare(method, { transaction: TX })
    assert.ok(prepared.ok)
    return prepared.call
  }
  return { nodes, submitter, call, chain, process }
}

/** The first node accepts it and never answers; the others answer as scripted. */
function firstTakesSilently(nodes: readonly FakeNode[], method: string, others: { error: string }): void {
  let taken = false
  for (const node of nodes) {
    node.respond.set(method, () => {
      if (taken) return others
      taken = true
      return undefined
    })
  }
}

// Each test waits for real deadlines on its own nodes, so they run concurrently.
suite('submissions', { concurrency: true }, () => {
  test('already known is success, and the refusal is available', async (t) => {
    const { nodes, submitter, call } = await over(t, 1)
    for (const [refusal, place] of [
      [POOLED, 'mempool'],
      [ACCEPTED, 'accepted'],
    ] as const) {
      nodes[0]?.respond.set('submitTransaction', () => refusal)
      const sent = await submitter.send(call('submitTransaction'), transaction)
      assert.ok(sent.ok && sent.known === place && sent.refusal?.kind === 'refused' && sent.txId === ID)
    }
  })

  test('all of every process go to the first node, however slow, until it fails', async (t) => {
    const { nodes, submitter, call, process } = await over(t, 2)
    const submitters = [submitter, (await process()).submitter]
    const [first, second] = nodes
    assert.ok(first && second)
    const taken: string[] = []
    for (const node of nodes)
      node.respond.set('submitTransaction', () => {
        taken.push(node.url)
        return `{"transactionId":"${ID}"}`
      })
    const send = async () => {
      for (const one of submitters) await one.send(call('submitTransaction'), transaction)
    }
    // Other calls would go to the faster node.
    first.delayMs = 50
    for (let i = 0; i < 3; i++) await send()
    assert.deepEqual(new Set(taken), new Set([first.url]))
    await first.die()
    taken.length = 0
    await send()
    assert.deepEqual(taken, [second.url, second.url])
  })

  test('a lost answer is not a failure: the next node reports that it has the transaction', async (t) => {
    const { nodes, submitter, call } = await over(t, 2)
    firstTakesSilently(nodes, 'submitTransaction', POOLED)
    const sent = await submitter.send(call('submitTransaction'), transaction)
    assert.ok(sent.ok && sent.refusal === undefined, JSON.stringify(sent))
    assert.equal(sent.attempts, 2)
  })

  for (const [where, found] of [
    ['in the mempool', 'getMempoolEntry'],
    ['among the unspent outputs', 'getUtxosByAddresses'],
  ] as const) {
    test(`a replacement that got lost is looked for before it is called refused: found ${where}`, async (t) => {
      const { nodes, submitter, call } = await over(t, 2)
      firstTakesSilently(nodes, 'submitTransactionReplacement', NO_CONFLICT)
      for (const node of nodes) {
        node.respond.set('getMempoolEntry', () => NOT_FOUND)
        node.respond.set('getUtxosByAddresses', () => '{"entries":[]}')
        const unspent = `{"entries":[{"outpoint":{"transactionId":"${ID}","index":0}}]}`
        node.respond.set(found, () => (found === 'getMempoolEntry' ? ENTRY : unspent))
      }
      const sent = await submitter.send(call('submitTransactionReplacement'), transaction)
      const place = found === 'getMempoolEntry' ? 'mempool' : 'accepted'
      assert.ok(sent.ok && sent.known === place, JSON.stringify(sent))
    })
  }

  test('refused is refused when the network shows no trace of it', async (t) => {
    const { nodes, submitter, call } = await over(t, 2)
    firstTakesSilently(nodes, 'submitTransaction', ORPHAN)
    for (const node of nodes) {
      node.respond.set('getMempoolEntry', () => NOT_FOUND)
      node.respond.set('getUtxosByAddresses', () => '{"entries":[]}')
    }
    const sent = await submitter.send(call('submitTransaction'), transaction)
    assert.ok(!sent.ok && !sent.inDoubt && sent.failure.kind === 'refused', JSON.stringify(sent))
  })

  const EMPTY = '{"entries":[]}'
  for (const [what, refusal, look, outputs] of [
    ['the look for it is not answered', ORPHAN, undefined, undefined],
    ['the look at its outputs is not answered', ORPHAN, NOT_FOUND, SYNCING],
    ['the refusal is about the mempool of the node', FULL, NOT_FOUND, EMPTY],
    ['the refusal is about the sync of the node', SYNCING, NOT_FOUND, EMPTY],
  ] as const) {
    test(`refused by another node, it stays in doubt while ${what}`, async (t) => {
      const { nodes, submitter, call } = await over(t, 2)
      firstTakesSilently(nodes, 'submitTransaction', refusal)
      for (const node of nodes) {
        node.respond.set('getMempoolEntry', () => look)
        node.respond.set('getUtxosByAddresses', () => outputs)
      }
      const sent = await submitter.send(call('submitTransaction'), transaction)
      assert.ok(!sent.ok && sent.inDoubt && sent.failure.kind === 'refused', JSON.stringify(sent))
    })
  }

  test('an orphan or a double spend that our own index has as confirmed is known', async (t) => {
    const { nodes, submitter, call, chain } = await over(t, 1)
    const [node] = nodes
    assert.ok(node)
    node.respond.set('getMempoolEntry', () => NOT_FOUND)
    node.respond.set('getUtxosByAddresses', () => '{"entries":[]}')
    const spent = `output (${OTHER}, 0) already spent by transaction ${OTHER} in the mempool`
    const refusals = [ORPHAN, { error: `Rejected transaction ${ID}: ${spent}` }]
    const sendEach = async () => {
      const sent = []
      for (const refusal of refusals) {
        node.respond.set('submitTransaction', () => refusal)
        sent.push((await submitter.send(call('submitTransaction'), transaction)).ok)
      }
      return sent
    }
    assert.deepEqual(await sendEach(), [false, false])
    const block = { hash: OTHER, blueScore: 1, daaScore: 1, timeMs: 1 }
    const accepted = { txId: ID, parsed: '{}', fee: null, effects: [], blockHash: OTHER, blockTimeMs: 1 }
    await writeNext(chain, { atMs: 1, start: { ...block, hash: '00'.repeat(32), blueScore: 0 } })
    await writeNext(chain, { atMs: 1, added: [{ ...block, transactions: [accepted] }] })
    assert.deepEqual(await sendEach(), [true, true])
  })

  test('sent and never answered: retried until the deadline, then reported as in doubt, with its id', async (t) => {
    const { nodes, submitter, call } = await over(t, 1)
    const [node] = nodes
    node?.respond.set('submitTransaction', () => undefined)
    const startedMs = performance.now()
    const sent = await submitter.send(call('submitTransaction'), transaction)
    assert.ok(performance.now() - startedMs < promisedMs(14_000))
    assert.ok(!sent.ok && sent.inDoubt && sent.txId === ID, JSON.stringify(sent))
  })

  test('the wait ends with the mempool, acceptance, a refusal or its timeout', async (t) => {
    const { nodes, submitter } = await over(t, 1)
    const [node] = nodes
    assert.ok(node)
    node.respond.set('getMempoolEntry', () => ENTRY)
    assert.equal(await submitter.waitUntilSeen(transaction, 30_000), true)
    node.respond.set('getMempoolEntry', () => NOT_FOUND)
    node.respond.set('submitTransaction', () => ACCEPTED)
    assert.equal(await submitter.waitUntilSeen(transaction, 30_000), true, 'accepted before it was seen')
    node.respond.set('submitTransaction', () => ORPHAN)
    assert.equal(await submitter.waitUntilSeen(transaction, 30_000), false)
    node.respond.set('getMempoolEntry', () => undefined)
    node.respond.set('submitTransaction', () => undefined)
    const startedMs = performance.now()
    assert.equal(await submitter.waitUntilSeen(transaction, 700), false)
    const tookMs = performance.now() - startedMs
    assert.ok(tookMs > 600 && tookMs < 10_000, `${tookMs} ms`)
  })
})

test('an answer without the id of the transaction is no success: it is searched for, and then in doubt', async (t) => {
  const { nodes, submitter, call } = await over(t, 1)
  const [node] = nodes
  assert.ok(node)
  node.respond.set('submitTransaction', () => `{"transactionId":"${OTHER}"}`)
  node.respond.set('getMempoolEntry', () => ENTRY)
  const found = await submitter.send(call('submitTransaction'), transaction)
  assert.ok(found.ok && found.known === 'mempool' && found.bytes.includes(ID), JSON.stringify(found))
  node.respond.set('submitTransaction', () => '{}')
  node.respond.set('getMempoolEntry', () => '{"mempoolEntry":{}}')
  const lost = await submitter.send(call('submitTransaction'), transaction)
  assert.ok(!lost.ok && lost.inDoubt && lost.failure.kind === 'malformed_answer', JSON.stringify(lost))
  assert.equal(await submitter.waitUntilSeen(transaction, 700), false)
})

test('a refusal that concerns only the node does not end the wait', async (t) => {
  const { nodes, submitter } = await over(t, 1)
  const [node] = nodes
  assert.ok(node)
  for (const refusal of [SYNCING, FULL, { error: 'Something new' }]) {
    let looks = 0
    node.respond.set('submitTransaction', () => refusal)
    node.respond.set('getMempoolEntry', () => (++looks > 5 ? ENTRY : NOT_FOUND))
    assert.equal(await submitter.waitUntilSeen(transaction, 30_000), true, refusal.error)
  }
})

test('a first try that got no answer leaves it in doubt, whatever a later one is told about the node', async () => {
  const refusal = { reason: 'mempool_full', text: 'full', elsewhere: true } as const
  const outcomes: CallOutcome[] = [
    { ok: false, failure: { kind: 'unavailable', detail: 'cut off' }, attempts: 1, inDoubt: true },
    { ok: false, failure: { kind: 'refused', refusal, node: 'a' }, attempts: 1, inDoubt: false },
  ]
  const absent = { reason: 'transaction_not_found', text: 'not found', elsewhere: true } as const
  const upstreams = {
    network: 'testnet-10',
    sendRaw: async () => outcomes.shift(),
    callRaw: async (method: string) =>
      method === 'getMempoolEntry'
        ? { ok: false, failure: { kind: 'refused', refusal: absent, node: 'a' } }
        : { ok: true, node: 'a', bytes: Buffer.from('{"entries":[]}') },
  } as unknown as Upstreams
  const index = { transaction: async () => undefined }
  const clock = { ...systemClock, sleep: async () => {} }
  const submitter = createSubmitter({ upstreams, index, clock })
  const sent = await submitter.send({} as ValidCall, transaction)
  assert.ok(!sent.ok && sent.inDoubt && sent.failure.kind === 'refused', JSON.stringify(sent))
})

test('while the store is away, a submission ends as the nodes have it, or in doubt', async () => {
  const orphan = { reason: 'orphan', text: 'an orphan', elsewhere: false } as const
  const absent = { reason: 'transaction_not_found', text: 'not found', elsewhere: true } as const
  const refused = {
    ok: false,
    failure: { kind: 'refused', refusal: orphan, node: 'a' },
    attempts: 1,
  } as const
  const cutOff = { ok: false, failure: { kind: 'unavailable', detail: 'cut off' }, attempts: 1 } as const
  const outcomes: CallOutcome[] = []
  let entries = '[]'
  const upstreams = {
    network: 'testnet-10',
    prepare: () => ({ ok: true, call: {} }),
    sendRaw: async () => outcomes.shift(),
    callRaw: async (method: string) =>
      method === 'getMempoolEntry'
        ? { ok: false, failure: { kind: 'refused', refusal: absent, node: 'a' } }
        : { ok: true, node: 'a', bytes: Buffer.from(`{"entries":${entries}}`) },
  } as unknown as Upstreams
  const index = {
    transaction: async () => {
      throw new StoreUnavailableError('The database is starting.')
    },
  }
  const clock = { ...systemClock, sleep: async () => {} }
  const submitter = createSubmitter({ upstreams, index, clock })

  outcomes.push({ ...cutOff, inDoubt: true }, { ...refused, inDoubt: false })
  const doubtful = await submitter.send({} as ValidCall, transaction)
  assert.ok(!doubtful.ok && doubtful.inDoubt && doubtful.txId === ID, JSON.stringify(doubtful))

  entries = `[{"outpoint":{"transactionId":"${ID}","index":0}}]`
  outcomes.push({ ...cutOff, inDoubt: true }, { ...refused, inDoubt: false })
  const found = await submitter.send({} as ValidCall, transaction)
  assert.ok(found.ok && found.known === 'accepted', JSON.stringify(found))

  outcomes.push({ ...refused, inDoubt: false })
  assert.equal(await submitter.waitUntilSeen(transaction, 30_000), true)
})

test('answers of a node are read within limits and in turns of the loop', async () => {
  const answers: Record<string, Buffer> = {}
  const upstreams = {
    network: 'testnet-10',
    sendRaw: async () => ({ ok: true, bytes: answers.sent, node: 'a', attempts: 1, inDoubt: false }),
    callRaw: async (method: string) => ({ ok: true, bytes: answers[method], node: 'a' }),
  } as unknown as Upstreams
  const index = { transaction: async () => undefined }
  // A pause takes longer than a submission may.
  let pausedMs = 0
  const clock = {
    ...systemClock,
    elapsed: () => pausedMs,
    sleep: async () => {
      pausedMs += 60_000
    },
  }
  const submitter = createSubmitter({ upstreams, index, clock })
  const send = () => submitter.send({} as ValidCall, transaction)
  const inDoubt = async () => {
    const sent = await send()
    return !sent.ok && sent.inDoubt
  }
  const padded = (head: string, notes: string) => Buffer.from(`{${head},"notes":[${notes}]}`)
  const [long, many] = [`"${'x'.repeat(2 * 1024 * 1024)}"`, `0${',0'.repeat(100_000)}`]
  const none = Buffer.from('{}')

  for (const notes of [long, many]) {
    Object.assign(answers, { sent: padded(`"transactionId":"${ID}"`, notes), getMempoolEntry: none })
    answers.getUtxosByAddresses = none
    assert.ok(await inDoubt(), 'the answer to the submission')
    Object.assign(answers, { sent: none, getMempoolEntry: padded(ENTRY.slice(1, -1), notes) })
    assert.ok(await inDoubt(), 'the entry of the mempool')
  }

  // The outputs of a busy address are searched to their end, but not in one turn.
  const output = `{"outpoint":{"transactionId":"${OTHER}","index":0}},`
  const last = `{"outpoint":{"transactionId":"${ID}","index":0}}`
  Object.assign(answers, { sent: none, getMempoolEntry: none })
  const search = async (count: number) => {
    answers.getUtxosByAddresses = Buffer.from(`{"entries":[${output.repeat(count)}${last}]}`)
    const { turns, result } = await countTurns(send)
    assert.ok(result.ok && result.known === 'accepted', JSON.stringify(result))
    return turns
  }
  const [few, thousands] = [await search(1), await search(400_000)]
  assert.ok(thousands > few + 5, `${thousands} turns of the loop, and ${few} for few outputs`)
})
