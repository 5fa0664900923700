/** What an accepted transaction means for each of its covenants. */
import type { SpentOutput } from '../core/chain/transaction.ts'
import { type ExactJson, writeExact } from '../kit/exact-json.ts'
import type { ParsedTransaction } from '../parser/parse-transaction.ts'
import { programHashOf } from '../parser/script-class.ts'
import type { CovenantChange } from '../store/covenants.ts'

export function covenantChangesOf(
  parsed: ParsedTransaction,
  spent: readonly (SpentOutput | null)[],
): CovenantChange[] {
  const ids = parsed.details.covenant?.covenant_ids ?? []
  if (ids.length === 0) return []
  // Grouped once, because one transaction may have a thousand covenants.
  const spentById = Map.groupBy(
    spent.flatMap((output, index) => (output === null ? [] : [{ index, output }])),
    ({ output }) => output.covenantId,
  )
  const createdById = Map.groupBy(parsed.outputs, ({ covenant }) => covenant?.id)
  const geneses = genesesOf(parsed)
  const assets = new Map((parsed.details.native_asset?.assets ?? []).map((asset) => [asset.asset_id, asset]))
  const programKinds = programKindsOf(parsed)
  return ids.map((covenantId) => {
    const inputs = spentById.get(covenantId) ?? []
    const created = createdById.get(covenantId) ?? []
    const asset = assets.get(covenantId)
    const states = new Map((asset?.inputs ?? []).map((state) => [state.input, state]))
    const kinds = inputs.map(({ index }) => programKinds.get(index))
    const step = {
      kind: geneses.has(covenantId) ? 'genesis' : created.length > 0 ? 'continuation' : 'burn',
      program: asset?.form ?? kinds.find((kind) => kind === 'silverscript') ?? kinds.find(Boolean) ?? null,
      spent: inputs.map(({ index, output }) => ({
        input: index,
        ...pointOf(parsed, index),
        amount_sompi: output.amount,
        address: parsed.inputs[index]?.address ?? null,
        signed: parsed.inputs[index]?.signed ?? null,
        program_hash: output.scriptPublicKey === null ? null : programHashOf(output.scriptPublicKey),
        token: tokenOf(states.get(index)),
      })),
      created: created.map(({ index, amount_sompi, address, script_public_key }) => ({
        index,
        amount_sompi,
        address,
        program_hash: programHashOf(script_public_key),
      })),
    }
    return {
      covenantId,
      text: writeExact(step as unknown as ExactJson),
      spent: inputs.map(({ index }) => {
        const { tx_id, index: place } = pointOf(parsed, index)
        return { txId: tx_id, index: place }
      }),
      created: created.map(({ index, amount_sompi, script_public_key, address }) => ({
        index,
        amount: amount_sompi,
        scriptPublicKey: script_public_key,
        address,
      })),
    }
  })
}

function pointOf(parsed: ParsedTransaction, input: number): { tx_id: string; index: number } {
  const { tx_id = '', index = 0 } = parsed.inputs[input] ?? {}
  return { tx_id, index }
}

/** The covenants that the transaction founds. */
export function genesesOf(parsed: ParsedTransaction): Set<string> {
  const actions = parsed.details.covenant_execution?.actions ?? []
  return new Set(actions.flatMap(({ kind, covenant_id }) => (kind === 'genesis' ? covenant_id : [])))
}

/** The kind of program that each input reveals. */
function programKindsOf({ details }: ParsedTransaction): Map<number, 'silverscript' | 'unknown'> {
  const kinds = new Map<number, 'silverscript' | 'unknown'>()
  for (const { input } of details.covenant_execution?.programs ?? []) kinds.set(input, 'unknown')
  for (const { input } of details.scriptlang?.programs ?? []) kinds.set(input, 'silverscript')
  return kinds
}

type ShownState = NonNullable<
  ParsedTransaction['details']['native_asset']
>['assets'][number]['inputs'][number]

/** The token state that the input reveals. */
function tokenOf(state: ShownState | undefined) {
  if (state === undefined) return null
  const { owner, owner_type, amount, is_minter } = state
  return { owner, owner_type, amount, is_minter }
}
