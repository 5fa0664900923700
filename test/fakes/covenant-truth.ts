/** The covenants of the simulated chain by a walk over its own ledger, compared with those of an index. */
import assert from 'node:assert/strict'
import type { RunningSandboxChain } from '../../sandbox/node/run.ts'
import type { ChainStores } from '../../src/store/chain.ts'

interface TrueCovenant {
  readonly steps: { readonly txId: string; readonly kind: string }[]
  readonly unspent: Set<string>
}

/** What blocks above a blue score accepted, in the order of the chain. */
export function covenantsAbove(chain: RunningSandboxChain, blueScore: number): Map<string, TrueCovenant> {
  const { ledger } = chain.chain
  const found = new Map<string, TrueCovenant>()
  const of = (id: string) => {
    const known = found.get(id) ?? { steps: [], unspent: new Set<string>() }
    found.set(id, known)
    return known
  }
  for (const hash of ledger.chain) {
    const record = ledger.record(hash)
    const isFollowed = Number(record?.block.header.blueScore ?? 0) > blueScore
    if (!isFollowed) continue
    for (const { tx, spent } of record?.acceptance?.transactions ?? []) {
      const created = tx.outputs.flatMap(({ covenant }, index) =>
        covenant === null ? [] : [{ id: covenant.covenantId, key: `${tx.id}:${index}` }],
      )
      const inputs = spent.flatMap(({ covenantId }, index) => {
        const point = tx.inputs[index]?.previousOutpoint
        return covenantId === null ? [] : [{ id: covenantId, key: `${point?.transactionId}:${point?.index}` }]
      })
      for (const id of new Set([...created, ...inputs].map((one) => one.id))) {
        const outputs = created.filter((one) => one.id === id)
        const isSpent = inputs.some((one) => one.id === id)
        const kind = outputs.length === 0 ? 'burn' : isSpent ? 'continuation' : 'genesis'
        const { steps, unspent } = of(id)
        steps.push({ txId: tx.id, kind })
        for (const { key } of inputs) unspent.delete(key)
        for (const { key } of outputs) unspent.add(key)
      }
    }
  }
  return found
}

/** Returns how many were compared. */
export async function assertCovenants(
  { chain: index }: ChainStores,
  chain: RunningSandboxChain,
  startBlueScore: number,
): Promise<number> {
  const truth = covenantsAbove(chain, startBlueScore)
  for (const [covenantId, { steps, unspent }] of truth) {
    const lineage = (await index.covenantSteps({ covenantId, limit: 1_000 })).steps.map(({ txId, text }) => ({
      txId,
      kind: (JSON.parse(text) as { kind: string }).kind,
    }))
    assert.deepEqual(lineage.reverse(), steps, `lineage of ${covenantId}`)
    const { utxos } = await index.covenantUtxos({ covenantId, limit: 1_000 })
    assert.deepEqual(
      utxos.map(({ txId, index: place }) => `${txId}:${place}`),
      [...unspent].sort(),
      `unspent outputs of ${covenantId}`,
    )
    for (const utxo of utxos) {
      if (utxo.address === null) continue
      const held = (await index.addressCovenants({ address: utxo.address, limit: 1_000 })).utxos
      assert.ok(held.some(({ txId, index: place }) => txId === utxo.txId && place === utxo.index))
    }
  }
  return truth.size
}
