import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTurns } from '../../test/fakes/count-turns.ts'
import { systemClock } from '../kit/clock.ts'
import { parseExact } from '../kit/exact-json.ts'
import type { Upstreams } from '../upstreams/pool.ts'
import { chainByBlock } from './chain-by-block.ts'
import { createChainQueries } from './chain-queries.ts'

/** A node with these headers, by hash. The parent of each block is the next lower number. */
function nodeWith(headerOf: (place: number) => unknown) {
  const asked: string[] = []
  const upstreams = {
    async call(_method: string, { hash }: { hash: string }) {
      asked.push(hash)
      const block = {
        header: headerOf(Number(hash)),
        verboseData: { selectedParentHash: String(Number(hash) - 1) },
      }
      return { ok: true, value: { block }, node: 'a' }
    },
    callRaw: async () => ({ ok: true, bytes: Buffer.from('{}'), node: 'a' }),
  } as unknown as Upstreams
  return { asked, queries: createChainQueries(upstreams, systemClock, new AbortController().signal) }
}

const header = (blueScore: unknown) => ({ blueScore, daaScore: 7, timestamp: 1_000 })

test('the chain is walked down by its scores', async () => {
  const { queries, asked } = nodeWith((place) => header(place))
  assert.equal((await queries.acceptedFromBelow('100', 10, undefined)).kind, 'bytes')
  assert.equal(asked.at(-1), '90')
})

test('a node whose scores stand still, or are none, is asked no further', { timeout: 60_000 }, async () => {
  const odd = [5, Number.NaN, undefined, null, -1, 1.5, 2 ** 60, '', 'x', {}, [3]]
  for (const score of odd) {
    const { queries, asked } = nodeWith(() => header(score))
    const answer = await queries.acceptedFromBelow('100', 10, undefined)
    assert.equal(answer.kind, 'unavailable', String(score))
    assert.ok(asked.length <= 2, `${asked.length} questions`)
  }
  const { queries } = nodeWith(() => undefined)
  assert.equal(await queries.block('1', undefined), undefined)
})

test('a chain that cannot be given whole is taken up to where it can, as bytes that are not parsed', async () => {
  const added = ['b1', 'b2', 'b3', 'b4']
  // The part after the hashes is not even valid JSON, because only the code that applies it reads it.
  const part = Buffer.from('{"removedChainBlockHashes":[],"addedChainBlockHashes":["b1"],"chainBlock…')
  const asked: unknown[] = []
  const ask = (whole: Buffer) => async (method: string, params: object) => {
    if (method === 'getVirtualChainFromBlockV2') {
      asked.push((params as { minConfirmationCount: number }).minConfirmationCount)
      return { kind: 'answer', bytes: whole } as const
    }
    const hash = (params as { hash?: string }).hash ?? ''
    const verboseData = { mergeSetBluesHashes: [], mergeSetRedsHashes: [] }
    const header = { blueScore: 10 + added.indexOf(hash), parentsByLevel: [['b0']] }
    const answers: Record<string, unknown> = {
      getVirtualChainFromBlock: {
        removedChainBlockHashes: [],
        addedChainBlockHashes: added,
        acceptedTransactionIds: [],
      },
      getBlock: { block: { header, transactions: [], verboseData } },
      getSinkBlueScore: { blueScore: 20 },
    }
    return { kind: 'answer', bytes: Buffer.from(JSON.stringify(answers[method])) } as const
  }
  assert.equal(await chainByBlock(ask(part), 'b0'), part)
  assert.deepEqual(asked, [8])
  // If nothing is that deep, the first block is returned alone.
  const none = Buffer.from(
    '{"removedChainBlockHashes":[],"addedChainBlockHashes":[],"chainBlockAcceptedTransactions":[]}',
  )
  const alone = JSON.parse(Buffer.from((await chainByBlock(ask(none), 'b0')) ?? []).toString())
  assert.deepEqual(alone.addedChainBlockHashes, ['b1'])
})

/** A chain of one block, which merges the given blocks and accepts the given transactions. */
function mergingChain(merged: Record<string, string>, accepted: readonly string[]) {
  const verboseData = { mergeSetBluesHashes: Object.keys(merged), mergeSetRedsHashes: [] }
  const own = JSON.stringify({
    block: { header: { blueScore: 10, parentsByLevel: [['b0']] }, transactions: [], verboseData },
  })
  const chain = JSON.stringify({
    removedChainBlockHashes: ['r1'],
    addedChainBlockHashes: ['b1'],
    acceptedTransactionIds: [{ acceptingBlockHash: 'b1', acceptedTransactionIds: accepted }],
  })
  return async (method: string, params: object) => {
    const { hash = '' } = params as { hash?: string }
    const text = method === 'getVirtualChainFromBlock' ? chain : (merged[hash] ?? own)
    return { kind: 'answer', bytes: Buffer.from(text) } as const
  }
}

const carriedBlock = (transactions: readonly string[]) =>
  `{"block":{"transactions":[${transactions.join(',')}]}}`
const carriedTransaction = (id: string, gas: string) =>
  `{"gas":${gas},"verboseData":{"transactionId":"${id}"}}`

test('a block is put together from the blocks that it merges: the first copy of what it accepted, exactly', async () => {
  const merged = {
    m1: carriedBlock([carriedTransaction('t2', '18446744073709551615'), carriedTransaction('t9', '9')]),
    m2: carriedBlock([carriedTransaction('t2', '1'), carriedTransaction('t1', '2')]),
  }
  const bytes = await chainByBlock(mergingChain(merged, ['t1', 't2']), 'b0')
  const read = parseExact(Buffer.from(bytes ?? []).toString())
  const transaction = (id: string, gas: number | bigint) => ({ gas, verboseData: { transactionId: id } })
  assert.deepEqual(read.ok && read.value, {
    removedChainBlockHashes: ['r1'],
    addedChainBlockHashes: ['b1'],
    chainBlockAcceptedTransactions: [
      {
        chainBlockHeader: { blueScore: 10, parentsByLevel: [[1, ['b0']]] },
        acceptedTransactions: [transaction('t1', 2), transaction('t2', 18446744073709551615n)],
      },
    ],
  })
  assert.equal(await chainByBlock(mergingChain(merged, ['t1', 't3']), 'b0'), undefined)
})

test('putting together a block with very many transactions takes many turns of the loop', async () => {
  const ids = Array.from({ length: 60_000 }, (_, n) => `t${n}`)
  const merged = { m1: carriedBlock(ids.map((id) => carriedTransaction(id, '1'))) }
  const { turns, result } = await countTurns(() => chainByBlock(mergingChain(merged, ids), 'b0'))
  assert.ok(result !== undefined)
  assert.ok(turns > 3, `${turns} turns of the loop`)
})

test('a merged block that is larger than a block can be is not read', async () => {
  const block = (notes: string) => ({
    m1: `{"block":{"notes":${notes},"transactions":[${carriedTransaction('t1', '1')}]}}`,
  })
  const read = (notes: string) => chainByBlock(mergingChain(block(notes), ['t1']), 'b0')
  assert.ok((await read('[0]')) !== undefined)
  assert.equal(await read(`"${'x'.repeat(16 * 1024 * 1024)}"`), undefined)
  assert.equal(await read(`[0${',0'.repeat(1_000_000)}]`), undefined)
})
