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
  return ids.map((covenantId) => {
    const inputs = spent.flatMap((output, index) =>
      output?.covenantId === covenantId ? [{ index, output }] : [],
    )
    const created = parsed.outputs.filter((output) => output.covenant?.id === covenantId)
    const step = {
      kind: kindOf(parsed, covenantId, created.length),
      program: programOf(parsed, covenantId, new Set(inputs.map(({ index }) => index))),
      spent: inputs.map(({ index, output }) => ({
        input: index,
        ...pointOf(parsed, index),
        amount_sompi: output.amount,
        address: parsed.inputs[index]?.address ?? null,
        signed: parsed.inputs[index]?.signed ?? null,
        program_hash: output.scriptPublicKey === null ? null : programHashOf(output.scriptPublicKey),
        token: tokenOf(parsed, covenantId, index),
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

function kindOf(parsed: ParsedTransaction, covenantId: string, created: number) {
  const actions = (parsed.details.covenant_execution?.actions ?? []).filter(
    (action) => action.covenant_id === covenantId,
  )
  if (actions.some(({ kind }) => kind === 'genesis')) return 'genesis'
  return created > 0 ? 'continuation' : 'burn'
}

/** The kind of program that the inputs reveal; null if no output of the covenant is spent or none reveals a program. */
function programOf(parsed: ParsedTransaction, covenantId: string, inputs: ReadonlySet<number>) {
  const token = parsed.details.native_asset?.assets.find(({ asset_id }) => asset_id === covenantId)
  if (token !== undefined) return token.form
  if (parsed.details.scriptlang?.programs.some(({ input }) => inputs.has(input))) return 'silverscript'
  const reveals = parsed.details.covenant_execution?.programs.some(({ input }) => inputs.has(input)) ?? false
  return reveals ? 'unknown' : null
}

/** The token state that the input reveals. */
function tokenOf(parsed: ParsedTransaction, covenantId: string, input: number) {
  const asset = parsed.details.native_asset?.assets.find(({ asset_id }) => asset_id === covenantId)
  const state = asset?.inputs.find((one) => one.input === input)
  if (state === undefined) return null
  const { owner, owner_type, amount, is_minter } = state
  return { owner, owner_type, amount, is_minter }
}
