/**
 * `native_asset`: the chain has no asset field of its own. What counts is a token covenant: an input and an
 * output of one covenant, the input running a program with a KCC-20 state block. The new states are hidden
 * in the outputs' script hashes, so amounts are known on the input side only, and the tag stays a hint.
 */
import type { SpentOutput, Transaction } from '../core/chain/transaction.ts'
import type { Confidence } from './confidence.ts'
import { type Kcc20State, readKcc20State } from './kcc20-state.ts'
import type { Reveal } from './reveal.ts'
import type { CovenantExecutionDetail } from './tag-covenant.ts'

interface NativeAssetInput {
  readonly input: number
  readonly owner: string
  readonly owner_type: Kcc20State['owner_type']
  /** In the smallest unit of the token. */
  readonly amount: bigint
  readonly is_minter: boolean
}

interface NativeAssetMove {
  /** The covenant id. */
  readonly asset_id: string
  readonly inputs: NativeAssetInput[]
  /** The outputs that carry the asset on. */
  readonly outputs: number[]
}

export interface NativeAssetDetail {
  readonly confidence: Confidence
  readonly assets: NativeAssetMove[]
}

export function nativeAssetDetail(
  transaction: Transaction,
  spent: readonly (SpentOutput | null)[],
  reveals: readonly Reveal[],
  execution: CovenantExecutionDetail | null,
): NativeAssetDetail | null {
  const assets = new Map<string, NativeAssetMove>()
  const continuations = (execution?.actions ?? []).filter((action) => action.kind === 'continuation')
  for (const id of new Set(continuations.map((action) => action.covenant_id))) {
    const own = continuations.filter((action) => action.covenant_id === id)
    const members = new Set(own.flatMap((action) => action.inputs))
    for (const [index, output] of spent.entries()) if (output?.covenantId === id) members.add(index)
    const inputs = reveals
      .filter(({ input }) => members.has(input))
      .flatMap((reveal) => assetInput(reveal) ?? [])
    if (inputs.length === 0) continue
    const outputs = transaction.outputs.flatMap((output, index) =>
      output.covenant?.covenantId === id ? [index] : [],
    )
    assets.set(id, { asset_id: id, inputs, outputs })
  }
  return assets.size === 0 ? null : { confidence: 'hint', assets: [...assets.values()] }
}

function assetInput(reveal: Reveal): NativeAssetInput | null {
  const state = readKcc20State(reveal.script)
  if (state === null) return null
  const { owner, owner_type, amount, is_minter } = state
  return { input: reveal.input, owner, owner_type, amount, is_minter }
}
