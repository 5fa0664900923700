/**
 * What an accepted transaction does to covenant tokens. An output whose state is proven adds to its owner's amount, and
 * spending it subtracts the amount again. A covenant becomes a token when one of its inputs shows a token's state.
 */
import type { Network } from '../../core/chain/network.ts'
import type { SpentOutput } from '../../core/chain/transaction.ts'
import type { ExactJson } from '../../kit/exact-json.ts'
import type { ParsedTransaction } from '../../parser/parse-transaction.ts'
import type { ProvenState } from '../../parser/prove-token-states.ts'
import type { TokenFacts } from '../../store/tokens.ts'
import type { TokenEntries } from './token-entries.ts'
import { holderOf, type TokenCell, type TokenMove, type TokenSource } from './token-move.ts'

function outputKey(txId: string, index: number): string {
  return `output ${txId} ${index}`
}

/** The covenant outputs that a transaction spends. */
export function spentCovenants(
  parsed: ParsedTransaction,
  spent: readonly (SpentOutput | null)[],
): { readonly input: number; readonly covenantId: string; readonly key: string }[] {
  return spent.flatMap((output, input) => {
    const covenantId = output?.covenantId ?? null
    const point = parsed.inputs[input]
    if (covenantId === null || point === undefined) return []
    return [{ input, covenantId, key: outputKey(point.tx_id, point.index) }]
  })
}

/** The owners of the created outputs. The owners of the spent outputs are stored in the outputs' entries. */
export function newHolders(parsed: ParsedTransaction, network: Network): { token: string; holder: string }[] {
  return (parsed.details.native_asset?.assets ?? []).flatMap(({ asset_id: token, states }) =>
    states.map((state) => ({ token, holder: holderOf(state, network) })),
  )
}

export function applyCovenantTokens(
  parsed: ParsedTransaction,
  spent: readonly (SpentOutput | null)[],
  { network, timeMs }: { network: Network; timeMs: number },
  entries: TokenEntries,
): TokenMove[] {
  const moves: TokenMove[] = []
  const points = spentCovenants(parsed, spent)
  const assets = new Map((parsed.details.native_asset?.assets ?? []).map((asset) => [asset.asset_id, asset]))
  const pointsById = Map.groupBy(points, ({ covenantId }) => covenantId)
  const outputsById = Map.groupBy(parsed.outputs, ({ covenant }) => covenant?.id)
  for (const token of new Set([...assets.keys(), ...pointsById.keys()])) {
    const asset = assets.get(token)
    const stored = entries.token(token)
    // A KRC-20 operation may have named the covenant before it was known as a token.
    const known = stored?.form === 'krc20' ? null : stored
    if (asset === undefined && known === null) continue
    let facts: TokenFacts = known ?? {
      form: asset?.form ?? 'kcc20',
      history: 'revealed',
      operations: 0,
      holders: 0,
      firstSeenMs: timeMs,
      firstTxId: parsed.tx_id,
      proven: { amount: '0', outputs: 0 },
    }
    const from: TokenSource[] = []
    const shownStates = new Map((asset?.inputs ?? []).map((state) => [state.input, state]))
    for (const { key, input } of pointsById.get(token) ?? []) {
      const held = entries.read(key) as { holder: string; amount: string } | null
      if (held !== null) {
        facts = move(
          facts,
          { token, holder: held.holder, amount: -BigInt(held.amount), outputs: -1 },
          entries,
        )
        entries.write(key, null)
      }
      const shown = shownStates.get(input)
      if (shown !== undefined)
        from.push({ holder: holderOf(shown, network), amount: shown.amount, signed: shown.signed })
      else
        from.push({
          holder: held?.holder ?? null,
          amount: held === null ? null : BigInt(held.amount),
          signed: null,
        })
    }
    const states = new Map((asset?.states ?? []).map((state) => [state.index, state]))
    const to = (outputsById.get(token) ?? []).map(({ index }): TokenCell => {
      const state = states.get(index)
      if (state === undefined) return { holder: null, amount: null }
      const holder = holderOf(state, network)
      facts = move(facts, { token, holder, amount: state.amount, outputs: 1 }, entries)
      entries.write(outputKey(parsed.tx_id, index), {
        token,
        kind: 'output',
        value: provenOutput(holder, state),
      })
      return { holder, amount: state.amount }
    })
    entries.setToken(token, { ...facts, operations: facts.operations + 1 })
    const operation = to.length === 0 ? 'burn' : 'transition'
    moves.push({ tokenId: token, form: facts.form, operation, isValid: true, from, to })
  }
  return moves
}

function provenOutput(holder: string, { amount, is_minter }: ProvenState): ExactJson {
  return { holder, amount: amount.toString(), is_minter }
}

/** Adds or removes outputs with a proven state of one owner. */
function move(
  facts: TokenFacts,
  { token, holder, amount, outputs }: { token: string; holder: string; amount: bigint; outputs: number },
  entries: TokenEntries,
): TokenFacts {
  const { proven } = facts
  if (proven === undefined) return facts
  const held = entries.holding(token, holder)
  const next = { ...held, balance: held.balance + amount, outputs: held.outputs + outputs }
  const holders = facts.holders + entries.setHolding(token, holder, next)
  const sum = { amount: (BigInt(proven.amount) + amount).toString(), outputs: proven.outputs + outputs }
  return { ...facts, holders, proven: sum }
}
