/** A service with simulated nodes, coins to submit and reads to repeat while nodes misbehave. */
import assert from 'node:assert/strict'
import type { RunningSandboxNode } from '../../sandbox/node/run.ts'
import { type ChainService, type ChainServiceOptions, exactText, startChainService } from './chain-service.ts'
import { ADDRESS, type Coin, funds, payment, type SignedPayment } from './real-client.ts'

export interface NodeTrial {
  readonly chain: ChainService
  readonly key: string
  node(index: number): RunningSandboxNode
  /** A signed payment that nobody has seen yet. */
  payment(): SignedPayment
  /** Light and heavy reads; all must succeed. */
  readsSucceed(rounds: number): Promise<void>
  /** A submission that must succeed, and that the network must have afterwards. */
  submitted(): Promise<void>
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

export async function startNodeTrial(options: ChainServiceOptions, healthy: number): Promise<NodeTrial> {
  const chain = await startChainService({
    ...options,
    chain: { transactionsPerSecond: 2, reorgsPerMinute: 0, fund: funds(8), ...options.chain },
  })
  const key = await chain.key()
  await chain.healthy(healthy)
  const { reply } = await chain.call(key, 'getUtxosByAddresses', { addresses: [ADDRESS] })
  const coins = (reply.result as unknown as { entries: Coin[] }).entries
  const node = (index: number) => {
    const found = chain.nodes[index]
    assert.ok(found)
    return found
  }
  const fresh = () => {
    const coin = coins.pop()
    assert.ok(coin)
    return payment(coin)
  }
  return {
    chain,
    key,
    node,
    payment: fresh,
    async readsSucceed(rounds) {
      for (let round = 0; round < rounds; round++) {
        const answers = await Promise.all([
          chain.call(key, 'getSink'),
          chain.call(key, 'getSinkBlueScore'),
          chain.call(key, 'getMempoolEntries'),
        ])
        for (const { answer, reply: read } of answers) assert.ok(read.result, answer.text)
      }
    },
    async submitted() {
      const { id, json } = fresh()
      const answer = await chain.submit(key, exactText({ transaction: json }))
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.json.tx_id, id)
      const endsAt = performance.now() + 60_000
      while (node(1).truth.transaction(id) === undefined) {
        assert.ok(performance.now() < endsAt, 'the network does not have it')
        await pause(50)
      }
    },
  }
}
