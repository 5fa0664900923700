import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  return { asked, queries: createChainQueries(upstreams, new AbortController().signal) }
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
