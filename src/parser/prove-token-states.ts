/**
 * The states of a covenant token's new outputs. They are hidden behind script hashes, but the input that creates them
 * often receives them as arguments: lists of owners, owner types, amounts and a fourth field. Each candidate is put
 * into the program that the input reveals; if the hash of the result is the one that an output pays to, the state is
 * proven. States that cannot be proven stay hidden.
 */
import { hexOfBytes } from '../core/chain/hex.ts'
import { scriptHash } from './keyed-hash.ts'
import type { Reveal } from './reveal.ts'
import { type StateFields, type TokenState, tokenStateOf, withTokenState } from './token-state.ts'

export interface ProvenState extends Omit<TokenState, 'framed'> {
  /** The index of the output. */
  readonly index: number
}

/**
 * Bounds the work, whatever strangers push, for all tokens of a transaction together: one input may create outputs of
 * many. Programs seen so far have at most 3,000 bytes and create two outputs.
 */
const MAX_CANDIDATES = 64
const MAX_PROGRAM_BYTES = 10_000
const MAX_STATES = 16

interface CandidateBudget {
  left: number
}

export function candidateBudget(): CandidateBudget {
  return { left: MAX_CANDIDATES }
}

export function proveTokenStates(
  reveals: readonly { readonly reveal: Reveal; readonly state: TokenState }[],
  outputs: readonly { readonly index: number; readonly programHash: string | null }[],
  budget: CandidateBudget,
): ProvenState[] {
  const hidden = Map.groupBy(outputs, ({ programHash }) => programHash)
  hidden.delete(null)
  const proven: ProvenState[] = []
  for (const { reveal, state } of reveals) {
    if (reveal.program.length > MAX_PROGRAM_BYTES) continue
    for (const fields of candidatesOf(reveal, state)) {
      if (hidden.size === 0 || budget.left === 0) return inOrder(proven)
      budget.left--
      const hash = hexOfBytes(scriptHash(withTokenState(reveal.program, fields)))
      const found = hidden.get(hash)
      const read = found && tokenStateOf(fields)
      if (!found || !read) continue
      for (const { index } of found) proven.push({ index, ...read })
      hidden.delete(hash)
    }
  }
  return inOrder(proven)
}

function inOrder(states: ProvenState[]): ProvenState[] {
  return states.sort((a, b) => a.index - b.index)
}

/** First the unchanged state, then every list of states among the arguments. */
function* candidatesOf(reveal: Reveal, state: TokenState): Generator<StateFields> {
  const fieldAt = (place: number) => reveal.script.data((state.framed ? 1 : 0) + place) ?? new Uint8Array(0)
  yield { owner: fieldAt(0), type: fieldAt(1), amount: fieldAt(2), rest: fieldAt(3) }
  const restBytes = fieldAt(3).length
  for (let at = 0; at + 3 < reveal.arguments.length; at++) {
    const [owners, types, amounts, rests] = reveal.arguments.slice(at, at + 4)
    if (!owners || !types || !amounts || !rests) continue
    const count = owners.length / 32
    if (!Number.isInteger(count) || count < 1 || count > MAX_STATES) continue
    const [typeList, restList] = [listOf(types, count), listOf(rests, count * restBytes)]
    if (typeList === undefined || restList === undefined || amounts.length !== count * 8) continue
    for (let i = 0; i < count; i++) {
      yield {
        owner: owners.subarray(i * 32, (i + 1) * 32),
        type: typeList.subarray(i, i + 1),
        amount: amounts.subarray(i * 8, (i + 1) * 8),
        rest: restList.subarray(i * restBytes, (i + 1) * restBytes),
      }
    }
  }
}

/** A single zero byte may be written as an empty push. */
function listOf(bytes: Uint8Array, length: number): Uint8Array | undefined {
  if (bytes.length === 0 && length === 1) return new Uint8Array(1)
  return bytes.length === length ? bytes : undefined
}
