/**
 * `native_asset`: the chain has no asset field of its own. What counts is a token covenant: an input and an
 * output of one covenant, the input running a program with a token's state block. The new states are hidden
 * in the outputs' script hashes: amounts are known on the input side, and of those outputs whose state can be proven
 * from the arguments. That the program keeps the sum is not checked, so the tag stays a hint.
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
  /** The owner's key has signed this spend, or that of the owner's script hash; null where that is not shown. */
  readonly signed: true | null
}

interface NativeAssetMove {
  /** The covenant id. */
  readonly asset_id: string
  readonly form: TokenState['form']
  readonly inputs: NativeAssetInput[]
  /** The outputs that carry the asset on. */
  readonly outputs: number[]
  /** Those whose state is proven. */
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
 * Of tokens that are spent together one program checks for all. Those of a script hash go where an output of that script
 * hash is spent beside them.
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
