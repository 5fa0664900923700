/**
 * What a transaction means for each of its addresses: direction, amount, counterparty, and the outputs that it moved.
 */
import type { ParsedInput, ParsedOutput, ParsedTransaction } from '../parser/parse-transaction.ts'
import type { AddressEffect } from '../store/chain.ts'

export interface Movement {
  readonly effect: Omit<AddressEffect, 'event'>
  readonly outputs: readonly ParsedOutput[]
  readonly inputs: readonly ParsedInput[]
}

interface Own {
  outputs: ParsedOutput[]
  inputs: ParsedInput[]
}

/** One movement per known address in the transaction. */
export function movementsOf(parsed: ParsedTransaction): Movement[] {
  const owners = new Map<string, Own>()
  const own = (address: string): Own => {
    let found = owners.get(address)
    if (found === undefined) {
      found = { outputs: [], inputs: [] }
      owners.set(address, found)
    }
    return found
  }
  for (const input of parsed.inputs) if (input.address !== null) own(input.address).inputs.push(input)
  for (const output of parsed.outputs) if (output.address !== null) own(output.address).outputs.push(output)
  const largest: Largest = { inputs: largestTwo(parsed.inputs), outputs: largestTwo(parsed.outputs) }
  return [...owners].map(([address, { outputs, inputs }]) => ({
    effect: effectOf(parsed, address, { outputs, inputs }, largest),
    outputs,
    inputs,
  }))
}

export function transactionAddresses(parsed: ParsedTransaction): string[] {
  const addresses = new Set<string>()
  for (const { address } of parsed.inputs) if (address !== null) addresses.add(address)
  for (const { address } of parsed.outputs) if (address !== null) addresses.add(address)
  return [...addresses]
}

/** Inputs minus outputs; null if an input is unknown or there are none, as in a coinbase. */
export function feeOf(parsed: ParsedTransaction): bigint | null {
  if (parsed.inputs.length === 0) return null
  let fee = 0n
  for (const { amount_sompi } of parsed.inputs) {
    if (amount_sompi === null) return null
    fee += amount_sompi
  }
  for (const { amount_sompi } of parsed.outputs) fee -= amount_sompi
  return fee
}

function effectOf(
  parsed: ParsedTransaction,
  address: string,
  { outputs, inputs }: Own,
  largest: Largest,
): Omit<AddressEffect, 'event'> {
  const received = outputs.reduce((sum, output) => sum + output.amount_sompi, 0n)
  const sent = inputs.reduce((sum, input) => sum + (input.amount_sompi ?? 0n), 0n)
  const alone = inputs.length === parsed.inputs.length && outputs.length === parsed.outputs.length
  const net = received - sent
  const common = { address, received, sent }
  if ((alone && inputs.length > 0) || net === 0n) {
    return { ...common, direction: 'self', amount: net < 0n ? -net : net, counterparty: null }
  }
  if (net > 0n) {
    return { ...common, direction: 'receive', amount: net, counterparty: foreign(largest.inputs, address) }
  }
  return { ...common, direction: 'send', amount: -net, counterparty: foreign(largest.outputs, address) }
}

/** The address with the largest amount, and the one with the largest amount besides it. */
type LargestTwo = readonly string[]

interface Largest {
  readonly inputs: LargestTwo
  readonly outputs: LargestTwo
}

/**
 * Two are enough to find the largest foreign address for each of the addresses; searching for it separately would take
 * a million steps for a transaction with a thousand outputs.
 */
function largestTwo(
  cells: readonly { readonly address: string | null; readonly amount_sompi: bigint | null }[],
): LargestTwo {
  let first: { address: string; amount: bigint } | undefined
  let second: { address: string; amount: bigint } | undefined
  for (const { address, amount_sompi } of cells) {
    if (address === null) continue
    const amount = amount_sompi ?? 0n
    if (first === undefined || amount > first.amount) {
      if (first?.address !== address) second = first
      first = { address, amount }
    } else if (address !== first.address && (second === undefined || amount > second.amount)) {
      second = { address, amount }
    }
  }
  return [first, second].flatMap((one) => one?.address ?? [])
}

function foreign(largest: LargestTwo, own: string): string | null {
  return largest.find((address) => address !== own) ?? null
}
