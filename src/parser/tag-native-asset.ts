/**
 * `native_asset`: the chain itself has no asset field, so the tag stands for a token covenant: an input and an output
 * of one covenant, where the input runs a program with a token's state block. The new states are hidden in the outputs'
 * script hashes, so amounts are known for the inputs and for those outputs whose state can be proven from the
 * arguments. Whether the program keeps the sum is not checked, so the tag is only a hint.
 */
import type { SpentOutput, Transaction } from '../core/chain/transaction.ts'
import type { Confidence } from './confidence.ts'
import type { SignaturePath } from './path/signature-path.ts'
import { type ProvenState, proveTokenStates } from './prove-token-states.ts'
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
  const assets = new Map<string, NativeAssetMove>()
  const continuations = (execution?.actions ?? []).filter((action) => action.kind === 'continuation')
  for (const id of new Set(continuations.map((action) => action.covenant_id))) {
    const own = continuations.filter((action) => action.covenant_id === id)
    const members = new Set(own.flatMap((action) => action.inputs))
    for (const [index, output] of spent.entries()) if (output?.covenantId === id) members.add(index)
    const shown = reveals.flatMap((reveal) => {
      const state = members.has(reveal.input) ? readTokenState(reveal.script) : null
      return state === null ? [] : [{ reveal, state }]
    })
    const [first] = shown
    if (first === undefined) continue
    const created = transaction.outputs.flatMap(({ covenant, scriptPublicKey }, index) =>
      covenant?.covenantId === id ? [{ index, programHash: programHashOf(scriptPublicKey) }] : [],
    )
    assets.set(id, {
      asset_id: id,
      form: first.state.form,
      inputs: shown.map(({ reveal, state: { owner, owner_type, amount, is_minter } }) => ({
        input: reveal.input,
        owner,
        owner_type,
        amount,
        is_minter,
        signed: isSignedByOwner({ owner, owner_type }, members, { spent, paths }),
      })),
      outputs: created.map(({ index }) => index),
      states: proveTokenStates(shown, created),
    })
  }
  return assets.size === 0 ? null : { confidence: 'hint', assets: [...assets.values()] }
}

/**
 * One program checks for all tokens that are spent together. Tokens owned by a script hash move if an output of that
 * script hash is spent alongside.
 */
function isSignedByOwner(
  { owner, owner_type: type }: Pick<TokenState, 'owner' | 'owner_type'>,
  members: ReadonlySet<number>,
  { spent, paths }: Pick<NativeAssetSource, 'spent' | 'paths'>,
): true | null {
  const isSigned =
    type === 'pubkey'
      ? [...members].some((input) => paths.get(input)?.keys.has(owner) === true)
      : type === 'script_hash' &&
        spent.some(
          (output, input) =>
            output?.scriptPublicKey &&
            programHashOf(output.scriptPublicKey) === owner &&
            paths.get(input)?.signed === true,
        )
  return isSigned ? true : null
}
