/**
 * `native_asset`: the chain itself has no asset field, so the tag stands for a token covenant: an input and an output
 * of one covenant, where the input runs a program with a token's state block. The new states are hidden in the outputs'
 * script hashes, so amounts are known for the inputs and for those outputs whose state can be proven from the
 * arguments. Whether the program keeps the sum is not checked, so the tag is only a hint.
 */
import type { SpentOutput, Transaction } from '../core/chain/transaction.ts'
import type { Confidence } from './confidence.ts'
import type { SignaturePath } from './path/signature-path.ts'
import { candidateBudget, type ProvenState, proveTokenStates } from './prove-token-states.ts'
import type { Reveal } from './reveal.ts'
import { programHashOf } from './script-class.ts'
import type { CovenantExecutionDetail } from './tag-covenant.ts'
import { readTokenState, type TokenState } from './token-state.ts'

interface NativeAssetInput {
  readonly input: number
  readonly owner: string
  readonly owner_type: TokenState['owner_type']
  /** In the smallest unit of the token. */
  readonly amount: bigint
  readonly is_minter: TokenState['is_minter']
  /** True if the owner's key, or a key of the owner's script hash, has signed this spend; null if that is not shown. */
  readonly signed: true | null
}

interface NativeAssetMove {
  /** The covenant id. */
  readonly asset_id: string
  readonly form: TokenState['form']
  readonly inputs: NativeAssetInput[]
  /** The outputs that continue the asset. */
  readonly outputs: number[]
  /** The outputs whose state is proven. */
  readonly states: ProvenState[]
}

export interface NativeAssetDetail {
  readonly confidence: Confidence
  readonly assets: NativeAssetMove[]
}

interface NativeAssetSource {
  readonly spent: readonly (SpentOutput | null)[]
  readonly reveals: readonly Reveal[]
  /** By input. */
  readonly paths: ReadonlyMap<number, SignaturePath>
}

export function nativeAssetDetail(
  transaction: Transaction,
  { spent, reveals, paths }: NativeAssetSource,
  execution: CovenantExecutionDetail | null,
): NativeAssetDetail | null {
  const continuations = (execution?.actions ?? []).filter((action) => action.kind === 'continuation')
  if (continuations.length === 0) return null
  const members = new Map<string, Set<number>>()
  for (const { covenant_id } of continuations) members.set(covenant_id, new Set())
  for (const { covenant_id, inputs } of continuations)
    for (const input of inputs) members.get(covenant_id)?.add(input)
  for (const [index, output] of spent.entries()) members.get(output?.covenantId ?? '')?.add(index)
  const states = new Map<number, { reveal: Reveal; state: TokenState }>()
  for (const reveal of reveals) {
    const state = readTokenState(reveal.script)
    if (state !== null) states.set(reveal.input, { reveal, state })
  }
  const created = Map.groupBy(
    transaction.outputs.map(({ covenant, scriptPublicKey }, index) => ({ covenant, scriptPublicKey, index })),
    ({ covenant }) => covenant?.covenantId,
  )
  const signers = signersOf({ spent, paths })
  const budget = candidateBudget()
  const assets: NativeAssetMove[] = []
  for (const [id, own] of members) {
    const shown = [...own].sort((a, b) => a - b).flatMap((input) => states.get(input) ?? [])
    const [first] = shown
    if (first === undefined) continue
    const outputs = (created.get(id) ?? []).map(({ index, scriptPublicKey }) => ({
      index,
      programHash: programHashOf(scriptPublicKey),
    }))
    assets.push({
      asset_id: id,
      form: first.state.form,
      inputs: shown.map(({ reveal, state: { owner, owner_type, amount, is_minter } }) => ({
        input: reveal.input,
        owner,
        owner_type,
        amount,
        is_minter,
        signed: isSignedByOwner({ owner, owner_type }, own, signers),
      })),
      outputs: outputs.map(({ index }) => index),
      states: proveTokenStates(shown, outputs, budget),
    })
  }
  return assets.length === 0 ? null : { confidence: 'hint', assets }
}

interface Signers {
  /** The inputs whose paths show that a key has signed. */
  readonly byKey: ReadonlyMap<string, readonly number[]>
  /** The hashes of the programs that were run and require a signature. */
  readonly programs: ReadonlySet<string | null>
}

function signersOf({ spent, paths }: Pick<NativeAssetSource, 'spent' | 'paths'>): Signers {
  const byKey = new Map<string, number[]>()
  const programs = new Set<string | null>()
  for (const [input, { keys, signed }] of paths) {
    for (const key of keys) {
      const inputs = byKey.get(key)
      if (inputs === undefined) byKey.set(key, [input])
      else inputs.push(input)
    }
    const script = spent[input]?.scriptPublicKey
    if (signed === true && script) programs.add(programHashOf(script))
  }
  return { byKey, programs }
}

/**
 * One program checks for all tokens that are spent together. Tokens owned by a script hash move if an output of that
 * script hash is spent alongside.
 */
function isSignedByOwner(
  { owner, owner_type: type }: Pick<TokenState, 'owner' | 'owner_type'>,
  members: ReadonlySet<number>,
  { byKey, programs }: Signers,
): true | null {
  const isSigned =
    type === 'pubkey'
      ? byKey.get(owner)?.some((input) => members.has(input))
      : type === 'script_hash' && programs.has(owner)
  return isSigned ? true : null
}
